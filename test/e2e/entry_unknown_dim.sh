#!/usr/bin/env bash
# The compiled entry takes an unknown batch dim: one object, several batch sizes.
. "$(dirname "$0")/lib.sh"

cat > batch.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(2, 3), float32]) -> Tensor[(?, 2), float32] {
  %0 = nn.dense(%x, %w, units=2);
  %1 = add(%0, 1f);
  nn.relu(%1)
}
END
npy write w.npy f4 2x3 1 0 0 0 1 -1
npy write x1.npy f4 1x3 1 2 3
npy write x4.npy f4 4x3 1 2 3 4 5 6 -7 1 0 0 0 0
for options in "-O0" "-O2"; do
  bycc batch.relay $options -q -o batch.o
  bycc-run batch.json --input x=x1.npy --input w=w.npy --outputs out
  expect "$(npy show out/output_0.npy)" "1x2 2 0"
  bycc-run batch.json --input x=x4.npy --input w=w.npy --outputs out
  expect "$(npy show out/output_0.npy)" "4x2 2 0 5 0 0 2 1 1"
done

npy write bad.npy f4 2x4 1 2 3 4 5 6 7 8
refuse 1 "ARG" bycc-run batch.json --input x=bad.npy --input w=w.npy --outputs out

# A part of an axis without elements has none, which the type of an open output does not tell.
cat > part.relay <<'PROGRAM'
#[version = "0.0.5"]
def @main(%x: Tensor[(0), float32], %n: Tensor[(1), int64]) -> Tensor[(?), float32] {
  dyn.strided_slice(%x, Tensor[(1), int64][0], %n, Tensor[(1), int64][1], slice_mode="size", axes=[0])
}
PROGRAM
npy write none.npy f4 0
npy write zero.npy i8 1 0
bycc part.relay -q -o part.o
bycc-run part.json --input x=none.npy --input n=zero.npy --outputs out
expect "$(npy show out/output_0.npy)" "0"
