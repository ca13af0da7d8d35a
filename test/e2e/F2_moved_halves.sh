#!/usr/bin/env bash
# F2: float16 that is only moved keeps its bits, NaN that are signalling included, on
# CPUs with conversions of their own (f16c) and without.
. "$(dirname "$0")/lib.sh"

npy write x.npy f2 2x4 0 0 0 0 0 0 0 0
bytes='\001\174 \001\374 \000\074 \001\000 \000\174 \377\375 \000\200 \252\176' # 0x7c01, 0xfc01, 1, ...
# shellcheck disable=SC2059
printf "${bytes// /}" | dd of=x.npy bs=1 seek=$(($(stat -c %s x.npy) - 16)) conv=notrunc 2> dd.txt
data() { od -An -v -tx2 -w2 -j $(($(stat -c %s "$1") - 16)) "$1" | tr -d ' ' | tr '\n' ' '; }
expect "$(data x.npy)" "7c01 fc01 3c00 0001 7c00 fdff 8000 7eaa "
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float16]) {
  (transpose(%x, axes=[1, 0]), strided_slice(%x, begin=[0, 0], end=[2, 4], strides=[1, 1], axes=[0, 1]), reverse(%x, axis=1))
}
END
for options in -O0 -O2 "-O2 -mcpu=x86-64"; do
  # shellcheck disable=SC2086
  bycc net.relay $options -q -o net.o
  bycc-run net.json --input x=x.npy --outputs out > run.txt
  expect "$options $(data out/output_0.npy)" "$options 7c01 7c00 fc01 fdff 3c00 8000 0001 7eaa "
  expect "$options $(data out/output_1.npy)" "$options 7c01 fc01 3c00 0001 7c00 fdff 8000 7eaa "
  expect "$options $(data out/output_2.npy)" "$options 0001 3c00 fc01 7c01 7eaa 8000 fdff 7c00 "
done
