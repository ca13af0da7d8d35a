#!/usr/bin/env bash
# Layouts: asked for with --desired-layout and convert-layout, and by a vendor that takes one only.
. "$(dirname "$0")/lib.sh"
model=$root/share/models/example.onnx
bycc "$model" -q -o plain.o
bycc-run plain.json --random --outputs expected

same() { bycc-run "$1.json" --random --expected expected > /dev/null 2> "$1.txt" || fail "$(cat "$1.txt")"; }

# Of a chain two changes remain, and values stay.
bycc "$model" -q --desired-layout=NHWC:OHWI --emit=obj,relay -o nhwc.o
expect "$(grep -c 'nn.conv2d.*data_layout="NHWC", kernel_layout="OHWI"' nhwc.opt.relay)" 2
expect "$(grep -c 'layout_transform(' nhwc.opt.relay)" 2
same nhwc
grep -q -- '--desired-layout=NHWC:OHWI' nhwc.json || fail "the graph JSON tells the layout"
bycc "$model" -q -O0 --desired-layout=NHWC -o slow.o
same slow
bycc-opt "$model" '--passes=convert-layout{nn.conv2d=NHWC:HWIO}' > hwio.relay
grep -q 'kernel_layout="HWIO"' hwio.relay || fail "the pass by its name"

# A library whose kernels take NHWC alone gets an ONNX model.
bycc "$model" -q --annotate=arm_compute_lib --cost-model=none --min-offload=95% --dump-offloads=acl.dump.json -o acl.o
same acl
python3 - acl.dump.json <<'PY'
import json, sys
nodes = json.load(open(sys.argv[1]))["nodes"]
changes = [n for n in nodes if n["op"] == "layout_transform"]
assert len(changes) == 2, changes
assert all(n["placed"] == "arm_compute_lib" for n in nodes if n["op"] in ("nn.conv2d", "nn.max_pool2d", "nn.relu")), nodes
PY

# A vendor that takes the operator as it is keeps it so, whatever the order of names.
cat > rules.json <<'JSON'
{"vendors": [
  {"name": "last", "ops": {"nn.conv2d": {"attr": {"data_layout": "NHWC", "kernel_layout": "OHWI"}}},
   "layouts": {"nn.conv2d": ["NHWC", "OHWI"]}},
  {"name": "first", "ops": {"nn.conv2d": {"attr": {"data_layout": "NCHW"}}}}]}
JSON
bycc "$model" -q --rules=rules.json --cost-model=none --annotate=last,first --dump-offloads=both.dump.json -o both.o
grep -q layout_transform both.dump.json && fail "a taken convolution was given another layout"
bycc "$model" -q --rules=rules.json --cost-model=none --annotate=last --dump-offloads=one.dump.json -o one.o
python3 -c 'import json; assert sum(n["placed"] == "last" for n in json.load(open("one.dump.json"))["nodes"]) == 2'
same one
# One that would refuse it in that layout, too, changes nothing.
sed -i 's/"kernel_layout": "OHWI"/"kernel_layout": "HWOI"/' rules.json
bycc "$model" -q --rules=rules.json --cost-model=none --annotate=last --dump-offloads=none.dump.json -o none.o
grep -q layout_transform none.dump.json && fail "a refused convolution was given another layout"

# Where costs count, what has no weights waits for an operand that has been given the layout.
cat > pools.json <<'JSON'
{"vendors": [
  {"name": "last", "ops": {"nn.max_pool2d": {"attr": {"layout": "NHWC"}}, "nn.conv2d": {"attr": {"data_layout": "NHWC", "groups": 1}}},
   "layouts": {"nn.max_pool2d": ["NHWC"], "nn.conv2d": ["NHWC", "OHWI"]}, "cost": {"gflops": 1e6, "gb_per_s": 1e6}},
  {"name": "first", "ops": {"nn.conv2d": {"attr": {"data_layout": "NCHW", "groups": 8}}}, "cost": {"gflops": 1e6, "gb_per_s": 1e6}}]}
JSON
# pooled GROUPS OPTIONS...: the layout of a pool behind a convolution of so many groups
pooled() {
  cat > pooled.relay <<RELAY
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 16, 16), float32], %w: Tensor[(8, $((8 / $1)), 3, 3), float32]) {
  nn.max_pool2d(nn.conv2d(%x, %w, groups=$1, channels=8, kernel_size=[3, 3]), pool_size=[2, 2])
}
RELAY
  bycc pooled.relay -q --rules=pools.json --emit=obj,relay -o pooled.o "${@:2}"
  if grep -q 'max_pool2d(.*layout="NHWC"' pooled.opt.relay; then echo NHWC; else echo NCHW; fi
}
expect "$(pooled 8)" NCHW
expect "$(pooled 8 --cost-model=none)" NHWC
expect "$(pooled 1)" NHWC

sed -i 's/\["NHWC", "OHWI"\]/["NHWC", "OHWI", "x"]/' rules.json
refuse 1 '/vendors/0/layouts/nn.conv2d: expected an array of one layout or two' bycc "$model" --rules=rules.json -o x.o
refuse 2 "is not a layout such as NHWC" bycc "$model" --desired-layout=NHxC -o x.o

# Host code has channels last where that saves time, unless it is told a layout.
cat > depthwise.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 56, 56), float32]) {
  %0 = full(0.5f, shape=[64, 1, 7, 7], dtype="float32");
  %1 = nn.relu(nn.conv2d(%x, %0, padding=[3, 3, 3, 3], groups=64, channels=64, kernel_size=[7, 7]));
  nn.conv2d(%1, %0, padding=[3, 3, 3, 3], strides=[2, 2], groups=64, channels=64, kernel_size=[7, 7])
}
RELAY
bycc depthwise.relay -q --emit=obj,relay -o last.o
grep -q 'nn.conv2d.*NHWC' last.opt.relay || fail "channels first: $(cat last.opt.relay)"
bycc depthwise.relay -q --desired-layout=NCHW --emit=obj,relay -o first.o
grep -q 'NHWC' first.opt.relay && fail "channels last: $(cat first.opt.relay)"
bycc-run first.json --random --outputs expected_of_depthwise 2> /dev/null
bycc-run last.json --random --expected expected_of_depthwise > /dev/null 2>&1 || fail "another result with channels last"
