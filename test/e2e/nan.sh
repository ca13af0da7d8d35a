#!/usr/bin/env bash
# NaN in an input: results have it where host code has it, unless --nan=fast; runs before
# and after are as ever. --explain says what is promised.
. "$(dirname "$0")/lib.sh"
has() { grep -qF -- "$2" "$1" || fail "no '$2' in: $(cat "$1")"; }
numbers() { python3 -c "print(', '.join(f'{(i * 37 % 101 - 50) / 64}f' for i in range($1)))"; }
cat > net.relay <<EOR
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 9, 9), float32]) {
  %0 = nn.conv2d(%x, Tensor[(32, 16, 3, 3), float32][$(numbers 4608)], padding=[1, 1, 1, 1]);
  %1 = nn.relu(nn.bias_add(%0, Tensor[(32), float32][$(numbers 32)]));
  %2 = nn.max_pool2d(%1, pool_size=[3, 3], strides=[2, 2]);
  %3 = nn.dense(nn.batch_flatten(%2), Tensor[(7, 512), float32][$(numbers 3584)], units=7);
  (nn.softmax(%3), %2)
}
EOR
# One NaN, one infinity, and neither.
clean=$(python3 -c "print(*[(i % 23 - 11) / 8 for i in range(1296)])")
npy write clean.npy f4 1x16x9x9 $clean
npy write nan.npy f4 1x16x9x9 ${clean/ -1.25 / nan }
npy write inf.npy f4 1x16x9x9 ${clean/ -1.25 / -inf }
bycc net.relay -q -o host.o
bycc net.relay --annotate=dnnl --cost-model=none --expect-regions=1 -q -o keep.o
bycc net.relay --annotate=dnnl --cost-model=none --expect-regions=1 --nan=fast -q -o fast.o
for input in clean nan inf; do
  bycc-run host.json --input x=$input.npy --threads 1 --outputs=want.$input -q
  for threads in 1 2; do
    bycc-run keep.json --input x=$input.npy --threads $threads --expected=want.$input > run.txt 2>&1 ||
      fail "$input $threads $(cat run.txt)"
  done
done
bycc-run fast.json --input x=clean.npy --threads 1 --expected=want.clean -q
bycc-run fast.json --input x=nan.npy --threads 1 --outputs=lost -q
holds() { npy show "$1/output_1.npy" | grep -q nan; }
holds want.nan && ! holds want.clean || fail "the host's results"
! holds lost || fail "--nan=fast kept it; then this is no test of --nan=keep"

bycc net.relay --annotate=dnnl --cost-model=none --explain -q -o keep.o > keep.txt
has keep.txt "NaN: dnnl keeps it when it comes into a region; one that is born inside may get lost there"
bycc net.relay --annotate=dnnl --cost-model=none --nan=fast --explain -q -o fast.o > fast.txt
has fast.txt "NaN: dnnl may lose it, as --nan=fast says"
bycc net.relay --explain -q -o host.o > host.txt
! grep -q NaN host.txt || fail "$(cat host.txt)"
grep -q -- --nan=fast fast.json || fail "fast.json does not say --nan=fast"
refuse 2 "--nan" bycc net.relay --nan=maybe -o no.o
