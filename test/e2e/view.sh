#!/usr/bin/env bash
# The page of a compiled model: --emit=html and bycc view. It says what the report says, from
# the graph JSON as from the compiler; it loads nothing; a browser, where there is one, shows
# it and is clicked through.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 8, 8), float32], %flag: bool) {
  %0 = abs(%x);
  %1 = nn.relu(%0);
  %2 = sin(%1);
  %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2]);
  %4 = split(%3, indices_or_sections=2, axis=1);
  %5 = add(%4.0, %4.1);
  %6 = nn.relu(%5);
  %7 = if (%flag) { exp(%6) } else { tanh(%6) };
  %8 = nn.batch_flatten(%7);
  (nn.softmax(%8), "</script><!--" |> %1)
}
END
sed -i 's/, "<.*$/, %1)/' net.relay
cat > rules.json <<'END'
{"vendors": [{"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}, "nn.max_pool2d": {"attr": {"pool_size": [3, 3]}}},
  "patterns": [{"name": "va.add_relu", "root": "nn.relu(add(*, *))"}]}]}
END
cp net.relay '<i>&@DATA@.relay'
flags=(--rules=rules.json --cost-model=none -q)
bycc net.relay "${flags[@]}" --emit=obj,html,dot -o net.o --dump-offloads=dump.json
test -s net.html && test -s net.json && test -s net.dot
bycc net.relay "${flags[@]}" --emit=html -o alone.html
cp net.html first.html
mkdir other && (cd other && bycc ../net.relay --rules=../rules.json --cost-model=none -q --emit=obj,html -o net.o)
cmp first.html other/net.html
bycc '<i>&@DATA@.relay' "${flags[@]}" --emit=html -o odd.html
bycc view net.json -o view.html
bycc view net.json -o - > stdout.html
cmp view.html stdout.html
(cd other && bycc view ../net.json && cmp net.html ../view.html)
bycc-run net.json --random --profile=trace.json --runs 1 --warmup 0 > profile.txt
bycc view net.json --profile-data=trace.json -o timed.html
bycc "$root/share/models/example.onnx" -q --annotate=dnnl --cost-model=none -o example.o
bycc-run example.json --random --profile=trace2.json --runs 1 --warmup 0 > profile.txt
bycc view example.json --profile-data=trace2.json
bycc net.relay "${flags[@]}" --emit=html --time-passes --profile-data=trace.json -o passes.html 2> times.txt

python3 - <<'END'
import json
import re


def data(file):
    page = open(file).read()
    assert not re.search(r"""(src|href)\s*=|https?:|url\(|@import|fetch\(|XMLHttp""", page), file
    assert "default-src 'none'" in page
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))


def rows(d):  # as --dump-offloads has them
    text = lambda i: d["strings"][i] if i >= 0 else None
    for i, name in enumerate(d["ops"]["name"]):
        said = d["reasonSets"][d["ops"]["reason"][i]]
        said = [said[k:k + 3] for k in range(0, len(said), 3)]
        region = d["ops"]["region"][i]
        yield {"name": text(name), "op": text(d["ops"]["op"][i]), "source": text(d["ops"]["source"][i]),
               "placed": d["places"][d["ops"]["place"][i]], "region": d["regions"][region]["symbol"] if region >= 0 else None,
               "composite": text(d["ops"]["composite"][i]), "flops": d["ops"]["flops"][i],
               "refused": {text(v): text(why) for v, how, why in said if how == 2},
               "why": {text(v): text(why) for v, how, why in said if how == 1}}


net, dump, view = data("net.html"), json.load(open("dump.json")), data("view.html")
wanted = [{key: node[key] for key in ["name", "op", "source", "placed", "region", "composite", "flops", "refused", "why"]} for node in dump["nodes"]]
assert list(rows(net)) == wanted, (list(rows(net)), wanted)
assert list(rows(view)) == wanted
assert net["totals"]["flops"] == dump["totals"]["flops"] and net["totals"]["offloadedOps"] == dump["totals"]["offloaded_ops"]
assert [r["symbol"] for r in net["regions"]] == [f["symbol"] for f in dump["functions"]]
for key in ["edges", "types", "units", "groups", "regions", "arena", "reasonKinds", "inputs", "outputs", "title", "flags"]:
    if key == "types":
        assert [net["strings"][t] for t in net["types"]] == [view["strings"][t] for t in view["types"]]
    elif key == "arena":
        assert net["arena"]["bytes"] == view["arena"]["bytes"] and len(net["arena"]["steps"]) == len(view["arena"]["steps"])
    else:
        assert net[key] == view[key], (key, net[key], view[key])
for key, column in net["ops"].items():
    if key in ["unit", "place", "flops", "estimate", "turn", "first"]:
        assert column == view["ops"][key], key

# What reads what, through composites, tuples and branches.
begin = [0]
for count in net["edges"]["count"]:
    begin.append(begin[-1] + count)
names = [row["name"] for row in rows(net)]
reads = {}
for i, name in enumerate(names):
    flat = [net["edges"]["flat"][3 * k:3 * k + 3] for k in range(begin[i], begin[i + 1])]
    reads.setdefault(name, []).append([names[index] if kind == 0 else ["", "input", "constant", "?"][kind] for kind, index, _ in flat])
ops = {row["op"]: row["name"] for row in rows(net)}
assert reads[ops["abs"]] == [["input"]], reads
assert reads[ops["sin"]] == [[names[1]]], reads
assert reads[ops["add"]][0] == [ops["split"]], reads # both halves are of one operator
assert set(reads[ops["nn.batch_flatten"] if "nn.batch_flatten" in ops else ops["reshape"]][0]) == {ops["exp"], ops["tanh"]}, reads

# Times of passes are there when they are asked for; so is what a run took.
assert all(len(p) == 2 for p in net["passes"]) and net["passes"] and not view["passes"]
passes = data("passes.html")
assert all(len(p) == 3 for p in passes["passes"])
for timed in [data("timed.html"), passes]:
    known = {row for timing in timed["timings"] for row in timing["rows"]}
    assert len(known) >= len(names) - 2, (known, names, timed["timings"]) # one branch did not run, a view runs nothing
example = data("example.html")
assert {t["region"] for t in example["timings"] if not t["isStep"]} >= {r["symbol"] for r in example["regions"]} != set()
assert any(t["isStep"] and t["rows"] for t in example["timings"])
assert net["noPrices"] and net["prices"] is None
assert data("alone.html")["arena"] == {**net["arena"], "steps": data("alone.html")["arena"]["steps"], "buffers": data("alone.html")["arena"]["buffers"]}
assert data("odd.html")["title"] == "<i>&@DATA@"
page = open("odd.html").read()
assert "<title>&lt;i>&amp;@DATA@ - bycc</title>" in page and page.count("<script") == 2
END

# Operators of the host have the symbols of the object; repeated layers come once.
grep -q 'label="va: net_va_0' net.dot
grep -q 'sin\\n%2\\n.*FLOP\\nnet_.*va: ' net.dot || fail "$(cat net.dot)"
symbol=$(grep -o 'net_fused[a-z0-9_]*' net.dot | head -1)
nm net.o | grep -q " $symbol$" || fail "net.o has no $symbol"
python3 - > deep.relay <<'END'
print('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 4), float32]) {')
for i in range(0, 60, 3):
    print(f"  %{i} = sin({'%x' if i == 0 else f'%{i - 1}'});\n  %{i + 1} = nn.softmax(%{i});\n  %{i + 2} = add(%{i}, %{i + 1});")
print("  %59\n}")
END
bycc deep.relay -q --emit=dot,html
grep -q 'label="×20"; style=dashed;' deep.dot || fail "$(cat deep.dot)"
test "$(grep -cF 'label="nn.softmax' deep.dot)" = 1

# Prices are there where costs are compared.
sed 's/"name": "va", /&"cost": {"launch_us": 0, "gflops": 1000}, /' rules.json > costs.json
bycc net.relay --rules=costs.json --emit=html -q -o priced.html
grep -q '"prices": {' priced.html

refuse 2 "unknown option" bycc view net.json --profile-dat=trace.json
refuse 2 "profile-data goes with --emit=html" bycc net.relay -q --profile-data=trace.json -o x.o
refuse 2 "the output net.json is an input" bycc view net.json -o net.json
refuse 2 "no MODEL given" bycc view
refuse 1 "error[IO]" bycc view none.json
refuse 1 "this is no graph JSON of a compiled model" bycc view rules.json
refuse 1 "this is no trace: 'traceEvents' is missing" bycc view net.json --profile-data=rules.json
echo '{"traceEvents": [{"ph": "X", "name": "a", "dur": 3, "args": {"source": "b,c"}}]}' > others.json
refuse 1 "it is the trace of another model" bycc view net.json --profile-data=others.json
while IFS='|' read -r change wanted; do
  python3 -c "import json
net = json.load(open('net.json')); b = net['bycc']; o = b['operators']
$change
json.dump(net, open('wrong.json', 'w'))"
  refuse 1 "$wanted" bycc view wrong.json
done <<'END'
del b['operators']|another version of bycc wrote it
o['type'][0] = 999|'type' has what is no number from 0 to
o['inputs'][1] = 999|is no tensor of this model
o['inputs'].pop()|'inputs' has
o['unit'].append(1)|'unit' has
b['placement'][0]['region'] = 'gone'|which is not there
b['placement'][0]['why'] = 3|'why' must be an object
b['memory']['buffers'][:5] = [0, 0, 64, 5, 999]|lies outside the steps or nodes
b['memory']['steps'][0] = 999|'steps' has what is no number
b['offload']['estimate'] = {'us': 1}|'host_us' must be a number
END

# --- in a browser
python3 "$here/view.py" "$here" || { code=$?; [ $code = 77 ] && exit 77; fail "the page does not do what it should"; }
