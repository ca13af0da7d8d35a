#!/usr/bin/env bash
# bycc plan-diff: what moved between two saved plans, by name, and what it changes.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = add(%x, %x);
  %1 = nn.relu(%0);
  %2 = abs(%1);
  %3 = sin(%2);
  %4 = abs(%3);
  %5 = nn.relu(%4);
  negative(%5)
}
END2
cat > rules.json <<'END2'
{"vendors": [
  {"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}, "negative": {}},
   "patterns": [{"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]},
  {"name": "vb", "ops": {"nn.relu": {}, "sin": {}}}]}
END2
save() { bycc "$1" --rules=rules.json -O0 --cost-model=none -q -o m.o --save-partition-plan="$2" "${@:3}"; }
save net.relay a.json
python3 -c 'import json
totals = json.load(open("a.json"))["totals"]
assert totals["regions"] == 3 and totals["boundary_bytes"] == 144, totals'
python3 "$here/schema.py" "$root/share/schema/partition-plan.schema.json" a.json

expect "$(bycc plan-diff a.json a.json)" "the plans are the same"

# Nodes move, a composite comes apart.
save net.relay b.json --annotate-skip-ops=abs,add
bycc plan-diff a.json b.json | grep -v "^estimated: .* -> " > diff.txt
cat > wanted.txt <<'END2'
2 abs: va -> host: %2, %4
1 add: va -> host: %0
1 va.add_relu came apart: %0 + %1
vendors in use: va, vb -> va, vb
regions: 3 -> 3
crosses the boundary: 144 B -> 144 B
END2
diff wanted.txt diff.txt
bycc plan-diff b.json a.json | grep -qx "1 va.add_relu formed: %0 + %1"
bycc plan-diff a.json b.json --json > diff.json
python3 - <<'END2'
import json
diff = json.load(open("diff.json"))
assert not diff["same"] and diff["same_program"], diff
assert [(m["name"], m["from"], m["to"]) for m in diff["moved"]] == [("%0", "va", "host"), ("%2", "va", "host"), ("%4", "va", "host")], diff
assert [c["composite"] for c in diff["composites"]["apart"]] == ["va.add_relu"] and not diff["composites"]["formed"], diff
assert diff["before"]["regions"] == 3 and diff["before"]["boundary_bytes"] == 144, diff
assert json.loads(json.dumps(diff))["regrouped"] == []
END2

# Regions are split and joined, whatever their numbers are.
python3 - <<'END2'
import json
plan = json.load(open("a.json"))
nodes = {n["name"]: n for n in plan["nodes"]}
for n in nodes.values():
    if "region" in n:
        n["region"] += 10
json.dump(plan, open("renumbered.json", "w"))
nodes["%2"]["region"] = 77
json.dump(plan, open("split.json", "w"))
plan["totals"]["estimate"] = {"us": 110, "host_us": 300, "best_single_us": 120, "bound_us": 100, "measured_share": 0}
json.dump(plan, open("slower.json", "w"))
plan["totals"]["estimate"]["us"] = 55
json.dump(plan, open("faster.json", "w"))
del plan["totals"]
json.dump(plan, open("old.json", "w"))
plan["totals"] = {"regions": -1, "boundary_bytes": 3}
json.dump(plan, open("wrong.json", "w"))
plan["totals"] = {"regions": 1, "boundary_bytes": 3, "estimate": 3}
json.dump(plan, open("wrong2.json", "w"))
plan["totals"] = []
json.dump(plan, open("wrong3.json", "w"))
del plan["totals"]
plan["nodes"].append(plan["nodes"][0])
json.dump(plan, open("twice.json", "w"))
END2
expect "$(bycc plan-diff a.json renumbered.json)" "the plans are the same"
bycc plan-diff a.json split.json > diff.txt
grep -qx "va: 1 region became 2: (%0, %1, %2) -> (%0, %1), (%2)" diff.txt || fail "$(cat diff.txt)"
grep -qx "regions: 3 -> 4" diff.txt || fail "$(cat diff.txt)"
bycc plan-diff split.json a.json | grep -qx "va: 2 regions became 1: (%0, %1), (%2) -> (%0, %1, %2)"
# What the same plans cost may differ: another bycc, other costs.
expect "$(bycc plan-diff slower.json faster.json)" "the plans are the same
estimated: 0.11 ms -> 55.00 us (-50.0 %)"
bycc plan-diff slower.json old.json | grep -qx "estimated: 0.11 ms -> not known"
bycc plan-diff old.json b.json | grep -qx "crosses the boundary: not known -> 144 B"
# An edited plan with totals, or one without, is replayed as before.
for plan in renumbered slower old; do
  bycc net.relay --rules=rules.json -O0 -q -o m.o --partition-plan=$plan.json
done

# Another program: by name, and it says so.
sed 's/%4 = abs/%4 = tanh/; s/negative(%5)/%6 = negative(%5);\n  cos(%6)/' net.relay > other.relay
save other.relay other.json
bycc plan-diff a.json other.json > diff.txt
grep -qx "the plans are of different programs, nodes are compared by name: 1 only in a.json, 2 only in other.json" diff.txt ||
  fail "$(cat diff.txt)"
grep -qx "1 abs only in a.json: %4" diff.txt || fail "$(cat diff.txt)"
grep -qx "1 cos only in other.json: %7" diff.txt || fail "$(cat diff.txt)"

# Long lists are cut.
{
  echo '#[version = "0.0.5"]'
  echo 'def @main(%x: Tensor[(2, 3), float32]) {'
  echo '  %0 = abs(%x);'
  for i in $(seq 11); do echo "  %$i = abs(%$((i - 1)));"; done
  echo '  abs(%11)'
  echo '}'
} > long.relay
save long.relay long.json
save long.relay host.json --annotate-skip-ops=abs
bycc plan-diff long.json host.json | grep -qx "13 abs: va -> host: %0, %1, %2, %3, %4, %5, %6, %7, ... and 5 more"

refuse 1 "error[IO]" bycc plan-diff a.json none.json
refuse 1 "error[INPUT]: this is no partition plan" bycc plan-diff a.json rules.json
refuse 1 "error[INPUT]" bycc plan-diff net.relay a.json
refuse 1 "'regions' must be a number from 0 up" bycc plan-diff a.json wrong.json
refuse 1 "'estimate' must be an object" bycc plan-diff a.json wrong2.json
refuse 1 "'totals' must be an object" bycc plan-diff a.json wrong3.json
refuse 1 "twice.json: error[INPUT]: node '%0' comes twice" bycc plan-diff a.json twice.json
refuse 2 "plan-diff takes two plans" bycc plan-diff a.json
refuse 2 "plan-diff takes two plans" bycc plan-diff a.json b.json a.json
refuse 2 "did you mean bycc plan-diff?" bycc plan-dif a.json b.json
refuse 2 "unknown option '--jsno', did you mean '--json'?" bycc plan-diff a.json b.json --jsno
bycc plan-diff --help | grep -q "bycc plan-diff A.json B.json"
