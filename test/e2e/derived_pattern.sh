#!/usr/bin/env bash
# bycc pattern: an entry of a vendor's file from nodes of a model, which the vendor then takes.
. "$(dirname "$0")/lib.sh"

# Three layers, the first of which has a reshape in front, the last another factor.
cat >net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4, 8), float32], %u: Tensor[(8, 8), float32], %v: Tensor[(8, 8), float32],
          %w: Tensor[(8, 8), float32]) {
  %0 = reshape(%x, newshape=[8, 8]);
  %1 = nn.dense(%0, %u, units=8);
  %2 = nn.relu(%1);
  %3 = multiply(%2, 0.25f);
  %4 = add(%3, %0);
  %5 = nn.dense(%4, %v, units=8);
  %6 = nn.relu(%5);
  %7 = multiply(0.25f, %6);
  %8 = add(%4, %7);
  %9 = nn.dense(%8, %w, units=8);
  %10 = nn.relu(%9);
  %11 = multiply(%10, 0.5f);
  %12 = add(%11, %8);
  %13 = nn.softmax(%12, axis=1);
  %13
}
EOF
pattern() { bycc pattern net.relay --vendor=npu "$@"; }

# By names, by a range (the reshape in front does not count), and what else it matches.
pattern --nodes=%1,%2 >named.json
grep -qF '"name": "npu.dense_relu"' named.json || fail "$(cat named.json)"
grep -qF '"root": "nn.relu(nn.dense($x, $weight))"' named.json || fail "$(cat named.json)"
pattern --nodes='%1..%4' --check >layer.json 2>said.txt
[ "$(cat said.txt)" = "2 places that npu.dense_relu_multiply_add matches:
  %4
  %8" ] || fail "$(cat said.txt)"
grep -qF '"params": ["x", "weight"]' layer.json || fail "$(cat layer.json)"
# It goes into the vendor's file as it is.
python3 - <<'EOF'
import json
for name in ("named", "layer"):
    rules = {"vendors": [{"name": "npu", "patterns": [json.load(open(name + ".json"))]}]}
    json.dump(rules, open(name + "-rules.json", "w"))
EOF
composites() { # RULES NAME
  bycc net.relay -q -o net.o --rules="$1" --cost-model=none --dump-offloads=got.json
  python3 -c "import json; print(sum(f['composites'].count('$2') for f in json.load(open('got.json'))['functions']))"
}
expect "$(composites layer-rules.json npu.dense_relu_multiply_add)" 2
expect "$(composites named-rules.json npu.dense_relu)" 3
# An axis counts from both ends, a name can be given.
pattern --nodes='%12,%13' --name=end 2>said.txt >end.json || cat said.txt
grep -qF '"name": "npu.end"' end.json || fail "$(cat end.json said.txt)"
grep -qF 'nn.softmax{axis=1|-1}(add(' end.json || fail "$(cat end.json)"
# Two results, a gap, a name that is not there, a range that leads nowhere.
refuse 1 "a composite has one result, these nodes have 2" pattern --nodes=%4,%5
refuse 1 "nn.relu (%2) lies between them" pattern --nodes=%1,%3
refuse 1 "no node is called '%99'" pattern --nodes=%99
refuse 1 "nothing leads from one to the other" pattern --nodes=%9..%2
refuse 2 "pattern needs --nodes and --vendor" bycc pattern net.relay --nodes=%1

# A vendor that is known asks for its passes first: an encoder layer of one spelling gives a
# pattern that matches the others.
layer=$here/encoder_layer
python3 - "$layer/rules.json" >bare.json <<'EOF'
import json, sys
rules = json.load(open(sys.argv[1]))
rules["vendors"][0].pop("patterns")
rules["vendors"][0]["ops"] = {}
print(json.dumps(rules))
EOF
bycc pattern "$layer/together.relay" --rules=bare.json --vendor=v --nodes='nn.dense..nn.layer_norm' --name=layer >v.json ||
  fail "no pattern of an encoder layer"
python3 - <<'EOF'
import json
rules = json.load(open("bare.json"))
rules["vendors"][0]["patterns"] = [json.load(open("v.json"))]
json.dump(rules, open("v-rules.json", "w"))
EOF
for spelling in apart together transposed rewritten heads_first; do
  bycc-opt "$layer/$spelling.relay" -O2 --rules=v-rules.json >opt.txt
  expect "$(grep -c 'Composite="v.layer"' opt.txt)" 1
done
