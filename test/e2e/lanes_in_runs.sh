#!/usr/bin/env bash
# Lanes that read one element in runs are one load and a shuffle where whole runs are read, from the first
# lane on; and what a condition guards is not read without it. Kernels of several operators are
# compared with one for each.
. "$(dirname "$0")/lib.sh"

cat >guards.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 32), float32], %v: Tensor[(4, 1), float32], %i: Tensor[(7), int64]) {
  %0 = reshape(broadcast_to(expand_dims(%x, axis=2), shape=[4, 32, 2]), newshape=[4, 64]);
  %1 = strided_slice(%0, begin=[1], end=[64], strides=[1], axes=[1]);
  (concatenate((%v, %1), axis=1), nn.pad(%1, 0.5f, pad_width=[[0, 0], [1, 0]]),
   nn.pad(take(%x, %i, axis=0), 0.5f, pad_width=[[20000, 0], [0, 0]]),
   nn.pad(take(%x, %i, axis=0), 0.5f, pad_width=[[0, 20000], [0, 0]]))
}
END
turned() { # turned GROUP
  cat <<END
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 40, 32), float32], %w: Tensor[(3, 3, 32, 64), float32], %b: Tensor[(1, 64, 8, 5), float32]) {
  %0 = fn (%p: Tensor[(1, 8, 40, 32), float32], %q: Tensor[(3, 3, 32, 64), float32], %r: Tensor[(1, 64, 8, 5), float32]$1) {
    add(transpose(nn.conv2d(%p, %q, padding=[1], channels=64, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO"),
                  axes=[0, 3, 1, 2]), repeat(%r, repeats=8, axis=3)) };
  %0(%x, %w, %b)
}
END
}
turned "" >apart.relay
turned ", Primitive=1" >turned.relay
for target in native x86-64-v3 x86-64; do
  bycc guards.relay -O0 -q -mcpu=$target -o apart.o
  bycc-run apart.json --random --outputs wanted -q
  bycc guards.relay -q -mcpu=$target -o guards.o
  bycc-run guards.json --random --expected wanted --rtol 0 --atol 0 -q
  bycc apart.relay -O0 -q -mcpu=$target -o apart.o
  bycc-run apart.json --random --outputs wanted-turned -q
  bycc turned.relay -q -mcpu=$target -o turned.o
  bycc-run turned.json --random --expected wanted-turned --rtol 1e-5 --atol 1e-5 -q
done
