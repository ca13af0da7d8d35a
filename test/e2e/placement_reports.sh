#!/usr/bin/env bash
# --explain, --dump-offloads, bycc check and the graph JSON say the same about
# every node; the compile line counts what they list.
. "$(dirname "$0")/lib.sh"
cat > branches.relay <<'EOF'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  %0 = add(%x, %x);
  %1 = nn.relu(%0);
  %2 = split(%1, indices_or_sections=3, axis=1);
  %3 = %2.0;
  %4 = tanh(%3);
  %5 = nn.dense(%1, %w, units=4);
  let %f = fn (%y: Tensor[(2, 4), float32]) { nn.relu(%y) };
  %6 = %f(%5);
  %7 = if (%c) { %8 = abs(%6); nn.relu(%8) } else { sin(%6) };
  (%7, %4)
}
EOF
cat > rules.json <<'EOF'
{"vendors": [
  {"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}, "split": {}},
   "patterns": [{"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]},
  {"name": "vb", "ops": {"nn.relu": {}, "tanh": {}, "nn.dense": {"const_args": [1]}}}]}
EOF
cat > check.py <<'EOF'
import json, re, sys
dump, net, check, explain, line, summary = (open(f).read() for f in sys.argv[1:])
rows = json.loads(dump)["nodes"]
assert rows and rows == json.loads(net)["bycc"]["placement"], "graph JSON differs"
assert rows == json.loads(check)["placement"], "bycc check differs"
for key in ("name", "op", "source", "placed", "region", "composite", "refused", "candidates", "why"):
    assert all(key in row for row in rows), key
# The list of nodes in the text, one block a node.
blocks, vendors = [], sorted({v for r in rows for v in list(r["refused"]) + r["candidates"]})
for text in explain.split("\nnodes:\n")[1].splitlines():
    (blocks.append([text]) if not text.startswith("      ") else blocks[-1].append(text))
assert len(blocks) == len(rows), (len(blocks), len(rows))
for row, block in zip(rows, blocks):
    words = [row["name"], row["op"], row["region"] or row["placed"]] + ([row["composite"]] if row["composite"] else [])
    said = ["%s refuses: %s" % kv for kv in row["refused"].items()]
    said += ["%s would take it: %s" % kv for kv in row["why"].items()]
    if row["region"] and said: # others' reasons stand in the same line
        words += ["(" + "; ".join(said) + ")"]
    assert block[0].split() == " ".join(words).split(), (block[0], words)
    assert block[1:] == ([] if row["region"] else ["      " + s for s in said]), (block[1:], said)
    # Every vendor has the node, refuses it, or says why it does not have it.
    for vendor in vendors:
        assert (vendor == row["placed"]) + (vendor in row["refused"]) + (vendor in row["why"]) == 1, (vendor, row)
    assert row["region"] is None or row["placed"] != "host"
host = sum(r["placed"] == "host" for r in rows)
assert re.search(r"host: %d op" % host, line), line
assert re.match(r"%d ops?: " % len(rows), explain)
for vendor in vendors:
    mine = [r for r in rows if r["placed"] == vendor]
    if mine:
        assert "%s: %d region" % (vendor, len({r["region"] for r in mine})) in line, line
        assert "%d of %d ops" % (len(mine), len(rows)) in line, line
for pair in json.loads(dump)["apart"]:
    assert "  %s and %s: %s\n" % (pair["first"], pair["second"], pair["why"]) in explain, pair
assert summary == explain, "bycc check prints another text"
EOF
agree() {
  local model=$1
  shift
  bycc "$model" -o m.o --dump-offloads=r.json --explain "$@" > explain.txt 2> line.txt
  bycc check "$model" "$@" --module-name=m > check.txt
  bycc check "$model" "$@" --module-name=m --json > check.json
  python3 check.py r.json m.json check.json explain.txt line.txt check.txt || fail "$model $*"
}
agree branches.relay --rules=rules.json
agree branches.relay --rules=rules.json -O0
agree branches.relay --rules=rules.json --min-region-ops=2
agree branches.relay --rules=rules.json --annotate=vb
agree branches.relay --rules=rules.json --annotate-skip-ops=nn.relu
agree branches.relay --annotate=dnnl
agree branches.relay --rules=rules.json --annotate=dnnl,vb
agree "$root/share/models/example.onnx" --annotate=dnnl
agree "$root/share/models/example.onnx" --annotate=dnnl -O3 --min-region-ops=100

# Host code puts operators together around one of a vendor: reports are of the program before.
cat > around.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {
  %0 = tan(%x);
  %1 = sin(%0);
  %2 = abs(%y);
  subtract(%1, %2)
}
EOF
agree around.relay --rules=rules.json --annotate=va --cost-model=none

# A program that asks for a vendor by itself.
cat > asks.relay <<'EOF'
#[version = "0.0.5"]
def @f(%a: Tensor[(2, 3), float32], Compiler="dnnl") { nn.relu(%a) }
def @main(%x: Tensor[(2, 3), float32]) { sin(@f(%x)) }
EOF
agree asks.relay --cost-model=none # so small that it would stay on the host
grep -q 'm_dnnl_0  *dnnl  *1 op' explain.txt || fail "$(cat explain.txt)"

expect "$(bycc check branches.relay)" "branches.relay: every operator is supported"
bycc check branches.relay --json | python3 -c 'import json, sys
found = json.load(sys.stdin)
assert found["supported"] and found["unsupported"] == [] and "placement" not in found, found'

# Two regions of one vendor: what keeps them from being one.
cat > apart.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = abs(%x);
  %1 = sin(%0);
  abs(%1)
}
EOF
agree apart.relay --rules=rules.json
grep -qx '  m_va_0 and m_va_1: sin (%1) of the host lies between them' explain.txt || fail "$(cat explain.txt)"

# An operator that a vendor takes in a composite alone, which is too dear.
cat > dear.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = sin(%x);
  abs(%0)
}
EOF
cat > dear_rules.json <<'EOF'
{"vendors": [{"name": "va", "cost": {"launch_us": 100000}, "ops": {"abs": {}},
  "patterns": [{"name": "va.sin_abs", "root": "abs(sin(*))"}]}], "mod_name": "m"}
EOF
bycc dear.relay --rules=dear_rules.json -o dear.o --explain > dear.txt 2> /dev/null
grep -qE 'va refuses: .*; va.sin_abs would take it: the host has it, moving it would cost .* more' dear.txt || fail "$(cat dear.txt)"
