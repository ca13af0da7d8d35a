#!/usr/bin/env bash
# Where maxima stand, also of a batch and channels that are known when a model runs.
. "$(dirname "$0")/lib.sh"

PYTHONPATH=$root/tools/dev python3 - <<'END'
from make_example import INT64, field, node, value_info
pool = node("pool", "MaxPool", ["x"], "y", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]) + field(2, "places")
graph = field(1, pool) + field(2, "g") + field(11, value_info("x", ["n", "c", 5, 4]))
graph += field(12, value_info("y", ["n", "c", 3, 4])) + field(12, value_info("places", ["n", "c", 3, 4], INT64))
open("net.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))
END
bycc net.onnx -q -o open.o
for outer in 1x1 2x3 3x20; do
  npy write x.npy f4 ${outer}x5x4 $(values $((20 * ${outer%x*} * ${outer#*x})) 7)
  bycc net.onnx -q --shape x=${outer}x5x4 -o known.o
  for form in open known; do bycc-run $form.json --input x=x.npy --outputs $form.out; done
  for output in y places; do expect "$(npy show open.out/$output.npy)" "$(npy show known.out/$output.npy)"; done
  # What is found there is the maximum.
  python3 - "$(npy show x.npy)" "$(npy show open.out/y.npy)" "$(npy show open.out/places.npy)" <<'END' || fail "another place"
import sys
x, y, places = (text.split()[1:] for text in sys.argv[1:])
sys.exit([x[int(place)] for place in places] != y)
END
done
