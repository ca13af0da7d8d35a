#!/usr/bin/env bash
# openblas: every form of product that it takes, alone and with bias and relu, with finite inputs, with NaN and with
# infinities, on one and two threads; an ONNX model beside other vendors; refusals.
. "$(dirname "$0")/lib.sh"
bycc --list-vendors | grep -q '^openblas ' || skip "built without OpenBLAS"

# Each result is one node of the vendor; @(2,3) is a constant. Some are shared by threads, by rows and by columns.
cat > operators.in <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 24, 30, 7), float32], %y: Tensor[(70, 24), float32], %w: Tensor[(24, 19), float32], %b: Tensor[(19), float32]) {
  let %rows = reshape(%x, newshape=[2, 24, 210]);
  let %last = reshape(%x, newshape=[2, 30, 7, 24]);
  (nn.dense(%y, @(31,24), units=31),
   nn.relu(nn.bias_add(nn.dense(%y, @(33,24), units=33), @(33))),
   nn.dense(reshape(%y, newshape=[7, 10, 24]), @(9,24), units=9),
   nn.dense(reshape(%x, newshape=[10080]), @(2,10080), units=2),
   add(%b, nn.matmul(%y, %w, units=19)),
   nn.relu(add(nn.matmul(%y, @(24,21), units=21), @(1,21))),
   nn.relu(nn.matmul(%y, @(19,24), units=19, transpose_b=True)),
   nn.bias_add(nn.matmul(%y, @(70,5), units=5, transpose_a=True), @(5)),
   nn.matmul(%rows, @(24,5), units=5, transpose_a=True),
   nn.batch_matmul(%rows, %rows, transpose_b=True),
   nn.batch_matmul(%rows, @(1,24,3), transpose_a=True),
   nn.relu(nn.batch_matmul(@(1,20,24), %rows)),
   nn.batch_matmul(@(2,24,3), %rows, transpose_a=True),
   nn.relu(nn.bias_add(nn.dense(reshape(%x, newshape=[72, 140]), @(200,140), units=200), @(200))),
   nn.relu(nn.bias_add(nn.conv2d(reshape(%x, newshape=[1, 70, 12, 12]), @(100,70,1,1)), @(100))),
   nn.conv2d(%x, @(22,24,1,1)),
   nn.relu(nn.bias_add(nn.conv2d(%x, @(20,24,1,1)), @(20))),
   nn.relu(add(nn.conv2d(%x, @(1,1,24,20), kernel_layout="HWIO"), @(20,1,1))),
   nn.conv2d(%last, @(20,1,1,24), data_layout="NHWC", kernel_layout="OHWI"),
   nn.relu(nn.bias_add(nn.conv2d(%last, @(1,1,24,20), data_layout="NHWC", kernel_layout="HWIO"), @(20), axis=3)))
}
EOR
python3 - <<'END'
import math, re
def tensor(match):
    count = math.prod(map(int, match[1].split(",")))
    return f"Tensor[({match[1]}), float32][" + ", ".join(f"{(i * 37 % 101 - 50) / 64}f" for i in range(count)) + "]"
text = re.sub(r"@\(([\d,]+)\)", tensor, open("operators.in").read())
open("operators.relay", "w").write(text)
END
clean=$(values 10080 1)
npy write clean.npy f4 2x24x30x7 $clean
npy write nan.npy f4 2x24x30x7 ${clean/ -1.25 / nan }
npy write inf.npy f4 2x24x30x7 ${clean/ -1.25 / -inf }
npy write y.npy f4 70x24 $(values 1680 4)
npy write w.npy f4 24x19 $(values 456 5)
npy write b.npy f4 19 nan $(values 18 6)
bycc operators.relay -q -o host.o
bycc operators.relay --annotate=openblas --cost-model=none --explain -o net.o > explain.txt
grep -q '38 ops .* 2 openblas.product_bias, 7 openblas.product_bias_relu, 2 openblas.product_relu' explain.txt ||
  fail "$(cat explain.txt)"
for x in clean nan inf; do
  bycc-run host.json --input x=$x.npy --input y=y.npy --input w=w.npy --input b=b.npy --threads 1 --outputs=want.$x -q
  for threads in 1 2; do
    bycc-run net.json --input x=$x.npy --input y=y.npy --input w=w.npy --input b=b.npy --threads $threads --expected=want.$x \
      > run.txt 2>&1 || fail "$x $threads $(cat run.txt)"
  done
done

# The classifier of an ONNX model, beside others.
model=$root/share/models/example.onnx
bycc "$model" -q -o host.o
bycc-run host.json --threads 1 --random --outputs=want -q
bycc "$model" --annotate=openblas,dnnl --cost-model=none -o all.o 2> out.txt
grep -q '^openblas: [1-9]' out.txt || fail "$(cat out.txt)"
bycc-run all.json --threads 1 --random --expected=want -q

why() {
  printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(%s), float32], %%w: Tensor[(2, 3), float32]) { %s }\n' "$1" "$2" > no.relay
  bycc check no.relay --annotate=openblas --cost-model=none > why.txt 2>&1 || true
  grep -qF -- "$3" why.txt || fail "no '$3' in $(cat why.txt)"
}
image="nn.conv2d(%x, Tensor[(2, 2, 1, 1), float32][1f, 2f, 3f, 4f]"
why "n, 3" 'nn.dense(%x, %w, units=2)' "is unknown until run time"
why "4, 3" 'nn.dense(cast(%x, dtype="float64"), cast(%w, dtype="float64"), units=2)' "dtype float64 is not supported"
why "1, 2, 4, 4" "$image, strides=[2, 2])" "groups, strides or padding, wanted none"
why "1, 2, 4, 4" "$image, padding=[1, 1])" "groups, strides or padding, wanted none"
why "1, 1, 2, 3" 'nn.conv2d(%x, reshape(%w, newshape=[1, 1, 2, 3]))' "a kernel of (1, 1, 2, 3), wanted one point"
why "0, 3" 'nn.dense(%x, %w, units=2)' "a matrix with an extent of 0"
sanitized && exit 0 # the program below is built without them

# Contexts on several threads give the bits of one alone; runs ask for no memory.
lib=$(cd "$bin/../lib" && pwd)
export BYCC_PLUGIN_PATH=$lib/bycc
c++ -std=c++20 -O1 -I"$root/include" "$here/runs.cpp" -o runs -L"$lib" -lbycc_runtime -Wl,-rpath,"$lib" -pthread
for threads in 1 2; do
  expect "$(./runs concurrent net.json $threads 3)" "0 of 120 runs differ"
  expect "$(./runs allocations net.json $threads)" "0 calls, largest 0"
done
for folder in /usr/lib/*/openblas-*; do # each way in which Debian builds it, as far as they are here
  [ -e "$folder/libopenblas.so.0" ] || continue
  expect "$(LD_LIBRARY_PATH=$folder ./runs concurrent net.json 2 3)" "0 of 120 runs differ"
done
