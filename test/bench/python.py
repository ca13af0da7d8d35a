#!/usr/bin/env python3
"""What the Python package costs beside the command line and the C API.

    python.py MODEL.onnx [--annotate=dnnl] [--runs=100000] [--loads=10000]

Run it with a python that has the package. MODEL is small for the overhead of calls (mlp of
test/bench), large for that of compilations (resnet50); without the figures that are not asked
for it takes seconds. Prints one line a figure: the best of several tries.
"""

import argparse
import gc
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import bycc


def best(work, tries=10):
    times = []
    for _ in range(tries):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def python(code):
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def program(name, *arguments):
    folder = os.path.join(os.path.dirname(bycc.__file__), "bin")
    return subprocess.run([os.path.join(folder, name), *arguments], check=True, capture_output=True, text=True).stdout


def resident_kib():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def growth(work, count):
    for _ in range(count // 10):
        work()
    before = resident_kib()
    for _ in range(count):
        work()
    return resident_kib() - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--annotate", default="dnnl")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--loads", type=int, default=0)
    options = parser.parse_args()

    print(f"import      {1e3 * (best(lambda: python('import bycc')) - best(lambda: python(''))):8.1f} ms")
    folder = tempfile.mkdtemp()
    out = os.path.join(folder, "net.o")
    command = best(lambda: program("bycc", options.model, f"--annotate={options.annotate}", "-q", "-o", out), 5)
    inside = best(lambda: bycc.compile(options.model, annotate=options.annotate), 5)
    print(f"compile     {1e3 * inside:8.1f} ms, the command {1e3 * command:.1f} ms")

    path = out[:-2] + ".json"
    m = bycc.load(path, threads=1)
    rng = np.random.default_rng(0)
    arrays = [rng.random([n if isinstance(n, int) else 1 for n in s.shape]).astype(s.dtype) for s in m.inputs]
    count = max(20, int(1 / best(lambda: m(*arrays))))
    times = sorted(best(lambda: m(*arrays), 1) for _ in range(count))
    bench = program("bycc-run", path, "--random", "--bench", "--threads", "1", "--runs", str(count), "--json", "-")
    least, median = (1e3 * float(re.search(rf'"{name}": ([0-9.]+)', bench)[1]) for name in ("min_ms", "median_ms"))
    print(
        f"call        {1e6 * times[0]:8.2f} us at least, {1e6 * times[count // 2]:.2f} us median; "
        f"the C API {least:.2f} us, {median:.2f} us"
    )
    if options.runs:
        print(f"runs        {growth(lambda: m(*arrays), options.runs):8d} KiB more after {options.runs}")
    if options.loads:
        print(f"loads       {growth(lambda: bycc.load(path, threads=1)(*arrays), options.loads):8d} KiB more after {options.loads}")


if __name__ == "__main__":
    main()
