#!/usr/bin/env bash
# Weights packed at compile time: the same results where the machine is another one than
# the code was made for, with any number of threads; the same bytes from any machine.
. "$(dirname "$0")/lib.sh"
numbers() { python3 -c "print(', '.join(f'{(i * 37 % 101 - 50) / 64}f' for i in range($1)))"; }
cat > net.relay <<EOR
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 9, 9), float32]) {
  %0 = nn.conv2d(%x, Tensor[(32, 16, 3, 3), float32][$(numbers 4608)], padding=[1, 1, 1, 1]);
  %1 = nn.relu(nn.bias_add(%0, Tensor[(32), float32][$(numbers 32)]));
  nn.dense(nn.batch_flatten(%1), Tensor[(7, 2592), float32][$(numbers 18144)], units=7)
}
EOR
bycc net.relay --annotate=dnnl --cost-model=none -o net.o 2> line.txt || fail "$(cat line.txt)"
grep -q '^dnnl: 1 region' line.txt || fail "$(cat line.txt)"
bycc-run net.json --random --threads 1 --outputs=want

same() {
  bycc-run "$1" --random --expected=want --threads "${2:-1}" > run.txt 2>&1 ||
    fail "$* $(cat run.txt)"
}
for threads in 1 2 3; do same net.json $threads; done
for isa in SSE41 AVX2 AVX512_CORE ALL; do ONEDNN_MAX_CPU_ISA=$isa same net.json; done

# Nothing is packed at load but where the library must have it otherwise.
ONEDNN_VERBOSE=1 bycc-run net.json --random --threads 1 > verbose.txt 2>&1
if grep -q 'exec,cpu,convolution' verbose.txt; then
  ! grep -qE 'exec,cpu,reorder.*32x16x3x3' verbose.txt || fail "$(cat verbose.txt)"
fi

# A target that this machine may lack: packed or plain, the results are the same.
for cpu in x86-64-v2 x86-64-v3; do
  bycc net.relay --annotate=dnnl --cost-model=none -mcpu=$cpu -o other.o 2> line.txt || fail "$(cat line.txt)"
  same other.json
done

# Vendors hear of AMX, the machine need not have it: host code does not use it.
bycc net.relay --annotate=dnnl --cost-model=none -mattr=+amx-tile,+amx-int8,+amx-bf16 -o other.o 2> line.txt || fail "$(cat line.txt)"
grep -q '"features": "amx-bf16,amx-int8,amx-tile,' other.json || fail "$(cat other.json)"
same other.json

# As many cores as there are do not matter.
mkdir one
taskset -c 0 bycc net.relay --annotate=dnnl --cost-model=none -o one/net.o 2> /dev/null
cmp net.params one/net.params || fail "packed weights depend on the number of cores"

# What the library cannot do on another machine is said with both instruction sets.
if grep -q avx512bw /proc/cpuinfo; then
  bycc net.relay --annotate=dnnl --cost-model=none --precision=bf16 -q -o bf16.o 2> /dev/null
  ONEDNN_MAX_CPU_ISA=AVX2 refuse 1 "oneDNN has avx2 here" bycc-run bf16.json --random
fi
