#!/usr/bin/env bash
# Names of outputs, forms of --emit, what goes to stdout.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = sigmoid(%x);
  %1 = abs(%0);
  add(%1, %0)
}
END
listed() { (cd "$1" && echo *); }

# STEM of -o, of MODEL, and an object without the suffix.
mkdir a b c
(cd a && bycc ../net.relay -q)
expect "$(listed a)" "net.h net.json net.o"
bycc net.relay -q -o b/other.o
expect "$(listed b)" "other.h other.json other.o"
bycc net.relay -q -o c/plain
expect "$(listed c)" "plain plain.h plain.json"
bycc-run c/plain.json --random --print=6 > plain.txt
grep -q output_0 plain.txt || fail "no output_0"

# A text form alone is named by -o; "-" is stdout.
bycc net.relay -q --emit=relay -o - > one.relay
bycc-opt one.relay > two.relay
cmp one.relay two.relay || fail "the printed program does not print the same again"
bycc net.relay -q --emit=json -o one.json
bycc one.json -q --emit=relay -o three.relay
cmp one.relay three.relay || fail "JSON is another program"
bycc net.relay -q --emit=dot -o net.dot
grep -q '^digraph' net.dot || fail "no graph"
expect "$(grep -c -- '->' net.dot)" "$(sort -u net.dot | grep -c -- '->')" # no edge twice
# Of very many outputs some are drawn, and no edge leads to another.
python3 - > many.relay <<'EOF'
print('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {')
print("  (" + ", ".join(f"add(%x, {i}f)" for i in range(20)) + ")\n}")
EOF
bycc many.relay -q --emit=dot -o many.dot
expect "$(grep -o -- '-> out[0-9]*' many.dot | sed 's/-> //' | sort -u)" "$(grep -o '^ *out[0-9]* \[' many.dot | tr -d ' [' | sort -u)"
[ "$(grep -c -- '-> out' many.dot)" -gt 9 ] || fail "$(cat many.dot)"
bycc net.relay -q -S -o net.s
bycc net.relay -q -emit-llvm -o - > net.ll
grep -q 'target triple' net.ll || fail "no LLVM text"
bycc net.relay -q --emit=header -o net2.h
[ -s net.s ] && [ -s net2.h ] || fail "no text outputs"
bycc - -x relay -q --emit=relay -o - < net.relay | cmp - one.relay

# Constants of more than N elements lose their data, few as they are.
echo '#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { add(%x, Tensor[(2), float32][1f, 2f]) }' > two.relay
bycc-opt two.relay --elide-constants=1 > elided.txt
grep -qF 'Tensor[(2), float32], data elided' elided.txt || fail "$(cat elided.txt)"
bycc-opt two.relay --elide-constants=2 > kept.txt
if grep -q elided kept.txt; then fail "$(cat kept.txt)"; fi

# Nothing but what was asked for on stdout; the line on stderr.
bycc net.relay -o d.o > out.txt 2> err.txt
expect "$(cat out.txt)" ""
expect "$(wc -l < err.txt)" 1
grep -q '^host: 3 ops | d.o [0-9.]* KiB, arena' err.txt || fail "$(cat err.txt)"

# The dependency file names every file read.
bycc net.relay -q -o e.o -MD -MF e.d -MT target -MP
grep -q '^target:' e.d && grep -q 'net.relay' e.d || fail "$(cat e.d)"

# No output may be an input or another output; a device may be both.
cp net.relay keep.relay
refuse 2 "net.relay is an input" bycc net.relay -q -o e.o -MD -MF net.relay
refuse 2 "two outputs would be f.json" bycc net.relay -q -o f.o -MD -MF f.json
refuse 2 "two outputs would be f.json" bycc net.relay -q -o f.o --dump-offloads=./f.json
cmp net.relay keep.relay || fail "the model is another"
[ ! -e f.o ] || fail "an object after an error"
bycc net.relay -q -o f.o -MF /dev/null --dump-offloads=/dev/null
bycc net.relay -q --emit=obj,header,obj -o f.o

# B6: names of files that are no text for a terminal, or none for the graph JSON, which names them
for name in $'an\e[31mother' $'two\nlines' 'sp ace'; do
  cp net.relay "$name.relay"
  bycc "$name.relay" 2> err.txt
  expect "$(wc -l < err.txt)" 1
  if grep -q $'\e' err.txt; then fail "B6: a control character is printed"; fi
  bycc-run "$name.json" --random
done
bad=$'bad\xff'
cp net.relay "$bad.relay"
for command in "bycc $bad.relay" "bycc net.relay -o $bad.o" "bycc net.relay -o $bad.x"; do
  refuse 2 'is not UTF-8 text, the graph JSON could not name it' $command
  expect "$(ls | grep -c bad)" 1
done
bycc "$bad.relay" -q -o good.o
bycc "$bad.relay" -q --emit=relay
mkdir "$bad"
bycc net.relay -q -o "$bad/net.o"
bycc-run "$bad/net.json" --random

bycc check net.relay
bycc inspect net.relay --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["ops"]["abs"] == 1'
for list in passes ops vendors; do
  bycc --list-$list --json | python3 -c 'import json, sys; assert json.load(sys.stdin)'
done
