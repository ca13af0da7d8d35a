#!/usr/bin/env bash
# Extents of inputs that are convolved are 1 at least, so that (h - 1) / 2 + 1, rounded towards 0 as
# exporters write it, is the extent that a convolution has; programs check it, in each form.
. "$(dirname "$0")/lib.sh"

PYTHONPATH=$root/tools/dev python3 - <<'END'
import struct
from make_example import field, node, tensor, value_info
def numbers(name, values):
    return field(1, len(values)) + field(2, 7) + field(8, name) + field(9, struct.pack(f"<{len(values)}q", *values))
nodes = [node("centred", "Sub", ["x", "half"], "c"),
         node("conv", "Conv", ["c", "w"], "y", strides=[2, 2], pads=[1, 1, 1, 1]),
         node("n", "Shape", ["x"], "n", start=0, end=1)]
for axis, letter in ((2, "h"), (3, "w")):
    nodes += [node(letter, "Shape", ["x"], letter + "0", start=axis, end=axis + 1), node(letter + "1", "Add", [letter + "0", "minus"], letter + "1"),
              node(letter + "2", "Div", [letter + "1", "two"], letter + "2"), node(letter + "3", "Add", ["one", letter + "2"], letter + "3")]
nodes += [node("rows", "Reshape", ["y", "row_shape"], "r"), node("tokens", "Transpose", ["r"], "t", perm=[0, 2, 1]),
          node("s", "Sigmoid", ["t"], "s"), node("back", "Transpose", ["s"], "b", perm=[0, 2, 1]),
          node("shape", "Concat", ["n", "channels", "h3", "w3"], "shape", axis=0), node("image", "Reshape", ["b", "shape"], "z")]
graph = b"".join(field(1, each) for each in nodes) + field(2, "g")
graph += field(5, tensor("w", [20, 3, 3, 3], [((i * 31) % 67 - 33) / 64 for i in range(540)])) + field(5, tensor("half", [], [0.5]))
for name, values in (("minus", [-1]), ("two", [2]), ("one", [1]), ("channels", [20]), ("row_shape", [0, 20, -1])):
    graph += field(5, numbers(name, values))
graph += field(11, value_info("x", ["n", 3, "h", "w"])) + field(12, value_info("z", ["n", 20, "p", "q"]))
open("net.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
END

# Nothing is left open, and tokens are the image with channels last.
bycc-opt net.onnx -O2 -o net.relay
bycc-opt net.onnx -O0 -o plain.relay
for text in net plain; do
  grep -qF 'NonEmpty=["h", "w"]' $text.relay || fail "not said of @main: $(grep @main $text.relay)"
  ! grep -F "Tensor[" $text.relay | grep -F "?" || fail "an extent is not known"
done
grep -qF -- "-> Tensor[(n, 20, ((h + 1) / 2), ((w + 1) / 2)), float32]" net.relay || fail "another extent: $(grep @main net.relay)"

bycc-opt plain.relay -O0 -o again.relay
cmp plain.relay again.relay
bycc plain.relay -q -O0 --emit=json -o - > plain.json
bycc plain.json -q -o data.o
bycc plain.relay -q -o text.o
bycc net.onnx -q -o net.o
for size in 1x1 2x5 7x8 13x6; do
  npy write x.npy f4 1x3x$size $(values $((3 * ${size%x*} * ${size#*x})) 5)
  bycc net.onnx -q --shape x=1x3x$size -o known.o
  for form in net text data known; do bycc-run $form.json --input x=x.npy --outputs $form.out; done
  expect "$(npy show net.out/z.npy)" "$(npy show known.out/z.npy)"
  for form in text data; do expect "$(npy show $form.out/*.npy)" "$(npy show known.out/z.npy)"; done
done
npy write x.npy f4 1x3x0x4
for form in net text data; do
  refuse 1 "extent h is 0: what is convolved or pooled is not empty" bycc-run $form.json --input x=x.npy --outputs $form.out
done
# A batch may be empty.
npy write x.npy f4 0x3x4x4
bycc-run net.json --input x=x.npy --outputs none.out
expect "$(npy show none.out/z.npy)" "0x20x2x2"
