#!/usr/bin/env bash
# F9: scales and zero points that make no sense are INPUT; sums that leave int32 wrap.
. "$(dirname "$0")/lib.sh"

program() { printf '#[version = "0.0.5"]\ndef @main(%s) { %s }\n' "$1" "$2" > net.relay; }
for scale in 0f -1f nanf inff; do
  program '%x: Tensor[(2, 3), float32]' "qnn.quantize(%x, $scale, 0, out_dtype=\"uint8\")"
  refuse 1 "a scale is positive and finite" bycc net.relay -o net.o
  grep -qF "error[INPUT]: qnn.quantize: output_scale is" refuse.out || fail "not INPUT"
  program '%x: Tensor[(2, 3), uint8]' "qnn.dequantize(%x, $scale, 0)"
  refuse 1 "error[INPUT]: qnn.dequantize: input_scale is" bycc net.relay -o net.o
done
# model OPERATOR SCALE-EXTENT ZERO-DTYPE ZERO-EXTENT [ZERO]: of x [2, 3]; OPSET, SCALE (a dtype) and X
model() {
  PYTHONPATH=$root/tools/dev python3 - "$@" <<'END'
import os, struct, sys
from make_example import field, node
op, scale, dtype, zero = sys.argv[1], *map(int, sys.argv[2:5])
point = int(sys.argv[5]) if len(sys.argv) > 5 else 0
def dims(count):
    return field(1, count) if count else b""
def value(name, dtype):
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, field(1, field(1, 2)) + field(1, field(1, 3)))))
def env(name, value):
    return int(os.environ.get(name, value))
kind = env("SCALE", 1)
one = {1: struct.pack("<f", 1), 6: struct.pack("<i", 1), 10: struct.pack("<e", 1), 11: struct.pack("<d", 1)}[kind]
s = dims(scale) + field(2, kind) + field(8, "s") + field(9, one * max(scale, 1))
z = dims(zero) + field(2, dtype) + field(8, "z") + field(5, bytes([point & 127 | 128, point >> 7]) * max(zero, 1))
graph = field(1, node("q", op, ["x", "s", "z"], "y")) + field(2, "g") + field(5, s) + field(5, z)
graph += field(11, value("x", env("X", 1) if op == "QuantizeLinear" else 2)) + field(12, field(1, "y"))
open("net.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, env("OPSET", 19))))
END
}
for op in QuantizeLinear DequantizeLinear; do
  model $op 0 2 0 7; bycc net.onnx -q -o ok.o
  model $op 3 2 3; bycc net.onnx -q -o ok.o
  model $op 0 2 0 300; refuse 1 "error[INPUT]: tensor 'z' has a value that does not fit uint8" bycc net.onnx -o net.o
  model $op 2 2 2; refuse 1 "error[INPUT]: qnn" bycc net.onnx -o net.o
  model $op 3 2 1; refuse 1 "the scale is Tensor[(3), float32], the zero point Tensor[(1), uint8]" bycc net.onnx -o net.o
  model $op 0 2 3; refuse 1 "error[INPUT]: the scale is float32, the zero point" bycc net.onnx -o net.o
done
model DequantizeLinear 0 3 0; refuse 1 "error[INPUT]: the zero point is int8, the tensor uint8" bycc net.onnx -o net.o
# scales are float32; float16 since 19, and int32 for quantising integers
export OPSET SCALE X=1
for op in QuantizeLinear DequantizeLinear; do
  for OPSET in 10 13 17; do
    for SCALE in 6 10 11; do
      model $op 0 2 0; refuse 1 "in opset $OPSET it is float32" bycc net.onnx -o net.o
      grep -qF "error[INPUT]: the scale is " refuse.out || fail "not INPUT"
    done
  done
  OPSET=19 SCALE=10; model $op 0 2 0; bycc net.onnx -q -o ok.o
  for SCALE in 6 11; do
    model $op 0 2 0; refuse 1 "in opset 19 it is float32, float16 or bfloat16" bycc net.onnx -o net.o
  done
done
OPSET=19 SCALE=6 X=6; model QuantizeLinear 0 2 0; bycc net.onnx -q -o ok.o
OPSET=23 SCALE=6 X=1; model QuantizeLinear 0 2 0; bycc net.onnx -q -o ok.o
OPSET=17 SCALE=6 X=6; model QuantizeLinear 0 2 0; refuse 1 "in opset 17 it is float32" bycc net.onnx -o net.o
unset OPSET SCALE X

# Relay: constant zero points are values of their operand's dtype
zero() { # WANTED PARAMETERS EXPRESSION
  program "$2" "$3"
  refuse 1 "$1" bycc net.relay -o net.o
  grep -qF "error[INPUT]: qnn." refuse.out || fail "not INPUT"
}
zero "output_zero_point is 300, uint8 holds 0 to 255" '%x: Tensor[(2), float32]' 'qnn.quantize(%x, 1f, 300, out_dtype="uint8")'
zero "output_zero_point is -1, uint8 holds 0 to 255" '%x: Tensor[(2), float32]' 'qnn.quantize(%x, 1f, -1, out_dtype="uint8")'
zero "output_zero_point is 128, int8 holds -128 to 127" '%x: Tensor[(2), float32]' 'qnn.quantize(%x, 1f, 128, out_dtype="int8")'
zero "output_zero_point is 32768, int16 holds -32768 to 32767" '%x: Tensor[(2), float32]' 'qnn.quantize(%x, 1f, 32768, out_dtype="int16")'
zero "output_zero_point is 200, int8 holds" '%x: Tensor[(2), float32]' \
  'qnn.quantize(%x, Tensor[(2), float32][1f, 1f], Tensor[(2), int32][0, 200], axis=0, out_dtype="int8")'
zero "input_zero_point is -1, uint8 holds" '%x: Tensor[(2), uint8]' 'qnn.dequantize(%x, 1f, -1)'
zero "input_zero_point is 256, uint8 holds" '%x: Tensor[(2), uint8]' 'qnn.requantize(%x, 1f, 256, 1f, 0, out_dtype="int8")'
zero "output_zero_point is 200, int8 holds" '%x: Tensor[(2), uint8]' 'qnn.requantize(%x, 1f, 200, 1f, 200, out_dtype="int8")'
both='%x: Tensor[(2, 2), uint8], %w: Tensor[(2, 2), int8]'
zero "x_zero_point is 256, uint8 holds" "${both/Tensor/Tensor}" 'qnn.batch_matmul(expand_dims(%x, axis=0), expand_dims(%w, axis=0), 256, 0, 1f, 1f)'
zero "kernel_zero_point is 200, int8 holds" "$both" 'qnn.dense(%x, %w, 200, 200, 1f, 1f, units=2)'
zero "lhs_zero_point is -1, uint8 holds" "$both" 'qnn.add(%x, %x, 1f, -1, 1f, 0, 1f, 0)'
zero "rhs_zero_point is 300, uint8 holds" "$both" 'qnn.mul(%x, %x, 1f, 0, 1f, 300, 1f, 0)'
zero "output_zero_point is 300, uint8 holds" "$both" 'qnn.subtract(%x, %x, 1f, 0, 1f, 0, 1f, 300)'
zero "input_zero_points is -129, int8 holds" "$both" 'qnn.concatenate((%w, %w), (1f, 1f), (0, -129), 1f, 0, axis=0)'
zero "output_zero_point is 128, int8 holds" "$both" 'qnn.concatenate((%w, %w), (1f, 1f), (0, 0), 1f, 128, axis=0)'
zero "zero_point is -1, uint8 holds" "$both" 'qnn.tanh(%x, 1f, -1, 1f, 0)'
zero "output_zero_point is -1, uint8 holds" "$both" 'qnn.exp(%x, 1f, 0, 1f, -1)'
program "$both" 'qnn.requantize(qnn.dense(%x, %w, 255, -128, 1f, 1f, units=2), 1f, 7000, 1f, 127, out_dtype="int8")'
bycc net.relay -q -o ok.o
[ ! -e net.o ] || fail "something is written"

# 65,536 products of 65,536
program '%x: Tensor[(1, 65536), int16], %w: Tensor[(1, 65536), int16]' 'qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1)'
bycc net.relay -q -o net.o
npy write x.npy i2 1x65536 $(yes 256 | head -65536)
bycc-run net.json --input x=x.npy --input w=x.npy --outputs out > /dev/null
expect "$(npy show out/output_0.npy)" "1x1 0"
