#!/usr/bin/env bash
# Contexts of one model on several threads give the bits of one alone, --threads 1 is one
# thread, and runs ask for no memory: host code, two regions of dnnl, two of ccompiler.
. "$(dirname "$0")/lib.sh"
sanitized && skip "sanitizers have a malloc of their own"
lib=$(dirname "$bin")/lib
c++ -std=c++20 -O1 -I"$root/include" "$here/runs.cpp" -o runs -L"$lib" -lbycc_runtime -Wl,-rpath,"$lib" -pthread
export BYCC_PLUGIN_PATH=$lib/bycc
mkdir params
npy write params/w.npy f4 16x16x3x3 $(seq 2304 | awk '{ print $1 % 17 / 8 - 1 }')
npy write params/v.npy f4 10x2304 $(seq 23040 | awk '{ print $1 % 23 / 11 - 1 }')
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 16, 48, 48), float32], %w: Tensor[(16, 16, 3, 3), float32], %v: Tensor[(10, 2304), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=16);
  %1 = nn.relu(%0);
  %2 = nn.max_pool2d(%1, pool_size=[4, 4], strides=[4, 4]);
  %3 = sin(%2);
  %4 = nn.batch_flatten(%3);
  %5 = nn.dense(%4, %v, units=10);
  nn.softmax(%5)
}
END2
for vendor in host dnnl ccompiler; do
  annotate="--annotate=$vendor"
  [ $vendor = host ] && annotate=
  if [ $vendor != host ]; then
    bycc --list-vendors | grep -q "^$vendor .*built in" || continue
  fi
  bycc net.relay --params=params $annotate -q -o $vendor.o
  expect "$(./runs threads $vendor.json 1)" 1
  for threads in 1 2; do
    expect "$(./runs concurrent $vendor.json $threads 3)" "0 of 120 runs differ"
    memory=$(./runs allocations $vendor.json $threads)
    # oneDNN makes a table of the arguments in each call; ours is the rest.
    most=0
    [ $vendor = dnnl ] && most=1024
    [ "${memory##* }" -le $most ] || fail "$vendor, $threads threads: a run asks for memory: $memory"
  done
done
