#!/usr/bin/env bash
# Graphs that a partitioner might find hard go through in time near linear: the
# test's time limit is far above what they take.
. "$(dirname "$0")/lib.sh"

cat > rules.json <<'RULES'
{"vendors": [{"name": "va", "ops": {"abs": {}, "nn.relu": {}, "add": {}, "nn.dense": {}},
              "edges": {"deny": [["add", "abs"]]}},
             {"name": "vb", "ops": {"tanh": {}, "sigmoid": {}, "nn.softmax": {}}}]}
RULES
for shape in layers shared diamonds stripes far wide transformer; do
  python3 "$root/test/bench/make_graph.py" $shape 20000 > $shape.relay
  timeout 60 bycc-opt $shape.relay --rules=rules.json --annotate-target --merge-compiler-regions \
    --partition-graph -o $shape.out.relay || fail "$shape: not partitioned"
  grep -q 'Compiler="vb"' $shape.out.relay || fail "$shape: nothing is offloaded"
done
