#!/usr/bin/env bash
# bycc extract: a region as a program of its own that parses again and compiles
# into the same one region; with recorded inputs it gives the recorded outputs.
. "$(dirname "$0")/lib.sh"
. "$here/hostile.bash"
export HOSTILE_PATTERNS=1
weights=$(python3 -c 'import base64, struct; print(base64.b64encode(struct.pack("<20f", *range(20))).decode())')
cat > net.relay <<END2
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 5), float32], %"y/1": Tensor[(4, 5), float32], %c: bool) -> (Tensor[(4, 5), float32], Tensor[(4, 5), float32]) {
  %0 = tanh(%x);
  %1 = subtract(%0, %"y/1");
  %2 = nn.relu(%1);
  %3 = negative(%2);
  %4 = multiply(%3, meta[relay.Constant][0]);
  %5 = tanh(%4);
  %6 = if (%c) { abs(%5) } else { add(negative(%5), %x) };
  (%6, %2)
}
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [4, 5], "data": "$weights"}]}
END2
bycc net.relay --annotate=hostile --expect-regions=3 -q -o net.o
mkdir in
npy write in/c.npy b1 "" 1

# checks NAME SYMBOL: what is extracted compiles into one region and agrees.
check() {
  bycc extract net.relay --annotate=hostile --region="$2" -o "$1.relay" --inputs in --random=7 -q
  bycc "$1.relay" --annotate=hostile --strict --expect-regions=1 --min-offload=100%ops -q
  bycc-run "$1.json" --inputs "$1.inputs" --expected "$1.expected" --rtol 1e-6 2> /dev/null
}
check first net_hostile_0
grep -q 'Composite="hostile.subtract_relu"' first.relay || fail "the composite is gone: $(cat first.relay)"
grep -qF "$weights" first.relay || fail "the weights are gone"
expect "$(ls first.inputs | wc -l) $(ls first.expected | wc -l)" "2 2"
check then hostile_1
check "as in another build" other_hostile_1
cmp then.relay "as in another build.relay"

# Without recording; to standard output; what was extracted can be extracted.
expect "$(bycc extract net.relay --annotate=hostile --region=hostile_0 -o -)" "$(cat first.relay)"
bycc extract first.relay --annotate=hostile --region=hostile_0 -o again.relay -q
cmp again.relay first.relay

# From a program that asks for the vendor by itself.
cat > asks.relay <<'END2'
#[version = "0.0.5"]
def @f(%a: Tensor[(4, 5), float32], Compiler="hostile") { nn.relu(%a) }
def @main(%x: Tensor[(4, 5), float32]) { abs(@f(%x)) }
END2
bycc extract asks.relay --region=hostile_0 -o asked.relay 2> asked.txt
grep -qx 'asked.relay: region asks_hostile_0 of vendor hostile' asked.txt || fail "$(cat asked.txt)"

# What cannot be.
refuse 2 "extract: --region=SYMBOL is missing" bycc extract net.relay --annotate=hostile
refuse 1 "error[ARG]: --region: there is no region 'net_hostile_9', did you mean 'net_hostile_" \
  bycc extract net.relay --annotate=hostile --region=net_hostile_9
grep -q "note: there are net_hostile_0, net_hostile_1, net_hostile_2" refuse.out || fail "$(cat refuse.out)"
refuse 1 "note: the program has no regions: --annotate names vendors" bycc extract net.relay --region=x
refuse 1 "region net_hostile_2 is not reached with these inputs" \
  bycc extract net.relay --annotate=hostile --region=hostile_2 --inputs in --random
refuse 1 "no data for input 'x'" bycc extract net.relay --annotate=hostile --region=hostile_0 --inputs in
refuse 2 "is an input" bycc extract net.relay --annotate=hostile --region=hostile_0 -o net.relay

# A name goes to the terminal escaped.
bycc extract net.relay --annotate=hostile --region=hostile_0 -o $'a\e[31m.relay' 2> told.txt
grep -qF 'a\x1B[31m.relay: region' told.txt || fail "$(cat -v told.txt)"
