#!/usr/bin/env bash
# Rows of costs decide where single calls go: by class, by threads, by a condition of
# the file, from a file added later.
. "$(dirname "$0")/lib.sh"

cat > net.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32], %d: Tensor[(8, 1, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  nn.conv2d(%0, %d, padding=[1, 1, 1, 1], groups=8)
}
RELAY

# rules ROWS: a vendor whose convolutions take next to no time, but for these.
rules() {
  cat > rules.json <<JSON
{"merge_regions": false, "vendors": [{"name": "v", "ops": {"nn.conv2d": {}}, "own_memory": true,
  "cost": {"rows": [{"op": "*", "us": 0.001}$1], "classes": {"filters": {"args": {"1": {"shape": [8, 1, 3, 3]}}}}}}]}
JSON
}
# placed OPTIONS...: where the two are.
placed() {
  bycc net.relay --rules=rules.json -q -o net.o --dump-offloads=r.json "$@"
  python3 -c 'import json; print(*(n["placed"] for n in json.load(open("r.json"))["nodes"] if n["op"] == "nn.conv2d"))'
}

rules ''
expect "$(placed)" "v v"
for class in depthwise groups=8 filters 'depthwise, channels>=8'; do
  rules ", {\"op\": \"nn.conv2d\", \"class\": \"$class\", \"us\": 1e6}"
  expect "$(placed)" "v host"
done
rules ', {"op": "nn.conv2d", "class": "depthwise, channels<8", "us": 1e6}'
expect "$(placed)" "v v"
rules ', {"op": "nn.conv2d", "class": "depthwise", "threads": 4, "us": 1e6}'
expect "$(placed)" "v v"
expect "$(placed --threads=4)" "v host"
expect "$(placed --threads=4 -O0)" "v v"

rules ', {"op": "nn.conv2d", "class": "depthwise", "us": 1e6}'
echo '{"vendor": "v", "cost": {"rows": [{"op": "nn.conv2d", "class": "filters", "us": 0.001}]}}' > more.json
expect "$(placed --patterns=more.json)" "v v"
echo '{"vendor": "v", "cost": {"rows": [{"op": "nn.conv2d", "class": "filter", "us": 0.001}]}}' > more.json
refuse 1 "more.json:1:64: error[INPUT]: /cost/rows/0/class: unknown class 'filter', did you mean 'filters'" \
  bycc net.relay --rules=rules.json --patterns=more.json -o net.o
