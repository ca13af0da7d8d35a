#!/usr/bin/env python3
"""Writes share/doc/message-reference.md from what `bycc explain` says.

usage: messages.py [--bycc=build/bin/bycc] [--check]

With --check nothing is written; exit 1 when the file is not what would be written."""

import json, subprocess

import written_docs

HEAD = """# Message reference

Written by `tools/dev/messages.py` from `bycc explain --json`. Messages that people meet have a number, which stands behind
their text and, as `id`, in `-fdiagnostics-format=json` (`ruleId` in `sarif`). A number keeps its meaning. `bycc explain BY0201`
prints what stands here; `bycc explain INPUT` explains a status. Each example ends with its message.

"""


def document(bycc):
    messages = json.loads(subprocess.run([bycc, 'explain', '--json'], capture_output=True, check=True, text=True).stdout)
    text = HEAD + ''.join('- [%s](#%s) %s\n' % (m['id'], m['id'].lower(), m['title']) for m in messages)
    for message in messages:
        text += '\n## %s\n\n**%s.** %s\n' % (message['id'], message['title'][0].upper() + message['title'][1:], message['why'])
        if message['example']:
            text += '\n```sh\n%s\n```\n' % message['example']
        text += '\n%s\n' % message['advice']
    return text


written_docs.main(__doc__, {'message-reference.md': document})
