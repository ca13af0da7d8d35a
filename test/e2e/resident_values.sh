#!/usr/bin/env bash
# Values that stay in a vendor's own memory are no transfers: neither for the plan nor
# for any report.
. "$(dirname "$0")/lib.sh"

cat > net.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 56, 56), float32], %w: Tensor[(64, 64, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  %1 = nn.conv2d(%0, %w, padding=[1, 1, 1, 1]);
  %2 = nn.conv2d(%1, %w, padding=[1, 1, 1, 1]);
  %3 = nn.conv2d(%2, %w, padding=[1, 1, 1, 1]);
  exp(%3)
}
RELAY
mkdir params
PYTHONPATH=$here python3 -c 'import npy; npy.write("params/w.npy", "f4", "64x64x3x3", [0.01] * 36864)'

# rules OWN: four regions in a row, dear to reach. Each alone is worth less than its way.
rules() {
  cat > rules.json <<JSON
{"vendors": [{"name": "v", "ops": {"nn.conv2d": {}}, "merge_regions": false, "own_memory": $1,
  "cost": {"trust": 1, "transfer_us": 200, "transfer_gb_per_s": 0.4, "rows": [{"op": "nn.conv2d", "us": 10}]}}]}
JSON
}
build() { bycc net.relay --params=params --rules=rules.json -o net.o --dump-offloads=r.json "$@" 2> line.txt || fail "$(cat line.txt)"; }
# reported TENSORS BYTES: in the dump, the graph JSON, a plan.
reported() {
  python3 - "$1" "$2" <<'END' || fail "$(cat r.json)"
import json, sys
tensors, bytes = int(sys.argv[1]), int(sys.argv[2])
dump, graph = json.load(open("r.json")), json.load(open("net.json"))["bycc"]
assert dump["totals"]["boundary_tensors"] == tensors and dump["totals"]["boundary_bytes"] == bytes, dump["totals"]
assert sum(f["boundary_tensors"] for f in dump["functions"]) == tensors
assert graph["offload"]["boundary_bytes"] == bytes == sum(region["boundary_bytes"] for region in graph["regions"])
END
}
size=$((64 * 56 * 56 * 4))
rules true
build --expect-regions=4
reported 2 $((2 * size))
grep -q ' 1.5 MiB crosses the boundary' line.txt || fail "$(cat line.txt)"
rules false
build --expect-regions=0
build --expect-regions=4 --cost-model=none
reported 8 $((8 * size))
grep -q ' 6.1 MiB crosses the boundary' line.txt || fail "$(cat line.txt)"
