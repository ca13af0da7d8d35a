#!/usr/bin/env python3
"""Writes lib/Frontend/OnnxMakes.def: which Relay operators ONNX's operators become.

usage: onnx_makes.py [--bycc=build/bin/bycc] [FOLDER...]

Converters are code, so what they make is seen by importing ONNX's own cases of one node (laid out as in
libonnx-testdata; more folders add to them). Operators that were seen before stay."""

import argparse, collections, concurrent.futures, json, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / 'lib' / 'Frontend' / 'OnnxMakes.def'
sys.path.insert(0, str(ROOT / 'test' / 'conformance' / 'onnx'))
import onnx_wire

HEAD = """// Relay operators that calls of ONNX operators become, as seen on ONNX's own cases.
// Written by tools/dev/onnx_makes.py; sorted by name.
"""


def single_node(model):
    """The operator of a model whose graph is one node of ai.onnx, else ''."""
    nodes = onnx_wire.repeated(onnx_wire.first(model, 7), 1)
    if len(nodes) != 1 or onnx_wire.first(nodes[0], 7) not in (b'', b'ai.onnx'):
        return ''
    return onnx_wire.first(nodes[0], 4).decode()


def made_by(bycc, path):
    op = single_node(path.read_bytes())
    if not op or op in ('If', 'Loop', 'Scan'):  # what is in their bodies is not theirs
        return op, []
    done = subprocess.run([bycc, 'inspect', path, '--json'], capture_output=True)
    return op, list(json.loads(done.stdout)['ops']) if done.returncode == 0 else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bycc', default=ROOT / 'build' / 'bin' / 'bycc')
    parser.add_argument('folders', nargs='*', type=pathlib.Path)
    options = parser.parse_args()
    folders = options.folders + [pathlib.Path('/usr/include/onnx/backend/test/data')]
    made = collections.defaultdict(set)
    for name, ops in re.findall(r'ONNX_MAKES\((\w+), "([^"]*)"\)', TABLE.read_text()):
        made[name].update(ops.split())
    paths = sorted(path for folder in folders for path in folder.glob('*/test_*/model.onnx'))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, ops in pool.map(lambda path: made_by(options.bycc, path), paths):
            made[name].update(ops)
    rows = ['ONNX_MAKES(%s, "%s")\n' % (name, ' '.join(sorted(ops))) for name, ops in sorted(made.items()) if ops]
    TABLE.write_text(HEAD + ''.join(rows))
    print(len(rows), 'operators in', TABLE.relative_to(ROOT))


main()
