#!/usr/bin/env python3
"""Threads beside other work: what a run takes alone, beside busy processes, and beside another one of its kind.

busy.py --models DIR [MODEL...] [--bin build/bin] [--before OTHER/bin] [--work DIR] [--seconds 20] [--windows 5]
        [--rounds 5] [--burners 2] [--busy-model mobilenet_v2] [--busy-threads 2] [--parts idle,busy,two]

Compiles DIR/MODEL.onnx with each build. With --before there are three systems: the other build as it is, the
other build with OpenMP told to turn 2,000 times before it sleeps (GOMP_SPINCOUNT), and this one. They take
turns, in each round or window in another order.

  idle  minimum over the rounds of each model with 1 and 2 threads, as the builds are; needs a machine with
        nothing else to do
  busy  beside --burners processes that only count: median and 99th percentile of each window
  two   two processes at once: runs per second of both together, and of one alone
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

MODELS = ["mlp", "squeezenet1_1", "mobilenet_v2", "resnet50", "bert_tiny", "bert_base"]


@dataclass
class System:
    name: str
    bin: str
    folder: str
    settings: dict = field(default_factory=dict)

    def prepare(self, options, model):
        os.makedirs(self.folder, exist_ok=True)
        target = os.path.join(self.folder, model + ".o")
        source = os.path.join(options.models, model + ".onnx")
        if not os.path.exists(target):
            subprocess.run([os.path.join(self.bin, "bycc"), source, "-O3", "--annotate=dnnl", "-q", "-o", target],
                           check=True)

    def start(self, model, threads, seconds):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
        command = [os.path.join(self.bin, "bycc-run"), os.path.join(self.folder, model + ".json"), "--random",
                   "--threads", str(threads), "--bench", "--seconds", str(seconds), "--json", "-"]
        return subprocess.Popen(command, env=environment | self.settings, stdout=subprocess.PIPE, text=True)

    def time(self, model, threads, seconds):
        return finished(self.start(model, threads, seconds))


def finished(child):
    text = child.communicate()[0]
    if child.returncode:
        sys.exit(f"{child.args[0]}: status {child.returncode}")
    return json.loads(text[text.find("{"):])


def in_turn(systems, turn):
    return systems[turn % len(systems):] + systems[:turn % len(systems)]


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def idle(options, systems):
    systems = [s for s in systems if not s.settings]
    rows = []
    for model in options.names:
        for threads in (1, 2):
            least = {s.name: float("inf") for s in systems}
            for turn in range(options.rounds):
                for system in in_turn(systems, turn):
                    least[system.name] = min(least[system.name], system.time(model, threads, 1)["min_ms"])
            row = [model, str(threads)] + [f"{least[s.name]:.4f}" for s in systems]
            rows.append(row + ([f"{least[systems[-1].name] / least[systems[0].name]:.3f}"] if options.before else []))
    print(f"Alone: minimum of {options.rounds} rounds, ms\n")
    table(["model", "threads"] + [s.name for s in systems] + (["now / before"] if options.before else []), rows)


def busy(options, systems):
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.burners)]
    try:
        time.sleep(1)
        windows = {s.name: [] for s in systems}
        for turn in range(options.windows):
            for system in in_turn(systems, turn):
                windows[system.name].append(system.time(options.busy_model, options.busy_threads, options.seconds))
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    print(f"{options.busy_model}, {options.busy_threads} threads, beside {options.burners} busy processes: "
          f"{options.windows} windows of {options.seconds:g} s, ms\n")
    rows = []
    for system in systems:
        for title, key in (("median", "median_ms"), ("p99", "p99_ms")):
            values = [w[key] for w in windows[system.name]]
            rows.append([system.name, title] + [f"{v:.2f}" for v in values] + [f"{statistics.median(values):.2f}"])
    table(["", ""] + [f"window {i + 1}" for i in range(options.windows)] + ["median of windows"], rows)


def two(options, systems):
    rows = []
    for system in systems:
        alone, both = [], []
        for _ in range(options.windows):
            alone.append(1000 / system.time(options.busy_model, options.busy_threads, options.seconds)["mean_ms"])
            pair = [system.start(options.busy_model, options.busy_threads, options.seconds) for _ in range(2)]
            both.append(sum(1000 / finished(child)["mean_ms"] for child in pair))
        one, sum_of_two = statistics.median(alone), statistics.median(both)
        rows.append([system.name, f"{one:.1f}", f"{sum_of_two:.1f}", f"{sum_of_two / one:.3f}"])
    print(f"{options.busy_model}, {options.busy_threads} threads, two processes at once: runs per second, "
          f"median of {options.windows} windows of {options.seconds:g} s\n")
    table(["", "one alone", "both together", "both / one"], rows)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MODEL", default=[])
    parser.add_argument("--models", required=True)
    parser.add_argument("--bin", default=os.path.join(here, "../../build/bin"))
    parser.add_argument("--before")
    parser.add_argument("--work", default="busy-work")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--burners", type=int, default=2)
    parser.add_argument("--busy-model", default="mobilenet_v2")
    parser.add_argument("--busy-threads", type=int, default=2)
    parser.add_argument("--parts", default="idle,busy,two")
    options = parser.parse_args()
    options.names = options.names or [m for m in MODELS if os.path.exists(f"{options.models}/{m}.onnx")]
    systems = [System("now", options.bin, os.path.join(options.work, "now"))]
    if options.before:
        folder = os.path.join(options.work, "before")
        systems = [System("before", options.before, folder),
                   System("before, 2,000 turns", options.before, folder, {"GOMP_SPINCOUNT": "2000"})] + systems
    parts = [globals()[part] for part in options.parts.split(",") if part in ("idle", "busy", "two")]
    for system in systems:
        for model in set(options.names if idle in parts else []) | {options.busy_model}:
            system.prepare(options, model)
    for part in parts:
        part(options, systems)


if __name__ == "__main__":
    main()
