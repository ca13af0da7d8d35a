#!/usr/bin/env bash
# A vendor that stores weights of its own: the params file holds them once, and the
# constants only that someone else reads; they arrive aligned and intact.
. "$(dirname "$0")/lib.sh"
. "$here/hostile.bash"
mkdir params
npy write params/w.npy f4 24 $(seq 24)
npy write params/v.npy f4 24 $(seq 2 25)
npy write params/h.npy f4 24 $(seq 3 26)
# Regions: two that read the same constant, one that reads another one, one without any.
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(24), float32], %w: Tensor[(24), float32], %v: Tensor[(24), float32],
          %h: Tensor[(24), float32]) {
  %0 = add(%x, %w);
  %1 = tanh(%0);
  %2 = add(%1, %w);
  %3 = tanh(%2);
  %4 = multiply(%3, %v);
  %5 = maximum(%4, %h);
  %6 = abs(%5);
  maximum(%6, %v)
}
END2
bycc net.relay --params=params -q -o host.o
bycc-run host.json --random=1 --outputs ref > /dev/null

export HOSTILE_WEIGHTS=1 HOSTILE_TRACE=1
# entries FILE: names and shapes of the params
entries() { python3 -c '
import json, sys
for e in json.load(open(sys.argv[1]))["bycc"]["files"]["params"]["entries"]:
    print(e["name"], e["dtype"], *e["shape"])' "$1" | sort | tr '\n' ';'; }
for options in "" --embed-weights -j1; do
  bycc net.relay --params=params --annotate=hostile $options -q --expect-regions=4 -o m.o
  bycc-run m.json --random=1 --expected ref --rtol 1e-6 --verify 2> trace.txt || fail "$options: wrong results"
  expect "$(grep 'bytes of weights' trace.txt | tr '\n' ';')" "m_hostile_0: 96 bytes of weights, aligned;m_hostile_1: \
96 bytes of weights, aligned;m_hostile_2: 96 bytes of weights, aligned;m_hostile_3: 0 bytes of weights, null;"
  [ "$options" = --embed-weights ] || expect "$(entries m.json)" \
    "h float32 24;m_hostile_0.weights uint8 96;m_hostile_2.weights uint8 96;v float32 24;"
done
mkdir n
bycc net.relay --params=params --annotate=hostile -q -j4 -o n/m.o
for file in m.o m.params; do cmp $file n/$file; done

# Constants of equal size and name but other values are other regions.
bycc net.relay --params=params --annotate=hostile -q -o a.o
npy write params/v.npy f4 24 $(seq 5 28)
bycc net.relay --params=params --annotate=hostile -q -o b.o
cmp -s a.params b.params && fail "other constants, the same weights"
bycc net.relay --params=params -q -o host.o
bycc-run host.json --random=1 --outputs other > /dev/null
bycc-run b.json --random=1 --expected other --rtol 1e-6 2> /dev/null

# A region that fails is cut down; what is left of it keeps its weights.
HOSTILE=abort:multiply bycc net.relay --params=params --annotate=hostile -q --expect-regions=3 -o m.o 2> /dev/null
bycc-run m.json --random=1 --expected other --rtol 1e-6 2> /dev/null
expect "$(entries m.json)" "h float32 24;m_hostile_0.weights uint8 96;v float32 24;"

# Damage is found, and what is packed is no parameter.
cp b.params good.params
python3 - <<'END2'
data = bytearray(open("b.params", "rb").read())
data[128 + 5] ^= 1
open("b.params", "wb").write(data)
END2
refuse 1 "is damaged: wrong hash" bycc-run b.json --random --verify
refuse 1 "'b_hostile_0.weights' holds weights as a vendor has packed them" bycc net.relay --params=good.params -o c.o

# The conformance suite asks for the same.
unset HOSTILE_TRACE
suite() {
  bycc-vendor-test hostile --plugin=libbycc_vendor_hostile.so --cases="$root/test/numeric" \
    --data="$root/test/conformance/vendor" "$@"
}
for check in weights.none numeric.regions blob.same; do
  suite --filter=$check > suite.txt || fail "$(cat suite.txt)"
  grep -q "^pass $check" suite.txt || fail "$(cat suite.txt)"
done
HOSTILE_WEIGHTS= suite --filter=weights.none > suite.txt
grep -q "^skip weights.none *the vendor stores no weights of its own" suite.txt || fail "$(cat suite.txt)"
