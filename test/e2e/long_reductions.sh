#!/usr/bin/env bash
# A reduction over the only long axis is made of parts, which run in parallel: results are the same
# bits with any number of threads, and those of the reduction in one piece but for sums, which are
# added in another order.
. "$(dirname "$0")/lib.sh"

cat >net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 131075), float32], %y: Tensor[(2, 420, 401), float32],
          %w: Tensor[(4, 131072), float32], %h: Tensor[(3, 200000), float16]) {
  %0 = strided_slice(%x, begin=[0, 0], end=[1, 131072], strides=[1, 1], axes=[0, 1]);
  (max(%x, axis=[1]), min(%x, axis=[1]), argmax(%x, axis=[1]), argmin(%x, axis=[1]),
   argmax(%x, axis=[1], select_last_index=True), argmin(%y, axis=[1, 2], select_last_index=True),
   argmax(%h, axis=[1]), all(cast(%y, dtype="bool"), axis=[1, 2]), any(cast(%x, dtype="bool"), axis=[1]),
   sum(cast(%x * 1024f, dtype="int32"), axis=[1]), cumsum(cast(%x * 1024f, dtype="int32"), axis=1), max(%h),
   sum(%x), mean(%y, axis=[1, 2]), variance(%x, mean(%x, axis=[1]), axis=[1]), prod(%x / 64f + 1f, axis=[1]),
   logsumexp(%x, axis=[1]), nn.softmax(%x), nn.log_softmax(%x), nn.dense(%0, %w, units=4), sum(%h, axis=[1]),
   cumsum(%x, axis=1), cumsum(%y, exclusive=True), cumprod(%y / 64f + 1f))
}
END
exact=12 # of the results, the first ones
cat >inputs.py <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import npy, os
# inputs.py E2E FOLDER NAN: the best value stands in several parts.
def values(count, seed, step):
    return [((i * 31 + i // 977 + seed) % 67 - 20) / step for i in range(count)]
os.makedirs(sys.argv[2])
inputs = {"x": ("f4", "1x131075", values(131075, 5, 1024)), "y": ("f4", "2x420x401", values(336840, 7, 1024)),
          "w": ("f4", "4x131072", values(524288, 1, 64)), "h": ("f2", "3x200000", values(600000, 2, 64))}
for name, (dtype, shape, data) in inputs.items():
    for at in (70001, 3000) if sys.argv[3] == "nan" else ():
        data[at] = float("nan")
    npy.write(f"{sys.argv[2]}/{name}.npy", dtype, shape, data)
END
python3 inputs.py "$here" numbers no
python3 inputs.py "$here" nan nan

bycc net.relay -q --emit=obj,loops -o net.o
[ "$(grep -c 'schedule split' net.loops)" -ge 20 ] || fail "hardly anything is split: $(grep split net.loops)"
grep -E '^kernel|schedule split' net.loops | sed 's/chunk=.*/chunk=0/' >unsplit.loops
bycc net.relay -q --emit=obj,loops --schedules=unsplit.loops -o whole.o
grep 'schedule split' whole.loops && fail "split in spite of chunk=0"
bycc net.relay -q --module-name=net --emit=loops --schedules=net.loops -o - | cmp - net.loops

for inputs in numbers nan; do
  rm -rf whole
  bycc-run whole.json --inputs $inputs --outputs whole --threads 1 -q
  for threads in 1 2 3 7; do
    bycc-run net.json --inputs $inputs --outputs $inputs-$threads --expected whole --rtol 1e-3 --atol 1e-9 --threads $threads -q \
      2>messages || fail "$inputs, $threads threads: $(cat messages)"
    diff -r $inputs-1 $inputs-$threads || fail "$threads threads: other bits"
  done
  for ((i = 0; i < exact; ++i)); do
    cmp whole/output_$i.npy $inputs-1/output_$i.npy || fail "result $i differs from that in one piece"
  done
done
expect "$(npy show nan-1/output_2.npy)" "1 3000"

# Running sums are made of parts by a library kernel.
python3 - <<'END'
from itertools import accumulate
import math, struct
def read(name, code):
    data = open(name, "rb").read()
    return [v for v, in struct.iter_unpack("<" + code, data[10 + struct.unpack("<H", data[8:10])[0]:])]
x, y = read("numbers/x.npy", "f"), read("numbers/y.npy", "f")
assert read("numbers-1/output_10.npy", "i") == list(accumulate(int(v * 1024) for v in x))
for number, wanted in (21, list(accumulate(x))), (22, [0] + list(accumulate(y))[:-1]):
    got = read(f"numbers-1/output_{number}.npy", "f")
    assert len(got) == len(wanted) and all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(got, wanted)), number
END

# Parts of any size, of reductions that are not long.
cat >small.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 70), float32], %w: Tensor[(20, 70), float32], %i: Tensor[(2, 5, 7), float32]) {
  (nn.softmax(%x), nn.dense(%x, %w, units=20), sum(%x, axis=[0]), argmax(%x, axis=[1]), argmin(%i), mean(%i, axis=[0, 2]))
}
END
bycc small.relay -q --emit=obj,loops -o small.o
bycc-run small.json --random --outputs small -q
for chunk in 1 2 3 7 14 35 70; do
  while read -r operator extent buffers; do
    [ $chunk -le "$extent" ] || continue
    [ $operator != dense ] || [ $((70 % chunk)) = 0 ] || continue
    grep "^kernel.*$operator" small.loops
    for buffer in $buffers; do echo "  schedule split $buffer chunk=$chunk"; done
  done >parts.loops <<END
softmax 70 b1 b3
dense 70 b2
sum 3 b1
argmax 70 b1 b2
argmin 7 b1 b2
mean 7 b1
END
  bycc small.relay -q --emit=obj,loops --schedules=parts.loops -o shown.o
  bycc small.relay -q --emit=loops --schedules=shown.loops --module-name=shown -o - | cmp - shown.loops
  bycc-run shown.json --random --expected small --rtol 1e-5 --threads 2 -q
done
# impossible OPERATOR CHUNK MESSAGE
impossible() {
  { grep "^kernel.*$1" small.loops; echo "  schedule split b2 chunk=$2"; } >bad.loops
  refuse 1 "bad.loops:2: error[INPUT]: chunk=$2: $3" bycc small.relay -q -o x.o --schedules=bad.loops
}
impossible dense 16 "parts of a product are equal"
impossible argmax 71 "elements of a part of a reduction (0: none): 0 to 70 are possible here"
impossible softmax 7 "nothing of this name is scheduled here"

# Extents that are known at run time only, when they are likely long.
cat >open.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, n), float32]) {
  (sum(%x, axis=[1]), argmax(%x, axis=[1]), nn.softmax(%x))
}
END
bycc open.relay -q --likely=n=1000000 --emit=obj,loops -o open.o
bycc open.relay -q -o short.o
[ "$(grep -c 'schedule split' open.loops)" = 5 ] || fail "open extents: $(cat open.loops)"
for n in 1 2 15624 15625 15626 31300 400001; do
  bycc-run short.json --random --shape=x=1x$n --outputs short -q
  bycc-run open.json --random --shape=x=1x$n --expected short --rtol 2e-5 --atol 1e-9 -q --threads 2 --outputs open
  cmp short/output_1.npy open/output_1.npy
done
