#!/usr/bin/env python3
"""Writes share/doc/operators.md and operator-reference.md from what `bycc --list-ops` and
`--list-onnx-ops` say, and from test/numeric.

usage: operators.py [--bycc=build/bin/bycc] [--check]

With --check nothing is written; exit 1 when a file is not what would be written."""

import json, os, subprocess

import written_docs

ROOT = written_docs.ROOT

HEAD = """# Operators

Written by `tools/dev/operators.py` from `bycc --list-ops --json` and `bycc --list-onnx-ops --json`.

## Relay operators

All can be written in Relay text. *ONNX* names the ONNX operators whose calls become the operator, as seen on ONNX's
own test cases. *Eval*: it has a definition in the evaluator, the oracle of the tests. *Host*: `code`, or `legalize`
when that pass writes it in operators that have code. A vendor takes an operator `alone`, or as a part of a
`composite`; which attributes and dtypes it takes is told for a model by `bycc check MODEL --annotate=VENDOR`.

"""
ONNX = """
## ONNX operators

Domain `ai.onnx`; those with another domain before their name are ONNX Runtime's own, which its quantiser and its
optimiser write: they become what the operators become that they join, with `qnn.dequantize` and `qnn.quantize` around it in
QLinear*. *Versions*: the opsets that gave the operator a version which is read.

"""

REFERENCE = """# Operator reference

Written by `tools/dev/operators.py` from `bycc --list-ops --json` and the cases of `test/numeric`, which hold Eval and
host code to what is written here. `x?` may be left out, `xs...` repeats. *Kind* is how it fuses, with the traits that
passes ask for (`OpTrait` in `include/bycc/IR/Op.h`). *Dtypes* and *ranks* are those that the cases have, of the first
input that is a tensor; other ones may be read, too: `bycc check MODEL` says so. Results are computed as
[nan.md](nan.md) and [precision.md](precision.md) tell; vendors and ONNX operators are listed in
[operators.md](operators.md).
"""


def ask(bycc, flag):
    environment = {key: value for key, value in os.environ.items() if key != 'BYCC_PLUGIN_PATH'}
    return json.loads(subprocess.run([bycc, flag, '--json'], capture_output=True, check=True, env=environment).stdout)


def table(columns, rows):
    lines = ['| %s |' % ' | '.join(columns), '|%s' % ('---|' * len(columns))]
    return '\n'.join(lines + ['| %s |' % ' | '.join(row) for row in rows]) + '\n'


def relay_rows(ops, vendors):
    for op in ops:
        onnx = ', '.join(maker['operator'] for maker in op['frontends']['onnx'])
        yield ['`%s`' % op['name'], onnx, 'yes' if op['eval'] else '', op['host_by']] + [op['vendors'].get(v, '') for v in vendors]


def onnx_rows(ops):
    for op in ops:
        why = op['reason'] or ('not read' if not op['versions'] else '')
        yield [op['name'], ' '.join(map(str, op['versions'])), ', '.join('`%s`' % name for name in op['makes']) or why]


def document(bycc):
    ops, onnx = ask(bycc, '--list-ops'), ask(bycc, '--list-onnx-ops')
    vendors = sorted({vendor for op in ops for vendor in op['vendors']})
    text = HEAD + table(['operator', 'ONNX', 'Eval', 'host'] + vendors, relay_rows(ops, vendors))
    return text + ONNX + table(['operator', 'versions', 'becomes'], onnx_rows(onnx))


def relay(value):
    """A value of an attribute as Relay text has it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, list):
        return '[%s]' % ', '.join(map(relay, value))
    return '"%s"' % value if isinstance(value, str) else '%g' % value if isinstance(value, float) else str(value)


def tensor_text(value):
    if 'tuple' in value:
        return '(%s)' % ', '.join(map(tensor_text, value['tuple']))
    return '%s (%s)' % (value['dtype'], ', '.join(map(str, value['shape'])))


def tensors_of(value):
    return [t for field in value['tuple'] for t in tensors_of(field)] if 'tuple' in value else [value]


def size_of(case):
    """Small ones first, those behind them without elements or axes."""
    tensors = [t for value in case['inputs'] for t in tensors_of(value)]
    return (not any(t['shape'] for t in tensors) or any(0 in t['shape'] for t in tensors), sum(len(t.get('data', [])) for t in tensors))


def attribute_text(spec):
    text = '`%s`: %s' % (spec['name'], spec['kind'])
    if spec['nullable'] and (spec['required'] or spec['default'] is not None):
        text += ' or None'
    if spec['required']:
        return text + ', must be written'
    default = spec['default']
    if spec['kind'] == 'dtype' and default == '':
        return text + ', by default the one that the example has'
    return text + ', by default `%s`' % relay(default)


def example_text(op, case):
    operands = ['%s: %s' % (name, tensor_text(value)) for name, value in zip(names_of(op, case), case['inputs'])]
    attributes = ['%s=%s' % (key, relay(value)) for key, value in case['attrs'].items()]
    results = [tensor_text(value) for value in case['outputs']]
    result = results[0] if len(results) == 1 else '(%s)' % ', '.join(results)
    return '`%s(%s)` gives `%s`' % (op['name'], ', '.join(operands + attributes), result)


def names_of(op, case):
    names = [name.rstrip('?.') for name in op['inputs']]
    return names + names[-1:] * (len(case['inputs']) - len(names))


def section(op):
    lines = ['', '## %s' % op['name'], '', 'Inputs: %s.' % (', '.join('`%s`' % name for name in op['inputs']) or 'none')]
    lines[-1] += ' Kind: %s.' % ', '.join([op['kind']] + op['traits'])
    lines += [''] if op['attribute_kinds'] else []
    for spec in op['attribute_kinds']:
        lines.append('- ' + attribute_text(spec))
    path = ROOT / 'test' / 'numeric' / (op['name'] + '.json')
    if path.exists():
        cases = [case for case in json.loads(path.read_text())['cases'] if 'outputs' in case]
        first = [tensors_of(case['inputs'][0])[0] for case in cases if case['inputs'] and tensors_of(case['inputs'][0])]
        if first:
            dtypes = ', '.join(sorted({t['dtype'] for t in first}))
            lines += ['', 'Dtypes: %s. Ranks: %s.' % (dtypes, ', '.join(map(str, sorted({len(t['shape']) for t in first}))))]
        if cases:
            lines += ['', example_text(op, min(cases, key=size_of))]
    else:
        lines += ['', 'An annotation: its result is its input.' if {'annotation', 'device'} & set(op['traits']) else 'No case of its own.']
    return lines


def reference(bycc):
    return REFERENCE + '\n'.join(line for op in ask(bycc, '--list-ops') for line in section(op)) + '\n'


written_docs.main(__doc__, {'operators.md': document, 'operator-reference.md': reference})
