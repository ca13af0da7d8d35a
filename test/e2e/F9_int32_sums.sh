#!/usr/bin/env bash
# F9: int32 sums of 8-bit products are exact, and wrap beyond 32 bits, whoever makes them.
# oneDNN's pass through float32: what may exceed 2^24 and leaves as int32 is refused with
# that reason; what is scaled in the same primitive stays offloaded.
. "$(dirname "$0")/lib.sh"

# program PARAMETERS EXPRESSION...
program() { printf '#[version = "0.0.5"]\ndef @main(%s) { %s }\n' "$1" "$2" > net.relay; }
fill() { head -"$1" < <(yes -- "$2"); }
# gives WANTED: compiled for the host, and for dnnl where it is built in; the line of the latter in line.txt.
gives() {
  for options in "" ${dnnl[@]+"${dnnl[@]}"}; do
    # shellcheck disable=SC2086
    bycc net.relay $options --explain -o net.o > explain.txt 2> line.txt
    bycc-run net.json --input x=x.npy --input w=w.npy --outputs out > /dev/null
    expect "$options $(npy show out/output_0.npy)" "$options $1"
  done
}
dnnl=()
if bycc --list-vendors | grep -q '^dnnl ' && grep -qE 'avx512_vnni|avx_vnni' /proc/cpuinfo; then
  dnnl=("--annotate=dnnl --cost-model=none")
fi
refused() {
  [ ${#dnnl[@]} != 0 ] || return 0
  grep -qF "$1" explain.txt || fail "$(cat explain.txt)"
  ! grep -q '^dnnl: [1-9]' line.txt || fail "$(cat line.txt)"
}
taken() {
  [ ${#dnnl[@]} != 0 ] || return 0
  grep -q '^dnnl: 1 region' line.txt || fail "$(cat line.txt explain.txt)"
}
why="int32: oneDNN's sums pass through float32, which is exact up to 2^24, and these may be larger"

# one product less than 4096 of 127 * 127: odd, beyond 2^24
npy write x.npy i1 1x4096 126 $(fill 4095 127)
npy write w.npy i1 1x4096 $(fill 4096 127)
dense='%x: Tensor[(1, 4096), int8], %w: Tensor[(1, 4096), int8]'
program "$dense" 'qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1)'
gives "1x1 66064257"
refused "$why"
program "$dense" 'add(qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1), 1)'
gives "1x1 66064258"
refused "$why"
program "${dense//(1, 4096)/(1, 1, 4096)}" 'qnn.batch_matmul(%x, %w, 0, 0, 1f, 1f, transpose_b=True)'
npy write x.npy i1 1x1x4096 126 $(fill 4095 127)
npy write w.npy i1 1x1x4096 $(fill 4096 127)
gives "1x1x1 66064257"
refused "$why"
# how many are added is known at run time only
program '%x: Tensor[(1, 1, n), int8], %w: Tensor[(1, 1, n), int8]' 'qnn.batch_matmul(%x, %w, 0, 0, 1f, 1f, transpose_b=True)'
gives "1x1x1 66064257"
refused "how many products are added is known at run time only"
# 456 channels of 3 * 3
program '%x: Tensor[(1, 456, 3, 3), int8], %w: Tensor[(1, 456, 3, 3), int8]' \
  'qnn.conv2d(%x, %w, 0, 0, 1f, 1f, channels=1, kernel_size=[3, 3], padding=[0, 0, 0, 0])'
npy write x.npy i1 1x456x3x3 126 $(fill 4103 127)
npy write w.npy i1 1x456x3x3 $(fill 4104 127)
gives "1x1x1x1 66193289"
refused "$why"

# uint8: the limit is lower, and a zero point lowers what is added
npy write x.npy u1 1x1024 $(fill 1023 255) 254
npy write w.npy i1 1x1024 $(fill 1024 127)
program '%x: Tensor[(1, 1024), uint8], %w: Tensor[(1, 1024), int8]' 'qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1)'
gives "1x1 33162113"
refused "$why"
program '%x: Tensor[(1, 1024), uint8], %w: Tensor[(1, 1024), int8]' 'qnn.dense(%x, %w, 128, 0, 1f, 1f, units=1)'
gives "1x1 16515969"
taken
# a bias is the host's
program '%x: Tensor[(1, 1024), uint8], %w: Tensor[(1, 1024), int8]' \
  'nn.bias_add(qnn.dense(%x, %w, 128, 0, 1f, 1f, units=1), meta[relay.Constant][0])'
echo '#[metadata]
{"relay.Constant": [{"dtype": "int32", "shape": [1], "name": "b", "data": "AQAAAg=="}]}' >> net.relay # 2^25 + 1
gives "1x1 50070402"

# scaled at once: stays
npy write x.npy i1 1x4096 126 $(fill 4095 127)
npy write w.npy i1 1x4096 $(fill 4096 127)
program "$dense" 'qnn.requantize(qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1), 1f, 0, 1000000f, 0, out_dtype="int8")'
gives "1x1 66"
taken
program "$dense" 'qnn.dequantize(qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1), 1f, 0)'
gives "1x1 6.60643e+07"
taken

# 2^17 + 4 products of (-128)^2 wrap to -2^31 + 2^16
npy write x.npy i1 1x131076 $(fill 131076 -128)
cp x.npy w.npy
program '%x: Tensor[(1, 131076), int8], %w: Tensor[(1, 131076), int8]' 'qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1)'
gives "1x1 -2147418112"
refused "$why"
