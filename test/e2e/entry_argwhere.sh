#!/usr/bin/env bash
# The compiled entry allocates at run time: the shape of argwhere depends on data.
. "$(dirname "$0")/lib.sh"

cat > argwhere.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(?, 2), int32] {
  %0 = greater(%x, 0f);
  argwhere(%0)
}
END
npy write some.npy f4 2x3 1 -1 0 0 2 3
npy write none.npy f4 2x3 0 0 0 0 0 0
for options in "-O0" "-O2"; do
  bycc argwhere.relay $options -q -o argwhere.o
  bycc-run argwhere.json --input x=some.npy --outputs out
  expect "$(npy show out/output_0.npy)" "3x2 0 0 1 1 1 2"
  bycc-run argwhere.json --input x=none.npy --outputs out
  expect "$(npy show out/output_0.npy)" "0x2"
done
