#!/usr/bin/env python3
"""Times compiled models against ONNX Runtime and checks their outputs.

models.py --models DIR --shared DIR --work DIR [--bin build/bin] [--rounds 7] [NAME ...]

DIR of --models holds NAME.onnx (shared/models/make_models.py writes them), --shared the folder with
bench/{make_inputs.py,ort_run.js,compare.py}; NODE_PATH must find onnxruntime-node. Compiles each model
host-only and with dnnl at -O3, compares outputs with ONNX Runtime's, then runs bycc-run and ONNX
Runtime in turn, round by round, and prints ratios of minima as a Markdown table. Run it alone.
"""
import argparse
import json
import os
import subprocess
import sys
import time

FLOAT_MODELS = ["mlp", "squeezenet1_1", "mobilenet_v2", "resnet50", "resnet50_bn", "resnet50_b16",
                "bert_tiny", "bert_base"]


def run(args, **kwargs):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE, **kwargs).stdout.decode()


class Bench:
    def __init__(self, options):
        self.o = options

    def path(self, *parts):
        return os.path.join(self.o.work, *parts)

    def tool(self, name):
        return os.path.join(self.o.bin, name)

    def model(self, name):
        return os.path.join(self.o.models, name + ".onnx")

    def inputs(self, name):
        folder = self.path(name, "in")
        if not os.path.isdir(folder):
            run([sys.executable, os.path.join(self.o.shared, "bench/make_inputs.py"), self.model(name), folder])
        return folder

    def ort(self, name, threads, runs, outputs=None):
        args = ["node", os.path.join(self.o.shared, "bench/ort_run.js"), self.model(name), "--inputs",
                self.inputs(name), "--threads", str(threads), "--runs", str(runs)]
        if outputs:
            args += ["--outputs", outputs]
        return json.loads(run(args))

    def compile(self, name, kind):
        folder = self.path(name, kind)
        os.makedirs(folder, exist_ok=True)
        args = [self.tool("bycc"), self.model(name), "-O3", "-o", os.path.join(folder, name + ".o")]
        if kind != "host":
            args.append("--annotate=" + kind)
        start = time.monotonic()
        child = subprocess.Popen(args, stderr=subprocess.PIPE)
        text = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{name} {kind}: bycc failed: {text}")
        last = text.strip().splitlines()[-1] if text.strip() else ""
        return time.monotonic() - start, usage.ru_maxrss / 1024, last

    def bycc(self, name, kind, threads, runs, outputs=None):
        args = [self.tool("bycc-run"), self.path(name, kind, name + ".json"), "--inputs", self.inputs(name),
                "--threads", str(threads), "--bench", "--runs", str(runs), "--json", "-"]
        if outputs:
            args += ["--outputs", outputs]
        return json.loads(run(args))

    def compare(self, name, kind):
        want, got = self.path(name, "want"), self.path(name, "got-" + kind)
        if not os.path.isdir(want):
            self.ort(name, 1, 1, want)
        self.bycc(name, kind, 1, 1, got)
        # Quantised results differ by single units: cosine similarity, instead.
        limits = ["--cosine", "0.999"] if name.endswith("_int8") else ["--rtol", "1e-3", "--atol", "1e-4"]
        result = subprocess.run([sys.executable, os.path.join(self.o.shared, "bench/compare.py"), want, got] + limits,
                                stdout=subprocess.PIPE)
        return result.returncode == 0, result.stdout.decode().strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, value in (("--models", None), ("--shared", None), ("--work", None), ("--bin", "build/bin")):
        parser.add_argument(flag, default=value, required=value is None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--kinds", default="dnnl,host")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bench, kinds = Bench(options), options.kinds.split(",")
    names = options.names or FLOAT_MODELS
    print("| model | kind | compile s | compile MB | agrees | offload |")
    print("|---|---|---|---|---|---|")
    for name in names:
        for kind in kinds:
            seconds, peak, line = bench.compile(name, kind)
            ok, detail = bench.compare(name, kind)
            print(f"| {name} | {kind} | {seconds:.2f} | {peak:.0f} | {'yes' if ok else 'NO'} | {line.split(' | ')[0]} |", flush=True)
            if not ok:
                print(detail, file=sys.stderr)
    print()
    print("| model | threads | ORT ms | " + " | ".join(f"{k} ms | {k} / ORT" for k in kinds) + " |")
    print("|---|---|---|" + "---|---|" * len(kinds))
    for name in names:
        for threads in map(int, options.threads.split(",")):
            first = bench.ort(name, threads, 3)["min_ms"]
            runs = max(3, min(200, int(700 / max(first, 0.01))))
            minima = {"ort": first}
            for _ in range(options.rounds):
                minima["ort"] = min(minima["ort"], bench.ort(name, threads, runs)["min_ms"])
                for kind in kinds:
                    minima[kind] = min(minima.get(kind, 1e30), bench.bycc(name, kind, threads, runs)["min_ms"])
            cells = " | ".join(f"{minima[k]:.3f} | {minima[k] / minima['ort']:.2f}" for k in kinds)
            print(f"| {name} | {threads} | {minima['ort']:.3f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
