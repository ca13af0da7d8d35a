#!/usr/bin/env bash
# The extents of what a region reads need not give the symbols that its own extents are made
# of: the region then gets a slice without elements as one input more, for its extents.
. "$(dirname "$0")/lib.sh"
weights='Tensor[(2, 2, 3, 3), float32]'
cat > net.relay <<EOR
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(n, 2, h, w), float32], %k: $weights) {
  %0 = nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  %1 = nn.conv2d(%0, %k, strides=[2, 2], padding=[1, 1, 1, 1], channels=2, kernel_size=[3, 3]);
  %2 = nn.relu(%1);
  %3 = sin(%2);
  %4 = if (%c) {
    %5 = nn.conv2d(%3, %k, strides=[2, 2], padding=[1, 1, 1, 1], channels=2, kernel_size=[3, 3]);
    tanh(%5)
  } else {
    %6 = nn.max_pool2d(%3, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
    %7 = abs(%6);
    nn.conv2d(%7, %k, padding=[1, 1, 1, 1], channels=2, kernel_size=[3, 3])
  };
  (nn.relu(%4), %2)
}
EOR
mkdir params
npy write params/k.npy f4 2x2x3x3 $(seq -17 18)
bycc net.relay --params=params -q -o host.o
# The branch must have them from outside.
bycc net.relay --params=params --annotate=dnnl --cost-model=none --pin %0=host --pin %6=host -o net.o --dump-offloads=r.json 2> line.txt
! grep -q warning line.txt || fail "$(cat line.txt)"
python3 - <<'EOP' || fail "$(cat r.json)"
import json
functions = json.load(open("r.json"))["functions"]
assert len(functions) == 4, len(functions)
for f in functions:
    assert f["param_types"][1:] == ["Tensor[(0, n, 2, h, w), float32]"], f
    assert f["boundary_bytes"] == 0 and f["has_run_time_sizes"], f
EOP
for extents in 1x2x17x9 3x2x32x8 1x2x1x1 3x2x32x8; do
  for branch in 0 1; do
    npy write c.npy b1 "" $branch
    for made in host net; do
      bycc-run $made.json --input c=c.npy --random=5 --shape x=$extents --outputs=$made.out
    done
    for output in 0 1; do
      paste -d" " <(npy show host.out/output_$output.npy | tr " " "\n") <(npy show net.out/output_$output.npy | tr " " "\n") |
        awk 'NR == 1 {if ($1 != $2) exit bad = 1; next}
             {d = $1 - $2; if (d * d > 1e-8 * (1 + $1 * $1)) exit bad = 1} END {exit bad || NR < 2}' ||
        fail "$extents, branch $branch, output $output"
    done
  done
done

# What tells the extents already needs no more: nor does a vendor without code.
cat > plain.relay <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 2, h, w), float32]) {
  %0 = nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  nn.relu(%0)
}
EOR
bycc plain.relay --annotate=dnnl --cost-model=none -q -o plain.o --dump-offloads=r.json
grep -q '"params": 1' r.json || fail "$(cat r.json)"
echo '{"vendors": [{"name": "v", "ops": {"nn.relu": {}}}]}' > rules.json
bycc plain.relay --rules=rules.json --cost-model=none -q -o plain.o --dump-offloads=r.json
grep -q '"params": 1' r.json || fail "$(cat r.json)"
