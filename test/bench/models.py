#!/usr/bin/env python3
"""Compares compiled models with ONNX Runtime, OpenVINO and the bare primitives, run by run.

models.py --models DIR --shared DIR --work DIR [--bin build/bin] [--into FILE.md] [options] [NAME ...]

--models holds NAME.onnx (make_models.py writes them), --shared the folder with bench/{make_inputs.py,
ort_run.js, compare.py}; NODE_PATH must find onnxruntime-node; Python needs numpy and onnx, and for the
columns of OpenVINO the package openvino. What is missing leaves a gap and a line that says so.

A round runs each system once, as a process of its own, with a fixed product of matrices before and
after: a round in which that took more than --drift longer than the best seen is void and is repeated
(at most as many again). Times are the minimum over the valid rounds, and the lower quartile of the rounds' medians;
the spread is that of the rounds' minima. Outputs are compared with ONNX Runtime's first: float32
at rtol 1e-3 and atol 1e-4, others by cosine similarity, at least 0.999. --into replaces what FILE has between
the markers `models: begin` and `models: end`. Some 12 minutes for everything; run it alone.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

import report
from systems import OnnxRuntime, Setup, Unavailable, control, run, systems

FLOAT_MODELS = ["mlp", "squeezenet1_1", "mobilenet_v2", "resnet50", "resnet50_bn", "resnet50_b16", "bert_tiny",
                "bert_base"]
INT8_MODELS = ["mobilenet_v2_int8", "resnet50_int8", "bert_base_int8"]


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, options):
        self.o, self.setup = options, Setup(options)
        wanted = [w.strip().lower() for w in options.systems.split(",") if w.strip()]
        self.systems = {n: s for n, s in systems(self.setup).items()
                        if (any(n.lower().startswith(w) for w in wanted) if wanted else not n.startswith("host"))}
        self.best_control = {}
        self.results = {"rounds": options.rounds, "models": {}, "gaps": [], "agrees": {}, "notes": {}, "cold": {}}

    def gap(self, model, system, reason):
        """Says once per system and reason that something is missing."""
        if [system, str(reason)] not in [g[1:] for g in self.results["gaps"]]:
            say(f"{model}: no {system}: {reason}")
            self.results["gaps"].append([model, system, str(reason)])

    def ready(self, model, threads):
        """Systems that take the model, prepared."""
        found = []
        for system in self.systems.values():
            if system.name.endswith("int8") != model.endswith("_int8"):
                continue
            try:
                system.prepare(model, threads)
                found.append(system)
                if model in system.note:
                    self.results["notes"].setdefault(model, {})[system.name] = system.note[model]
            except Unavailable as reason:
                self.gap(model, system.name, reason)
        return found

    def reference(self, model):
        """A folder with ONNX Runtime's outputs; None when it cannot be run."""
        folder = self.setup.path(model, "want")
        try:
            if not os.path.isdir(folder):
                run(OnnxRuntime(self.setup, "ORT").command(model, 1, 1, 0, folder))
            return folder
        except Unavailable as reason:
            self.gap(model, "comparison of outputs", reason)
            return None

    def agreement(self, model, system, reference):
        """Compares one run's outputs with ONNX Runtime's."""
        got = self.setup.path(model, "got-" + system.name.replace(" ", "-"))
        run(system.command(model, 1, 1, 0, got))
        is_float = system.name.endswith("f32")
        limits = ["--rtol", "1e-3", "--atol", "1e-4"] if is_float else ["--cosine", "0.999"]
        done = subprocess.run([sys.executable, os.path.join(self.setup.shared, "bench/compare.py"),
                               reference, got] + limits, stdout=subprocess.PIPE)
        text = done.stdout.decode().strip()
        cosines = [float(line.rsplit("cosine", 1)[1]) for line in text.splitlines() if "cosine" in line]
        if done.returncode != 0:
            say(f"{model} {system.name} differs:\n{text}")
        return {"agrees": done.returncode == 0, "cosine": min(cosines, default=None)}

    def check(self, model, found):
        self.results["agrees"][model] = {}
        reference = self.reference(model)
        for system in list(found):
            if not system.has_outputs or system.name.startswith("ORT"):
                continue
            if reference is None:
                break
            try:
                self.results["agrees"][model][system.name] = self.agreement(model, system, reference)
            except Unavailable as reason:
                self.gap(model, system.name, reason)
                found.remove(system)

    def plan(self, model, threads, found):
        """Runs per round of each system, from a first short run: as many as fit the budget."""
        runs = {}
        for system in list(found):
            try:
                ms = run(system.command(model, threads, 1, 0), self.setup.prefix).json()["min_ms"]
                runs[system.name] = max(1, min(400, int(self.o.budget / max(ms, 1e-3))))
            except Unavailable as reason:
                self.gap(model, system.name, reason)
                found.remove(system)
        return runs

    def control(self, threads):
        ms = control(self.setup, threads)
        self.best_control[threads] = min(ms, self.best_control.get(threads, math.inf))
        return ms

    def round(self, model, threads, found, runs):
        result = {"control": [self.control(threads)], "times": {}}
        for system in found:
            n = runs[system.name]
            done = run(system.command(model, threads, n, min(2, n - 1)), self.setup.prefix)
            times = done.json()
            result["times"][system.name] = {"min": times["min_ms"], "median": times["median_ms"], "peak": done.peak_mb}
        result["control"].append(self.control(threads))
        return result

    def is_valid(self, one, threads):
        return max(one["control"]) <= (1 + self.o.drift) * self.best_control[threads]

    def rounds(self, model, threads, found):
        runs, done = self.plan(model, threads, found), []
        while len(done) < 2 * self.o.rounds and sum(self.is_valid(r, threads) for r in done) < self.o.rounds:
            try:
                done.append(self.round(model, threads, found, runs))
            except Unavailable as reason:
                say(f"{model}, {threads} threads: a round failed: {reason}")
                done.append({"control": [math.inf], "times": {}})
        return done

    def summary(self, done, threads):
        valid = [r for r in done if self.is_valid(r, threads)]
        used = valid or [r for r in done if r["times"]]
        out = {"valid": len(valid), "void": len(done) - len(valid), "systems": {}}
        for name in used[0]["times"] if used else []:
            minima = [r["times"][name]["min"] for r in used]
            medians = sorted(r["times"][name]["median"] for r in used)
            out["systems"][name] = {"min": min(minima), "p25": medians[len(medians) // 4],
                                    "spread": max(minima) / min(minima) - 1,
                                    "peak": max(r["times"][name]["peak"] for r in used)}
        return out

    def cold(self, model, threads, found):
        """Wall time of a whole process to its first output, files warm: the minimum of a few."""
        out = {}
        for _ in range(self.o.cold):
            for system in found:
                if not hasattr(system, "cold"):
                    continue
                args = system.cold(model, threads, self.setup.path(model, "cold", "x")[:-2])
                done = run(args, self.setup.prefix)
                best = out.setdefault(system.name, {"ms": math.inf, "peak": math.inf})
                best["ms"], best["peak"] = min(best["ms"], done.seconds * 1000), min(best["peak"], done.peak_mb)
        return out

    def measure(self, model):
        results, start = {}, time.monotonic()
        for threads in self.o.threads:
            found = self.ready(model, threads)
            if threads == self.o.threads[0]:
                self.check(model, found)
            results[str(threads)] = self.rounds(model, threads, found)
        if self.o.cold:
            self.results["cold"][model] = self.cold(model, max(self.o.threads), found)
        say(f"{model}: {time.monotonic() - start:.0f} s")
        return results

    def run(self, names):
        raw = {}
        for model in names:
            try:
                raw[model] = self.measure(model)
            except Unavailable as reason:
                self.gap(model, "measurement", reason)
            self.save(raw, "rounds.json")
        # Which rounds are void is known only when the best control is.
        for model, by_threads in raw.items():
            self.results["models"][model] = {t: self.summary(done, int(t)) for t, done in by_threads.items()}
        self.results["control_ms"] = {str(t): self.best_control[t] for t in self.o.threads if t in self.best_control}
        self.save(self.results, "results.json")
        return self.results

    def save(self, what, name):
        with open(self.setup.path(name), "w") as file:
            json.dump(what, file, indent=1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, value in (("--models", None), ("--shared", None), ("--work", None), ("--bin", "build/bin")):
        parser.add_argument(flag, default=value, required=value is None)
    parser.add_argument("--before", help="programs of another build of this project, to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2])
    parser.add_argument("--systems", default="",
                        help="only those whose names begin so: bycc,before,ort,floor,openvino,host; the default is all but host")
    parser.add_argument("--budget", type=float, default=100, help="ms of runs per system and round")
    parser.add_argument("--drift", type=float, default=0.08, help="how much slower the control may become")
    parser.add_argument("--cold", type=int, default=5, help="processes per cold start; 0: none")
    parser.add_argument("--prefix", default="", help="words before each timed command, e.g. 'chrt -f 10'")
    parser.add_argument("--into", help="file whose part between the markers is replaced")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def main():
    options = parse()
    for folder in ("models", "shared", "work", "bin"):
        setattr(options, folder, os.path.abspath(getattr(options, folder)))
    options.before = options.before and os.path.abspath(options.before)
    start = time.monotonic()
    bench = Bench(options)
    try:
        bench.control(1)
    except Unavailable as reason:
        sys.exit(f"no control, build the target bench-floor: {reason}")
    results = bench.run(options.names or FLOAT_MODELS + INT8_MODELS)
    results["minutes"] = (time.monotonic() - start) / 60
    text = report.markdown(results)
    print(text)
    if options.into:
        report.replace(options.into, text)


if __name__ == "__main__":
    main()
