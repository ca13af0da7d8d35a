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
# model OPERATOR SCALE-EXTENT ZERO-DTYPE ZERO-EXTENT [ZERO]: of x [2, 3]
model() {
  PYTHONPATH=$root/tools/dev python3 - "$@" <<'END'
import struct, sys
from make_example import field, node
op, scale, dtype, zero = sys.argv[1], *map(int, sys.argv[2:5])
point = int(sys.argv[5]) if len(sys.argv) > 5 else 0
def dims(count):
    return field(1, count) if count else b""
def value(name, dtype):
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, field(1, field(1, 2)) + field(1, field(1, 3)))))
s = dims(scale) + field(2, 1) + field(8, "s") + field(9, struct.pack("<f", 1) * max(scale, 1))
z = dims(zero) + field(2, dtype) + field(8, "z") + field(5, bytes([point & 127 | 128, point >> 7]) * max(zero, 1))
graph = field(1, node("q", op, ["x", "s", "z"], "y")) + field(2, "g") + field(5, s) + field(5, z)
graph += field(11, value("x", 1 if op == "QuantizeLinear" else 2)) + field(12, field(1, "y"))
open("net.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 19)))
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
[ ! -e net.o ] || fail "something is written"

# 65,536 products of 65,536
program '%x: Tensor[(1, 65536), int16], %w: Tensor[(1, 65536), int16]' 'qnn.dense(%x, %w, 0, 0, 1f, 1f, units=1)'
bycc net.relay -q -o net.o
npy write x.npy i2 1x65536 $(yes 256 | head -65536)
bycc-run net.json --input x=x.npy --input w=x.npy --outputs out > /dev/null
expect "$(npy show out/output_0.npy)" "1x1 0"
