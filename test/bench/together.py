#!/usr/bin/env python3
"""Compares models compiled for two vendors together with each of them alone.

together.py [--bin build/bin] [--vendors dnnl,xnnpack] [--rounds N] [--seconds S] [--most R] MODEL.onnx ...

Each model is compiled with -O3 for each vendor alone and for all. A round runs each program once, on one
thread, one after the other, with random inputs; times are minima over the rounds, in milliseconds. The
last column is the time of all vendors in proportion to the better one alone. Exit code 1: with --most
that is greater for a model. Run it alone.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile


def compiled(options, model, vendors, program):
    """What the compiler says, or None where it does not take the model."""
    done = subprocess.run([os.path.join(options.bin, "bycc"), model, "-O3", "-q", "--annotate=" + vendors, "-o", program + ".o"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"{model}: {vendors}: {done.stderr.strip()}", file=sys.stderr)
    return done.returncode == 0


def milliseconds(options, program):
    done = subprocess.run([os.path.join(options.bin, "bycc-run"), program + ".json", "--random", "--bench", "-q", "--threads", "1",
                           "--seconds", str(options.seconds), "--json", "-"],
                          env=dict(os.environ, OMP_NUM_THREADS="1"), check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["min_ms"]


def measured(options, model, ways, work):
    """Minimum of each way; None where one does not compile or run."""
    programs = {way: os.path.join(work, way.replace(",", "_")) for way in ways}
    if not all([compiled(options, model, way, program) for way, program in programs.items()]):
        return None
    try:
        rounds = [{way: milliseconds(options, program) for way, program in programs.items()} for _ in range(options.rounds)]
    except subprocess.CalledProcessError: # bycc-run has said why
        print(f"{model}: does not run with random inputs", file=sys.stderr)
        return None
    return {way: min(each[way] for each in rounds) for way in ways}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--vendors", default="dnnl,xnnpack")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--most", type=float)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    options = parser.parse_args()
    alone = options.vendors.split(",")
    ways = alone + [options.vendors]
    print("| model | " + " | ".join(ways) + " | in proportion to the better |")
    print("|---" * (len(ways) + 2) + "|")
    isWorse = False
    for model in options.models:
        with tempfile.TemporaryDirectory() as work:
            times = measured(options, model, ways, work)
        if times is None:
            isWorse = True
            continue
        ratio = times[options.vendors] / min(times[way] for way in alone)
        isWorse |= options.most is not None and ratio > options.most
        name = os.path.splitext(os.path.basename(model))[0]
        print(f"| {name} | " + " | ".join(f"{times[way]:.4g}" for way in ways) + f" | {ratio:.3f} |", flush=True)
    return isWorse


if __name__ == "__main__":
    sys.exit(main())
