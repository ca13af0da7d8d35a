#!/usr/bin/env bash
# Weights beside the model: at offsets beyond 4 GiB (the file is sparse), in the
# dependency file, and not outside of the model's folder.
. "$(dirname "$0")/lib.sh"

# model FILE LOCATION OFFSET: y = x + w, w float32[2] in the file at LOCATION
model() {
  PYTHONPATH=$root/tools/dev python3 - "$@" <<'END'
import sys
from make_example import field, node, value_info
path, location, offset = sys.argv[1:]
entries = [("location", location), ("offset", offset), ("length", "8")]
weight = field(1, 2) + field(2, 1) + field(8, "w") + field(14, 1)
weight += b"".join(field(13, field(1, k) + field(2, v)) for k, v in entries)
graph = field(1, node("add", "Add", ["x", "w"], "y")) + field(2, "g") + field(5, weight)
graph += field(11, value_info("x", [2])) + field(12, value_info("y", [2]))
open(path, "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
END
}

mkdir -p net/data
at=$((5 * 1024 * 1024 * 1024))
printf '\0\0\200\077\0\0\0\100' > two # 1 and 2
dd if=two of=net/data/w.bin bs=8 seek=$((at / 8)) status=none || skip "no sparse file of 5 GiB can be written"
model net/net.onnx data/w.bin $at
bycc net/net.onnx -q -o net.o -MD -MF net.d
npy write x.npy f4 2 10 20
bycc-run net.json --input x=x.npy --outputs out
expect "$(npy show out/y.npy)" "2 11 22"
grep -qF net/data/w.bin net.d || fail "the dependency file does not name the weights"

model net/net.onnx ../two 0
refuse 1 "error[INPUT]" bycc net/net.onnx -o bad.o
model net/net.onnx data/w.bin $((at + 4))
refuse 1 "error[INPUT]" bycc net/net.onnx -o bad.o
