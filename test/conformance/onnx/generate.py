#!/usr/bin/env python3
"""Writes the operator cases of an installed `onnx` package (PyPI) as a folder that run.py takes.

usage: generate.py FOLDER

Newer packages carry their operator cases as programs instead of files."""

import argparse, pathlib, sys

import onnx.backend.test.cmd_tools as tools
import onnx.backend.test.loader as loader


def main():
    folder = pathlib.Path(sys.argv[1])
    tools.model_test.collect_testcases = lambda: loader.load_model_tests(kind='node')
    tools.generate_data(argparse.Namespace(output=str(folder)))
    for kind in ('simple', 'pytorch-converted', 'pytorch-operator'):
        source = pathlib.Path(loader.DATA_DIR) / kind
        if source.exists() and not (folder / kind).exists():
            (folder / kind).symlink_to(source)
    print(sum(1 for _ in folder.glob('*/test_*')), 'cases in', folder)


main()
