#!/usr/bin/env python3
"""Where the library itself is behind ONNX Runtime: its bare primitives against ONNX Runtime's operators.

operators.py MODEL.onnx --inputs DIR [--bin build/bin] [--threads N] [--rounds 3] [--above 1.1]

Profiles the model with the Python package onnxruntime and runs bench-floor, in turn; joins both by the
tensor that an operator writes. Prints minima in us summed by kind, then each operator on which the
primitive takes more than --above times as long. ONNX Runtime's profile has whole microseconds.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

KINDS = {"conv": ("Conv",), "matmul": ("MatMul", "Gemm", "FusedMatMul", "FusedGemm"), "concat": ("Concat",),
         "pool": ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"), "softmax": ("Softmax",),
         "binary": ("Add", "Sub", "Mul", "Div"), "layer_norm": ("LayerNormalization", "SkipLayerNormalization")}
HERE = os.path.dirname(os.path.abspath(__file__))


def written_tensors(path):
    """By the name that ONNX Runtime gives a node: the tensor it writes."""
    nodes = onnx.load(path, load_external_data=False).graph.node
    return {n.name or f"{n.op_type}_{i}": n.output[0] for i, n in enumerate(nodes)}


def profile(options, tensors):
    """us by written tensor, with the operator's type."""
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    session_options.enable_profiling = True
    session_options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        session_options.profile_file_prefix = os.path.join(folder, "profile")
        session = onnxruntime.InferenceSession(options.model, session_options, providers=["CPUExecutionProvider"])
        feeds = {i.name: np.load(os.path.join(options.inputs, i.name.replace("/", "_") + ".npy"))
                 for i in session.get_inputs()}
        for _ in range(options.runs):
            session.run(None, feeds)
        with open(session.end_profiling()) as file:
            events = json.load(file)
    best = {}
    for event in events:
        if event["cat"] != "Node" or not event["name"].endswith("_kernel_time"):
            continue
        name = re.sub(r"(_nchwc)?_kernel_time$", "", event["name"])
        key = tensors.get(name, name)
        kind, us = event["args"]["op_name"], event["dur"]
        best[key] = (kind, min(us, best.get(key, (kind, us))[1]))
    return best


def primitives(options, layers, ort):
    """us by the name that ONNX Runtime's node has: the tensor written last, or with a sum, first."""
    args = [os.path.join(options.bin, "bench-floor"), layers, "--layers", "--threads", str(options.threads),
            "--runs", str(options.runs), "--forms", layers + ".forms"]
    done = subprocess.run(args, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    times = [float(line.split()[0]) * 1000 for line in done.stderr.decode().splitlines() if " ms " in line]
    lines = open(layers).read().splitlines()
    result = {}
    for line, us in zip(lines, times):
        last, first = (re.search(rf" {key}=([^:@ ]+)", line).group(1) for key in ("dst", "name"))
        kinds = KINDS.get(line.split()[0], ())
        result[next((k for k in (last, first) if k in ort and ort[k][0] in kinds), "primitive " + first)] = (line, us)
    return result


def merge(best, new):
    for key, (what, us) in new.items():
        best[key] = (what, min(us, best.get(key, (what, us))[1]))


def shapes(line):
    return " ".join(re.search(rf" {key}\S*=[^: ]+:\w+:(\S+)", line).group(1)
                    for key in ("src", "weights", "dst") if f" {key}" in line)


def report(ort, floor, above):
    kinds = {}
    for key in floor.keys() & ort.keys():
        total = kinds.setdefault(ort[key][0], [0, 0, 0])
        total[0] += 1
        total[1] += ort[key][1]
        total[2] += floor[key][1]
    print("| operator | pairs | ORT us | primitives us | primitives / ORT |\n|---|---|---|---|---|")
    for kind, (count, a, b) in sorted(kinds.items(), key=lambda item: -item[1][1]):
        print(f"| {kind} | {count} | {a:.0f} | {b:.0f} | {b / max(a, 1e-9):.2f} |")
    print(f"\nAlone: ORT {sum(us for k, (_, us) in ort.items() if k not in floor):.0f} us, "
          f"primitives {sum(us for k, (_, us) in floor.items() if k not in ort):.0f} us\n")
    for key, (line, us) in floor.items():
        if key in ort and ort[key][1] >= 5 and us > above * ort[key][1]:
            print(f"{ort[key][0]} {shapes(line)}: primitive {us:.0f} us, ORT {ort[key][1]} us ({us / ort[key][1]:.2f}x)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--bin", default="build/bin")
    for flag, value in (("--threads", 1), ("--rounds", 3), ("--runs", 20)):
        parser.add_argument(flag, type=int, default=value)
    parser.add_argument("--above", type=float, default=1.1)
    options = parser.parse_args()
    tensors, ort, floor = written_tensors(options.model), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        layers = os.path.join(folder, "layers.txt")
        with open(layers, "w") as file:
            subprocess.run([sys.executable, os.path.join(HERE, "floor/list_layers.py"), options.model],
                           check=True, stdout=file, stderr=subprocess.DEVNULL)
        for _ in range(options.rounds):
            merge(ort, profile(options, tensors))
            merge(floor, primitives(options, layers, ort))
    report(ort, floor, options.above)


if __name__ == "__main__":
    main()
