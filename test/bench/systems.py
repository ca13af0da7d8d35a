"""What models.py compares: each system prepares a model once and then gives the command of one timed run.

A command prints a line of JSON with min_ms and median_ms. A system that is not there, or that does not
take a model, raises Unavailable with the reason; the table then has a gap and the reason below it.
"""
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))


class Unavailable(Exception):
    pass


@dataclass
class Finished:
    """A child process that ended well."""
    text: str
    errors: str
    seconds: float
    peak_mb: float

    def json(self):
        return json.loads(self.text[self.text.find("{"):])


def environment():
    """Thread counts come from options alone."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_"))}


def run(args, prefix="", timeout=600):
    """Runs a child to its end; Unavailable when it fails or hangs. wait4 tells the peak memory of this
    child alone, so its output goes to files."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        try:
            child = subprocess.Popen(shlex.split(prefix) + args, stdout=out, stderr=err, env=environment())
        except OSError as error:
            raise Unavailable(f"{args[0]}: {error.strerror}")
        guard = threading.Timer(timeout, child.kill)
        guard.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        guard.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    if child.returncode != 0:
        raise Unavailable(f"{os.path.basename(args[0])}: {reason(errors) or f'status {child.returncode}'}")
    return Finished(text, errors, seconds, usage.ru_maxrss / 1024)


def reason(errors):
    """The line of a child's complaint that says most."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return next((line for line in lines if "rror" in line), lines[-1] if lines else "")[:200]


class Setup:
    """Where things are: models, shared scripts, programs, and a folder to work in."""

    def __init__(self, options):
        self.models, self.shared, self.work, self.bin = options.models, options.shared, options.work, options.bin
        self.before = options.before
        self.prefix = options.prefix

    def model(self, name):
        path = os.path.join(self.models, name + ".onnx")
        if not os.path.exists(path):
            raise Unavailable(f"{path} is not there")
        return path

    def path(self, *parts):
        path = os.path.join(self.work, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def inputs(self, name):
        folder = self.path(name, "in")
        if not os.path.isdir(folder):
            run([sys.executable, os.path.join(self.shared, "bench/make_inputs.py"), self.model(name), folder])
        return folder

    def newer(self, path, *sources):
        """Whether `path` was made after its sources."""
        return os.path.exists(path) and all(os.path.getmtime(path) > os.path.getmtime(s) for s in sources)


class System:
    """command() is one timed run: each system runs once and `warmup` times more before what it times."""
    has_outputs = True

    def __init__(self, setup, name):
        self.setup, self.name = setup, name
        self.note = {}  # by model: what preparing it said

    def prepare(self, model, threads):
        pass


class Bycc(System):
    """bycc at -O3, with its dnnl vendor or on the host alone; `bin` holds its programs."""

    def __init__(self, setup, name, flags=("--annotate=dnnl",), bin=None):
        super().__init__(setup, name)
        self.flags, self.bin = list(flags), bin or setup.bin

    def prepare(self, model, threads):
        if model in self.note:
            return
        args = [os.path.join(self.bin, "bycc"), self.setup.model(model), "-O3"]
        done = run(args + self.flags + ["-o", self.setup.path(model, self.name, model + ".o")])
        lines = done.errors.strip().splitlines()
        offload = lines[-1].split(" | ")[0] if lines else ""
        self.note[model] = f"{done.seconds:.2f} s, {done.peak_mb:.0f} MB | {offload}"

    def command(self, model, threads, runs, warmup, outputs=None):
        args = self.cold(model, threads, outputs)
        return args + ["--bench", "--runs", str(runs), "--warmup", str(1 + warmup), "--json", "-"]

    def cold(self, model, threads, outputs=None):
        args = [os.path.join(self.bin, "bycc-run"), self.setup.path(model, self.name, model + ".json"),
                "--inputs", self.setup.inputs(model), "--threads", str(threads)]
        return args + (["--outputs", outputs] if outputs else [])


class OnnxRuntime(System):
    def prepare(self, model, threads):
        run(["node", "-e", "require('onnxruntime-node')"])

    def command(self, model, threads, runs, warmup, outputs=None):
        args = ["node", os.path.join(self.setup.shared, "bench/ort_run.js"), self.setup.model(model), "--inputs",
                self.setup.inputs(model), "--threads", str(threads), "--runs", str(runs), "--warmup", str(warmup)]
        return args + (["--outputs", outputs] if outputs else [])

    def cold(self, model, threads, outputs=None):
        return self.command(model, threads, 0, 0, outputs)  # it runs once before the first that it times


class OpenVino(System):
    def __init__(self, setup, name, precision=None):
        super().__init__(setup, name)
        self.precision = precision

    def prepare(self, model, threads):
        if importlib.util.find_spec("openvino") is None:
            raise Unavailable("no Python package openvino")

    def command(self, model, threads, runs, warmup, outputs=None):
        args = [sys.executable, os.path.join(HERE, "openvino_run.py"), self.setup.model(model), "--inputs",
                self.setup.inputs(model), "--threads", str(threads), "--runs", str(runs), "--warmup", str(warmup),
                "--cache", self.setup.path("openvino-cache", "x")[:-2]]
        args += ["--precision", self.precision] if self.precision else []
        return args + (["--outputs", outputs] if outputs else [])


class Floor(System):
    """The bare primitives. Products of one operand merged or apart: the faster list is kept."""
    has_outputs = False

    def __init__(self, setup, name, type_="f32"):
        super().__init__(setup, name)
        self.type, self.lists = type_, {}

    def prepare(self, model, threads):
        if (model, threads) in self.lists:
            return
        candidates = []
        for flags in ([], ["--split-products"]):
            path = self.list_layers(model, flags)
            if path and (not candidates or open(path).read() != open(candidates[0]).read()):
                candidates.append(path)
        for path in candidates:  # measured anew each time: a choice made on a busy machine would last
            if os.path.exists(self.forms(path, threads)):
                os.remove(self.forms(path, threads))
        times = [run(self.measure(path, threads, 3, 2), self.setup.prefix).json()["min_ms"] for path in candidates]
        self.lists[model, threads] = candidates[times.index(min(times))]

    def list_layers(self, model, flags):
        path = self.setup.path(model, "layers" + "".join(flags) + ".txt")
        script = os.path.join(HERE, "floor/list_layers.py")
        if not self.setup.newer(path, self.setup.model(model), script):
            text = run([sys.executable, script, self.setup.model(model)] + flags).text
            with open(path, "w") as file:
                file.write(text)
        return path

    def forms(self, path, threads):
        return f"{path[:-4]}.{self.type}.{threads}.forms"

    def measure(self, path, threads, runs, warmup):
        return [os.path.join(self.setup.bin, "bench-floor"), path, "--type", self.type, "--threads", str(threads),
                "--forms", self.forms(path, threads), "--runs", str(runs), "--warmup", str(warmup)]

    def command(self, model, threads, runs, warmup, outputs=None):
        return self.measure(self.lists[model, threads], threads, runs, warmup)

    def cold(self, model, threads, outputs=None):
        return self.command(model, threads, 0, 0)


def control(setup, threads):
    """Milliseconds of the fixed product: whether the machine is as fast as it was."""
    args = [os.path.join(setup.bin, "bench-floor"), "--control", "--threads", str(threads), "--runs", "60"]
    return run(args, setup.prefix).json()["median_ms"]


def systems(setup):
    """By name. Names say which models they take: those ending in int8 the quantised ones. Host code alone is
    measured only when it is asked for."""
    bf16 = ["--annotate=dnnl", "--precision=bf16"]
    every = [Bycc(setup, "bycc f32"), Bycc(setup, "bycc bf16", bf16), OnnxRuntime(setup, "ORT f32"),
             OpenVino(setup, "OpenVINO default"), OpenVino(setup, "OpenVINO f32", "f32"), Floor(setup, "floor f32"),
             Floor(setup, "floor bf16", "bf16"), Bycc(setup, "bycc int8"), OnnxRuntime(setup, "ORT int8"),
             OpenVino(setup, "OpenVINO int8"), Floor(setup, "floor int8"), Bycc(setup, "host f32", []),
             Bycc(setup, "host int8", [])]
    if setup.before:
        every += [Bycc(setup, "before f32", bin=setup.before), Bycc(setup, "before bf16", bf16, setup.before),
                  Bycc(setup, "before int8", bin=setup.before)]
    return {system.name: system for system in every}
