"""docs_commands.py ROOT BIN WORK: takes the commands out of the documents and runs them.

A command is a line of a code block that begins with a program, or with "$ ". Each document has a
folder with a model of its own, net.onnx, and what a reader of the document would have. What is not
run stands in NOT_RUN with its reason; a row there that no document needs is an error.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

root, bin_folder, work = sys.argv[1:4]
sys.path.insert(0, os.path.join(root, "tools", "dev"))
from make_example import FLOAT, field, node, tensor, value_info  # noqa: E402

PROGRAMS = ("bycc bycc-opt bycc-run bycc-vendor-test cat cc cmake cp ctest less make mkdir nm pip python3 seq").split()

# Part of a command, and why it is not run.
NOT_RUN = {
    "tools/dev/demo.sh": "builds bycc",
    "tools/dev/test.sh": "runs this",
    "import torch": "needs torch",
    "pip install": "builds bycc",
    "'import bycc;": "test/python runs it with the package",
    "python3 test/conformance/onnx/run.py": "conformance-onnx runs it",
    "python3 test/bench/": "a benchmark",
    "python3 SHARED/": "a benchmark",
    "cmake -S . -B build-3x": "needs another oneDNN",
    "cmake --build build-3x": "needs another oneDNN",
    "ctest --test-dir build": "tests",
    "cmake -B build -DCMAKE_PREFIX_PATH=PREFIX": "e2e-install_tree builds the example vendor",
    "/layer.0/query/MatMul": "needs an encoder; e2e-derived_pattern has one",
    "libbycc_vendor_npu.so": "e2e-vendor_tutorial makes such a vendor",
    "bycc verify net.onnx --annotate=npu": "e2e-verify, with a vendor that computes wrongly",
    "--region=npu_0": "e2e-extract, with a vendor that is there",
    "libbycc_vendor_examplenpu.so": "e2e-vendor_test_installed runs it",
    "BYCC_PLUGIN_PATH=build": "e2e-vendor_test_installed runs it",
}

# Documents with a test of their own, or without commands for users.
OTHERS = {
    "share/doc/vendor-tutorial.md": "e2e-vendor_tutorial",
    "share/doc/message-reference.md": "e2e-messages",
    "share/doc/python.md": "test/python/test_docs.py",
}

# Part of a command, and what a reader would have made before it.
BEFORE = {
    "plan-diff old.json": "cp plan.json old.json",
    "plan-diff before.json": "bycc net.onnx --annotate=dnnl --save-partition-plan=before.json -o a.o\n"
    "bycc net.onnx --annotate=dnnl --pin 'relu1=host' --save-partition-plan=after.json -o b.o",
    "bycc-run f32.json": "bycc net.onnx -o f32.o",
    "reduce ": "bycc net.onnx --dim batch=1 --dim seq=16 --emit=relay -q -o net.relay\n"
    "printf '#!/bin/sh\\nbycc \"$1\" -q --emit=relay -o - | grep -q softmax' > fails.sh; chmod +x fails.sh",
    "mine.json": "cp patterns/mixed-precision.json mine.json",
}

# Commands that say no with these codes, as their documents tell.
CODES = {"--strict": (0, 3)}


def write_model(path):
    """x: float32 (batch, seq, 64), through a convolution, a pooling, a product and a softmax."""

    def open_info(name, *dims):
        shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))

    def values(count, step):
        return [((i * step) % 17 - 8) / 32 for i in range(count)]

    nodes = (
        node("lift", "Flatten", ["x"], "rows", axis=2),
        node("gemm", "Gemm", ["rows", "fc.weight", "fc.bias"], "scores", transB=1),
        node("back", "Reshape", ["scores", "image_shape"], "image"),
        node("conv1", "Conv", ["image", "conv1.weight"], "c1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("relu1", "Relu", ["c1"], "r1"),
        node("pool1", "MaxPool", ["r1"], "p1", kernel_shape=[2, 2], strides=[2, 2]),
        node("softmax", "Softmax", ["p1"], "y", axis=3),
    )
    shape = field(1, 4) + field(2, 7) + field(8, "image_shape") + b"".join(field(7, d) for d in (-1, 4, 4, 4))
    graph = b"".join(field(1, n) for n in nodes) + field(2, "net")
    graph += field(5, tensor("fc.weight", [64, 64], values(4096, 5))) + field(5, tensor("fc.bias", [64], values(64, 3)))
    graph += field(5, tensor("conv1.weight", [8, 4, 3, 3], values(288, 7))) + field(5, shape)
    graph += field(11, open_info("x", "batch", "seq", 64)) + field(12, open_info("y", "rows", 8, 2, 2))
    with open(path, "wb") as out:
        out.write(field(1, 8) + field(2, "test") + field(7, graph) + field(8, field(1, "") + field(2, 13)))


def blocks_of(text):
    """Code blocks: lines that are indented by four, with empty ones between them, or between
    ```sh and ```."""
    for fenced in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        yield fenced.rstrip("\n").split("\n")
    for indented in re.findall(r"(?:^    .*\n(?:\n(?=    ))*)+", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        yield [line[4:] for line in indented.rstrip("\n").split("\n")]


def commands_of(block):
    whole = "\n".join(block).replace("\\\n", " ").split("\n")
    for line in whole:
        if line.startswith("#!"):
            return  # the text of a script
        command = re.sub(r"\s{2,}#.*|\s#\s.*", "", line.removeprefix("$ ")).strip()
        words = [w for w in command.split() if not re.fullmatch(r"[A-Z_]+=\S*", w)]
        program = words[0].removeprefix("build/bin/") if words else ""
        if line[:1] != " " and (program in PROGRAMS or program.startswith("tools/dev/") or line.startswith("$ ")):
            yield command


def prepare(folder, document, text):
    os.makedirs(folder)
    write_model(os.path.join(folder, "net.onnx"))
    for name in ("include", "patterns", "share", "test"):
        os.symlink(os.path.join(root, name), os.path.join(folder, name))
    os.makedirs(os.path.join(folder, "build"))
    os.symlink(bin_folder, os.path.join(folder, "build", "bin"))
    os.symlink(os.path.join(os.path.dirname(bin_folder), "lib"), os.path.join(folder, "lib"))
    given = """
        bycc net.onnx -q -o given.o
        mkdir in
        python3 test/e2e/npy.py write in/x.npy f4 1x16x64 $(for i in {1..1024}; do echo $((i * 7 % 23)); done)
        bycc-run given.json --inputs in --outputs want > /dev/null
    """
    if document != "README.md":  # which begins with it
        given += "bycc net.onnx -q -o net.o; cp -r in IN"
    run(given, folder)
    for name, first in (("myvendor.json", '{"vendors"'), ("mypass.py", "#!/usr/bin/env python3"), ("note_dropout.c", "#include <bycc/pass.h>")):
        for block in blocks_of(text):  # files that the document shows, ahead of the command that takes them
            begin = next((i for i, line in enumerate(block) if line.startswith(first)), None)
            if begin is not None:
                with open(os.path.join(folder, name), "w") as out:
                    out.write("\n".join(line for line in block[begin:] if not line.startswith("cc ")))
                os.chmod(out.name, 0o755)


def run(command, folder, codes=(0,)):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode not in codes:
        sys.exit(f"exit {done.returncode} of\n  {command}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")


def main():
    os.environ["C_INCLUDE_PATH"] = os.path.join(root, "include")
    documents = ["README.md"] + sorted(os.path.relpath(p, root) for p in glob.glob(os.path.join(root, "share/doc/*.md")))
    documents += ["share/examples/vendor/README.md", "patterns/README.md", "tools/python/README.md"]
    needed, number = set(), 0
    for document in documents:
        if document in OTHERS:
            continue
        with open(os.path.join(root, document)) as file:
            text = file.read()
        commands = [c for block in blocks_of(text) for c in commands_of(block)]
        folder = os.path.join(work, document.replace("/", "_"))
        if commands:
            prepare(folder, document, text)
        for command in commands:
            reasons = [part for part in NOT_RUN if part in command]
            needed.update(reasons)
            if reasons:
                continue
            for part, before in BEFORE.items():
                if part in command:
                    run(before, folder)
            codes = next((c for part, c in CODES.items() if part in command), (0,))
            print(f"{document}: {command}", flush=True)
            run(command, folder, codes)
            number += 1
        shutil.rmtree(folder, ignore_errors=True)
    if stale := set(NOT_RUN) - needed:
        sys.exit(f"no document has: {', '.join(sorted(stale))}")
    if number < 50:
        sys.exit(f"{number} commands were found; the documents have more")


main()
