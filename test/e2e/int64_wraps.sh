#!/usr/bin/env bash
# int64 elements wrap, in fused code as in each operator by itself: (x * 4) / 2 is not x * 2.
. "$(dirname "$0")/lib.sh"

cat > wraps.relay <<'PROGRAM'
#[version = "0.0.5"]
def @main(%x: Tensor[(4), int64]) {
  %0 = multiply(%x, 4i64);
  %1 = floor_divide(%0, 2i64);
  %2 = floor_mod(multiply(%x, 3i64), 3i64);
  %3 = subtract(%x, 1i64);
  (%1, %2, less(%3, %x), maximum(%3, %x))
}
PROGRAM
mkdir in
npy write in/x.npy i8 4 4611686018427387904 -9223372036854775808 5 -7
bycc verify wraps.relay --inputs=in || fail "not what its operators give one by one"
