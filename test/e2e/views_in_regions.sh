#!/usr/bin/env bash
# Parts of tensors are views inside dnnl's regions, padding is a copy into the larger one:
# one region, equal to what every operator gives alone.
. "$(dirname "$0")/lib.sh"

# NAME: the program on standard input.
check() {
  cat >"$1.relay"
  bycc -O0 "$1.relay" -q -o "$1-0.o"
  bycc "$1.relay" -q -o "$1.o" --annotate=dnnl --cost-model=none --expect-regions=1 --strict
  rm -rf want
  bycc-run "$1-0.json" --random=5 --outputs want --threads 1
  for threads in 1 2; do
    bycc-run "$1.json" --random=5 --expected want --threads $threads >/dev/null
  done
}

# Attention of which query, key and value lie in one tensor, as exporters write it.
check taken <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 19, 96), float32]) {
  %0 = reshape(%x, newshape=[1, 19, 1, 3, 32]);
  %1 = transpose(%0, axes=[3, 1, 2, 0, 4]);
  %2 = reshape(%1, newshape=[3, 19, 1, 32]);
  %3 = take(%2, 0i64, axis=0);
  %4 = take(%2, 1i64, axis=0);
  %5 = take(%2, 2i64, axis=0);
  %6 = transpose(reshape(%3, newshape=[19, 2, 16]), axes=[1, 0, 2]);
  %7 = transpose(reshape(%4, newshape=[19, 2, 16]), axes=[1, 0, 2]);
  %8 = transpose(reshape(%5, newshape=[19, 2, 16]), axes=[1, 0, 2]);
  %9 = nn.softmax(nn.batch_matmul(%6, %7, transpose_b=True), axis=-1);
  nn.batch_matmul(%9, %8, transpose_b=False)
}
EOF
check split <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 12, 8, 8), float32]) {
  %0 = split(%x, indices_or_sections=3, axis=1);
  %1 = split(%x, indices_or_sections=[3, 5], axis=-1);
  %2 = nn.relu(%0.1);
  (add(%2, %0.2), sigmoid(%0.0), %1.0, tanh(%1.1), %1.2)
}
EOF
check sliced <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 10, 10, 8), float32]) {
  %0 = strided_slice(%x, begin=[0, 0], end=[10, 10], strides=[2, 2], axes=[1, 2]);
  %1 = strided_slice(%x, begin=[1, -9], end=[10, 10], strides=[2, 2], axes=[1, 2]);
  %2 = strided_slice(%x, begin=[0, 0, 0, 7], end=[1, 10, 10, 8], strides=[1, 1, 1, 1], axes=None);
  (concatenate((%0, %1), axis=-1), multiply(%x, %2), nn.max_pool2d(%0, pool_size=[2, 2], layout="NHWC"))
}
EOF
check padded <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 7, 6, 8), float32], %y: Tensor[(3, 4), bfloat16]) {
  %0 = nn.pad(%x, 0f, pad_width=[[0, 0], [0, 1], [2, 0], [0, 0]]);
  %1 = nn.pad(%x, -3f, pad_width=[[0, 0], [0, 0], [0, 0], [1, 2]]);
  (nn.relu(%0), sigmoid(%1), nn.pad(%y, cast(2f, dtype="bfloat16"), pad_width=[[0, 1], [0, 0]]))
}
EOF
# Rows that the input names are for the host.
cat >named.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %i: Tensor[(2), int64]) {
  take(nn.relu(%x), %i, axis=0)
}
EOF
bycc named.relay -q -o named.o --annotate=dnnl --cost-model=none --explain >named.txt
grep -q "oneDNN has no primitive for take but of constant places" named.txt || fail "$(cat named.txt)"
# The last step goes beyond the axis: oneDNN has no view of that.
check sliced_beyond <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(3, 7, 9, 8), float32]) {
  %0 = nn.relu(%x);
  %1 = strided_slice(%0, begin=[0, 1], end=[7, 9], strides=[2, 3], axes=[1, 2]);
  %2 = strided_slice(%0, begin=[0, 0, 0, 0], end=[3, 7, 9, 8], strides=[2, 4, 2, 3], axes=None);
  %3 = strided_slice(strided_slice(%0, begin=[0], end=[7], strides=[2], axes=[1]), begin=[0], end=[9], strides=[2], axes=[2]);
  (nn.relu(%1), %2, add(%3, %3))
}
EOR

cat > batch.relay <<'EOR'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 7, 7, 16), float32], %w: Tensor[(16, 16), float32]) {
  %0 = strided_slice(nn.relu(%x), begin=[0], end=[7], strides=[2], axes=[1]);
  nn.relu(nn.dense(reshape(%0, newshape=[-1, 16]), %w, units=16))
}
EOR
bycc -O0 batch.relay -q -o batch-0.o
bycc batch.relay -q -o batch.o --annotate=dnnl --cost-model=none --expect-regions=1 --strict
for n in 1 2 5; do
  rm -rf want
  bycc-run batch-0.json --random=5 --shape=x=${n}x7x7x16 --outputs want --threads 1
  bycc-run batch.json --random=5 --shape=x=${n}x7x7x16 --expected want --threads 1 > /dev/null
done
