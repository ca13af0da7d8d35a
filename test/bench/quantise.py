#!/usr/bin/env python3
"""Quantises ONNX models with ONNX Runtime's quantiser, as users do.

quantise.py EXPORTS OUT [NAME ...]

Of each EXPORTS/NAME.onnx (inputs in EXPORTS/NAME.in/INPUT.npy; without names of all) OUT gets NAME-qdq.onnx
(QuantizeLinear and DequantizeLinear), NAME-qop.onnx (QLinearConv and its like), NAME-dynq.onnx (dynamic), and with the
weights of products alone in 4 or 8 bits NAME-w4.onnx, NAME-w8.onnx (MatMulNBits) and NAME-w4qdq.onnx, each with its
inputs. Scales are those of these inputs. wild_bench.py takes OUT then. Python needs onnxruntime, onnx and numpy.
"""
import logging
import os
import shutil
import sys

import numpy as np
import onnx.version_converter
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static)
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

WEIGHTS = {"w4": (4, QuantFormat.QOperator), "w8": (8, QuantFormat.QOperator), "w4qdq": (4, QuantFormat.QDQ)}
FORMATS = {"qdq": QuantFormat.QDQ, "qop": QuantFormat.QOperator}


class Inputs(CalibrationDataReader):
    def __init__(self, inputs):
        self.left = iter([inputs])

    def get_next(self):
        return next(self.left, None)


def quantise_weights(model, bits, form, path):
    """Of products, in blocks of 32."""
    model = onnx.load(model)
    if form == QuantFormat.QDQ:  # int4 came with opset 21
        model = onnx.version_converter.convert_version(model, 21)
    config = DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=True, quant_format=form, bits=bits)
    made = MatMulNBitsQuantizer(model, algo_config=config)
    made.process()
    if not any(node.op_type in ("MatMulNBits", "DequantizeLinear") for node in made.model.model.graph.node):
        raise ValueError("no product with a constant")
    made.model.save_model_to_file(path, False)


def quantise(model, inputs, kind, path):
    if kind in WEIGHTS:
        return quantise_weights(model, *WEIGHTS[kind], path)
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
    logging.disable(logging.WARNING)
    for name in names:
        folder = f"{exports}/{name}.in"
        inputs = {f[:-4]: np.load(f"{folder}/{f}") for f in os.listdir(folder)}
        for kind in (*FORMATS, "dynq", *WEIGHTS):
            path = f"{out}/{name}-{kind}.onnx"
            try:
                quantise(f"{exports}/{name}.onnx", inputs, kind, path)
            except Exception as problem:  # the quantiser's own limits
                print(f"{name}-{kind}: {str(problem).splitlines()[0]}", file=sys.stderr)
                continue
            shutil.copytree(folder, path[:-5] + ".in", dirs_exist_ok=True)


main()
