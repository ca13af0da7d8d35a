#!/usr/bin/env python3
"""Writes the example model that is shipped in share/models: make_example.py [OUTDIR]

A small convolutional net over a 28x28 image with seeded random weights, an
input for it, and the output it should give (computed here in double precision).
Only Python itself is needed: the protobuf and .npy bytes are written by hand.

    example.onnx                  the model, opset 13
    example/image.npy             its input
    example-expected/probabilities.npy   its output
"""
import math
import os
import random
import struct
import sys

FLOAT, INT64 = 1, 7  # TensorProto.DataType


# -- protobuf ---------------------------------------------------------------
def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """An integer as varint, bytes and text with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, values):
    data = struct.pack(f"<{len(values)}f", *values)
    return b"".join(field(1, d) for d in dims) + field(2, FLOAT) + field(8, name) + field(9, data)


def value_info(name, dims, dtype=FLOAT):
    """Extents are numbers, or names of those that are known at run time."""
    shape = b"".join(field(1, field(2 if isinstance(d, str) else 1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def node(name, op, inputs, output, **attributes):
    return (b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op)
            + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


# -- the net, computed here as well ------------------------------------------
def conv3x3_relu(data, height, width, weight, bias, cin, cout):
    out = []
    for o in range(cout):
        for y in range(height):
            for x in range(width):
                total = bias[o]
                for c in range(cin):
                    for i in range(max(0, 1 - y), min(3, height + 1 - y)):
                        row = (c * height + y + i - 1) * width + x - 1
                        w = ((o * cin + c) * 3 + i) * 3
                        for j in range(max(0, 1 - x), min(3, width + 1 - x)):
                            total += data[row + j] * weight[w + j]
                out.append(max(total, 0.0))
    return out


def max_pool2(data, channels, height, width):
    return [max(data[(c * height + 2 * y + i) * width + 2 * x + j] for i in (0, 1) for j in (0, 1))
            for c in range(channels) for y in range(height // 2) for x in range(width // 2)]


def dense(data, weight, bias):
    n = len(data)
    return [b + sum(x * w for x, w in zip(data, weight[o * n:o * n + n])) for o, b in enumerate(bias)]


def softmax(data):
    powers = [math.exp(x - max(data)) for x in data]
    return [p / sum(powers) for p in powers]


# -- files -------------------------------------------------------------------
def as_float32(values):
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def npy(dims, values):
    shape = "(" + ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "") + ")"
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        f"<{len(values)}f", *values)


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    print(path, len(data), "bytes")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..", "share", "models")
    rng = random.Random(2024)

    def uniform(count, fan_in):
        scale = math.sqrt(6.0 / fan_in)
        return as_float32([(2 * rng.random() - 1) * scale for _ in range(count)])

    w1, b1 = uniform(8 * 9, 9), uniform(8, 600)
    w2, b2 = uniform(16 * 8 * 9, 72), uniform(16, 600)
    w3, b3 = uniform(10 * 784, 784), uniform(10, 600)
    image = as_float32([rng.random() for _ in range(784)])

    conv = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1], dilations=[1, 1], group=1)
    pool = dict(kernel_shape=[2, 2], strides=[2, 2])
    graph = b"".join(field(1, n) for n in (
        node("conv1", "Conv", ["image", "conv1.weight", "conv1.bias"], "c1", **conv),
        node("relu1", "Relu", ["c1"], "r1"),
        node("pool1", "MaxPool", ["r1"], "p1", **pool),
        node("conv2", "Conv", ["p1", "conv2.weight", "conv2.bias"], "c2", **conv),
        node("relu2", "Relu", ["c2"], "r2"),
        node("pool2", "MaxPool", ["r2"], "p2", **pool),
        node("flatten", "Flatten", ["p2"], "f", axis=1),
        node("fc", "Gemm", ["f", "fc.weight", "fc.bias"], "scores", transB=1),
        node("softmax", "Softmax", ["scores"], "probabilities", axis=1)))
    graph += field(2, "example")
    graph += b"".join(field(5, t) for t in (
        tensor("conv1.weight", [8, 1, 3, 3], w1), tensor("conv1.bias", [8], b1),
        tensor("conv2.weight", [16, 8, 3, 3], w2), tensor("conv2.bias", [16], b2),
        tensor("fc.weight", [10, 784], w3), tensor("fc.bias", [10], b3)))
    graph += field(11, value_info("image", [1, 1, 28, 28]))
    graph += field(12, value_info("probabilities", [1, 10]))
    model = field(1, 8) + field(2, "bycc") + field(7, graph) + field(8, field(1, "") + field(2, 13))

    x = max_pool2(conv3x3_relu(image, 28, 28, w1, b1, 1, 8), 8, 28, 28)
    x = max_pool2(conv3x3_relu(x, 14, 14, w2, b2, 8, 16), 16, 14, 14)
    write(folder, "example.onnx", model)
    write(folder, "example/image.npy", npy([1, 1, 28, 28], image))
    write(folder, "example-expected/probabilities.npy", npy([1, 10], softmax(dense(x, w3, b3))))


if __name__ == "__main__":
    main()
