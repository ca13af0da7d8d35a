#!/usr/bin/env bash
# --min-region-ops, --min-region-flops: small regions return to the host, with a
# reason for every node, a line that says how many, and --strict that objects.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = abs(%x);
  %1 = sin(%0);
  %2 = add(%1, %x);
  %3 = nn.relu(%2);
  %4 = sin(%3);
  %5 = abs(%4);
  %6 = negative(%5);
  sqrt(%6)
}
EOF
cat > rules.json <<'EOF'
{"vendors": [{"name": "va", "ops": {"abs": {}, "negative": {}, "sqrt": {}},
  "patterns": [{"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]}], "mod_name": "m"}
EOF
bycc net.relay --rules=rules.json -o all.o 2> line.txt
grep -q '^va: 3 regions, 6 of 8 ops' line.txt || fail "$(cat line.txt)"
bycc-run all.json --random=1 --print=6 > all.txt

bycc net.relay --rules=rules.json --min-region-ops=3 -o m.o --dump-offloads=r.json --explain \
  > explain.txt 2> line.txt
grep -q '^va: 1 region, 3 of 8 ops' line.txt || fail "$(cat line.txt)"
grep -q 'host: 5 ops (2 small regions returned to the host: below --min-region-ops=3)' line.txt ||
  fail "$(cat line.txt)"
grep -q 'va would take it: its region of 1 op and 6 FLOPs is below --min-region-ops=3' explain.txt ||
  fail "$(cat explain.txt)"
python3 - <<'EOF'
import json
report = json.load(open("r.json"))
rows = {n["name"]: n for n in report["nodes"]}
assert rows["%0"]["placed"] == "host" and rows["%0"]["candidates"] == ["va"], rows["%0"]
assert rows["%0"]["refused"] == {}, rows["%0"]
for name in ("%2", "%3"):  # the composite came apart again
    assert rows[name]["composite"] is None, rows[name]
    assert "2 ops" in rows[name]["why"]["va"], rows[name]
assert rows["%5"]["region"] == "m_va_0" and rows["%5"]["why"] == {}, rows["%5"]
assert rows["%1"]["candidates"] == [] and "va" in rows["%1"]["refused"], rows["%1"]
assert [r["ops"] for r in report["returned"]] == [1, 2]
EOF
bycc-run m.json --random=1 --print=6 | cmp - all.txt

bycc net.relay --rules=rules.json --min-region-flops=13 -q --expect-regions=1 -o m.o
bycc net.relay --rules=rules.json --min-region-flops=13 -O0 -q --expect-regions=1 -o m.o
bycc net.relay --rules=rules.json --min-region-ops=9 -q --expect-regions=0 -o m.o
bycc net.relay --rules=rules.json --min-region-ops=3 --pin %0=va -q --expect-regions=2 -o m.o
refuse 3 "--strict: %0 (abs) is accepted by va and is on the host: its region of 1 op" \
  bycc net.relay --rules=rules.json --min-region-ops=3 --strict -o e.o
bycc net.relay --rules=rules.json --strict -q -o m.o
# Every call a region of its own when regions are not merged.
sed 's/"mod_name"/"merge_regions": false, "mod_name"/' rules.json > apart.json
bycc net.relay --rules=apart.json -q --expect-regions=5 -o m.o
bycc net.relay --rules=apart.json --min-region-ops=2 -q --expect-regions=1 -o m.o

# What another vendor could have is offered to it first, and only then to the host.
cat > two.json <<'EOF'
{"vendors": [{"name": "va", "ops": {"abs": {}, "add": {}}},
  {"name": "vb", "ops": {"abs": {}, "negative": {}, "sqrt": {}, "add": {}}}], "mod_name": "m"}
EOF
bycc net.relay --rules=two.json --min-region-ops=3 -o m.o --dump-offloads=r.json 2> line.txt
grep -q 'host: 5 ops (2 small regions returned to the host: below --min-region-ops=3)' line.txt ||
  fail "$(cat line.txt)"
python3 - <<'EOF'
import json
report = json.load(open("r.json"))
rows = {n["name"]: n for n in report["nodes"]}
why = "its region of 1 op and 6 FLOPs is below --min-region-ops=3"
assert rows["%5"]["placed"] == "vb" and rows["%5"]["candidates"] == ["va", "vb"], rows["%5"]
assert rows["%5"]["why"] == {"va": why + "; placed with vb"}, rows["%5"]
assert rows["%6"]["region"] == rows["%5"]["region"] == "m_vb_0", rows["%6"]
assert rows["%0"]["placed"] == "host", rows["%0"]
assert rows["%0"]["why"] == {"va": why, "vb": why}, rows["%0"]
assert [(r["vendor"], r["ops"]) for r in report["returned"]] == [("vb", 1), ("vb", 1)], report["returned"]
EOF
bycc-run m.json --random=1 --print=6 | cmp - all.txt

# A composite is taken apart for another vendor; its operators tell why, and a plan
# of it, an edited one as well, places them again.
cat > parts.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = add(%x, %x);
  %1 = nn.relu(%0);
  tanh(%1)
}
EOF
cat > parts.json <<'EOF'
{"vendors": [{"name": "va", "patterns": [{"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]},
  {"name": "vb", "ops": {"add": {}, "nn.relu": {}, "tanh": {}}}], "mod_name": "m"}
EOF
bycc parts.relay --rules=parts.json -q -o whole.o --save-partition-plan=whole.plan --dump-offloads=r.json
bycc-run whole.json --random=1 --print=6 > whole.txt
bycc parts.relay --rules=parts.json --min-region-ops=3 -q --expect-regions=1 -o m.o \
  --save-partition-plan=m.plan --dump-offloads=s.json
bycc-run m.json --random=1 --print=6 | cmp - whole.txt
bycc parts.relay --rules=parts.json --partition-plan=m.plan -q --expect-regions=1 -o m.o
python3 - <<'EOF'
import json
nodes = {n["name"]: n for n in json.load(open("r.json"))["nodes"]}
assert nodes["%1"]["composite"] == "va.add_relu" and nodes["%1"]["candidates"] == ["va", "vb"]
assert nodes["%1"]["why"] == {"vb": "part of the composite va.add_relu"}, nodes["%1"]
for node in json.load(open("s.json"))["nodes"]:
    assert (node["placed"], node["region"], node["composite"]) == ("vb", "m_vb_0", None), node
    if node["op"] != "tanh":
        assert node["why"]["va"].endswith("below --min-region-ops=3; placed with vb"), node
plan = json.load(open("whole.plan"))
for node in plan["nodes"]:
    node["place"], node["region"] = "vb", 0
json.dump(plan, open("edited.plan", "w"))
EOF
bycc parts.relay --rules=parts.json --partition-plan=edited.plan -q --expect-regions=1 -o m.o
bycc-run m.json --random=1 --print=6 | cmp - whole.txt
