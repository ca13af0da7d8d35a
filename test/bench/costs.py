#!/usr/bin/env python3
"""Measures what operators cost on this machine, and prints the `cost` object of a vendor file.

costs.py [--bin build/bin] [--vendor dnnl]

Without --vendor it measures host code, one operator at a time (as -O0 compiles them): the cost of
patterns/host.json. With --vendor every operator is a region of its own: the cost of
patterns/<vendor>.json. Minimum of many runs; some ten seconds. The launch comes from a chain of
small operators with all threads at hand. Rates are those of one thread, from larger operators with
the time of a small one taken off.
A rate is arithmetic (gflops) for convolutions and products, memory traffic (gb_per_s) for others.
Rows give it for classes of calls that are much faster or slower than the operator in general.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

SMALL = "Tensor[(8), float32]"


def tensor(*shape):
    return "Tensor[(%s), float32]" % ", ".join(map(str, shape))


def size(*shape):
    count = 4
    for extent in shape:
        count *= extent
    return count


def arithmetic_cases():
    image, kernel = (1, 64, 28, 28), (64, 64, 3, 3)
    yield ("nn.conv2d", [image], [kernel], "nn.conv2d(%a, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3])",
           2 * 64 * 28 * 28 * 64 * 9)
    yield ("nn.conv2d_transpose", [image], [kernel],
           "nn.conv2d_transpose(%a, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3])", 2 * 64 * 28 * 28 * 64 * 9)
    yield ("nn.conv1d", [(1, 64, 512)], [(64, 64, 3)],
           "nn.conv1d(%a, %w, padding=[1, 1], channels=64, kernel_size=[3])", 2 * 64 * 512 * 64 * 3)
    yield ("nn.dense", [(64, 512)], [(512, 512)], "nn.dense(%a, %w, units=512)", 2 * 64 * 512 * 512)
    yield ("nn.batch_matmul", [(8, 64, 128), (8, 128, 64)], [], "nn.batch_matmul(%a, %b)", 2 * 8 * 64 * 64 * 128)


def traffic_cases():
    flat, image = (1024, 256), (1, 64, 64, 64)
    for op in ("nn.relu", "abs", "exp", "tanh", "sigmoid", "erf", "sqrt", "log", "round"):
        yield op, [flat], op + "(%a)", 2 * size(*flat)
    yield "clip", [flat], "clip(%a, a_min=0f, a_max=6f)", 2 * size(*flat)
    for op in ("add", "multiply", "subtract", "divide", "maximum"):
        yield op, [flat, flat], op + "(%a, %b)", 3 * size(*flat)
    yield "nn.softmax", [flat], "nn.softmax(%a)", 2 * size(*flat)
    yield "nn.layer_norm", [flat, (256,), (256,)], "nn.layer_norm(%a, %b, %c)", 2 * size(*flat)
    yield "mean", [flat], "mean(%a, axis=[1])", size(*flat)
    yield "transpose", [flat], "transpose(%a, axes=[1, 0])", 2 * size(*flat)
    yield "concatenate", [flat, flat], "concatenate((%a, %b), axis=1)", 4 * size(*flat)
    pool = "pool_size=[2, 2], strides=[2, 2])"
    yield "nn.max_pool2d", [image], "nn.max_pool2d(%a, " + pool, size(*image) * 5 // 4
    yield "nn.avg_pool2d", [image], "nn.avg_pool2d(%a, " + pool, size(*image) * 5 // 4
    yield "nn.global_avg_pool2d", [image], "nn.global_avg_pool2d(%a)", size(*image)


def row_cases():
    """Operator, class, unit of the rate, shapes, weights, call, FLOPs or bytes."""
    image, data = (1, 64, 28, 28), (1024, 256)
    depthwise = "nn.conv2d(%a, %w, padding=[1, 1, 1, 1], groups=64, channels=64, kernel_size=[3, 3])"
    yield "nn.conv2d", "depthwise", "gflops", [image], [(64, 1, 3, 3)], depthwise, 2 * 64 * 28 * 28 * 9
    yield ("nn.conv2d", "pointwise", "gflops", [image], [(64, 64, 1, 1)],
           "nn.conv2d(%a, %w, channels=64, kernel_size=[1, 1])", 2 * 64 * 28 * 28 * 64)
    yield ("nn.conv2d", "channels<8", "gflops", [(1, 3, 112, 112)], [(64, 3, 3, 3)],
           "nn.conv2d(%a, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3])", 2 * 64 * 112 * 112 * 27)
    yield ("nn.dense", "rows<8", "gflops", [(1, 512)], [(512, 512)], "nn.dense(%a, %w, units=512)", 2 * 512 * 512)
    yield "nn.softmax", "axis!=-1", "gb_per_s", [data], [], "nn.softmax(%a, axis=0)", 2 * size(*data)
    yield "mean", "axis!=-1", "gb_per_s", [data], [], "mean(%a, axis=[0])", size(*data)


class Bench:
    def __init__(self, options, work):
        self.o, self.work = options, work
        self.env = dict(os.environ, OMP_NUM_THREADS="1")

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def compile(self, program):
        """Path of the compiled model, or None when the vendor does not take every operator."""
        relay = self.write("net.relay", '#[version = "0.0.5"]\n' + program)
        command = [os.path.join(self.o.bin, "bycc"), relay, "-O0", "-q", "-o", os.path.join(self.work, "net.o")]
        if self.o.vendor:
            rules = self.write("rules.json", json.dumps(
                {"vendors": [{"name": self.o.vendor, "builtin": True}], "merge_regions": False}))
            command += ["--rules=" + rules, "--strict", "--min-offload=100%ops"]
        done = subprocess.run(command, env=self.env, stderr=subprocess.PIPE)
        if done.returncode == 3:
            return None
        if done.returncode:
            raise SystemExit(done.stderr.decode())
        return os.path.join(self.work, "net.json")

    def microseconds(self, program, threads=1):
        model = self.compile(program)
        if not model:
            return None
        text = subprocess.run([os.path.join(self.o.bin, "bycc-run"), model, "--random", "--bench", "-q", "--threads", str(threads), "--warmup", "20",
                               "--seconds", "0.15", "--json", "-"], env=self.env, check=True,
                              stdout=subprocess.PIPE).stdout
        return 1000 * json.loads(text)["min_ms"]

    def call(self, shapes, weights, call):
        names = ["%" + chr(ord("a") + i) for i in range(len(shapes))] + ["%w"] * len(weights)
        params = ", ".join(n + ": " + tensor(*s) for n, s in zip(names, shapes + weights))
        return self.microseconds("def @main(%s) { %s }\n" % (params, call))

    def chain(self, operators, threads):
        lines = ["%0 = nn.relu(%a);"]
        for i in range(operators - 1):
            lines.append("%%%d = %s(%%%d);" % (i + 1, ("abs", "nn.relu")[i % 2], i))
        return self.microseconds("def @main(%%a: %s) { %s %%%d }\n" % (SMALL, " ".join(lines), operators - 1),
                                 threads)

    def cost(self):
        empty, all = self.chain(1, 1), len(os.sched_getaffinity(0))
        launch = max(0.01, (self.chain(33, all) - self.chain(1, all)) / 32)
        ops = {}
        for op, shapes, weights, call, flops in arithmetic_cases():
            time = self.call(shapes, weights, call)
            if time:
                ops[op] = {"gflops": round(flops / 1000 / max(time - empty, 0.1), 1)}
        for op, shapes, call, moved in traffic_cases():
            time = self.call(shapes, [], call)
            if time:
                ops[op] = {"gb_per_s": round(moved / 1000 / max(time - empty, 0.1), 2)}
        rows = []
        for op, kind, unit, shapes, weights, call, amount in row_cases():
            time = self.call(shapes, weights, call)
            if time:
                rows.append({"op": op, "class": kind, unit: round(amount / 1000 / max(time - empty, 0.1), 1)})
        return {"launch_us": round(launch, 2), "gflops": ops["nn.conv2d"]["gflops"], "gb_per_s": ops["add"]["gb_per_s"],
                "ops": dict(sorted(ops.items())), "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--vendor", default="")
    with tempfile.TemporaryDirectory() as work:
        text = json.dumps(Bench(parser.parse_args(), work).cost(), indent=2)
        print(re.sub(r"\{\s+([^{}]*?)\s+\}", lambda match: "{" + re.sub(r"\s+", " ", match[1]) + "}", text))


main()
