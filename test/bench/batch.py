#!/usr/bin/env python3
"""bycc-run --batch: results per second of one process and of several that share a folder, one thread each.

batch.py MODEL INPUTS [--bin build/bin] [--work DIR] [--files 64] [--processes 2] [--rounds 5] [-- options of bycc]

INPUTS holds NAME.npy for each input; all files of the batch are these. Medians over rounds that take turns;
a process' load is part of its time. Needs NumPy and a machine with nothing else to do."""
import argparse
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy


def seconds(options, processes):
    results = os.path.join(options.work, "results")
    shutil.rmtree(results, ignore_errors=True)
    command = [os.path.join(options.bin, "bycc-run"), os.path.join(options.work, "net.json"), "--batch",
               os.path.join(options.work, "files"), "--outputs", results, "--threads", "1", "-q"]
    begin = time.perf_counter()
    running = [subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}) for _ in range(processes)]
    if any([process.wait() for process in running]) or len(os.listdir(results)) != options.files:
        sys.exit("a batch failed")
    return time.perf_counter() - begin


def main():
    arguments, compile_options = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, compile_options = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--work", default="/tmp/bycc-batch")
    for name, value in (("files", 64), ("processes", 2), ("rounds", 5)):
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args(arguments)
    shutil.rmtree(options.work, ignore_errors=True)
    os.makedirs(os.path.join(options.work, "files"))
    subprocess.run([os.path.join(options.bin, "bycc"), options.model, "-o", os.path.join(options.work, "net.o"),
                    *compile_options], check=True)
    tensors = {os.path.basename(file)[:-len(".npy")]: numpy.load(file)
               for file in glob.glob(os.path.join(options.inputs, "*.npy"))}
    for i in range(options.files):
        numpy.savez(os.path.join(options.work, "files", f"{i:05}.npz"), **tensors)
    times = {1: [], options.processes: []}
    for _ in range(options.rounds):
        for processes, taken in times.items():
            taken.append(seconds(options, processes))
    print(f"{'processes':>9} {'results/s':>10} {'ratio':>6}")
    one = statistics.median(times[1])
    for processes, taken in times.items():
        median = statistics.median(taken)
        print(f"{processes:9} {options.files / median:10.2f} {one / median:6.3f}")


if __name__ == "__main__":
    main()
