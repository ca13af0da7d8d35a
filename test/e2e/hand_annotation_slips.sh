#!/usr/bin/env bash
# A program that names a vendor where nobody looks for it, or devices that nobody
# has: it is told what was meant.
. "$(dirname "$0")/lib.sh"
type="Tensor[(2, 3), float32]"
echo '{"vendors": [{"name": "npu", "ops": {"nn.relu": {}}}]}' > npu.json
slip() { printf '#[version = "0.0.5"]\n%s\n' "$1" > slip.relay; }
slip "def @main(%x: $type, compiler=\"npu\") { nn.relu(%x) }"
bycc slip.relay --rules=npu.json -o m.o 2> err.txt
grep -q "slip.relay:2:.*warning: function attribute compiler has no effect, did you mean 'Compiler'?" err.txt || fail "$(cat err.txt)"
for attribute in 'Compiler="npu"' 'target="npu"' 'compiler_tag="npu"'; do
  slip "def @main(%x: $type) { annotation.compiler_end(nn.relu(annotation.compiler_begin(%x, $attribute)), compiler=\"npu\") }"
  refuse 1 "error[INPUT]: annotation.compiler_begin: " bycc slip.relay --rules=npu.json -o m.o
done
for where in 'nn.relu(%x, compiler="npu")' 'nn.relu(%x, Compiler="")' '@f(%x, Compiler="npu")'; do
  slip "def @f(%x: $type) { nn.relu(%x) }
def @main(%x: $type) { $where }"
  refuse 1 "a function has Compiler=\"VENDOR\", annotation.compiler_begin has compiler=\"VENDOR\"" bycc slip.relay --rules=npu.json -o m.o
done
slip "def @main(%x: $type) { annotation.compiler_end(nn.relu(annotation.compiler_begin(%x, compiler=\"\")), compiler=\"\") }"
refuse 1 "error[INPUT]: the name of the vendor is empty" bycc slip.relay --rules=npu.json -o m.o
slip "def @main(%x: $type, Compiler=\"\") { nn.relu(%x) }"
refuse 1 "error[INPUT]: the name of the vendor is empty" bycc slip.relay --rules=npu.json -o m.o
refuse 1 "error[INPUT]: the name of the vendor is empty" bycc-opt slip.relay --rules=npu.json -O0
slip "def @main(%x: $type) { on_device(nn.relu(device_copy(%x))) }"
bycc slip.relay --rules=npu.json -o m.o 2> err.txt
expect "$(grep -c 'warning: \(on_device\|device_copy\) has no effect: --annotate and --pin' err.txt)" 2
bycc-run m.json --random=1 > /dev/null
refuse 2 "--annotate names vendor 'dnnl' twice" bycc slip.relay --annotate=dnnl,npu,dnnl --rules=npu.json -o m.o
