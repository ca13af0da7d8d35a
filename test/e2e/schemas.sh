#!/usr/bin/env bash
# Every shipped vendor file and every rules file of the tests fits its schema and
# passes the loader; both refuse the same mistakes. What bycc writes fits, too.
. "$(dirname "$0")/lib.sh"
schemas=$root/share/schema
validate() { python3 "$here/schema.py" "$schemas/$1.schema.json" "${@:2}"; }

# host.json is the cost of the host, mixed-precision.json of no vendor either.
validate patterns $(ls "$root"/patterns/*.json | grep -v -e /host.json -e /mixed-precision.json)
validate mixed-precision "$root/patterns/mixed-precision.json"
validate rules "$here"/encoder_layer/rules.json "$root"/test/cases/*/*.expect.json

cat > m.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 2), float32]) { abs(%x) }
RELAY

# rules MEMBERS: a rules file with one vendor that has these.
rules() { echo "{\"vendors\": [{\"name\": \"v\", $1}]}" > r.json; }

rules '"ops": {"abs": {"dtype": ["float32"], "attr": {}, "const_args": [], "static_shape": true,
  "args": {"0": {"rank": [1, 2], "shape": [null, "1..4"], "layout": "", "const": false, "max_elements": 9}},
  "results": {"0": {"dtype": ["float32"]}}, "any_of": [{}]}},
  "patterns": [{"name": "v.r", "relay": "fn (%x) { abs(%x) }", "params": ["x"], "any_order": false,
                "where": [{"op": "abs", "any_of": [{"dtype": ["float32"]}]}]}],
  "edges": {"deny": [["abs", "*"]], "allow": [["v.r", "abs"]]}, "min_ops": 0, "min_flops": 0.5,
  "cost": {"launch_us": 0, "gflops": 1, "ops": {"abs": {"gb_per_s": 2}}, "trust": 1.5, "measured": true,
           "cpus": {"znver4, znver5": {"launch_us": 1}},
           "classes": {"few": {"results": {"0": {"max_elements": 9}}}},
           "rows": [{"op": "*", "class": "rows<8, few", "dtype": "float32", "threads": 1, "gflops": 1, "gb_per_s": 2},
                    {"composite": "v.r", "us": 3, "comment": "of one call"}]},
  "own_memory": true,
  "passes": ["fold-constants"], "allow_ops": ["*"], "deny_ops": ["nn.*"]'
validate rules r.json
bycc m.relay -O0 -q --rules=r.json -o m.o

bycc "$root/share/models/example.onnx" -q --annotate=dnnl --save-partition-plan=plan.json --emit=obj,json -o net.o
validate partition-plan plan.json
validate program net.opt.json

while IFS= read -r members; do
  rules "$members"
  if validate rules r.json 2> /dev/null; then fail "the schema takes $members"; fi
  refuse 1 "r.json:1:" bycc m.relay -O0 --rules=r.json -o m.o
done <<'MEMBERS'
"opps": {}
"ops": []
"ops": {"abs": {"dtype": ["float33"]}}
"ops": {"abs": {"args": {"0": {"shape": ["a"]}}}}
"ops": {"abs": {"args": {"0": {"rank": -1}}}}
"ops": {"abs": {"any_of": []}}
"ops": {"nn.softmax": {"attr": {"axis": {"least": 1}}}}
"edges": {"deny": [["abs"]]}
"min_ops": 1.5
"min_flops": -1
"cost": {"gflops": "1"}
"cost": {"trust": 0}
"cost": {"measured": 1}
"cost": {"classes": {"few": {"dtype": "int8"}}}
"cost": {"rows": {}}
"cost": {"rows": [{"us": 1}]}
"cost": {"rows": [{"op": "abs"}]}
"cost": {"rows": [{"op": "abs", "composite": "v.p", "us": 1}]}
"cost": {"rows": [{"op": "abs", "us": -1, "gflops": 1}]}
"cost": {"rows": [{"op": "abs", "class": "", "us": 1}]}
"cost": {"rows": [{"op": "abs", "dtype": "float33", "us": 1}]}
"cost": {"rows": [{"op": "abs", "threads": 0, "us": 1}]}
"own_memory": 1
"passes": [""]
"patterns": [{"name": "v.p"}]
"patterns": [{"name": "v.p", "root": "abs(*)", "relay": "fn (%x) { abs(%x) }"}]
"patterns": [{"name": "v.p", "root": "abs(*)", "where": [{"attr": {}}]}]
MEMBERS

while IFS='|' read -r key value; do
  python3 - "$root/patterns/mixed-precision.json" "$key" "$value" <<'PY' > p.json
import json, sys
rules = json.load(open(sys.argv[1]))
at = rules
*way, last = sys.argv[2].split(".")
for step in way:
    at = at[step]
at[last] = json.loads(sys.argv[3])
print(json.dumps(rules))
PY
  if validate mixed-precision p.json 2> /dev/null; then fail "the schema takes $key $value"; fi
  refuse 1 "p.json:1:" bycc m.relay --precision=bf16 --precision-rules=p.json -o m.o
done <<'MEMBERS'
schema|2
allways|[]
always|"nn.dense"
moves|[3]
cost|{}
cost.gb_per_s|0
cost.launch_us|"1"
cost.gflops|{"float32": 1}
cost.gflops.float32|-1
MEMBERS
