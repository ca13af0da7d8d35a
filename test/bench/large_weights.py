#!/usr/bin/env python3
"""Compiles a model with gigabytes of weights beside it, and says what memory that takes.

usage: large_weights.py [--gib=3] [--bin=build/bin] [--annotate=V]

The weights are holes of a sparse file but for their first values, so only STEM.params takes room on the disk.
Anonymous memory is what counts: pages of mapped files go when memory is short. Host code packs the weights of
matrix products, one copy of them; vendors that take them as they are need none."""

import argparse, os, pathlib, struct, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools' / 'dev'))
from make_example import FLOAT, field, node, value_info

SIDE = 16384  # a matrix of 1 GiB


def write_model(folder, gib):
    with open(folder / 'weights.bin', 'wb') as weights:
        weights.truncate(gib << 30)
        for i in range(gib):
            weights.seek(i << 30)
            weights.write(struct.pack('<f', i + 1))
    graph = field(2, 'large')
    for i in range(gib):
        graph += field(1, node('product%d' % i, 'MatMul', ['v%d' % i, 'w%d' % i], 'v%d' % (i + 1)))
        place = (('location', 'weights.bin'), ('offset', str(i << 30)), ('length', str(1 << 30)))
        graph += field(5, field(1, SIDE) + field(1, SIDE) + field(2, FLOAT) + field(8, 'w%d' % i) + field(14, 1) +
                       b''.join(field(13, field(1, key) + field(2, value)) for key, value in place))
    graph += field(11, value_info('v0', [1, SIDE])) + field(12, value_info('v%d' % gib, [1, SIDE]))
    (folder / 'large.onnx').write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 13)))


def anonymous_kib(pid):
    try:
        lines = pathlib.Path('/proc/%d/status' % pid).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith('RssAnon')), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--gib', type=int, default=3)
    parser.add_argument('--bin', type=pathlib.Path, default=ROOT / 'build' / 'bin')
    parser.add_argument('--annotate', default='')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_model(folder, options.gib)
        command = [options.bin.resolve() / 'bycc', 'large.onnx'] + (['--annotate=' + options.annotate] if options.annotate else [])
        start, peak = time.time(), 0
        compiler = subprocess.Popen(command, cwd=folder)
        while compiler.poll() is None:
            peak = max(peak, anonymous_kib(compiler.pid))
            time.sleep(0.02)
        print('%d GiB of weights: exit %d, %.1f s, %.2f GiB of anonymous memory'
              % (options.gib, compiler.returncode, time.time() - start, peak / (1 << 20)))
        sys.exit(compiler.returncode)


main()
