#!/usr/bin/env bash
# Products of nothing: no rows, or nothing to sum up. Parts of nothing.
. "$(dirname "$0")/lib.sh"

cat > zero.relay <<'END'
#[version = "0.0.5"]
def @main(%a: Tensor[(0, 2, 3), float32], %b: Tensor[(2, 0), float32], %v: Tensor[(4, 3), float32], %w: Tensor[(4, 0), float32]) {
  %0 = nn.dense(%a, %v, units=4);
  %1 = nn.dense(%b, %w, units=4);
  (%0, add(%1, 1f))
}
END
npy write a.npy f4 0x2x3
npy write b.npy f4 2x0
npy write v.npy f4 4x3 1 2 3 4 5 6 7 8 9 10 11 12
npy write w.npy f4 4x0
for options in "-O0" "-O2" "-O2 --annotate=dnnl"; do
  bycc zero.relay $options -q -o zero.o
  bycc-run zero.json --input a=a.npy --input b=b.npy --input v=v.npy --input w=w.npy --outputs out
  expect "$(npy show out/output_0.npy)" "0x2x4"
  expect "$(npy show out/output_1.npy)" "2x4 1 1 1 1 1 1 1 1"
done

# The empty part of a split is read by no code, and still an operand of the last call.
cat > part.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32]) {
  %0 = nn.softmax(%x);
  %1 = split(%0, indices_or_sections=[4], axis=1);
  %2 = nn.softmax(%1.0);
  %3 = nn.softmax(%2);
  %4 = (multiply(multiply(%1.0, %2), %3), %1.1);
  concatenate(%4, axis=1)
}
END
npy write x.npy f4 2x4 1 1 1 1 2 2 2 2
for options in "-O0" "-O2"; do
  bycc part.relay $options -q -o part.o
  bycc-run part.json --input x=x.npy --outputs out
  expect "$(npy show out/output_0.npy)" "2x4 0.015625 0.015625 0.015625 0.015625 0.015625 0.015625 0.015625 0.015625"
done

# A cache that is empty at first adds nothing, in a region as well.
cat > cache.relay <<'END'
#[version = "0.0.5"]
def @main(%past: Tensor[(2, p), float32], %x: Tensor[(2, 2), float32], %more: Tensor[(2, q), float32]) {
  %0 = concatenate((nn.relu(%past), %x, %more), axis=1);
  nn.relu(%0)
}
END
npy write past.npy f4 2x1 7 -8
npy write none.npy f4 2x0
npy write x.npy f4 2x2 1 -2 3 -4
for options in "-O2" "-O2 --annotate=dnnl --cost-model=none --expect-regions=1"; do
  bycc cache.relay $options -q -o cache.o
  for _ in 1 2; do
    bycc-run cache.json --input past=none.npy --input x=x.npy --input more=none.npy --outputs out
    expect "$(npy show out/output_0.npy)" "2x2 1 0 3 0"
    bycc-run cache.json --input past=past.npy --input x=x.npy --input more=none.npy --outputs out
    expect "$(npy show out/output_0.npy)" "2x3 7 1 0 0 3 0"
  done
done

# A mean of nothing is NaN; oneDNN has no such kernel, and the run says so.
cat > mean.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, n), float32]) { mean(%x, axis=[1]) }
END
bycc mean.relay -q -o mean.o
bycc-run mean.json --input x=none.npy --outputs out
expect "$(npy show out/output_0.npy | tr -d -)" "2 nan nan"
bycc mean.relay --annotate=dnnl --cost-model=none -q -o mean.o
refuse 1 "extents that oneDNN does not take: extent 0 of (2, 0)" bycc-run mean.json --input x=none.npy
