#!/usr/bin/env bash
# A region of dnnl whose batch comes at run time: one model, any batch, in any order.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 2), float32]) {
  nn.relu(nn.dense(%x, Tensor[(1, 2), float32][2f, 1f], units=1))
}
EOR
bycc net.relay --annotate=dnnl --cost-model=none -o net.o 2> line.txt
grep -q '^dnnl: 1 region, 2 of 2 ops' line.txt || fail "$(cat line.txt)"
grep -qF ' tensors of run-time size cross the boundary' line.txt || fail "$(cat line.txt)"
bycc inspect net.relay > inspect.txt
grep -qF 'compute 5 FLOP with n=1 (likely)' inspect.txt || fail "$(cat inspect.txt)"
npy write one.npy f4 1x2 1 3
npy write three.npy f4 3x2 1 3 -4 1 0 2
npy write none.npy f4 0x2
for _ in 1 2; do
  bycc-run net.json --input x=one.npy --outputs=out
  expect "$(npy show out/output_0.npy)" "1x1 5"
  bycc-run net.json --input x=three.npy --outputs=out
  expect "$(npy show out/output_0.npy)" "3x1 5 0 2"
  bycc-run net.json --input x=none.npy --outputs=out
  expect "$(npy show out/output_0.npy)" "0x1"
done

# Its steps are known once it has run; those of other extents count as the same.
bycc-run net.json --random --shape x=3x2 --profile --runs=1 > profile.txt
grep -qE '^ +1 .*matmul|^ +1 .*inner_product' profile.txt || fail "$(cat profile.txt)"

# A mask per window, the same for its heads: the library has no kernel for one stretched along
# two axes apart, so a constant is stretched along the heads ahead of time.
cat > masked.relay <<'EOP'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 2, 3, 2, 2), float32]) {
  %0 = Tensor[(2, 1, 2, 2), float32][0f, -1f, 2f, -3f, 4f, -5f, 6f, -7f];
  (nn.relu(add(%x, %0)), multiply(%0, %x))
}
EOP
cat > given.relay <<'EOP'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 3, 2, 2), float32], %m: Tensor[(1, 2, 1, 2, 2), float32]) {
  nn.relu(add(%x, %m))
}
EOP
for net in masked given; do
  bycc -O0 "$net.relay" -q -o "$net-0.o"
  bycc "$net.relay" -q -o "$net.o" --annotate=dnnl --cost-model=none --expect-regions=1 --min-offload=100%
done
for n in 1 2 70; do
  rm -rf want
  bycc-run masked-0.json --random=5 --shape=x=${n}x2x3x2x2 --outputs=want
  bycc-run masked.json --random=5 --shape=x=${n}x2x3x2x2 --expected=want > /dev/null
done
bycc-run masked.json --random --shape=x=2x2x3x2x2 --profile --runs=1 > masked.txt
grep -q 'binary \[jit' masked.txt || fail "$(cat masked.txt)"
rm -rf want
bycc-run given-0.json --random=5 --outputs=want
bycc-run given.json --random=5 --expected=want > /dev/null

# One that comes at run time is not stretched for a batch of several.
sed 's/%x: Tensor\[(1, /%x: Tensor[(2, /' given.relay > several.relay
bycc several.relay -q -o several.o --annotate=dnnl --cost-model=none --explain > several.txt
grep -q 'oneDNN has only a reference loop for this' several.txt || fail "$(cat several.txt)"

# Extents of a region's results that are sums of the batch are that for code of the host, too: a
# product of two regions' heads stays a product.
cat > heads.relay <<'EOP'
#[version = "0.0.5"]
def @main(%x: Tensor[(N, 64, 128), float32], %k: Tensor[(N, 4, 64, 64), float32]) {
  %0 = nn.dense(%x, ones(shape=[128, 128], dtype="float32"), units=128);
  %1 = transpose(reshape(%0, newshape=[-1, 64, 4, 32]), axes=[0, 2, 1, 3]);
  %2 = reshape(%1, newshape=[-3, 0, 0]);
  %3 = reshape(nn.softmax(%k), newshape=[-3, 0, 0]);
  %4 = nn.batch_matmul(%3, %2);
  tan(%4)
}
EOP
bycc heads.relay --annotate=dnnl --cost-model=none --pin %4=host -q --emit=loops -o heads.loops
grep -q '^  nest . product' heads.loops || fail "$(cat heads.loops)"
