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
model() { # EXTENT [EXTENT OF Y]: y = relu(x)
  PYTHONPATH=$root/tools/dev python3 - "$1" "${2:-$1}" <<'END'
import sys
from make_example import field, node, value_info
extent, made = int(sys.argv[1]), int(sys.argv[2])
graph = field(1, node("r", "Relu", ["x"], "y")) + field(2, "g")
graph += field(11, value_info("x", [extent])) + field(12, value_info("y", [made]))
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
bycc net.relay -q --shape x=? -o net.o
grep -q '"shape": \["n"\]' net.json || fail "$case: n is not open any more"

case="D1 D6 what an ONNX model declares and does not have"
model -1
refuse 1 "node 'x' (input): error[INPUT]: dimension 0 is -1" bycc net.onnx -o no.o
grep -qF "note: bind it with --shape x=..., or leave it open with --declared-types=warn" refuse.out || fail "$case: advice"
bycc net.onnx -q --shape x=3 -o net.o
grep -q '"shape": \[3\]' net.json || fail "$case: -1 is not bound"
bycc net.onnx -q --declared-types=warn -o net.o
npy write x.npy f4 3 -1 0 2
bycc-run net.json --input x=x.npy --outputs out
expect "$(npy show out/y.npy)" "3 0 0 2"
model 3 4
refuse 1 "node 'y' (output): error[INPUT]: is declared as Tensor[(4), float32], but is Tensor[(3), float32]" bycc net.onnx -o no.o
grep -qF "note: --declared-types=warn makes it a warning" refuse.out || fail "$case: advice"
bycc net.onnx --declared-types=warn -o net.o 2> warned.txt
[ "$(grep -cF "warning: is declared as Tensor[(4), float32], but is Tensor[(3), float32]" warned.txt)" = 1 ] || fail "$(cat warned.txt)"
bycc-run net.json --input x=x.npy --expected out > /dev/null
! grep -q declared net.json || fail "$case: the option does not change what is compiled"

case="D6 a symbol that stands for two extents"
PYTHONPATH=$root/tools/dev python3 - <<'END'
from make_example import field, node
shape = field(1, field(2, "n")) + field(1, field(2, "w"))
graph = field(1, node("a", "Relu", ["x"], "u")) + field(1, node("b", "Relu", ["y"], "v")) + field(2, "g")
graph += b"".join(field(11, field(1, i) + field(2, field(1, field(1, 1) + field(2, shape)))) for i in "xy")
graph += b"".join(field(12, field(1, o)) for o in "uv")
open("two.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
END
bycc two.onnx -q -o two.o
npy write x.npy f4 1x3 1 2 3
npy write y.npy f4 1x2 4 5
refuse 1 "input 'y': extent w is 2, in input 'x' it is 3" bycc-run two.json --input x=x.npy --input y=y.npy
grep -qF "compile it with --shape 'y=?x2'" refuse.out || fail "$case: $(cat refuse.out)"
bycc two.onnx -q --shape 'y=?x2' -o two.o
bycc-run two.json --input x=x.npy --input y=y.npy --outputs out
expect "$(npy show out/v.npy)" "1x2 4 5"

[ ! -e no.o ] || fail "something is written"
