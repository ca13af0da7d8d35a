#!/usr/bin/env python3
"""Measures what operators cost on this machine, and prints the `cost` object of a vendor file.

costs.py [--bin build/bin] [--vendor dnnl] [--times N] [--cpu NAMES]

Without --vendor it measures host code: the cost of patterns/host.json. With --vendor everything is
a region of that vendor: the cost of patterns/<vendor>.json. Weights are constants and programs are
compiled with -O3, as those of users are. Minimum of many runs, one thread, a minute or two; with --times
the median of so many measurements. With --cpu it is what stands in the file's `cpus` for these names. Rates are of larger operators with the time of a small one
taken off, where it fits of one more operator in a chain, so that no border of a region is in them.
`us` is the time of one more small operator.
A rate is arithmetic (gflops) for convolutions and products, memory traffic (gb_per_s) for others.
Rows give it for classes of calls that are much faster or slower than the operator in general, and for host
code that is fused: what an operator adds to the time of another in the same loop.
"""
import argparse
import array
import json
import os
import random
import re
import subprocess
import tempfile

FILTERS = ((32, 24), (17, 16), (16, 12), (12, 8), (8, 6), (5, 3), (3, 2), (2, 1)) # class, filters that it is measured with
LONG = 4  # operators that a chain has more than a short one


def tensor(shape):
    return "Tensor[(%s), float32]" % ", ".join(map(str, shape))


def size(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def convolution(op, channels, length, kernel, groups=1, dilation=1, filters=0):
    """A convolution that keeps the extents, a transposed one of even kernel doubles them: op, shape, weights, call, GFLOPs."""
    rank = next(rank for rank in (1, 2, 3) if "%dd" % rank in op)
    isTransposed, filters = "transpose" in op, filters or channels
    step = 2 if isTransposed and kernel % 2 == 0 else 1
    pad = (kernel - step) // 2 if isTransposed else kernel // 2 * dilation
    image, taps = (1, channels) + (length,) * rank, (kernel,) * rank
    call = "%s(%%x, %%w, padding=%s, strides=%s, groups=%d, channels=%d, kernel_size=%s%s)" % (
        op, [pad] * 2 * rank, [step] * rank, groups, filters, list(taps),
        ", dilation=%s" % ([dilation] * rank) if dilation > 1 else "")
    weight = (channels, filters // groups) if isTransposed else (filters, channels // groups)
    return op, image, weight + taps, call, 2e-9 * (size(image) // groups) * filters * size(taps)


def products():
    """Class, what `convolution` gives, and whether calls stand beside each other, as their results have another shape."""
    lengths = {"nn.conv1d": 512, "nn.conv2d": 28, "nn.conv3d": 12}
    for op, length in lengths.items():
        yield "", convolution(op, 64 if op == "nn.conv3d" else 160, length, 3), False
        yield "channels<8", convolution(op, 3, length, 3, filters=64), True
        for below, filters in FILTERS:
            yield "filters<%d" % below, convolution(op, 64, length, 3, filters=filters), True
        transposed = op + "_transpose"
        yield "", convolution(transposed, 64, length // 2, 4, filters=32), True
        for below, filters in FILTERS[2::3]:
            yield "filters<%d" % below, convolution(transposed, 32, length // 2, 4, filters=filters), True
    yield "pointwise", convolution("nn.conv2d", 64, 28, 1), False
    for below, filters in FILTERS[1:]:
        yield "pointwise, filters<%d" % below, convolution("nn.conv2d", 64, 28, 1, filters=filters), True
    for below, filters in ((12, 8), (5, 4)):
        yield "grouped, filters<%d" % below, convolution("nn.conv2d", 16 * filters, 28, 3, 16), False
    yield "depthwise", convolution("nn.conv2d", 64, 28, 3, 64), False
    yield "depthwise, channels<24", convolution("nn.conv2d", 18, 56, 3, 18), False
    yield "dilation!=[1, 1]", convolution("nn.conv2d", 64, 28, 3, 1, 2), False
    yield "depthwise, dilation!=[1, 1]", convolution("nn.conv2d", 64, 28, 3, 64, 2), False
    for op in ("nn.dense", "nn.matmul"):
        for kind, rows in (("", 64), ("rows<32", 24), ("rows<12", 8), ("rows<8", 1)):
            yield kind, (op, (rows, 512), (512, 512), op + "(%x, %w, units=512)", 2e-9 * rows * 512 * 512), False
    yield "", ("nn.batch_matmul", (8, 64, 64), (8, 64, 64), "nn.batch_matmul(%x, %w)", 2e-9 * 8 * 64 ** 3), False


def traffic():
    """Operator, class, shape, shapes of weights, call, bytes, does the result have the shape of its input?"""
    flat, image = (1024, 256), (1, 64, 64, 64)
    count = 4 * size(flat)
    for op in ("nn.relu", "abs", "exp", "tanh", "sigmoid", "erf", "sqrt", "log", "round"):
        yield op, "", flat, [], op + "(%x)", 2 * count, False
    yield "clip", "", flat, [], "clip(%x, a_min=0f, a_max=6f)", 2 * count, False
    for op in ("add", "multiply", "subtract", "divide", "maximum"):
        yield op, "", flat, [flat], op + "(%x, %w0)", 3 * count, False
    yield "nn.softmax", "", flat, [], "nn.softmax(%x)", 2 * count, True
    yield "nn.softmax", "axis!=-1", flat, [], "nn.softmax(%x, axis=0)", 2 * count, True
    yield "nn.layer_norm", "", flat, [(256,), (256,)], "nn.layer_norm(%x, %w0, %w1)", 2 * count, True
    yield "mean", "", flat, [], "mean(%x, axis=[1])", count, False
    yield "mean", "axis!=-1", flat, [], "mean(%x, axis=[0])", count, False
    yield "transpose", "", flat, [], "transpose(%x, axes=[1, 0])", 2 * count, False
    yield "nn.pad", "", image, [], "nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [0, 1], [0, 1]])", 8 * size(image), False
    yield "concatenate", "", flat, [flat], "concatenate((%x, %w0), axis=1)", 4 * count, False
    pool = "pool_size=[2, 2], strides=[2, 2])"
    yield "nn.max_pool2d", "", image, [], "nn.max_pool2d(%x, " + pool, 5 * size(image), False
    yield "nn.avg_pool2d", "", image, [], "nn.avg_pool2d(%x, " + pool, 5 * size(image), False
    yield "nn.global_avg_pool2d", "", image, [], "nn.global_avg_pool2d(%x)", 4 * size(image), False


FUSED = {"add": "add(%s, %%w1)", "multiply": "multiply(%s, %%w1)", "divide": "divide(%s, %%w1)", "nn.relu": "nn.relu(%s)",
         "clip": "clip(%s, a_min=0f, a_max=6f)", **{op: op + "(%s)" for op in ("erf", "exp", "log", "sigmoid", "sqrt", "tanh")}}


class Bench:
    def __init__(self, options, work):
        self.o, self.work = options, work
        self.env = dict(os.environ, OMP_NUM_THREADS="1")

    def path(self, name):
        return os.path.join(self.work, name)

    def weight(self, name, shape):
        """Writes params/NAME.npy."""
        os.makedirs(self.path("params"), exist_ok=True)
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
        header = header.ljust(117) + "\n"
        with open(self.path("params/%s.npy" % name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
            array.array("f", [random.uniform(-0.1, 0.1) for _ in range(size(shape))]).tofile(file)

    def microseconds(self, shape, weights, calls, isBeside=False):
        """Of a chain of calls of %x, or of calls of it beside each other, each with weights of its own; None when the vendor
        does not take all."""
        for file in os.listdir(self.path("params")) if os.path.isdir(self.path("params")) else []:
            os.remove(self.path("params/" + file))
        parameters, lines = [], []
        for number, call in enumerate(calls):
            text = call
            for w, extent in enumerate(weights):
                name = "p%d_%d" % (number, w)
                self.weight(name, extent)
                parameters.append("%%%s: %s" % (name, tensor(extent)))
                text = re.sub(r"%%w%s\b" % (w if len(weights) > 1 or "%w0" in call else ""), "%" + name, text)
            lines.append("%%%d = %s;" % (number, text.replace("%x", "%" + str(number - 1) if number and not isBeside else "%x")))
        if isBeside and len(calls) > 1:
            lines.append("%%%d = concatenate((%s), axis=1);" % (len(calls), ", ".join("%%%d" % i for i in range(len(calls)))))
        with open(self.path("net.relay"), "w") as file:
            file.write('#[version = "0.0.5"]\ndef @main(%s) { %s %%%d }\n' % (
                ", ".join(["%x: " + tensor(shape)] + parameters), " ".join(lines), len(lines) - 1))
        command = [os.path.join(self.o.bin, "bycc"), self.path("net.relay"), "-O3", "-q", "-o", self.path("net.o")]
        if parameters:
            command.append("--params=" + self.path("params"))
        if self.o.vendor:
            command += ["--annotate=" + self.o.vendor, "--cost-model=none", "--strict", "--min-offload=100%ops"]
        done = subprocess.run(command, env=self.env, stderr=subprocess.PIPE)
        if done.returncode == 3:
            return None
        if done.returncode:
            raise SystemExit(done.stderr.decode())
        text = subprocess.run(
            [os.path.join(self.o.bin, "bycc-run"), self.path("net.json"), "--shape=x=" + "x".join(map(str, shape)),
             "--random", "--bench", "-q", "--threads", "1", "--warmup", "20", "--seconds", "0.15", "--json", "-"],
            env=self.env, check=True, stdout=subprocess.PIPE).stdout
        return 1000 * json.loads(text)["min_ms"]

    def oneMore(self, shape, weights, call, isBeside=False):
        """Time of one operator more."""
        few = 2 if isBeside else 1 # two, as one is not copied into a concatenation
        short = self.microseconds(shape, weights, [call] * few, isBeside)
        long = short and self.microseconds(shape, weights, [call] * (LONG + few), isBeside)
        return long and max(0.01, (long - short) / LONG)

    def cost(self):
        relu = (8,), [], ["nn.relu(%x)"]
        small = self.microseconds(*relu)
        ops, rows = {}, []

        def put(op, kind, unit, rate, us):
            entry = {unit: float("%.3g" % rate)}
            if us:
                entry["us"] = us
            if kind:
                rows.append({"op": op, "class": kind, **entry})
            else:
                ops[op] = entry

        launch = self.oneMore((8, 16), [(16, 16)], "nn.dense(%x, %w, units=16)")
        each = 0
        if self.o.vendor:
            each = round(launch or 0, 2)
            vendor, self.o.vendor = self.o.vendor, ""
            launch = small - self.microseconds(*relu) - each if small else 0
            self.o.vendor = vendor
        for kind, (op, shape, weight, call, gflop), isBeside in products():
            time = self.oneMore(shape, [weight], call, isBeside)
            if not time:
                continue
            put(op, kind, "gflops", 1e6 * gflop / max(time - each, 0.1), each)
        for op, kind, shape, weights, call, moved, chains in traffic():
            if chains:
                time = self.oneMore(shape, weights, call)
                time = time and time - each
            else:
                time = self.microseconds(shape, weights, [call])
                time = time and small and time - small
            if time:
                put(op, kind, "gb_per_s", moved / 1000 / max(time, 0.1), each)
        if not self.o.vendor: # in one loop with others: what it adds to a maximum with a row
            shape, row, base = (1024, 256), (256,), "maximum(%x, %w0)"
            alone = self.microseconds(shape, [row, row], [base])
            for op, call in FUSED.items(): # once: of a chain of them each would wait for the one before
                time = self.microseconds(shape, [row, row], [call % base]) - alone
                put(op, "fused", "gb_per_s", min(1000, 8 * size(shape) / 1000 / max(time, 0.1)), 0)
        general = {unit: ops[op][unit] for op, unit in (("nn.dense", "gflops"), ("add", "gb_per_s")) if op in ops}
        return {"launch_us": round(max(0.01, launch), 2), **general, "ops": dict(sorted(ops.items())), "rows": rows}


def median(costs):
    """Of several of what `cost` gives, number by number."""
    first = costs[0]
    if isinstance(first, dict):
        return {key: median([each[key] for each in costs]) for key in first}
    if isinstance(first, list):
        return [median(list(rows)) for rows in zip(*costs)]
    return sorted(costs)[len(costs) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--vendor", default="")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--cpu", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        cost = median([Bench(options, work).cost() for _ in range(options.times)])
        text = json.dumps({"cpus": {options.cpu: cost}} if options.cpu else cost, indent=2)
        print(re.sub(r"\{\s+([^{}]*?)\s+\}", lambda match: "{" + re.sub(r"\s+", " ", match[1]) + "}", text))


main()
