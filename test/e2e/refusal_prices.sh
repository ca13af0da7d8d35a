#!/usr/bin/env bash
# bycc check --prices: what each refusal costs. What it says is gained is what the
# estimate loses when the rule is really changed.
. "$(dirname "$0")/lib.sh"

cat > net.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 56, 56), float32], %w: Tensor[(64, 64, 3, 3), float32], %d: Tensor[(64, 8, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  %1 = nn.softmax(%0, axis=1);
  %2 = nn.conv2d(%1, %w, padding=[1, 1, 1, 1]);
  %3 = nn.conv2d(%2, %d, padding=[1, 1, 1, 1], groups=8);
  %4 = nn.conv2d(%3, %d, padding=[1, 1, 1, 1], groups=8);
  %5 = nn.conv2d(%4, %w, padding=[1, 1, 1, 1]);
  nn.relu(%5)
}
RELAY

# rules FILE CONV MORE: a vendor that is ten times as fast as the host, but for relu.
rules() {
  cat > "$1" <<JSON
{"mod_name": "net", "vendors": [{"name": "v", "ops": {"nn.conv2d": {$2}$3},
  "cost": {"gflops": 660, "launch_us": 20, "transfer_us": 50, "transfer_gb_per_s": 10, "rows": [{"op": "nn.relu", "us": 1e5}]}}]}
JSON
}
estimate() { # RULES: of the compiled model
  bycc net.relay --rules="$1" -q -o net.o --dump-offloads=r.json > /dev/null
  python3 -c 'import json; print(json.load(open("r.json"))["totals"]["estimate"]["us"])'
}
groups='"attr": {"groups": 1}'
rules now.json "$groups" ''
rules grouped.json '' ''
rules softmax.json "$groups" ', "nn.softmax": {}'
now=$(estimate now.json) grouped=$(estimate grouped.json) softmax=$(estimate softmax.json)

bycc check net.relay --rules=now.json --prices=prices.json > report.txt
bycc check net.relay --rules=now.json > plain.txt
cmp report.txt plain.txt || fail "--prices=F changes what is printed"
bycc check net.relay --rules=now.json --prices > prices.txt
python3 - "$now" "$grouped" "$softmax" <<'END' || fail "$(cat prices.json prices.txt)"
import json, re, sys
now, grouped, softmax = map(float, sys.argv[1:])
doc = json.load(open("prices.json"))
assert abs(doc["estimate_us"] - now) < 1e-6
conv, soft = doc["prices"]
assert (conv["vendor"], conv["op"], conv["nodes"], conv["regions"]) == ("v", "nn.conv2d", ["%3", "%4"], 2), conv
assert (soft["vendor"], soft["op"], soft["nodes"], soft["regions"]) == ("v", "nn.softmax", ["%1"], 2), soft
assert abs(conv["gain_us"] - (now - grouped)) < 1e-6 and abs(soft["gain_us"] - (now - softmax)) < 1e-6, (now, grouped, softmax)
assert conv["gain_us"] > soft["gain_us"] > 0
assert doc["without_gain"] == 1 and doc["not_tried"] == 0
first, second = doc["boundaries"]
assert (first["first"], first["second"], first["lift"]["op"]) == ("net_v_0", "net_v_1", "nn.softmax"), first
assert (second["first"], second["second"], second["lift"]["op"]) == ("net_v_1", "net_v_2", "nn.conv2d"), second
lines = open("prices.txt").read().splitlines()
ms = lambda us: "%.2f ms" % (us / 1000)
title = lambda price: "%s, %s" % (price["op"], price["reason"])
assert lines == [
    "%s: 2 nodes, %s of %s" % (title(conv), ms(conv["gain_us"]), ms(now)),
    "%s: 1 node, %s of %s" % (title(soft), ms(soft["gain_us"]), ms(now)), "",
    "net_v_0 and net_v_1: %s (%s)" % (title(soft), ms(soft["gain_us"])),
    "net_v_1 and net_v_2: %s (%s)" % (title(conv), ms(conv["gain_us"])), "",
    "1 refusal would gain nothing and is not listed"], lines
END
bycc check net.relay --rules=now.json --prices --json > check.json
python3 -c 'import json
doc = json.load(open("check.json"))
assert doc["supported"] and doc["placement"] and doc["prices"] == json.load(open("prices.json"))'
bycc check net.relay --rules=now.json --prices=prices2.txt > /dev/null
cmp prices.txt prices2.txt

# Two vendors are told apart. Orders are no refusals: nothing is to be gained from a vendor.
python3 -c 'import json
doc = json.load(open("now.json"))
doc["vendors"].append(dict(doc["vendors"][0], name="w"))
json.dump(doc, open("two.json", "w"))'
bycc check net.relay --rules=two.json --prices > two.txt
grep -qE '^v: nn\.conv2d, .*: 2 nodes, [0-9.]+ ms of [0-9.]+ ms$' two.txt || fail "$(cat two.txt)"
grep -qE '^w: nn\.softmax, .*: 1 node, ' two.txt || fail "$(cat two.txt)"
bycc check net.relay --rules=now.json --prices --annotate-skip-ops=nn.softmax --pin %3=host --pin %4=host --pin '%6=host' > orders.txt
expect "$(cat orders.txt)" "no vendor refuses what it could take

net_v_0 and net_v_1: no single refusal keeps them apart: nn.softmax (%1) of the host lies between them
net_v_1 and net_v_2: no single refusal keeps them apart: nn.conv2d (%3) of the host lies between them"
sed 's/"gflops": 660/"gflops": 0.1/; s/nn.conv2d": {.*}}, *$/nn.relu": {}},/' now.json > slow.json
bycc check net.relay --rules=slow.json --prices > slow.txt
expect "$(cat slow.txt)" "no refusal costs anything: the plan would gain nothing"

# What it needs.
refuse 2 "--prices goes with bycc check MODEL" bycc net.relay --rules=now.json --prices
refuse 2 "--prices needs vendors" bycc check net.relay --prices
refuse 2 "--prices needs costs, which -O0 does not compare" bycc check net.relay --rules=now.json --prices -O0
refuse 2 "--prices needs costs, which --cost-model=none does not compare" \
  bycc check net.relay --rules=now.json --prices --cost-model=none
echo '{"vendors": [{"name": "v", "ops": {"nn.conv2d": {}}}]}' > free.json
refuse 2 "--prices needs costs, and no vendor in use has any" bycc check net.relay --rules=free.json --prices
bycc net.relay --rules=now.json -q -o net.o --save-partition-plan=plan.json
refuse 2 "--partition-plan says where every node goes" bycc check net.relay --rules=now.json --prices --partition-plan=plan.json
refuse 2 "--prices needs pass 'choose-plan'" bycc check net.relay --rules=now.json --prices --passes=simplify-expr
refuse 2 "the output net.relay is an input" bycc check net.relay --rules=now.json --prices=net.relay
