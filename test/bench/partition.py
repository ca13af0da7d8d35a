#!/usr/bin/env python3
"""Table of what partitioning costs on generated graphs (make_graph.py): seconds of
each step, time per operator, its ratio to that of the smallest graph, memory.

Minima over rounds. Give it a core of its own: other work makes large graphs, which
miss the caches most, slower than small ones.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = ["parse", "composite", "annotate", "choose", "partition", "print"]


def measure(tool, options, vendors, path, rounds):
    """The fields of the fastest of `rounds` runs, each a process of its own."""
    best = None
    for _ in range(rounds):
        words = subprocess.run([tool] + options + [str(vendors), path], check=True,
                               capture_output=True, text=True).stdout.split()
        run = {key: float(value) for key, value in zip(words[::2], words[1::2])}
        if best is None or run["total"] < best["total"]:
            best = run
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default="build/test/partition_scale")
    parser.add_argument("--counts", type=int, nargs="+", default=[10000, 100000, 1000000])
    parser.add_argument("--shapes", nargs="+", default=["chain", "ladder", "random", "transformer"])
    parser.add_argument("--vendors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--costs", action="store_true", help="look for the plan of least time")
    args = parser.parse_args()
    options = ["--costs"] if args.costs else []
    print("| graph | ops | vendors | regions | " + " | ".join(STEPS) +
          " | total s | µs per op | ratio | peak MB |")
    print("|---|" + "---|" * (len(STEPS) + 7))
    with tempfile.TemporaryDirectory() as folder:
        for shape in args.shapes:
            small = {}
            for count in args.counts:
                path = os.path.join(folder, "graph.relay")
                with open(path, "w") as out:
                    subprocess.run([sys.executable, os.path.join(HERE, "make_graph.py"), shape,
                                    str(count)], check=True, stdout=out)
                for vendors in args.vendors:
                    # Small graphs take milliseconds: more rounds cost nothing.
                    rounds = args.rounds * (4 if count <= 10000 else 1)
                    run = measure(args.tool, options, vendors, path, rounds)
                    each = run["total"] / count * 1e6
                    ratio = each / small.setdefault(vendors, each)
                    cells = [shape, count, vendors, int(run["regions"])]
                    cells += ["%.3f" % run[step] for step in STEPS]
                    cells += ["%.2f" % run["total"], "%.2f" % each, "%.2f" % ratio,
                              int(run["peak_mb"])]
                    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
