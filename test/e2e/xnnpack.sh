#!/usr/bin/env bash
# xnnpack: an ONNX model by layouts changed twice, alone and beside other vendors; every operator it has, with finite
# inputs, with NaN and with infinities, on one and two threads; refusals.
. "$(dirname "$0")/lib.sh"
bycc --list-vendors | grep -q '^xnnpack ' || skip "built without XNNPACK"
model=$root/share/models/example.onnx
bycc "$model" -q -o host.o
bycc-run host.json --threads 1 --random --outputs=want -q
same() {
  for threads in 1 2; do
    bycc-run $1.json --threads $threads --random --expected=want > run.txt 2>&1 || fail "$1 $threads $(cat run.txt)"
  done
}
bycc "$model" --annotate=xnnpack --cost-model=none --min-offload=95% --dump-offloads=xnnpack.dump.json -q -o alone.o
same alone
bycc "$model" --annotate=dnnl,xnnpack,ccompiler --cost-model=none -q -o all.o
same all
bycc "$model" --annotate=dnnl,xnnpack,ccompiler --cost-model=none --pin 'relu*=xnnpack' --pin softmax=ccompiler -o mixed.o 2> out.txt
grep -q '^dnnl: 3 regions.* | xnnpack: 2 regions.* | ccompiler: 1 region' out.txt || fail "$(cat out.txt)"
same mixed
expect "$(grep -c '"op": "layout_transform"' xnnpack.dump.json)" 2

# Each result is one operator, or what is joined to one.
numbers() { python3 -c "print(', '.join(f'{(i * 37 % 101 - 50) / 64}f' for i in range($1)))"; }
tensor() { echo "Tensor[($1), float32][$(numbers "$(python3 -c "import math; print(math.prod([$1]))")")]"; }
cat > operators.relay <<EOR
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 6, 7, 8), float32], %y: Tensor[(2, 6), float32]) {
  let %conv = nn.conv2d(%x, $(tensor 3,3,8,5), strides=[2, 1], padding=[1, 0, 1, 2], data_layout="NHWC", kernel_layout="HWIO");
  let %grouped = nn.conv2d(%x, $(tensor 6,4,2,2), dilation=[2, 1], groups=2, data_layout="NHWC");
  let %wide = multiply(%x, 3f);
  let %depthwise = nn.conv2d(%x, $(tensor 16,3,3,1), padding=[1, 1], groups=8, data_layout="NHWC", kernel_layout="OHWI");
  (%conv,
   nn.relu(nn.bias_add(%conv, $(tensor 5), axis=3)),
   clip(add(%grouped, $(tensor 6)), a_min=-1f, a_max=1f),
   nn.bias_add(%depthwise, $(tensor 16), axis=-1),
   nn.relu(nn.bias_add(nn.dense(%y, $(tensor 5,6), units=5), $(tensor 5))),
   add(nn.matmul(%y, $(tensor 6,3), units=3), $(tensor 1,3)),
   nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], layout="NHWC", ceil_mode=True),
   nn.max_pool2d(%x, pool_size=[2, 2], dilation=[2, 2], layout="NHWC"),
   nn.avg_pool2d(%x, pool_size=[3, 2], strides=[2, 1], padding=[1, 1], layout="NHWC"),
   nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 0], layout="NHWC", count_include_pad=True),
   nn.global_avg_pool2d(%x, layout="NHWC"),
   image.resize2d(%x, size=[9, 4], layout="NHWC", coordinate_transformation_mode="align_corners"),
   image.resize2d(%x, size=[4, 11], layout="NHWC", coordinate_transformation_mode="asymmetric"),
   image.resize2d(%x, size=[12, 14], layout="NHWC"),
   nn.softmax(%x), nn.pad(%x, 0.5f, pad_width=[[0, 1], [2, 0], [1, 1], [0, 0]]),
   nn.prelu(%x, $(tensor 8), axis=3), nn.leaky_relu(%x, alpha=0.125f), sigmoid(%x), abs(%x), negative(%x), floor(%x),
   ceil(%x), sqrt(abs(%x)), reshape(%y, newshape=[3, 4]), squeeze(%x, axis=[0]), nn.batch_flatten(%x),
   add(%x, $(tensor 7,1)), subtract($(tensor 6,1,8), %x), multiply(%x, %x), divide(%x, add(abs(%x), 1f)),
   multiply(%wide, clip(add(multiply(%wide, 0.16666667f), 0.5f), a_min=0f, a_max=1f)),
   divide(multiply(%wide, clip(add(%wide, 3f), a_min=0f, a_max=6f)), 6f),
   multiply(%x, divide(clip(add(%x, 3f), a_min=0f, a_max=6f), 6f)),
   maximum(%x, $(tensor 8)), minimum($(tensor 1,6,7,8), %x), maximum(%x, 0.25f), %x)
}
EOR
clean=$(values 336 1)
npy write clean.npy f4 1x6x7x8 $clean
npy write nan.npy f4 1x6x7x8 ${clean/ -1.25 / nan }
npy write inf.npy f4 1x6x7x8 ${clean/ -1.25 / -inf }
npy write large.npy f4 1x6x7x8 ${clean/ -1.25 / -1e30 }
npy write y.npy f4 2x6 $(values 12 4)
npy write ynan.npy f4 2x6 nan $(values 11 4)
bycc operators.relay -q -o host.o
bycc operators.relay --annotate=xnnpack --cost-model=none --min-offload=100%ops --expect-regions=1 --explain -q -o keep.o > explain.txt
grep -q ' 3 xnnpack.hard_swish' explain.txt || fail "$(cat explain.txt)"
bycc operators.relay --annotate=xnnpack --cost-model=none --min-offload=100%ops --nan=fast -q -o fast.o
for x in clean nan inf large; do
  y=y; [ $x = nan ] && y=ynan
  bycc-run host.json --input x=$x.npy --input y=$y.npy --threads 1 --outputs=want.$x -q
  for threads in 1 2; do
    bycc-run keep.json --input x=$x.npy --input y=$y.npy --threads $threads --expected=want.$x > run.txt 2>&1 ||
      fail "$x $threads $(cat run.txt)"
  done
done
bycc-run fast.json --input x=clean.npy --input y=y.npy --threads 1 --expected=want.clean -q
refuse 4 DIFFERS bycc-run fast.json --input x=nan.npy --input y=ynan.npy --threads 1 --expected=want.nan

# NaN in a constant, and what is refused.
cat > constant.relay <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) { nn.relu(nn.dense(%x, Tensor[(2, 3), float32][1f, nanf, 2f, 3f, 4f, 5f], units=2)) }
EOR
bycc constant.relay -q -o host.o
bycc constant.relay --annotate=xnnpack --cost-model=none --min-offload=100% -q -o net.o
bycc-run host.json --random --threads 1 --outputs=want.constant -q
bycc-run net.json --random --threads 1 --expected=want.constant -q
why() {
  printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(%s), float32], %%w: Tensor[(2, 3), float32]) { %s }\n' "$1" "$2" > no.relay
  bycc check no.relay --annotate=xnnpack --cost-model=none > why.txt 2>&1 || true
  grep -qF -- "$3" why.txt || fail "no '$3' in $(cat why.txt)"
}
why "4, 3" 'nn.dense(%x, %w, units=2)' "operand 1 is not a constant"
why "4, 3" 'nn.relu(cast(%x, dtype="float64"))' "dtype float64 is not supported"
why "4, 3" 'nn.softmax(%x, axis=0)' "axis 0 is not the last one"
why "1, 2, 4, 4" 'nn.max_pool2d(%x, pool_size=[2, 2], layout="NHWC", padding=[2, 2])' "a window holds nothing but padding"
why "1, 4, 4, 2" 'image.resize2d(%x, size=[8, 8], layout="NHWC", method="cubic")' "method is cubic, wanted linear"

# XNNPACK reads behind the end of its inputs: one that ends where memory ends is copied.
cat > end.relay <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 4, 5), float32]) { nn.global_avg_pool2d(%x, layout="NHWC") }
EOR
bycc end.relay --annotate=xnnpack --cost-model=none --min-offload=100% -q -o end.o
sanitized && exit 0 # the program below is built without them
lib=$(cd "$bin/../lib" && pwd)
export BYCC_PLUGIN_PATH=$lib/bycc
c++ -std=c++20 -O1 -I"$root/include" "$here/page_end.cpp" -o page_end -L"$lib" -lbycc_runtime -Wl,-rpath,"$lib"
OUT=$(./page_end end.json 2>&1) || fail "an input at the end of memory: exit $? $OUT"

# Contexts on several threads give the bits of one alone; runs ask for no memory, and a failing allocation is told.
c++ -std=c++20 -O1 -I"$root/include" "$here/runs.cpp" -o runs -L"$lib" -lbycc_runtime -Wl,-rpath,"$lib" -pthread
for threads in 1 2; do
  expect "$(./runs concurrent keep.json $threads 3)" "0 of 120 runs differ"
  expect "$(./runs allocations keep.json $threads)" "0 calls, largest 0"
  got=$(./runs loading alone.json $threads 2> loading.err)
  [[ $got =~ ^[1-9][0-9]*\ failed,\ 0\ aborted,\ 0\ untold$ ]] || fail "$threads threads: $got $(cat loading.err)"
done
