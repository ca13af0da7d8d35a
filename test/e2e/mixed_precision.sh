#!/usr/bin/env bash
# --precision=bf16: close to the float32 results, weights of half the size, inputs
# and outputs as they were; what a build depends on is written down.
. "$(dirname "$0")/lib.sh"
model=$root/share/models/example.onnx

# cosine A B: of the outputs in two folders.
cosine() {
  local file
  for file in "$1"/*.npy; do
    python3 -c '
import sys
shape, *a = sys.argv[1].split()
other, *b = sys.argv[2].split()
a, b = [float(v) for v in a], [float(v) for v in b]
dot = lambda x, y: sum(p * q for p, q in zip(x, y))
assert shape == other and dot(a, b) >= 0.999 * (dot(a, a) * dot(b, b)) ** 0.5, (shape, other)
' "$(npy show "$file")" "$(npy show "$2/$(basename "$file")")" || fail "$1 and $2 differ"
  done
}
member() { python3 -c 'import json, sys; print(eval("r" + sys.argv[2], {"r": json.load(open(sys.argv[1]))}))' "$@"; }

bycc "$model" -q -o f32.o
bycc-run f32.json --random=1 --outputs=f32 > /dev/null
for level in 0 1 2 3; do
  bycc "$model" -q -O$level --precision=bf16 -o net.o
  bycc-run net.json --random=1 --outputs=bf16 > /dev/null
  cosine f32 bf16
done
expect "$(member net.json '["bycc"]["flags"].count("--precision=bf16")')" 1
# A node that became several operators, casts say, is one source.
bycc-run net.json --random --profile --runs=1 --threads=1 > profile.txt
if grep -E '(^|[ ,])([^ ,]+),\2(,|$)' profile.txt; then fail "a source stands twice"; fi
half=$(stat -c %s net.params) whole=$(stat -c %s f32.params)
[ $((2 * half)) -lt $((whole + whole / 8)) ] || fail "$half of $whole bytes are left"

# A CPU that has no instructions for it: said once, and right.
bycc "$model" --precision=bf16 -mcpu=x86-64-v3 -o old.o 2> old.err
expect "$(grep -c "warning: the CPU 'x86-64-v3' has no fast bfloat16 (amx-bf16 or avx512bf16)" old.err)" 1
bycc-run old.json --random=1 --outputs=old > /dev/null
cosine f32 old
bycc "$model" --precision=bf16 -mcpu=cooperlake -o new.o 2> new.err
if grep -q warning new.err; then fail "a warning for a CPU that has bfloat16"; fi

# Rules of the user's: without products nothing converts.
cat > rules.json <<'JSON'
{"schema": 1, "cost": {"launch_us": 0, "gb_per_s": 1, "table_bytes": 0,
                       "gflops": {"float32": 1, "amx-bf16": 2}}}
JSON
bycc "$model" --precision=bf16 --precision-rules=rules.json -MD -o same.o 2> same.err
grep -qE 'warning: no product is converted to bfloat16: all [0-9]+ stay float32, -v says why' same.err || fail "$(cat same.err)"
expect "$(stat -c %s same.params)" "$whole"
grep -q "rules.json" same.d || fail "the rules are not in the dependency file"
expect "$(member same.json '["bycc"]["flags"].count("--precision-rules=rules.json")')" 1
refuse 1 "cannot open" bycc "$model" --precision=bf16 --precision-rules=no.json -o no.o
refuse 2 "rules.json is an input" bycc "$model" --precision=bf16 --precision-rules=rules.json -o rules.o
refuse 2 "--precision-rules" bycc "$model" --precision-rules=rules.json -o no.o
refuse 2 "to-mixed-precision" bycc "$model" --precision=bf16 --disable-pass=to-mixed-precision -o no.o
refuse 1 "--precision=int8 is not supported" bycc "$model" --precision=int8 -o no.o

# A region on its own says how closely its results can be compared.
echo '{"vendors": [{"name": "npu", "ops": {"nn.conv2d": {}}}]}' > npu.json
bycc extract "$model" --precision=bf16 --rules=npu.json --region=npu_0 --random -o region.relay 2> region.err
grep -qF '| bfloat16: compare with --rtol=0.05' region.err || fail "$(cat region.err)"
bycc extract "$model" --rules=npu.json --region=npu_0 --random -o region.relay 2> region.err
if grep -q compare region.err; then fail "$(cat region.err)"; fi

# A list of passes is taken as it is.
bycc-opt "$model" --precision=bf16 --passes=to-mixed-precision > mixed.relay
grep -q bfloat16 mixed.relay || fail "the pass did not run"
bycc-opt "$model" --precision=bf16 --passes=fold-constants 2> folded.err > folded.relay
grep -q "warning.*to-mixed-precision" folded.err || fail "no word of the pass that is missing"
if grep -q bfloat16 folded.relay; then fail "something was converted"; fi

# What was printed compiles again, to the same results.
bycc "$model" -q --precision=bf16 --emit=relay -o printed.opt.relay
bycc printed.opt.relay -q -o again.o
bycc-run again.json --random=1 --outputs=again > /dev/null
cosine bf16 again

# With a vendor the times that cost files say count: few channels are the host's, faster in float32.
if bycc --list-vendors | grep -q '^dnnl'; then
  cat > channels.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 2560), float32], %y: Tensor[(1, 64, 2560), float32], %w: Tensor[(4, 4, 3), float32], %v: Tensor[(64, 64, 3), float32]) {
  %0 = nn.conv1d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3]);
  %1 = nn.conv1d(%y, %v, padding=[1, 1], channels=64, kernel_size=[3]);
  (%0, %1)
}
RELAY
  stay() { bycc channels.relay --precision=bf16 -mcpu=sapphirerapids --explain -o net.o "$@" | sed -n 's/^  %\([01]\)  nn.conv1d  bfloat16 saves.*/\1/p'; }
  expect "$(stay --annotate=dnnl)" 0
  expect "$(stay)" ""
  expect "$(stay --annotate=dnnl --precision-rules="$root/patterns/mixed-precision.json")" ""
fi
