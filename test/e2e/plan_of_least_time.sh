#!/usr/bin/env bash
# With costs the plan of least estimated time is chosen, whatever the order in which
# vendors are named: composites of several vendors that overlap, operators alone, and
# a vendor that is not worth it at all. The estimate is said everywhere alike.
. "$(dirname "$0")/lib.sh"
cat > convs.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 56, 56), float32], %w1: Tensor[(64, 64, 3, 3), float32], %w2: Tensor[(64, 64, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w1, padding=[1, 1, 1, 1]);
  %1 = nn.relu(%0);
  nn.conv2d(%1, %w2, padding=[1, 1, 1, 1])
}
EOF
cat > convs.json <<'EOF'
{"vendors": [
  {"name": "a", "ops": {"nn.conv2d": {}, "nn.relu": {}},
   "patterns": [{"name": "a.conv2d_relu", "root": "nn.relu(nn.conv2d($x,$w))"}],
   "cost": {"launch_us": 5, "transfer_gb_per_s": 10, "gflops": 1}},
  {"name": "b", "patterns": [{"name": "b.relu_conv2d", "root": "nn.conv2d(nn.relu($x),$w)"}],
   "cost": {"launch_us": 5, "transfer_gb_per_s": 10, "gflops": 1000}}]}
EOF
cat > chain.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 28, 28), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
  %0 = tanh(%x);
  %1 = nn.conv2d(%0, %w, padding=[1, 1, 1, 1]);
  %2 = nn.relu(%1);
  %3 = tanh(%2);
  nn.relu(%3)
}
EOF
cat > chain.json <<'EOF'
{"vendors": [
  {"name": "b", "ops": {"nn.conv2d": {}, "tanh": {}}, "cost": {"launch_us": 50, "gflops": 2000}},
  {"name": "a", "ops": {"nn.conv2d": {}, "nn.relu": {}}, "cost": {"launch_us": 5, "gflops": 2000}}]}
EOF
estimate() { python3 -c "import json; e=json.load(open('$1'))['totals']['estimate']; print(e['$2'])"; }
for name in convs chain; do
  for order in a,b b,a; do
    bycc $name.relay --rules=$name.json --annotate=$order --module-name=m --dump-offloads=$name-$order.json -o m.o 2> line.txt
    grep -q 'proven within 0.0 %' line.txt || fail "$name $order: $(cat line.txt)"
  done
  for key in us host_us best_single_us bound_us; do
    [ "$(estimate $name-a,b.json $key)" = "$(estimate $name-b,a.json $key)" ] || fail "$name: $key depends on the order"
  done
done
python3 - <<'EOF' || fail "the estimate of the two convolutions"
import json
e = json.load(open("convs-a,b.json"))["totals"]["estimate"]
assert 1000 < e["us"] < 5000, e
assert e["us"] <= e["best_single_us"] and e["us"] < e["host_us"] and e["bound_us"] <= e["us"] + 1e-6, e
parts = sum(p["operators_us"] + p["launches_us"] + p["transfers_us"] for p in e["parts"])
assert abs(parts - e["us"]) < 1e-6, (parts, e)
EOF
# What --explain prints adds up as well.
bycc convs.relay --rules=convs.json --explain -q -o m.o > explain.txt
awk '/^  (host|a|b) /{sum += $NF} /^  total /{total = $NF} END {exit !(total > 0 && sum - total < 1e-5 && total - sum < 1e-5)}' explain.txt ||
  fail "$(cat explain.txt)"
grep -q '"estimate"' m.json || fail "no estimate in m.json"

# A launch of a second for one relu.
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(1, 64, 56, 56), float32]) { nn.relu(%%x) }\n' > relu.relay
echo '{"vendors": [{"name": "npu", "ops": {"nn.relu": {}}, "cost": {"launch_us": 1000000}}]}' > relu.json
bycc relu.relay --rules=relu.json --expect-regions=0 -o m.o 2> line.txt
grep -q 'npu: 0 regions (all faster on the host: .* us against 1 s; --cost-model=none offloads)' line.txt || fail "$(cat line.txt)"
bycc relu.relay --rules=relu.json --cost-model=none --expect-regions=1 -o m.o 2> line.txt
grep -q 'estimated 1 s (host alone' line.txt || fail "$(cat line.txt)"
bycc relu.relay -o m.o 2> line.txt # without a vendor
grep -q 'estimated .* us (host alone .* us), proven within 0.0 %' line.txt || fail "$(cat line.txt)"
# Trust: a convolution that is said to take 1.5 times as long as the host stays, unless believed.
host=$(estimate convs-a,b.json host_us)
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(1, 64, 56, 56), float32], %%w: Tensor[(64, 64, 3, 3), float32]) { nn.conv2d(%%x, %%w, padding=[1, 1, 1, 1]) }\n' > one.relay
for said in '"gflops": 97' '"gflops": 97, "trust": 0.5'; do
  echo '{"vendors": [{"name": "v", "ops": {"nn.conv2d": {}}, "cost": {'"$said"'}}]}' > v.json
  bycc one.relay --rules=v.json -q --expect-regions=1 -o m.o || fail "$said"
done
for said in '"gflops": 97, "trust": 1' '"gflops": 97, "measured": true'; do
  echo '{"vendors": [{"name": "v", "ops": {"nn.conv2d": {}}, "cost": {'"$said"'}}]}' > v.json
  bycc one.relay --rules=v.json -q --expect-regions=0 -o m.o || fail "$said"
done
refuse 2 "--search" bycc one.relay --search=-1 -o m.o
