#!/usr/bin/env bash
# One transformer encoder layer in five texts, and in 60 combinations of smaller differences, becomes one
# composite with one signature, and computes the same.
. "$(dirname "$0")/lib.sh"
layer=$here/encoder_layer

# The weights of every spelling, from the same numbers: NAME_t is NAME transposed,
# wqkv is query, key and value together.
python3 - "$here" <<'PYTHON'
import os, random, sys
sys.path.insert(0, sys.argv[1])
import npy

random.seed(7)
matrices = {"wq": (8, 8), "wk": (8, 8), "wv": (8, 8), "wo": (8, 8), "w1": (16, 8), "w2": (8, 16)}
vectors = {"bq": 8, "bk": 8, "bv": 8, "bo": 8, "b1": 16, "b2": 8, "g1": 8, "h1": 8, "g2": 8, "h2": 8}
w = {n: [[random.uniform(-1, 1) for _ in range(k)] for _ in range(m)] for n, (m, k) in matrices.items()}
v = {n: [random.uniform(-1, 1) for _ in range(m)] for n, m in vectors.items()}
w["wqkv"] = w["wq"] + w["wk"] + w["wv"]
v["bqkv"] = v["bq"] + v["bk"] + v["bv"]
for n in list(w):
    w[n + "_t"] = [list(column) for column in zip(*w[n])]
for spelling in ("apart", "together", "transposed", "rewritten", "heads_first"):
    os.mkdir(spelling)
    text = open(sys.argv[1] + "/encoder_layer/" + spelling + ".relay").read()
    for n, m in w.items():
        if "%" + n + ":" in text:
            npy.write(f"{spelling}/{n}.npy", "f4", f"{len(m)}x{len(m[0])}", [e for row in m for e in row])
    for n, m in v.items():
        if "%" + n + ":" in text:
            npy.write(f"{spelling}/{n}.npy", "f4", str(len(m)), m)
os.mkdir("in")
npy.write("in/x.npy", "f4", "1x4x8", [random.uniform(-1, 1) for _ in range(32)])
PYTHON

# signature FILE: what the report says about the one composite's function.
signature() {
  python3 - "$1" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
print(*[(f["composites"], f["ops"], f["param_types"], f["result_types"]) for f in report["functions"]])
PYTHON
}
# composite FILE: names and types of the composite's parameters, as printed.
composite() { grep -o 'fn (.*Composite="v.encoder_layer"' "$1" | sed 's/_1:/:/g'; }

# Weights as parameters.
for level in 1 2; do
  for spelling in apart together transposed rewritten heads_first; do
    bycc-opt "$layer/$spelling.relay" -O$level --rules="$layer/rules.json" > $spelling.txt
    expect "$(grep -c 'Composite=' $spelling.txt)" 1
    expect "$(composite $spelling.txt)" "$(composite apart.txt)"
  done
  [[ $(composite apart.txt) == *"%x: Tensor[(4, 8), float32], %wqkv: Tensor[(24, 8), float32], %bqkv"* ]] ||
    fail "$(composite apart.txt)"
done

# Weights as constants; the result is that of the program without vendors.
bycc "$layer/apart.relay" -O0 -q --params=apart -o plain.o
bycc-run plain.json --inputs in --outputs plain > /dev/null
for spelling in apart together transposed rewritten heads_first; do
  bycc "$layer/$spelling.relay" -q --rules="$layer/rules.json" --params=$spelling \
    --dump-offloads=$spelling.json -o m.o
  expect "$(signature $spelling.json)" "$(signature apart.json)"
  bycc-run m.json --inputs in --expected plain --rtol 1e-4 --atol 1e-5 > /dev/null 2>&1 ||
    fail "$spelling computes something else"
done
[[ $(signature apart.json) == *"v.encoder_layer"* ]] || fail "no composite"

# Every combination of where the scale is, how query, key and value come apart and how keys are
# turned round: the same signature, and the same result for some of each.
python3 "$layer/spellings.py" spellings
count=0
for folder in spellings/*; do
  bycc-opt $folder/layer.relay -O2 --rules="$layer/rules.json" > $folder/opt.txt
  expect "$(composite $folder/opt.txt)" "$(composite apart.txt)"
  count=$((count + 1))
  [ $((count % 5)) = 0 ] || continue
  bycc $folder/layer.relay -O0 -q --params=$folder -o plain.o
  bycc-run plain.json --inputs in --outputs plain > /dev/null
  bycc $folder/layer.relay -q --rules="$layer/rules.json" --params=$folder -o m.o
  bycc-run m.json --inputs in --expected plain --rtol 1e-4 --atol 1e-5 > /dev/null 2>&1 ||
    fail "$folder computes something else"
done
expect $count 60
