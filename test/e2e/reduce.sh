#!/usr/bin/env bash
# bycc reduce: the smallest program that a script still finds interesting. What is left, that
# every candidate is a program, that nothing is written when there is nothing to reduce, and
# that what was found stays when it is stopped.
. "$(dirname "$0")/lib.sh"
mkdir tmp
export TMPDIR=$work/tmp
# interesting NAME SHELL-CONDITION: a script that sees a candidate as $1, and counts.
interesting() {
  printf '#!/bin/sh\necho >> runs\nbycc-opt "$1" > /dev/null || { cp "$1" %s/broken.relay; exit 1; }\n%s\n' "$work" "$2" > "$1"
  chmod +x "$1"
}
numbers() { python3 -c "import base64, struct; print(base64.b64encode(struct.pack('<$1f', *range($1))).decode())"; }

# 600 operators in a mesh, with weights: two of them fail together.
python3 - "$(numbers 20)" > net.relay <<'END2'
import sys
print('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 5), float32], %y: Tensor[(4, 5), float32], %z: int32) {')
last = "%x"
for i in range(600):
    op = f"tanh({last})" if i == 211 else f"sqrt({last})" if i == 430 else \
        f"add({last}, %{i // 2})" if i % 3 == 2 else \
        f"multiply({last}, meta[relay.Constant][0])" if i % 7 == 0 else f"negative({last})"
    print(f"  %{i} = {op};")
    last = f"%{i}"
print("  (%599, %300, %z)\n}\n#[metadata]")
print('{"relay.Constant": [{"dtype": "float32", "shape": [4, 5], "data": "%s"}]}' % sys.argv[1])
END2
interesting both.sh 'grep -q "tanh(" "$1" && grep -q "sqrt(" "$1"'
bycc reduce net.relay --script=./both.sh -o small.relay -v 2> said.txt
expect "$(tail -2 said.txt | head -1)" "2 of 600 operators are left: small.relay"
grep -q 'reduce: nodes cut away: 2 operators left' said.txt || fail "$(cat said.txt)"
cat > wanted.relay <<'END2'
#[version = "0.0.5"]
def @main(%p: Tensor[(4, 5), float32], %p_1: Tensor[(4, 5), float32]) -> (Tensor[(4, 5), float32], Tensor[(4, 5), float32]) {
  %0 = tanh(%p);
  %1 = sqrt(%p_1);
  (%1, %0)
}
END2
diff wanted.relay small.relay || fail "not as small as can be"
[ "$(wc -l < runs)" -lt 80 ] || fail "$(wc -l < runs) runs for 600 operators"
bycc small.relay -q -o small.o

# The same each time; without -o beside nothing else.
bycc reduce net.relay --script=both.sh -q
cmp net.reduced.relay small.relay

# A limit of runs keeps what was found until then.
rm runs
bycc reduce net.relay --script=./both.sh --max-runs=12 -o some.relay 2> said.txt
expect "$(wc -l < runs)" 12
grep -qx 'reduce: stopped after 12 runs (--max-runs)' said.txt || fail "$(cat said.txt)"
grep -q 'tanh(' some.relay && grep -q 'sqrt(' some.relay || fail "what is left does not fail"
[ "$(wc -l < some.relay)" -lt 400 ] || fail "12 runs: $(wc -l < some.relay) lines"

# Functions, branches, lets, tuples that a node makes, operators in a chain of one type.
cat > nested.relay <<'END2'
#[version = "0.0.5"]
def @unused(%a: Tensor[(6, 2), float32]) { exp(%a) }
def @inner(%a: Tensor[(6, 2), float32], %b: Tensor[(6, 2), float32]) {
  let %t = add(%a, %b);
  abs(tanh(negative(%t)))
}
def @main(%x: Tensor[(6, 2), float32], %c: bool) {
  %0 = exp(%x);
  %1 = if (%c) { sigmoid(@inner(%0, %x)) } else { sqrt(%0) };
  split(%1, indices_or_sections=2, axis=1)
}
END2
interesting tanh.sh 'grep -q "tanh(" "$1"'
bycc reduce nested.relay --script=./tanh.sh -o nested.small.relay 2> said.txt
grep -qx '1 of 9 operators is left: nested.small.relay' said.txt || fail "$(cat said.txt)"
cat > wanted.relay <<'END2'
#[version = "0.0.5"]
def @main(%p: Tensor[(6, 2), float32]) -> Tensor[(6, 2), float32] {
  %0 = tanh(%p);
  %0
}
END2
diff wanted.relay nested.small.relay || fail "not as small as can be"
interesting branch.sh 'grep -q "if (" "$1" && grep -q "tanh(" "$1"'
bycc reduce nested.relay --script=./branch.sh -o branch.relay -q
expect "$(grep -cE 'tanh|if' branch.relay) $(grep -cE 'exp|sqrt|sigmoid|negative|abs|split|unused' branch.relay || true)" "2 0"

# What nothing needs can be what fails.
interesting unused.sh 'grep -q "@unused" "$1"'
bycc reduce nested.relay --script=./unused.sh -o unused.relay -q
grep -q '@unused' unused.relay || fail "$(cat unused.relay)"

# Weights that may not become parameters become zeros.
cat > dense.relay <<END2
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 5), float32]) { nn.relu(nn.dense(%x, meta[relay.Constant][0], units=4)) }
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [4, 5], "data": "$(numbers 20)"}]}
END2
interesting dense.sh 'grep -q "nn.dense" "$1" && [ "$(grep -o "Tensor\[" "$1" | wc -l)" -lt 3 ]'
bycc reduce dense.relay --script=./dense.sh -o dense.small.relay -q
grep -q 'zeros(shape=\[4, 5\], dtype="float32")' dense.small.relay || fail "$(cat dense.small.relay)"
! grep -q metadata dense.small.relay || fail "$(cat dense.small.relay)"
[ ! -e broken.relay ] || fail "a candidate is no program: $(cat broken.relay)"

# ONNX models and what is bound in them.
bycc reduce "$root/share/models/example.onnx" --script=/bin/true -o all.relay 2> said.txt
grep -q '^0 of .* are left: all.relay' said.txt || fail "$(cat said.txt)"

# Stopped by the user: the smallest program so far stays, and the process ends by the signal.
interesting slow.sh 'grep -q "tanh(" "$1" || exit 1; [ "$(wc -l < runs)" -lt 6 ] || exec sleep 60'
rm runs
bycc reduce net.relay --script=./slow.sh -o stopped.relay 2> said.txt &
pid=$!
while [ ! -e runs ] || [ "$(wc -l < runs)" -lt 6 ]; do sleep 0.05; done
kill -TERM $pid
code=0
wait $pid || code=$?
expect $code 143
grep -q 'reduce: stopped, the smallest program so far stays' said.txt || fail "$(cat said.txt)"
bycc-opt stopped.relay > /dev/null
grep -q 'tanh(' stopped.relay || fail "what is left does not fail"
expect "$(ls tmp | wc -l)" 0

# What cannot be.
interesting never.sh 'echo "no such thing" >&2; exit 3'
refuse 1 "./never.sh: error[ARG]: the script does not find the original program interesting" \
  bycc reduce net.relay --script=./never.sh -o never.relay
grep -q 'note: .*exit code 3' refuse.out || fail "$(cat refuse.out)"
grep -q 'note: no such thing' refuse.out || fail "$(cat refuse.out)"
refuse 1 "error[ARG]: cannot run it" bycc reduce net.relay --script=./none.sh -o never.relay
echo exit 0 > plain.sh
refuse 1 "chmod +x ./plain.sh" bycc reduce net.relay --script=./plain.sh -o never.relay
refuse 2 "reduce needs --script: bycc reduce MODEL --script=./fails.sh" bycc reduce net.relay
refuse 2 "--script and --max-runs go with bycc reduce MODEL" bycc net.relay --script=./both.sh -o x.o
refuse 2 "the output net.relay is an input" bycc reduce net.relay --script=./both.sh -o net.relay
refuse 2 "-o names a file" bycc reduce net.relay --script=./both.sh -o -
refuse 1 "error[IO]" bycc reduce none.relay --script=./both.sh -o never.relay
[ ! -e never.relay ] || fail "a program that does not fail was written"
