#!/usr/bin/env python3
"""Writes share/doc/operators.md from what `bycc --list-ops` and `--list-onnx-ops` say.

usage: operators.py [--bycc=build/bin/bycc] [--check]

With --check nothing is written; exit 1 when the file is not what would be written."""

import argparse, json, os, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOC = ROOT / 'share' / 'doc' / 'operators.md'

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

Domain `ai.onnx`. *Versions*: the opsets that gave the operator a version which is read.

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bycc', default=ROOT / 'build' / 'bin' / 'bycc')
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    text = document(options.bycc)
    if not options.check:
        DOC.write_text(text)
    elif not DOC.exists() or DOC.read_text() != text:
        sys.exit('share/doc/operators.md is not current: run tools/dev/operators.py')


main()
