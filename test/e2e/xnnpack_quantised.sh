#!/usr/bin/env bash
# xnnpack: int8 and uint8 in the graph's values, by one step of rounding as host code; scales for each channel; NaN and
# infinities that are quantised; values that two readers give two scales; int8 nets by layouts changed; refusals.
. "$(dirname "$0")/lib.sh"
bycc --list-vendors | grep -q '^xnnpack ' || skip "built without XNNPACK"

# integers COUNT LOW HIGH DTYPE EXTENTS
tensor() { echo "Tensor[($5), $4][$(python3 -c "print(', '.join(str($2 + i * 37 % ($3 - $2)) for i in range($1)))")]"; }
scales() { echo "Tensor[($1), float32][$(python3 -c "print(', '.join(f'{$2 * (1 + i / 4)}f' for i in range($1)))")]"; }
cat > operators.relay <<EOR
#[version = "0.0.5"]
def @main(%real: Tensor[(1, 6, 7, 8), float32], %x: Tensor[(1, 6, 7, 8), int8], %u: Tensor[(1, 6, 7, 8), uint8]) {
  let %q = qnn.quantize(%real, 0.02f, 3, out_dtype="int8");
  let %v = qnn.quantize(%real, 0.02f, 120, out_dtype="uint8");
  let %conv = qnn.conv2d(%x, $(tensor 360 -100 100 int8 5,3,3,8), 3, 0, 0.02f, $(scales 5 0.01), strides=[2, 1], padding=[1, 0, 1, 2],
    channels=5, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="OHWI");
  let %conv8 = qnn.requantize(nn.relu(nn.bias_add(%conv, $(tensor 5 -999 999 int32 5), axis=3)), $(scales 5 0.0002), 0, 0.05f, -20,
    axis=3, out_dtype="int8");
  let %depthwise = qnn.conv2d(nn.pad(%u, 120, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]]), $(tensor 72 -100 100 int8 3,3,8,1), 120, 0,
    0.02f, $(scales 8 0.01), groups=8, channels=8, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI");
  let %depthwise8 = clip(qnn.requantize(add(%depthwise, $(tensor 8 -999 999 int32 1,1,1,8)), $(scales 8 0.0002), 0, 0.01f, 9, axis=-1,
    out_dtype="uint8"), a_min=20f, a_max=200f);
  let %grouped = qnn.conv2d(%q, $(tensor 96 100 150 uint8 6,2,2,4), 3, 125, 0.02f, 0.01f, groups=2, channels=6, kernel_size=[2, 2],
    data_layout="NHWC", kernel_layout="OHWI");
  let %dense = qnn.dense(reshape(%v, newshape=[42, 8]), $(tensor 40 -100 100 int8 5,8), 120, 0, 0.02f, $(scales 5 0.01), units=5);
  (%conv8, %depthwise8, %q, %v,
   qnn.requantize(%grouped, 0.0002f, 0, 0.01f, 128, out_dtype="uint8"),
   qnn.requantize(nn.bias_add(%dense, $(tensor 5 -999 999 int32 5)), $(scales 5 0.0002), 0, 0.05f, 0, axis=1, out_dtype="int8"),
   qnn.add(%x, %q, 0.02f, 3, 0.02f, 3, 0.05f, -7), qnn.subtract(%u, %v, 0.02f, 120, 0.02f, 120, 0.05f, 99),
   qnn.mul(%x, %q, 0.02f, 3, 0.02f, 3, 0.05f, -7), qnn.add(%q, $(tensor 8 -9 9 int8 8), 0.02f, 3, 0.5f, 1, 0.05f, 0),
   qnn.avg_pool2d(%x, 0.02f, 3, 0.04f, 0, pool_size=[6, 7], layout="NHWC", out_dtype="int8"),
   qnn.avg_pool2d(%u, 0.02f, 120, 0.04f, 90, pool_size=[2, 2], strides=[2, 2], layout="NHWC", out_dtype="uint8"),
   nn.max_pool2d(%u, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], layout="NHWC"), clip(%x, a_min=-20f, a_max=90f), nn.relu(%q),
   qnn.requantize(%x, 0.02f, 3, 0.07f, -5, out_dtype="int8"), qnn.requantize(%u, 0.5f, 3, 0.9f, 7, out_dtype="uint8"),
   qnn.dequantize(%x, 0.5f, 7), qnn.dequantize(%v, 0.02f, 120))
}
EOR
# None between two steps: sums and products of what was quantised would be two apart.
clean=$(python3 -c "print(*[((i * 31 + 1) % 67 - 33) * 0.063 for i in range(336)])")
npy write clean.npy f4 1x6x7x8 $clean
npy write odd.npy f4 1x6x7x8 nan inf -inf 1e30 ${clean#* * * * }
npy write x.npy i1 1x6x7x8 $(python3 -c "print(*[i * 31 % 256 - 128 for i in range(336)])")
npy write u.npy u1 1x6x7x8 $(python3 -c "print(*[i * 41 % 256 for i in range(336)])")
bycc operators.relay -q -o host.o
bycc operators.relay --annotate=xnnpack --cost-model=none --min-offload=100%ops --expect-regions=1 -q -o net.o
for real in clean odd; do
  inputs=(--input real=$real.npy --input x=x.npy --input u=u.npy)
  bycc-run host.json "${inputs[@]}" --threads 1 --outputs=want.$real -q
  for threads in 1 2; do
    bycc-run net.json "${inputs[@]}" --threads $threads --expected=want.$real --rtol=1e-5 --atol=1.01 > run.txt 2>&1 ||
      fail "$real $threads $(cat run.txt)"
  done
done

# A net in the layout of ONNX: two changes of layout around all of it.
cat > net.relay <<EOR
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 6, 6), float32]) {
  let %q = qnn.quantize(%x, 0.02f, 0, out_dtype="int8");
  let %conv = qnn.conv2d(%q, $(tensor 576 -100 100 int8 8,8,3,3), 0, 0, 0.02f, $(scales 8 0.01), padding=[1, 1], channels=8, kernel_size=[3, 3]);
  let %r = qnn.requantize(nn.bias_add(%conv, $(tensor 8 -999 999 int32 8)), $(scales 8 0.0002), 0, 0.05f, 0, axis=1, out_dtype="int8");
  let %sum = qnn.add(%r, %q, 0.05f, 0, 0.02f, 0, 0.05f, 0);
  qnn.dequantize(qnn.avg_pool2d(%sum, 0.05f, 0, 0.05f, 0, pool_size=[6, 6], layout="NCHW", out_dtype="int8"), 0.05f, 0)
}
EOR
bycc net.relay -q -o host.o
bycc net.relay --annotate=xnnpack --cost-model=none --expect-regions=2 --dump-offloads=dump.json -q -o net.o
expect "$(grep -c '"op": "layout_transform"' dump.json)" 2
bycc-run host.json --random --threads 1 --outputs=want.net -q
bycc-run net.json --random --threads 1 --expected=want.net --rtol=0 --atol=0.051 -q

why() {
  printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(4, 8), int8], %%w: Tensor[(2, 8), int8]) { %s }\n' "$1" > no.relay
  bycc check no.relay --annotate=xnnpack --cost-model=none > why.txt 2>&1 || true
  grep -qF -- "$2" why.txt || fail "no '$2' in $(cat why.txt)"
}
why 'qnn.requantize(qnn.dense(%x, %w, 0, 0, 1f, 1f, units=2), 1f, 0, 64f, 0, out_dtype="int8")' "weights are not constant"
why 'qnn.dense(%x, %w, 0, 0, 1f, 1f, units=2)' "dtype int32 is not supported"
why 'add(%x, %x)' "dtype int8 is not supported"
why 'qnn.mul(%x, %x, 1f, 0, 1000f, 0, 1f, 0)' "scales in proportion 1000"
why 'qnn.dequantize(%x, Tensor[(8), float32][1f, 2f, 3f, 4f, 5f, 6f, 7f, 8f], 0)' "scales or zero points for each channel"
