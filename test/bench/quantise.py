#!/usr/bin/env python3
"""Quantises ONNX models with ONNX Runtime's quantiser, as users do.

quantise.py EXPORTS OUT [NAME ...]

Of each EXPORTS/NAME.onnx (inputs in EXPORTS/NAME.in/INPUT.npy; without names of all) OUT gets NAME-qdq.onnx
(QuantizeLinear and DequantizeLinear), NAME-qop.onnx (QLinearConv and its like) and NAME-dynq.onnx (dynamic), each with
its inputs. Scales are those of these inputs. wild_bench.py takes OUT then. Python needs onnxruntime, onnx and numpy.
"""
import os
import shutil
import sys

import numpy as np
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static)

FORMATS = {"qdq": QuantFormat.QDQ, "qop": QuantFormat.QOperator}


class Inputs(CalibrationDataReader):
    def __init__(self, inputs):
        self.left = iter([inputs])

    def get_next(self):
        return next(self.left, None)


def quantise(model, inputs, kind, path):
    if kind == "dynq":
        return quantize_dynamic(model, path, weight_type=QuantType.QInt8)
    return quantize_static(model, path, Inputs(inputs), quant_format=FORMATS[kind], per_channel=True,
                           activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    exports, out = sys.argv[1:3]
    names = sys.argv[3:] or sorted(f[:-5] for f in os.listdir(exports) if f.endswith(".onnx"))
    os.makedirs(out, exist_ok=True)
    for name in names:
        folder = f"{exports}/{name}.in"
        inputs = {f[:-4]: np.load(f"{folder}/{f}") for f in os.listdir(folder)}
        for kind in (*FORMATS, "dynq"):
            path = f"{out}/{name}-{kind}.onnx"
            try:
                quantise(f"{exports}/{name}.onnx", inputs, kind, path)
            except Exception as problem:  # the quantiser's own limits
                print(f"{name}-{kind}: {str(problem).splitlines()[0]}", file=sys.stderr)
                continue
            shutil.copytree(folder, path[:-5] + ".in", dirs_exist_ok=True)


main()
