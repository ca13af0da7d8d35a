#!/usr/bin/env bash
# --save-partition-plan and --partition-plan: a saved plan gives the same bytes;
# edited it moves nodes and splits regions; one that does not fit is refused by name.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(2, 3), float32]) {
  %0 = add(%x, %x);
  %1 = nn.relu(%0);
  %2 = abs(%1);
  %3 = sin(%2);
  %4 = tanh(%3);
  %5 = nn.relu(%4);
  %6 = add(%5, %3);
  %7 = nn.relu(%6);
  %8 = if (%c) { %9 = abs(%7); negative(%9) } else { abs(%7) };
  abs(%8)
}
EOF
cat > rules.json <<'EOF'
{"vendors": [
  {"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}, "negative": {}},
   "patterns": [{"name": "va.add_relu", "root": "nn.relu(add(*, *))"}],
   "cost": {"launch_us": 1, "gb_per_s": 10}},
  {"name": "vb", "ops": {"nn.relu": {}, "tanh": {}}, "cost": {"launch_us": 1, "gb_per_s": 5}}]}
EOF
mkdir one two
# same OPTIONS...: a plan replayed with the same options gives the same files.
same() {
  (cd one && bycc ../net.relay --rules=../rules.json -q -o m.o --dump-offloads=r.json --save-partition-plan=../plan.json "$@")
  (cd two && bycc ../net.relay --rules=../rules.json -q -o m.o --dump-offloads=r.json --partition-plan=../plan.json \
    --save-partition-plan=../again.json "$@")
  for file in m.o m.json m.h; do cmp one/$file two/$file; done
  python3 - <<'EOF'
import json
one, two = (json.load(open(d + "/r.json")) for d in ("one", "two"))
one.pop("returned"), two.pop("returned")
assert one == two
EOF
  cmp plan.json again.json
}
same
same -O0
same --cost-model=none
same --min-region-ops=2
same --min-region-ops=3 --cost-model=none
same --annotate=vb,va
same --annotate=dnnl,va

# edit CODE: the plan with CODE run on its nodes by name
edit() {
  python3 - "$1" <<'EOF'
import json, sys
plan = json.load(open("plan.json"))
nodes = {n["name"]: n for n in plan["nodes"]}
exec(sys.argv[1])
json.dump(plan, open("edited.json", "w"))
EOF
}
replay() {
  bycc net.relay --rules=rules.json -o m.o --dump-offloads=r.json --partition-plan=edited.json 2> err.txt
  python3 -c 'import json
for n in json.load(open("r.json"))["nodes"]: print(n["name"], n["region"] or "host", n["composite"])' > rows.txt
}
bycc net.relay -q -o host.o
bycc-run host.json --random=1 --print=6 > host.txt
same --cost-model=none
edit 'nodes["%2"]["place"] = "host"'
replay
grep -qx '%2 host None' rows.txt || fail "$(cat rows.txt)"
bycc-run m.json --random=1 --print=6 | cmp - host.txt
# A composite with a node moved away comes apart, the rest stays with the vendor;
# the region is split where the node stood.
edit 'nodes["%1"]["place"] = "host"'
replay
for row in '%0 m_va_0 None' '%1 host None' '%2 m_va_1 None'; do
  grep -qx "$row" rows.txt || fail "$row: $(cat rows.txt)"
done
grep -q 'warning: --partition-plan: the region of %0 is split: %1 stands between' err.txt || fail "$(cat err.txt)"
bycc-run m.json --random=1 --print=6 | cmp - host.txt
# A region is split by another number; a node goes to the other vendor.
edit 'nodes["%2"]["region"] = 77; nodes["%5"].update(place="vb", region=nodes["%4"]["region"])'
replay
python3 - <<'EOF'
rows = {l.split()[0]: l.split()[1] for l in open("rows.txt")}
assert rows["%0"] == rows["%1"] != rows["%2"] != "host", rows
assert rows["%5"] == rows["%4"] and "_vb_" in rows["%4"], rows
EOF
bycc-run m.json --random=1 --print=6 | cmp - host.txt

plan() { bycc net.relay --rules=rules.json -q -o e.o --partition-plan=edited.json "$@"; }
edit 'nodes["%4"].update(place="va", region=99)'
refuse 1 "error[ARG]: --partition-plan: %4 (tanh) is to go to va, which refuses it: operator not supported" plan
edit 'nodes["%7"].update(name="%77"); nodes["%3"].update(op="cos"); plan["nodes"].remove(nodes["%6"])'
refuse 1 "error[ARG]: --partition-plan: edited.json is not for this program: 4 nodes differ" plan
for note in "'%3' (sin) is cos in the plan" "'%6' (add) is not in the plan" "'%7' (nn.relu) is not in the plan" \
  "'%77' (nn.relu) is not in the program"; do
  grep -qF "$note" refuse.out || fail "$note: $(cat refuse.out)"
done
# Two regions that need each other: %0 -> %4 -> %6 -> %10, crosswise.
edit 'nodes["%5"].update(place="va", region=50); nodes["%7"].update(region=50); nodes["%0"].update(region=51); nodes["%6"].update(region=51)
for n in nodes.values(): n.pop("composite", 0)'
refuse 1 "error[" plan
grep -q 'needs its own result, by way of %' refuse.out || fail "$(cat refuse.out)"
edit 'nodes["%5"].update(place="vb", region=nodes["%0"]["region"])'
refuse 1 "a region has one vendor" plan
edit 'nodes["%5"].update(place="vc", region=70)'
refuse 1 "vendor 'vc', which is not in use" plan
edit 'nodes["%5"]["palce"] = "host"'
refuse 1 "unknown member 'palce', did you mean 'place'?" plan
edit 'pass'
refuse 2 "cannot stand beside it" plan --pin %0=host
refuse 1 "this is no partition plan" bycc net.relay --rules=rules.json -o e.o --partition-plan=rules.json
refuse 2 "is an input" bycc net.relay --rules=rules.json -q -o m.o --save-partition-plan=net.relay
[ ! -e e.o ] || fail "a refused build wrote files"

# Nodes of one name are told apart; a shipped vendor's plan holds its composites.
cd one
bycc "$root/share/models/example.onnx" --annotate=dnnl -q -o x.o --save-partition-plan=../x.json
cp x.json ../x.graph
bycc "$root/share/models/example.onnx" --annotate=dnnl -q -o x.o --partition-plan=../x.json
cmp x.json ../x.graph
