#!/usr/bin/env bash
# A quantised convolution as TFLite has it: one composite of the described vendor
# arm_compute_lib, run as host code, and of dnnl where it is built in; named in
# reports as the program names it.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 3, 1), uint8]) {
  %0 = nn.pad(%x, 128, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]]);
  %1 = qnn.conv2d(%0, Tensor[(3, 3, 1, 1), int8][1, 1, 1, 1, 1, 1, 1, 1, 1], 128, 0, 0.5f, 0.25f, padding=[0, 0, 0, 0],
    channels=1, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32");
  %2 = nn.bias_add(%1, Tensor[(1), int32][1], axis=3);
  qnn.requantize(%2, 0.125f, 0, 0.25f, 10, axis=3, out_dtype="uint8")
}
EOF
npy write x.npy u1 1x3x3x1 129 129 129 129 129 129 129 129 129
# Real 0.5 everywhere: 4, 6 or 9 of it, a bias, half of the sum, ties up, and 10.
wanted="1x3x3x1 13 14 13 14 15 14 13 14 13"
ties_even="1x3x3x1 12 14 12 14 15 14 12 14 12" # as oneDNN has them

bycc --list-vendors > vendors.txt
grep -q '^arm_compute_lib .*emulated' vendors.txt || fail "$(cat vendors.txt)"
ways=("-O0 --annotate=arm_compute_lib" "-O2 --annotate=arm_compute_lib" "-O0" "-O2")
if grep -q '^dnnl ' vendors.txt; then
  ways+=("-O0 --annotate=dnnl --cost-model=none" "-O2 --annotate=dnnl --cost-model=none")
  bycc net.relay --annotate=dnnl --cost-model=none --explain -o net.o > explain.txt 2> line.txt
  grep -q '1 dnnl.qnn.conv2d' explain.txt || fail "$(cat explain.txt)"
  grep -q '^dnnl: 1 region, 4 of 4 ops' line.txt || fail "$(cat line.txt)"

  # Without VNNI the library saturates sums of two products.
  ONEDNN_MAX_CPU_ISA=AVX2 refuse 1 "exact with VNNI only, it is limited to avx2" bycc-run net.json --input x=x.npy
  bycc net.relay --annotate=dnnl --cost-model=none -mcpu=x86-64-v3 --explain -q -o old.o > explain.txt
  grep -q 'exact with VNNI only, the target has neither avx512vnni nor avxvnni' explain.txt || fail "$(cat explain.txt)"
fi
for options in "${ways[@]}"; do
  # shellcheck disable=SC2086
  bycc net.relay $options -q -o net.o
  bycc-run net.json --input x=x.npy --outputs=out
  [[ $options == *dnnl* ]] && expect "$(npy show out/output_0.npy)" "$ties_even" && continue
  expect "$(npy show out/output_0.npy)" "$wanted"
done

bycc net.relay --annotate=arm_compute_lib --explain -o net.o > explain.txt 2> line.txt
grep -q '1 arm_compute_lib.qnn_conv2d' explain.txt || fail "$(cat explain.txt)"
grep -q '^  %3  *qnn.requantize .*arm_compute_lib.qnn_conv2d' explain.txt || fail "$(cat explain.txt)"
grep -q '^arm_compute_lib: 1 region, 4 of 4 ops' line.txt || fail "$(cat line.txt)"
bycc-opt net.relay -O0 --annotate=arm_compute_lib | grep -q 'qnn.requantize' || fail "bycc-opt -O0 legalizes"
bycc-opt net.relay -O0 --require-pass=legalize | grep -q 'qnn' && fail "legalize leaves quantised operators"

sed 's/(1, 3, 3, 1), uint8/(2, 3, 3, 1), uint8/' net.relay > two.relay
bycc two.relay --annotate=arm_compute_lib --explain -q -o two.o > explain.txt
grep -q 'arm_compute_lib.qnn_conv2d: .*it takes' explain.txt || fail "$(cat explain.txt)"
