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

# A convolution whose data leave the channels open has the weight's, and the run says if it has not.
cat > conv.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, ?, 1, 3), float32], %w: Tensor[(2, 2, 1, 2), float32], %q: Tensor[(1, ?, 1, 3), int8], %k: Tensor[(2, 1, 1, 2), int8]) {
  (nn.conv2d(%x, %w, padding=[0, 1], channels=2, kernel_size=[1, 2]),
   nn.conv2d_transpose(%x, %w, strides=[1, 2], channels=2, kernel_size=[1, 2]),
   nn.conv2d(%q, %k, groups=2, channels=2, kernel_size=[1, 2], out_dtype="int32"))
}
END
npy write x2.npy f4 1x2x1x3 1 2 3 4 5 6
npy write q2.npy i1 1x2x1x3 1 2 3 4 5 6
npy write x3.npy f4 1x3x1x3 1 2 3 4 5 6 7 8 9
npy write q3.npy i1 1x3x1x3 1 2 3 4 5 6 7 8 9
npy write cw.npy f4 2x2x1x2 1 0 0 1 1 1 -1 0
npy write ck.npy i1 2x1x1x2 1 2 -1 1
for options in "-O0" "-O2" "-O2 --annotate=dnnl --cost-model=none"; do
  bycc conv.relay $options -q -o conv.o
  bycc-run conv.json --input x=x2.npy --input q=q2.npy --input w=cw.npy --input k=ck.npy --outputs out
  expect "$(npy show out/output_0.npy)" "1x2x1x4 4 6 8 3 1 -1 0 -3"
  expect "$(npy show out/output_1.npy)" "1x2x1x6 5 4 7 5 9 6 -4 1 -5 2 -6 3"
  expect "$(npy show out/output_2.npy)" "1x2x1x2 5 8 1 1"
  refuse 1 "the axis of channels has 3 elements, wanted 2" bycc-run conv.json --input x=x3.npy --input q=q2.npy --input w=cw.npy --input k=ck.npy --outputs out
  refuse 1 "the axis of channels has 3 elements, wanted 2" bycc-run conv.json --input x=x2.npy --input q=q3.npy --input w=cw.npy --input k=ck.npy --outputs out
done
