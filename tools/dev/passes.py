#!/usr/bin/env python3
"""Writes share/doc/pass-reference.md from what `bycc --list-passes` says and does.

usage: passes.py [--bycc=build/bin/bycc] [--check]

With --check nothing is written; exit 1 when the file is not what would be written."""

import json, os, subprocess

import written_docs

ROOT = written_docs.ROOT
EXAMPLE = ROOT / 'share' / 'models' / 'example.onnx'

HEAD = """# Pass reference

Written by `tools/dev/passes.py` from `bycc --list-passes --json`. A pass runs in the default list of its level and of
higher ones (`-O0` to `-O3`; 2 is the default), or where `--passes=`, `--run-before=`, `--run-after=` or, with
`bycc-opt`, its flag puts it; `--disable-pass=` leaves it out. Options stand in braces: `fold-constants{max-bytes=1024}`,
an operand first: `pipe{./mypass.py}`. *Needs* and *makes* are facts about a program, which the list is checked
against before anything runs: `!kernels` must not hold, `a|b` is one of them. `test/golden/PASS.relay` shows what each
does. [passes.md](passes.md) tells how to write one.

"""
LISTS = """
## Default lists

Of a model in float32, as `--print-pipeline-passes` prints them:

"""


def ask(bycc, *arguments):
    environment = {key: value for key, value in os.environ.items() if key != 'BYCC_PLUGIN_PATH'}
    return subprocess.run([bycc, *arguments], capture_output=True, check=True, text=True, env=environment).stdout


def rows(passes):
    for entry in passes:
        code = lambda words: ' '.join('`%s`' % word.replace('|', '\\|') for word in words)
        level = '-O%d' % entry['level'] if entry['level'] < 4 else 'when asked for'
        yield ['`%s`' % entry['name'], level, entry['description'], code(entry['needs']), code(entry['makes']), code(entry['options'])]


def document(bycc):
    table = [['pass', 'level', 'what it does', 'needs', 'makes', 'options'], ['---'] * 6, *rows(json.loads(ask(bycc, '--list-passes', '--json')))]
    text = HEAD + ''.join('| %s |\n' % ' | '.join(row) for row in table) + LISTS
    for flags in (['-O0'], ['-O1'], ['-O2'], ['-O3'], ['-O2', '--annotate=dnnl'], ['-O0', '--annotate=dnnl']):
        text += '    $ bycc net.onnx %s --print-pipeline-passes\n    %s\n' % (' '.join(flags), ask(bycc, EXAMPLE, *flags, '--print-pipeline-passes').strip())
    return text


written_docs.main(__doc__, {'pass-reference.md': document})
