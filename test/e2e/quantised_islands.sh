#!/usr/bin/env bash
# Programs with quantize and dequantize around float operators, as tools write
# them: made of integers they give what they give as floats, but for a unit where
# a tie is broken another way, and what stays float is said.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), int8], %y: Tensor[(1, 4, 6, 6), uint8], %m: Tensor[(3, 144), int8]) {
  %100 = qnn.dequantize(%x, 0.05f, 3);
  %101 = qnn.dequantize(%y, 0.03f, 120);
  %102 = qnn.dequantize(Tensor[(3, 4, 1, 1), int8][1, -50, 3, 127, -128, 5, 60, 7, 8, -9, 100, 11], Tensor[(3), float32][0.01, 0.02, 0.005], 0, axis=0);
  %103 = nn.conv2d(%100, %102, padding=[1, 0], channels=3, kernel_size=[1, 1]);
  %104 = nn.bias_add(%103, Tensor[(3), float32][0.5, -0.25, 1]);
  %105 = clip(%104, a_min=-0.5f, a_max=3f);
  %0 = qnn.quantize(%105, 0.02f, -7, out_dtype="int8", rounding="TONEAREST_EVEN");
  %106 = nn.conv2d_transpose(%101, qnn.dequantize(Tensor[(4, 2, 1, 1), int8][9, -50, 3, 127, -128, 5, 60, 7], 0.02f, 1), channels=2, kernel_size=[1, 1], strides=[2, 2]);
  %1 = qnn.quantize(%106, 0.05f, 3, out_dtype="int8");
  %107 = reshape(%100, newshape=[1, 144]);
  %108 = nn.dense(%107, qnn.dequantize(%m, 0.02f, 1), units=3);
  %2 = qnn.quantize(nn.relu(add(%108, Tensor[(1, 3), float32][1, 2, -3])), 0.2f, 0, out_dtype="uint8");
  %3 = qnn.quantize(nn.batch_matmul(reshape(%100, newshape=[4, 6, 6]), reshape(%101, newshape=[4, 6, 6])), 0.1f, 0, out_dtype="int8");
  %4 = qnn.quantize(nn.max_pool2d(nn.pad(%100, 0f, pad_width=[[0, 0], [0, 0], [1, 0], [0, 2]]), pool_size=[3, 3], padding=[1, 1]), 0.05f, 3, out_dtype="int8");
  %5 = qnn.quantize(image.resize2d(%101, size=[9, 9], method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"), 0.04f, -2, out_dtype="int8");
  %6 = qnn.quantize(nn.upsampling(%100, scale_h=2f, scale_w=2f), 0.05f, 3, out_dtype="int8");
  %7 = qnn.quantize(nn.depth_to_space(transpose(%100, axes=[0, 1, 3, 2]), block_size=2), 0.05f, 3, out_dtype="int8");
  %109 = split(%101, indices_or_sections=2, axis=1);
  %8 = qnn.quantize(concatenate((%109.1, strided_slice(%100, begin=[0, 0, 0, 0], end=[1, 2, 6, 6], strides=[1, 1, 1, 1], axes=None))), 0.06f, 1, out_dtype="int8");
  %9 = qnn.quantize(subtract(%100, multiply(%101, 2f)), 0.1f, 5, out_dtype="uint8");
  %10 = qnn.quantize(multiply(%100, nn.relu(%101)), 0.1f, 0, out_dtype="int8");
  %11 = qnn.quantize(maximum(%100, %101), 0.05f, 0, out_dtype="int8");
  %12 = qnn.quantize(mean(%100, axis=[1], keepdims=True), 0.02f, 0, out_dtype="int8");
  %13 = qnn.quantize(nn.avg_pool2d(%101, pool_size=[3, 3], padding=[1, 1]), 0.03f, 120, out_dtype="uint8");
  %14 = qnn.quantize(nn.global_avg_pool2d(%100), 0.01f, 0, out_dtype="int8");
  %15 = qnn.quantize(multiply(%100, sigmoid(%100)), 0.04f, 0, out_dtype="int8");
  %16 = qnn.quantize(exp(%100), 0.1f, -128, out_dtype="int8");
  %17 = qnn.quantize(nn.leaky_relu(%101, alpha=0.1f), 0.03f, 120, out_dtype="uint8");
  %18 = qnn.quantize(take(reverse(%100, axis=1), Tensor[(2), int32][3, 0], axis=1), 0.07f, 3, out_dtype="uint8");
  %19 = qnn.quantize(max(tile(%100, reps=[1, 1, 2, 1]), axis=[2]), 0.05f, 3, out_dtype="int8");
  %20 = qnn.quantize(nn.softmax(%100), 0.004f, -128, out_dtype="int8");
  %21 = nn.softmax(%108);
  (%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21)
}
EOF
bycc net.relay -v -o int.o 2> int.txt
grep -q '4 products of quantised operands are integer, and 20 of 21 islands between them' int.txt || fail "$(cat int.txt)"
grep -q 'qnn.quantize stays float: nn.softmax: ' int.txt || fail "$(cat int.txt)"
bycc-opt net.relay --fake-quantization-to-integer > int.relay
! grep -E ' (nn.conv2d|nn.conv2d_transpose|nn.dense|nn.batch_matmul|add|multiply|exp|sigmoid)\(' int.relay || fail "floats are left"
bycc net.relay --disable-pass=fake-quantization-to-integer -q -o float.o
for seed in 1 2; do
  bycc-run float.json --random=$seed -q --outputs=float
  bycc-run int.json --random=$seed -q --expected=float --rtol=0 --atol=1.001 > cmp.txt || fail "$(cat cmp.txt)"
done
