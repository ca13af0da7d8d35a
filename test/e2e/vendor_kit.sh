#!/usr/bin/env bash
# The sample vendor, built outside of the tree against installed headers: what it
# takes, refuses and copies, found through --plugin and BYCC_PLUGIN_PATH.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
cmake -S "$PREFIX/share/bycc/examples/vendor" -B npu -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_BUILD_TYPE=Debug > cmake.txt
cmake --build npu > cmake.txt 2>&1 || fail "$(cat cmake.txt)"
grep -q warning cmake.txt && fail "$(cat cmake.txt)"
plugin=$work/npu/libbycc_vendor_examplenpu.so

# The programs are so small that the host is faster; the last --cost-model counts.
npu() { bycc --cost-model=none "$@" --plugin="$plugin" --annotate=examplenpu; }
# same STEM: the compiled model gives what the host gives; its trace is in trace.txt.
same() {
  BYCC_PLUGIN_PATH=$work/npu bycc-run "$1.json" --random=3 --expected expected \
    --vendor-option examplenpu.trace=true 2> trace.txt > run.txt || fail "$(cat run.txt trace.txt)"
}
# host FILE: makes what is expected of a model.
host() { rm -rf expected && bycc "$1" -q -o host.o && bycc-run host.json --random=3 --outputs expected > /dev/null; }
traced() { grep -qF -- "$1" trace.txt || fail "no '$1' in: $(cat trace.txt)"; }

# What every vendor has to hold.
bycc-vendor-test examplenpu --plugin="$plugin" > suite.txt 2>&1 || fail "$(cat suite.txt)"

# A model from ONNX, through both ways to find a plugin.
model=$root/share/models/example.onnx
host "$model"
npu "$model" --explain -q -o onnx.o > explain.txt
grep -q 'examplenpu refuses: the device has no command for nn.softmax' explain.txt || fail "$(cat explain.txt)"
grep -q 'conv1.*examplenpu.conv2d_bias_relu' explain.txt || fail "$(cat explain.txt)"
same onnx
traced 'onnx_examplenpu_0: 36480 bytes of weights resident'
traced 'onnx_examplenpu_0: 1 copies in, 1 copies out'
BYCC_PLUGIN_PATH=$work/npu bycc "$model" --annotate=examplenpu --cost-model=none -q -o onnx2.o --module-name=onnx
cmp onnx.o onnx2.o || fail "--plugin and BYCC_PLUGIN_PATH give different code"

# An operator that it refuses stands between two regions: copies on both sides.
EXAMPLENPU_REFUSE=nn.max_pool2d npu "$model" --expect-regions=3 -q -o pools.o
same pools
expect "$(grep -c '1 copies in, 1 copies out' trace.txt)" 3

# Regions back to back: what only they touch stays on the device.
cat > chain.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 6, 6), float32]) -> (Tensor[(1, 2, 6, 6), float32], Tensor[(1, 2, 6, 6), float32]) {
  %0 = nn.conv2d(%x, Tensor[(2, 2, 1, 1), float32][1, 2, -1, 1], channels=2, kernel_size=[1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, Tensor[(2, 2, 1, 1), float32][1, -1, 0.5, 2], channels=2, kernel_size=[1, 1]);
  %3 = nn.relu(%2);
  %4 = nn.conv2d(%3, Tensor[(2, 1, 3, 3), float32][1, 0, 2, 1, 0.5, -1, 0, 0.25, 1, -1, 0, 1, 0, 0, 1, 2, 1, 0.125], padding=[1, 1, 1, 1], groups=2, channels=2, kernel_size=[3, 3]);
  %5 = exp(%3);
  (%4, %5)
}
END
host chain.relay
npu chain.relay --expect-regions=3 -q -o chain.o
same chain
traced 'chain_examplenpu_0: 1 copies in, 0 copies out' # only the second region reads it
traced 'chain_examplenpu_1: 0 copies in, 1 copies out' # the host reads it as well
traced 'chain_examplenpu_2: 1 copies in, 1 copies out'
# What stays there is not seen: the first region makes infinities, the second shows them.
npy write large.npy f4 1x2x6x6 $(printf '3e38 %.0s' $(seq 72))
BYCC_PLUGIN_PATH=$work/npu refuse 4 "a NaN or infinity is made" bycc-run chain.json --input x=large.npy --threads 1 --check-nan
grep -q "^region chain_examplenpu_1 of vendor examplenpu (.*its inputs that can be seen are finite" refuse.out || fail "$(cat refuse.out)"
grep -q "note: 1 input is in the vendor's own memory: a region before it may have made it" refuse.out || fail "$(cat refuse.out)"

# crossing STEM: the report counts what the trace copies, and nothing else.
crossing() {
  python3 - "$1.report.json" trace.txt <<'END' || fail "$(cat "$1.report.json" trace.txt)"
import json, re, sys
report = json.load(open(sys.argv[1]))
copies = re.findall(r"(\w+): (\d+) copies in, (\d+) copies out", open(sys.argv[2]).read())
assert copies and len(copies) == len(report["functions"]), copies
counted = {f["symbol"]: f["boundary_tensors"] for f in report["functions"]}
assert counted == {symbol: int(a) + int(b) for symbol, a, b in copies}, (counted, copies)
assert report["totals"]["boundary_tensors"] == sum(counted.values())
END
}
npu chain.relay -q -o chain.o --dump-offloads=chain.report.json
crossing chain
EXAMPLENPU_REFUSE=nn.max_pool2d npu "$model" -q -o pools.o --dump-offloads=pools.report.json
host "$model"
same pools
crossing pools

# Transfers that take long, and costs that are compared: no region goes home, and the
# estimate has the two that the trace has.
mkdir weights
PYTHONPATH=$here python3 - <<'END'
import npy
npy.write("weights/w.npy", "f4", "64x64x3x3", [(i * 7 % 13 - 6) / 4096 for i in range(64 * 64 * 9)])
lines = ["  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);", "  %1 = nn.relu(%0);"]
for i in range(2, 8, 2):
    lines += [f"  %{i} = nn.conv2d(%{i - 1}, %w, padding=[1, 1, 1, 1]);", f"  %{i + 1} = nn.relu(%{i});"]
open("dear.relay", "w").write("""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 8, 8), float32], %w: Tensor[(64, 64, 3, 3), float32]) {
""" + "\n".join(lines) + "\n  exp(%7)\n}\n")
END
echo '{"vendor": "examplenpu", "cost": {"trust": 0.01, "transfer_us": 200, "transfer_gb_per_s": 0.2}}' > transfers.json
bycc dear.relay --params=weights -q -o host.o
rm -rf expected
bycc-run host.json --random=3 --outputs expected > /dev/null
npu dear.relay --cost-model=static --params=weights --patterns=transfers.json --expect-regions=4 -q -o dear.o \
  --dump-offloads=dear.report.json
same dear
crossing dear
expect "$(grep -c '0 copies in, 0 copies out' trace.txt)" 2
python3 - <<'END' || fail "$(cat dear.report.json)"
import json
npu = json.load(open("dear.report.json"))["totals"]["estimate"]["parts"][1]
assert npu["name"] == "examplenpu" and abs(npu["transfers_us"] - 2 * (200 + 64 * 8 * 8 * 4 / 200)) < 1e-3, npu
END

# Across the branches of an if: released whichever of them ran.
cat > branch.relay <<'END'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(1, 1, 4, 4), float32]) -> Tensor[(1, 1, 4, 4), float32] {
  %0 = nn.conv2d(%x, Tensor[(1, 1, 1, 1), float32][2], channels=1, kernel_size=[1, 1]);
  %1 = nn.relu(%0);
  %2 = if (%c) {
    nn.conv2d(%1, Tensor[(1, 1, 1, 1), float32][3], channels=1, kernel_size=[1, 1])
  } else {
    %3 = nn.conv2d(%1, Tensor[(1, 1, 1, 1), float32][-1], channels=1, kernel_size=[1, 1]);
    nn.relu(%3)
  };
  exp(%2)
}
END
host branch.relay
npu branch.relay -q -o branch.o
same branch
traced 'branch_examplenpu_0: 1 copies in, 0 copies out'
traced '0 copies in, 1 copies out'

# Many runs do not use up the device.
BYCC_PLUGIN_PATH=$work/npu bycc-run chain.json --vendor-option examplenpu.heap=16384 --random=3 --bench \
  --runs 50 > bench.txt 2> trace.txt || fail "$(tail -3 trace.txt)"

# Its own annotator: an elementwise operator that nothing on the device feeds stays.
cat > alone.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 1, 4, 4), float32]) -> Tensor[(1, 1, 4, 4), float32] {
  %0 = nn.relu(%x);
  %1 = nn.max_pool2d(%0, pool_size=[1, 1]);
  %2 = exp(%1);
  %3 = nn.conv2d(%2, Tensor[(1, 1, 1, 1), float32][2], channels=1, kernel_size=[1, 1]);
  %4 = nn.max_pool2d(%3, pool_size=[1, 1]);
  add(%4, %2)
}
END
host alone.relay
npu alone.relay --expect-regions=2 -q -o alone.o
EXAMPLENPU_ANNOTATE=1 npu alone.relay --expect-regions=1 --explain -q -o alone.o > explain.txt
grep -q 'examplenpu refuses: nothing before it runs on the device' explain.txt || fail "$(cat explain.txt)"
same alone

# It sees branches and closures, each as a block of its own: what happens outside of
# one feeds nothing in it.
cat > blocks.relay <<'END'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(1, 1, 4, 4), float32]) -> Tensor[(1, 1, 4, 4), float32] {
  %0 = nn.conv2d(%x, Tensor[(1, 1, 1, 1), float32][2], channels=1, kernel_size=[1, 1]);
  %1 = fn (%a: Tensor[(1, 1, 4, 4), float32]) {
    %2 = exp(%a);
    %3 = nn.conv2d(%2, Tensor[(1, 1, 1, 1), float32][0.5], channels=1, kernel_size=[1, 1]);
    nn.max_pool2d(%3, pool_size=[1, 1])
  };
  %4 = if (%c) {
    nn.max_pool2d(%0, pool_size=[1, 1])
  } else {
    %5 = nn.conv2d(%0, Tensor[(1, 1, 1, 1), float32][-1], channels=1, kernel_size=[1, 1]);
    nn.max_pool2d(%5, pool_size=[1, 1])
  };
  %6 = %1(%4);
  add(%6, %0)
}
END
host blocks.relay
EXAMPLENPU_ANNOTATE=1 npu blocks.relay -O0 --explain -q -o blocks.o > explain.txt
grep -q 'examplenpu refuses: nothing before it runs on the device' explain.txt || fail "$(cat explain.txt)"
expect "$(grep -c 'nn.conv2d .*blocks_examplenpu' explain.txt)" 3
expect "$(grep -c 'nn.max_pool2d .*blocks_examplenpu' explain.txt)" 2
expect "$(grep -c 'nn.max_pool2d .*host' explain.txt)" 1
same blocks

# Tuning: records are made once, found again whatever the model's name, and used.
host chain.relay
npu chain.relay -q -o plain.o --module-name=m
npu chain.relay -q -o tuned.o --module-name=m --tune=tune.json
python3 "$here/schema.py" "$PREFIX/share/bycc/schema/tuning.schema.json" tune.json
same tuned
records() { python3 -c 'import json; print(len(json.load(open("tune.json"))["records"]))'; }
expect "$(records)" 2 # two of the regions differ in their weights only
cmp -s plain.o tuned.o && fail "tuning changes nothing"
cp tune.json first.json
npu chain.relay -q -o again.o --module-name=m --tune=tune.json
cmp tuned.o again.o && cmp tune.json first.json
npu chain.relay -q -o other.o --tune=tune.json
cmp tune.json first.json || fail "regions were tuned again"
sed 's/"record": "[^"]*"/"record": "AQ=="/' first.json > tune.json
npu chain.relay -q -o edited.o --module-name=m --tune=tune.json
cmp -s tuned.o edited.o && fail "the record is not used"
same edited
echo '{"schema": 1, "records": [{"vendor": "examplenpu"}]}' > bad.json
refuse 1 'bad.json:1:27: error[INPUT]: /records/0/version: expected text' bycc chain.relay --tune=bad.json
refuse 2 'is an input' bycc chain.relay -o t.o --tune=t.json

# Failing: a node to blame, everything, a crash, too little memory. The build
# succeeds, says so, and the results are the same.
host chain.relay
failing() { npu chain.relay -o failing.o 2> err.txt || fail "$(cat err.txt)"; same failing; }
EXAMPLENPU_REFUSE=%2 failing
grep -q '%2 is in EXAMPLENPU_REFUSE' err.txt || fail "$(cat err.txt)"
traced 'failing_examplenpu'
EXAMPLENPU_FAIL=compile failing
grep -q 'EXAMPLENPU_FAIL says so' err.txt || fail "$(cat err.txt)"
grep -q 'copies' trace.txt && fail "a region ran: $(cat trace.txt)"
EXAMPLENPU_FAIL=abort failing
grep -q 'warning: ' err.txt || fail "$(cat err.txt)"
npu chain.relay --vendor-option examplenpu.heap=4096 -o failing.o 2> err.txt || fail "$(cat err.txt)"
same failing
grep -qE 'it needs [0-9]+ bytes of device memory, the device has 4096' err.txt || fail "$(cat err.txt)"
EXAMPLENPU_FAIL=compile refuse 3 'EXAMPLENPU_FAIL says so' npu chain.relay --strict -o strict.o
[ ! -e strict.o ] || fail "a refused build wrote files"

# A model that needs more of the device than there is does not load, and says so;
# with too little left for what stays there between regions, the run fails.
export BYCC_PLUGIN_PATH=$work/npu
refuse 1 "no device memory for the weights" bycc-run onnx.json --random=3 --vendor-option=examplenpu.heap=4096
sed 's/4, 4/64, 64/g' branch.relay > large.relay
npu large.relay -q -o large.o
refuse 1 "error[LIMIT]: vendor examplenpu has no memory for a tensor of 16384 bytes" \
  bycc-run large.json --random=3 --vendor-option examplenpu.heap=110000
