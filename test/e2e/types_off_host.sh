#!/usr/bin/env bash
# Layouts and devices in types: host code and the interface of a model do not have
# them, a vendor does where its conditions name the layout. bycc-opt carries them.
. "$(dirname "$0")/lib.sh"
type="Tensor[(2, 3), float32]"
echo '{"vendors": [{"name": "npu", "ops": {"nn.relu": {}}}]}' > npu.json
slip() { printf '#[version = "0.0.5"]\n%s\n' "$1" > slip.relay; }
for place in 'layout="NHWC"' 'device=1'; do
  placed="${type%]}, $place]"
  text=${place/=/ }
  slip "def @main(%x: $placed) -> $placed {
  abs(nn.relu(%x))
}"
  for program in bycc "bycc check"; do
    refuse 1 "slip.relay:2:11: error[UNSUP]: %x has $text: a model is given and gives row-major tensors on device 0" \
      $program slip.relay --rules=npu.json
  done
  bycc-opt slip.relay --rules=npu.json -O0 > out.relay
  grep -qF "$place" out.relay || fail "bycc-opt loses $place"
  grep -q 'Compiler="npu"' out.relay && fail "npu takes $place unasked"
  # Values inside: constants, parameters of functions. What nobody needs is not told.
  for level in -O0 -O2; do
    slip "def @main(%x: $type) {
  (%x, sum($placed[1, 2, 3, 4, 5, 6]))
}"
    refuse 1 "slip.relay:3:12: error[UNSUP]: constant has $text: host code takes row-major tensors on device 0" \
      bycc slip.relay $level
  done
  slip "def @f(%x: $placed) -> $placed { abs(%x) }
def @main(%x: $type) { abs(%x) }"
  bycc slip.relay -q -o m.o
done
cat > layouts.json <<'END2'
{"vendors": [{"name": "npu", "ops": {"nn.relu": {"args": {"0": {"layout": ["", "NHWC"]}}}, "abs": {}}}]}
END2
slip "def @main(%x: ${type%]}, layout=\"NHWC\"]) { abs(nn.relu(%x)) }"
bycc-opt slip.relay --rules=layouts.json --annotate-target |
  grep -q 'nn.relu(%x, annotation.vendors=\["npu"\])' || fail "the layout is in its conditions"
for pattern in "*" "*<layout=\\\"NHWC\\\">"; do
  echo "{\"vendors\": [{\"name\": \"npu\", \"patterns\": [{\"name\": \"npu.p\", \"root\": \"abs(nn.relu($pattern))\"}]}]}" > patterns.json
  formed=$(bycc-opt slip.relay --rules=patterns.json --merge-composite | grep -c 'Composite="npu.p"' || true)
  expect "$formed" "$([ "$pattern" = "*" ] && echo 0 || echo 1)"
done
refuse 1 "error[UNSUP]: %x has layout" bycc slip.relay --rules=layouts.json
