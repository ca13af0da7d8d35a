#!/usr/bin/env bash
# What a small file may claim, and what the command line binds.
. "$(dirname "$0")/lib.sh"

program() { printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(%s), float32]) { nn.relu(%%x) }\n' "$1" > net.relay; }

case="A8 sparse files of 1 TiB are refused without being read"
for format in onnx relay json; do
  truncate -s 1T huge.$format || skip "no sparse file can be written"
  (ulimit -t 5; limit_space 4000000000; refuse 1 "error[" bycc huge.$format -o no.o)
  grep -qE "error\[(LIMIT|INPUT)\]" refuse.out || fail "$case: another status"
done

case="D4 more than 16 GiB"
model() { # EXTENT: y = relu(x)
  PYTHONPATH=$root/tools/dev python3 - "$1" <<'END'
import sys
from make_example import field, node, value_info
extent = int(sys.argv[1])
graph = field(1, node("r", "Relu", ["x"], "y")) + field(2, "g")
graph += field(11, value_info("x", [extent])) + field(12, value_info("y", [extent]))
open("net.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
END
}
for extent in $((1 << 40)) $(((1 << 32) + 1)); do
  program $extent
  (limit_space 4000000; refuse 1 "is larger than 16 GiB" bycc net.relay -o no.o)
  model $extent
  (limit_space 4000000; refuse 1 "node 'x' (input): error[LIMIT]: an input of type Tensor[($extent), float32] is larger than 16 GiB" bycc net.onnx -o no.o)
done

case="D6 a symbol bound twice, or not there"
program n
refuse 2 "error[USAGE]: --dim gives n twice, as 2 and as 3" bycc net.relay --dim n=2 --dim n=3 -o no.o
refuse 2 "error[USAGE]: --shape gives x twice" bycc net.relay --shape x=2 --shape x=3 -o no.o
refuse 1 "error[ARG]: --dim: the model has no dimension 'm'" bycc net.relay --dim m=2 -o no.o
refuse 1 "error[ARG]: --shape x: the input is Tensor[(n), float32], and n is 2, not 3" bycc net.relay --dim n=2 --shape x=3 -o no.o
refuse 1 "error[ARG]: --shape x: the input is Tensor[(n), float32]" bycc net.relay --shape x=3x4 -o no.o
bycc net.relay -q --shape x=3 -o net.o
grep -q '"shape": \[3\]' net.json || fail "$case: n is not bound by --shape"
bycc net.relay -q --dim n=2 --dim n=2 --shape x=2 -o net.o
grep -q '"shape": \[2\]' net.json || fail "$case: n is not bound"
[ ! -e no.o ] || fail "something is written"
