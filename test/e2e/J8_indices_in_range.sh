#!/usr/bin/env bash
# J8: an index out of range ends the run with ARG where mode="error" says so, which the
# ONNX frontend sets, and in scatters; negative ones count from the end. E6: constant ones are INPUT.
. "$(dirname "$0")/lib.sh"

npy write x.npy f4 3x4 0 1 2 3 4 5 6 7 8 9 10 11

# program DTYPE SHAPE EXPRESSION: of %x and %i.
program() {
  echo '#[version = "0.0.5"]' > net.relay
  echo "def @main(%x: ${X:-Tensor[(3, 4), float32]}, %i: Tensor[($2), $1]) { $3 }" >> net.relay
  bycc net.relay -q ${LEVEL:--O2} -o net.o
}
# gives VALUES DTYPE SHAPE INDEX...
gives() {
  local wanted=$1
  npy write i.npy "${@:2}"
  bycc-run net.json --input x=x.npy --input i=i.npy --outputs got > /dev/null
  expect "$(npy show got/${OUT:-output_0}.npy)" "$wanted"
}
# ends INDEX EXTENT DTYPE SHAPE INDEX...
ends() {
  local index=$1 extent=$2
  npy write i.npy "${@:3}"
  refuse 1 "index $index is out of range for an axis of $extent elements" bycc-run net.json --input x=x.npy --input i=i.npy
  grep -qF 'error[ARG]: node ' refuse.out || fail "no node named"
}

for LEVEL in -O0 -O2; do
  program int64 5 'nn.relu(take(%x, %i, axis=0, mode="error"))'
  gives "5x4 0 1 2 3 8 9 10 11 8 9 10 11 4 5 6 7 0 1 2 3" i8 5 0 2 -1 -2 -3
  ends 77 3 i8 5 0 1 77 2 1
  ends -4 3 i8 5 0 1 -4 2 1
  ends 3 3 i8 5 0 1 1 2 3
  # one that is made in the program
  program int32 5 'take(%x, add(%i, 1), axis=1, mode="error")'
  gives "3x5 1 2 3 0 1 5 6 7 4 5 9 10 11 8 9" i4 5 0 1 2 -1 -4
  ends 4 4 i4 5 0 1 2 3 0
  ends -2147483648 4 i4 5 0 1 2147483647 0 0
  program uint8 2 'take(%x, %i, axis=1, mode="error")'
  gives "3x2 3 0 7 4 11 8" u1 2 3 0
  ends 255 4 u1 2 3 255
  program int64 6 'take(%x, %i, mode="error")'
  gives "6 0 11 11 0 5 6" i8 6 0 11 -1 -12 5 6
  ends 12 12 i8 6 0 11 -1 -12 5 12
  program int64 '2, 4' 'gather(%x, %i, axis=0, mode="error")'
  gives "2x4 0 5 10 3 8 9 2 7" i8 2x4 0 1 -1 0 2 2 0 1
  ends 3 3 i8 2x4 0 1 -1 0 3 2 0 1
  program int64 '2, 3' 'exp(multiply(gather_nd(%x, %i, mode="error"), 0f))'
  gives "3 1 1 1" i8 2x3 0 2 -1 3 -4 0
  ends 4 4 i8 2x3 0 2 -1 3 4 0
  ends -4 3 i8 2x3 0 -4 -1 3 3 0
  # extents that are known at run time
  X='Tensor[(?, 4), float32]' program int64 '?' 'take(%x, %i, axis=0, mode="error")'
  gives "1x4 8 9 10 11" i8 1 -1
  gives "0x4" i8 0
  ends 3 3 i8 2 2 3
done

# clip and wrap keep their meaning, and so does nothing said
program int64 3 'take(%x, %i, axis=1, mode="clip")'
gives "3x3 0 3 1 4 7 5 8 11 9" i8 3 -7 77 1
program int64 3 'take(%x, %i, axis=1, mode="wrap")'
gives "3x3 1 1 1 5 5 5 9 9 9" i8 3 -7 77 1
program int64 '3, 1' 'gather(%x, %i, axis=1)'
gives "3x1 3 4 9" i8 3x1 99 -4 1

# scatters of Relay
for LEVEL in -O0 -O2; do
  program int64 '2, 4' 'scatter_elements(%x, %i, cast(%i, dtype="float32"), axis=0)'
  gives "3x4 0 -3 2 3 4 5 1 -2 -1 9 10 2" i8 2x4 0 -3 1 -2 -1 -3 1 2
  ends -4 3 i8 2x4 0 -4 1 -2 -1 -3 1 2
  ends 3 3 i8 2x4 0 0 1 -2 -1 3 1 2
  program int64 '2, 3' 'scatter_nd(%x, %i, Tensor[(3), float32][50f, 60f, 70f])'
  gives "3x4 0 1 2 50 60 5 6 7 8 9 70 11" i8 2x3 0 -2 -1 -1 -4 2
  ends -4 3 i8 2x3 0 -4 -1 -1 -4 2
  ends 4 4 i8 2x3 0 -2 -1 -1 4 2
done
# no coordinates: the whole of it
program int64 '0, 1' 'scatter_nd(%x, %i, Tensor[(1, 3, 4), float32][1f, 1f, 1f, 1f, 1f, 1f, 1f, 1f, 1f, 1f, 1f, 1f])'
gives "3x4 1 1 1 1 1 1 1 1 1 1 1 1" i8 0x1

# E6: known while compiling
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32]) { take(%x, -4i64, axis=0, mode="error") }
END
refuse 1 "error[INPUT]: take: index -4 is out of range for an axis of 3 elements" bycc net.relay -o no.o

# ONNX
PYTHONPATH=$root/tools/dev python3 - <<'END'
import struct
from make_example import field, node, value_info
def value(name, dtype, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, dims)))
def model(name, op, shape, result, constant=None):
    graph = field(1, node("reader", op, ["x", "i"], "y")) + field(2, "g") + field(11, value("x", 1, [3, 4]))
    if constant is None:
        graph += field(11, value("i", 7, shape))
    else:
        graph += field(5, b"".join(field(1, d) for d in shape) + field(2, 7) + field(8, "i") +
                       field(9, b"".join(c.to_bytes(8, "little", signed=True) for c in constant)))
    graph += field(12, value("y", 1, result))
    open(name + ".onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
model("Gather", "Gather", [2], [2, 4])
model("GatherElements", "GatherElements", [2, 4], [2, 4])
model("GatherND", "GatherND", [2, 1], [2, 4])
def scatter(name, op, shape, updates, dtype=7, constant=None):
    code = {6: 4, 7: 8}[dtype]
    graph = field(1, node("writer", op, ["x", "i", "u"], "y")) + field(2, "g") + field(11, value("x", 1, [3, 4]))
    count = 1
    for extent in updates:
        count *= extent
    if constant is None:
        graph += field(11, value("i", dtype, shape))
    else:
        graph += field(5, b"".join(field(1, d) for d in shape) + field(2, dtype) + field(8, "i") +
                       field(9, b"".join(c.to_bytes(code, "little", signed=True) for c in constant)))
    graph += field(5, b"".join(field(1, d) for d in updates) + field(2, 1) + field(8, "u") +
                   field(9, struct.pack("<%df" % count, *range(50, 50 + count))))
    graph += field(12, value("y", 1, [3, 4]))
    open(name + ".onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
scatter("ScatterElements", "ScatterElements", [1, 2], [1, 2])
scatter("ScatterElements32", "ScatterElements", [1, 2], [1, 2], 6)
scatter("ScatterND", "ScatterND", [2, 1], [2, 4])
scatter("ScatterND32", "ScatterND", [2, 1], [2, 4], 6)
scatter("E6_ScatterElements", "ScatterElements", [1, 2], [1, 2], 7, [0, -4])
scatter("E6_ScatterND", "ScatterND", [2, 1], [2, 4], 7, [0, -4])
model("E6_Gather", "Gather", [2], [2, 4], [0, 77])
model("E6_GatherElements", "GatherElements", [1, 2], [1, 2], [0, 77])
model("E6_GatherND", "GatherND", [2, 1], [2, 4], [0, 77])
END
for op in Gather GatherND GatherElements; do
  bycc $op.onnx -q -o net.o
  case $op in Gather) shape=2 ;; GatherND) shape=2x1 ;; *) shape=2x4 ;; esac
  fill=$([ $op = GatherElements ] && echo "0 0 0 0 0 0" || true)
  [ $op = GatherElements ] || OUT=y gives "2x4 8 9 10 11 0 1 2 3" i8 $shape -1 -3
  ends 77 3 i8 $shape 0 77 $fill
  refuse 1 "node 'reader'" bycc-run net.json --input x=x.npy --input i=i.npy
  refuse 1 "error[INPUT]: index 77 is out of range for an axis of 3 elements" bycc E6_$op.onnx -o no.o
done
# what is written by index: -n is the first, and -n - 1 none
for op in ScatterElements ScatterND; do
  shape=$([ $op = ScatterND ] && echo 2x1 || echo 1x2)
  for width in "" 32; do
    dtype=$([ "$width" ] && echo i4 || echo i8)
    bycc $op$width.onnx -q -o net.o
    case $op in
    ScatterND) OUT=y gives "3x4 50 51 52 53 4 5 6 7 54 55 56 57" $dtype $shape -3 -1 ;;
    *) OUT=y gives "3x4 50 1 2 3 4 5 6 7 8 51 10 11" $dtype $shape -3 -1 ;;
    esac
    for index in -4 -5 -6 -7 3; do
      ends $index 3 $dtype $shape 0 $index
      refuse 1 "node 'writer'" bycc-run net.json --input x=x.npy --input i=i.npy
    done
  done
  refuse 1 "error[INPUT]: index -4 is out of range for an axis of 3 elements" bycc E6_$op.onnx -o no.o
done
