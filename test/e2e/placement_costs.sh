#!/usr/bin/env bash
# --cost-model: what is faster on the host stays there, from -O1 up and for vendors
# with costs only; what the user pins goes where it is pinned.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(600, 8), float32]) {
  %0 = abs(%x);
  %1 = sin(%0);
  %2 = nn.dense(%1, %w, units=600);
  %3 = sin(%2);
  abs(%3)
}
EOF
vendor='"name": "va", "ops": {"abs": {}, "nn.dense": {}}'
echo "{\"vendors\": [{$vendor, \"cost\": {\"launch_us\": 20, \"gflops\": 400}}]}" > costs.json
echo "{\"vendors\": [{$vendor}]}" > none.json
regions() { bycc net.relay -q -o m.o "$@" || fail "$*"; }
regions --rules=none.json --expect-regions=3
regions --rules=costs.json --expect-regions=0
regions --rules=costs.json --cost-model=none --expect-regions=3
regions --rules=costs.json -O0 --expect-regions=3
regions --rules=costs.json -O0 --cost-model=static --expect-regions=0
regions --rules=costs.json --pin %4=va --expect-regions=1
regions --rules=costs.json --pin %4=va --pin %2=va --expect-regions=2
bycc net.relay --rules=costs.json -o m.o --dump-offloads=r.txt 2> line.txt
grep -q 'va: 0 regions (all faster on the host: .* us against .* us; --cost-model=none offloads)' line.txt || fail "$(cat line.txt)"
grep -q 'the host has it, moving it would cost .* us more (estimated)' r.txt || fail "$(cat r.txt)"
# A shipped vendor is judged as well, and asked for in the way that the line says.
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(2), float32]) { abs(%%x) }\n' > tiny.relay
bycc tiny.relay --annotate=dnnl -q --expect-regions=0 -o m.o
bycc tiny.relay --annotate=dnnl --cost-model=none -q --expect-regions=1 -o m.o
refuse 1 "error[UNSUP]: --cost-model=measured" bycc net.relay --rules=costs.json --cost-model=measured -o e.o
