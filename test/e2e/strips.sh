#!/usr/bin/env bash
# Chains with large values between them run in strips, and give what the kernels alone give.
. "$(dirname "$0")/lib.sh"

# NAME HEADS ROWS KEYS DEPTH IN_STRIPS [BODY]: BODY makes %8 of the scores %0.
attention() {
  local name=$1 heads=$2 rows=$3 keys=$4 depth=$5 strips=$6 body=${7:-'%8 = nn.softmax(%0, axis=-1);'}
  cat >"$name.relay" <<EOF
#[version = "0.0.5"]
def @main(%q: Tensor[($heads, $rows, $depth), float32], %k: Tensor[($heads, $keys, $depth), float32],
          %v: Tensor[($heads, $keys, $depth), float32], %m: Tensor[(1, $rows, $keys), float32]) {
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  $body
  %9 = nn.batch_matmul(%8, %v, transpose_b=False);
  (%9, nn.relu(%9))
}
EOF
  bycc -O0 "$name.relay" -q -o "$name-0.o"
  bycc -O2 "$name.relay" -q -o "$name.o"
  rm -rf want
  bycc-run "$name-0.json" --random=3 --outputs want --threads 1
  for threads in 1 2 3; do
    bycc-run "$name.json" --random=3 --expected want --threads $threads >/dev/null
  done
  bycc-run "$name.json" --random --profile --threads 1 >"$name.profile"
  local found=no
  if grep -q "_strips " "$name.profile"; then found=yes; fi
  ! grep -q "^ *0 " "$name.profile" || fail "$name: a row of what never runs: $(cat "$name.profile")"
  [ $found = "$strips" ] || fail "$name: in strips: $found, wanted: $strips"
}

attention heads 8 197 197 32 yes               # several heads a strip
attention rows 2 1024 1024 16 yes              # a part of the rows of one head
attention prime 3 509 1031 24 yes              # rows that no number divides
attention small 2 64 64 16 no
attention mask 4 384 640 16 yes '%1 = add(%0, %m); %8 = nn.softmax(%1, axis=-1);'
attention other 4 384 640 16 no '%8 = nn.softmax(%0, axis=0);' # heads are not apart
# The scores are read again, so they have to be whole.
attention twice 4 384 640 16 no '%1 = nn.softmax(%0, axis=-1); %2 = sum(%0, axis=[2], keepdims=True); %8 = multiply(%1, %2);'

# With open extents: in strips where those of a run are large, and right where there are none.
cat >open.relay <<'EOF'
#[version = "0.0.5"]
def @main(%q: Tensor[(b, 2, r, 16), float32], %k: Tensor[(b, 2, s, 16), float32],
          %v: Tensor[(b, 2, s, 16), float32], %m: Tensor[(b, 1, r, s), float32]) {
  %0 = reshape(%q, newshape=[-3, -2]);
  %1 = reshape(%k, newshape=[-3, -2]);
  %2 = reshape(%v, newshape=[-3, -2]);
  %3 = nn.batch_matmul(%0, %1, transpose_b=True);
  %4 = reshape(%3, newshape=[-4, -1, 2, -2]);
  %5 = add(%4, %m);
  %6 = nn.softmax(%5, axis=-1);
  %7 = reshape(%6, newshape=[-3, -2]);
  %8 = nn.batch_matmul(%7, %2, transpose_b=False);
  (%8, nn.relu(%8), shape_of(%6))
}
EOF
bycc -O0 open.relay -q -o open-0.o
bycc -O2 open.relay -q -o open.o
# BATCH ROWS KEYS IN_STRIPS
with_extents() {
  local shapes=(--shape "q=$1x2x$2x16" --shape "k=$1x2x$3x16" --shape "v=$1x2x$3x16" --shape "m=$1x1x$2x$3")
  rm -rf want
  bycc-run open-0.json --random=3 "${shapes[@]}" --outputs want --threads 1
  for threads in 1 2 3; do
    bycc-run open.json --random=3 "${shapes[@]}" --expected want --threads $threads >/dev/null
  done
  bycc-run open.json --random "${shapes[@]}" --profile --threads 1 >open.profile
  local found=no
  if grep "_strips " open.profile | grep -vq "^ *0 "; then found=yes; fi
  [ $found = "$4" ] || fail "open $1 $2 $3: in strips: $found, wanted: $4"
}
with_extents 1 1024 1024 yes
with_extents 2 509 1031 yes
with_extents 3 300 157 yes
with_extents 1 64 64 no
with_extents 4 1 40000 no # no rows to cut
with_extents 1 0 8 no
with_extents 2 8 0 no
with_extents 0 8 8 no

# Open batches alone: heads are cut, and their rows are known.
sed 's/b, 2, [rs]/b, 4, 160/g; s/(b, 1, r, s)/(b, 1, 160, 160)/; s/-1, 2, -2/-1, 4, -2/' open.relay >batch.relay
bycc -O0 batch.relay -q -o batch-0.o
bycc -O2 batch.relay -q -o batch.o
for batch in 1 5; do
  shapes=(--shape "q=${batch}x4x160x16" --shape "k=${batch}x4x160x16" --shape "v=${batch}x4x160x16"
          --shape "m=${batch}x1x160x160")
  rm -rf want
  bycc-run batch-0.json --random=3 "${shapes[@]}" --outputs want --threads 1
  bycc-run batch.json --random=3 "${shapes[@]}" --expected want --threads 2 >/dev/null
done
bycc-run batch.json --random "${shapes[@]}" --profile --threads 1 >batch.profile
grep "_strips " batch.profile | grep -vq "^ *0 " || fail "batch: not in strips"

# A large entry, which is made in parts.
{
  echo '#[version = "0.0.5"]'
  echo 'def @main(%q: Tensor[(8, 256, 16), float32], %k: Tensor[(8, 256, 16), float32], %t: Tensor[(3, 4), float32]) {'
  for n in $(seq 0 1100); do
    echo "  %$((n + 1)) = nn.softmax(%$([ "$n" = 0 ] && echo t || echo "$n"), axis=$((n % 2)));"
  done
  echo '  %2000 = nn.batch_matmul(%q, %k, transpose_b=True); %2001 = nn.softmax(%2000, axis=-1);'
  echo '  %2002 = nn.batch_matmul(%2001, %k, transpose_b=False); (%2002, %1101) }'
} >large.relay
bycc -O0 large.relay -q -o large-0.o
bycc -O2 large.relay -q -o large.o
bycc-run large-0.json --random=3 --outputs want --threads 1
bycc-run large.json --random=3 --expected want --threads 2
bycc-run large.json --random --profile --threads 1 >large.profile
grep -q "_strips " large.profile || fail "large: not in strips"

# What passes from kernel to kernel is in the arena no more: 8 MiB of scores, twice.
bycc rows.relay -o rows.o 2>line
grep -q "arena 0 B" line || fail "$(cat line)"
