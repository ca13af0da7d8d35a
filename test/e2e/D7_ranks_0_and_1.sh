#!/usr/bin/env bash
# D7: every ONNX operator over inputs of rank 0 and rank 1 is compiled or refused with
# a status, never INTERNAL and never a signal.
. "$(dirname "$0")/lib.sh"
bycc --list-onnx-ops > ops
PYTHONPATH=$root/tools/dev python3 - <<'END'
import os, re, subprocess
from make_example import field, node, value_info
names = sorted(set(re.findall(r"^\s*([A-Z]\w+)", open("ops").read(), re.M)))
assert len(names) > 100, names
wrong, fine = [], 0
for name in names:
    for rank in (0, 1):
        for count in (1, 2):
            inputs = [f"x{i}" for i in range(count)]
            graph = field(1, node("op", name, inputs, "y")) + field(2, "g")
            graph += b"".join(field(11, value_info(i, [3] * rank)) for i in inputs) + field(12, field(1, "y"))
            open("net.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
            done = subprocess.run(["bycc", "net.onnx", "-O0", "-q", "-o", "net.o"], capture_output=True, text=True)
            fine += done.returncode == 0
            if done.returncode != 0 and not (done.returncode == 1 and re.search(r"error\[(INPUT|UNSUP)\]", done.stderr)):
                wrong.append((name, rank, count, done.returncode, done.stderr[:200]))
assert fine > 40, fine
assert not wrong, wrong
END
