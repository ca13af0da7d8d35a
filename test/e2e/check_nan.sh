#!/usr/bin/env bash
# bycc-run --check-nan: who makes the first NaN or infinity. Host kernels, regions, library
# kernels; extents known when compiled or when run; loops and values that are used in place.
. "$(dirname "$0")/lib.sh"
has() { grep -qF -- "$2" "$1" || fail "no '$2' in: $(cat "$1")"; }
# check CODE TEXT MODEL OPTION..
check() {
  local code=$1 text=$2 got=0
  shift 2
  bycc-run "$@" --threads 1 --check-nan > found.txt 2> err.txt || got=$?
  [ "$got" = "$code" ] || fail "exit $got instead of $code: $* $(cat found.txt err.txt)"
  has found.txt "$text"
}
program() { printf '#[version = "0.0.5"]\n%s\n' "$2" > "$1.relay"; }

# The log of -1; what is before and after it is clean, or follows from it.
for extent in 2 '?'; do
  program net "def @main(%x: Tensor[($extent, 3), float32], %w: Tensor[(4, 3), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = log(%0);
  %2 = nn.dense(%1, Tensor[(2, 4), float32][1f, 0f, 1f, 0f, 0f, 1f, 0f, 1f], units=2);
  (nn.softmax(%2), %0)
}"
  npy write x.npy f4 2x3 1 0 0 0 1 0
  npy write w.npy f4 4x3 1 1 0 1 -2 0 1 1 0 1 1 0
  for options in -O0 -O2; do
    bycc net.relay -q $options -o net.o
    check 4 "makes it: " net.json --input x=x.npy --input w=w.npy
    has found.txt "1 of 8 elements is not finite: nan at [1, 1]; its inputs are finite"
    has err.txt "error[DIFFERS]: a NaN or infinity is made"
    grep -q '^node .*%1.* makes it' found.txt || fail "$(cat found.txt)"
    # the same with a clean input
    npy write clean.npy f4 4x3 1 1 0 1 2 0 1 1 0 1 1 0
    check 0 "no node or region makes a NaN or infinity" net.json --input x=x.npy --input w=clean.npy
    npy write nan.npy f4 4x3 1 1 0 1 nan 0 1 1 0 1 1 0
    check 0 "input 'w' of the model holds it: 1 of 12 elements is not finite: nan at [1, 1]" net.json --input x=x.npy --input w=nan.npy
    has found.txt "no node or region makes a NaN or infinity of finite inputs"
  done
done

# A region of oneDNN, its extents known or open: 1e30 * 1e30 has no float.
for extent in 2 batch; do
  program region "def @main(%x: Tensor[($extent, 3), float32]) {
  %0 = nn.dense(%x, Tensor[(2, 3), float32][1f, 0f, 0f, 1e+30f, 0f, 0f], units=2);
  exp(negative(nn.relu(%0)))
}"
  bycc region.relay -q --annotate=dnnl --cost-model=none --annotate-ops=nn.dense,nn.relu --expect-regions=1 -o region.o
  npy write big.npy f4 2x3 1 0 0 1e30 0 0
  check 4 "region region_dnnl_0 of vendor dnnl (" region.json --input x=big.npy
  has found.txt "1 of 4 elements is not finite: inf at [1, 1]; its inputs are finite"
  npy write small.npy f4 2x3 1 0 0 1 0 0
  check 0 "no node or region makes" region.json --input x=small.npy
done

# A mask of -inf is a constant, and nobody's fault; said where nothing else is found.
program mask 'def @main(%x: Tensor[(2, 3), float32]) {
  %0 = add(%x, Tensor[(2, 3), float32][0f, -inff, 0f, 0f, 0f, -inff]);
  nn.softmax(%0)
}'
bycc mask.relay -q -O0 -o mask.o
check 0 "reads what no node made" mask.json --input x=x.npy
has found.txt "2 of 6 elements are not finite, the first is -inf at [0, 1]"
has found.txt "no node or region makes a NaN or infinity of finite inputs"

# A library kernel that makes one; one whose results have extents of their own, and what follows it.
program sum 'def @main(%x: Tensor[(6), float32]) { negative(cumsum(abs(%x))) }'
bycc sum.relay -q -o sum.o
npy write six.npy f4 6 1 -3e38 3e38 4 5 6
check 4 "4 of 6 elements are not finite, the first is inf at [2]; its inputs are finite" sum.json --input x=six.npy
grep -q '^node .*(%1) makes it: ' found.txt || fail "$(cat found.txt)"
program unique 'def @main(%x: Tensor[(6), float32]) {
  %0 = unique(%x, sorted=True, return_counts=True);
  log(%0.0)
}'
bycc unique.relay -q -o unique.o
npy write six.npy f4 6 1 2 1 -1 2 3
check 4 "nan at [0]" unique.json --input x=six.npy
grep -q '^node .*log.*(%2) makes it: ' found.txt || fail "$(cat found.txt)"
npy write sum.npy f4 6 1 2 1 1 2 3
check 0 "no node or region makes" unique.json --input x=sum.npy

# A loop that divides by what it counts down: the turn in which it is 0.
program loop 'def @turn(%i: Tensor[(), int32], %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (less(%i, 4)) {
    %0 = subtract(%x, 1f);
    @turn(add(%i, 1), divide(%0, %0))
  } else {
    %x
  }
}
def @main(%x: Tensor[(4), float32]) { @turn(0, %x) }'
bycc loop.relay -q -o loop.o
npy write four.npy f4 4 3 4 5 6
check 4 "4 of 4 elements are not finite, the first is nan at [0]; its inputs are finite" loop.json --input x=four.npy

# Profiling is as ever; a run without either shows nothing.
bycc-run net.json --input x=x.npy --input w=w.npy --threads 1 --profile --check-nan > both.txt 2>&1 && fail "exit 0"
bycc-run net.json --input x=x.npy --input w=clean.npy --threads 1 --profile --check-nan > both.txt
has both.txt "GFLOP/s"
has both.txt "no node or region makes"
refuse 2 "--batch does not go with --check-nan" bycc-run net.json --batch . --outputs out --check-nan
