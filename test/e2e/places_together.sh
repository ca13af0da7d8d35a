#!/usr/bin/env bash
# Depthwise convolutions, grouped ones and pools with channels last make several places together:
# results with known extents are those with extents that are open, of rows that are shorter than that and
# longer, at any `jam`, with padding in front and behind.
. "$(dirname "$0")/lib.sh"

net() { # net EXTENTS
  cat <<END
#[version = "0.0.5"]
def @main(%x: Tensor[($1, 24), float32], %a: Tensor[(3, 3, 1, 24), float32], %b: Tensor[(3, 5, 4, 24), float32], %c: Tensor[(5, 5, 1, 48), float32]) {
  (nn.conv2d(%x, %a, padding=[1], groups=24, channels=24, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO"),
   nn.conv2d(%x, %b, padding=[2, 4], dilation=[1, 2], groups=6, channels=24, kernel_size=[3, 5], data_layout="NHWC", kernel_layout="HWIO"),
   nn.conv2d(%x, %c, padding=[2], strides=[1, 2], groups=24, channels=48, kernel_size=[5, 5], data_layout="NHWC", kernel_layout="HWIO"),
   nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1], layout="NHWC"),
   nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1], layout="NHWC"))
}
END
}
weights() { # weights FOLDER WIDTH
  mkdir -p "$1"
  npy write "$1/x.npy" f4 2x4x$2x24 $(values $((2 * 4 * $2 * 24)) 3)
  npy write "$1/a.npy" f4 3x3x1x24 $(values 216 5)
  npy write "$1/b.npy" f4 3x5x4x24 $(values 1440 7)
  npy write "$1/c.npy" f4 5x5x1x48 $(values 1200 9)
}
net "2, 4, ?" >open.relay
bycc open.relay -q --emit=obj,loops -o open.o
[ "$(grep -c 'together$' open.loops)" -ge 4 ] || fail "hardly anything is made together: $(grep 'schedule lanes' open.loops)"
for width in 2 3 7 8 9 15 24; do
  net "2, 4, $width" >net.relay
  weights inputs $width
  bycc net.relay -q --emit=obj,loops -o net.o
  bycc-run net.json --inputs inputs --outputs known --threads 1 -q
  bycc-run open.json --inputs inputs --expected known --rtol 1e-5 --atol 1e-5 --threads 2 -q
  for jam in 1 2 4; do
    sed "s/jam=[0-9]*/jam=$((2 * jam <= width ? jam : 1))/" net.loops | grep -E '^kernel|^ *nest|lanes run=across' >jam.loops
    bycc net.relay -q --schedules=jam.loops -o jam.o
    bycc-run jam.json --inputs inputs --expected known --rtol 1e-5 --atol 1e-5 --threads 1 -q
  done
done
