#!/usr/bin/env bash
# Each allocation of a run, and of loading, fails in turn, in the runtime, in library kernels and inside of
# a vendor's library: the run gives LIMIT, the next one is right.
. "$(dirname "$0")/lib.sh"
sanitized && skip "sanitizers have a malloc of their own"
lib=$(dirname "$bin")/lib
c++ -std=c++20 -O1 -I"$root/include" "$here/runs.cpp" -o runs -L"$lib" -lbycc_runtime -Wl,-rpath,"$lib" -pthread
export BYCC_PLUGIN_PATH=$lib/bycc
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 4, 12, 12), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=4);
  %1 = nn.relu(%0);
  %2 = nn.max_pool2d(%1, pool_size=[4, 4], strides=[4, 4]);
  %3 = sin(%2);
  %4 = nn.softmax(nn.batch_flatten(%3));
  (%4, sort(%4), argwhere(%4))
}
END
mkdir params
npy write params/w.npy f4 4x4x3x3 $(seq 144 | awk '{ print $1 % 17 / 8 - 1 }')
sed 's/(n, /(2, /' net.relay > fixed.relay
for vendor in host dnnl ccompiler; do
  annotate="--annotate=$vendor --cost-model=none"
  [ $vendor = host ] && annotate=
  if [ $vendor != host ]; then
    bycc --list-vendors | grep -q "^$vendor .*built in" || continue
  fi
  for model in net fixed; do
    # shellcheck disable=SC2086
    bycc $model.relay --params=params $annotate -q -o $vendor.o
    if [ $vendor$model = dnnlnet ]; then # oneDNN itself does not survive it where it makes kernels
      expect "$(./runs limited dnnl.json 1)" \
        "error[LIMIT]: region dnnl_dnnl_0: no memory for the kernels of new extents"
      continue
    fi
    for threads in 1 2; do
      got=$(./runs loading $vendor.json $threads 2> loading.err)
      [[ $got =~ ^[1-9][0-9]*\ failed,\ 0\ aborted,\ 0\ untold$ ]] ||
        fail "J9 loading $vendor, $model, $threads threads: $got $(cat loading.err)"
      got=$(./runs failing $vendor.json $threads) || fail "J9 $vendor, $model, $threads threads: exit $?"
      [[ $got =~ ^([0-9]+)\ failed,\ 0\ wrong$ ]] && [ "${BASH_REMATCH[1]}" -gt 0 ] ||
        fail "J9 $vendor, $model, $threads threads: $got"
    done
  done
done

# Where oneDNN allocates in its parallel regions, an exception would end the process.
if bycc --list-vendors | grep -q "^dnnl .*built in"; then
  cat > wide.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 28, 28), float32], %v: Tensor[(64, 64, 3, 3), float32], %w: Tensor[(32, 64, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %v, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=64);
  nn.conv2d(nn.relu(%0), %w, kernel_size=[1, 1], channels=32)
}
END
  bycc wide.relay --annotate=dnnl --cost-model=none -q -o wide.o
  for threads in 1 2; do
    got=$(./runs failing wide.json $threads) || fail "J9 wide, $threads threads: exit $?"
    [[ $got =~ ^([0-9]+)\ failed,\ 0\ wrong$ ]] && [ "${BASH_REMATCH[1]}" -gt 0 ] ||
      fail "J9 wide, $threads threads: $got"
  done
fi
