#!/usr/bin/env bash
# The compiled entry branches: both arms of an `if` run, with a vendor region in one.
. "$(dirname "$0")/lib.sh"

cat > if.relay <<'END'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32] {
  %0 = add(%x, 1f);
  %1 = if (%c) {
    %2 = nn.relu(%0);
    multiply(%2, %2)
  } else {
    negative(%0)
  };
  add(%1, %x)
}
END
npy write x.npy f4 2x2 -3 0 1 2
npy write yes.npy b1 "" 1
npy write no.npy b1 "" 0
for options in "-O0" "-O2" "-O2 --annotate=dnnl"; do
  bycc if.relay $options -q -o if.o
  bycc-run if.json --input x=x.npy --input c=yes.npy --outputs yes
  expect "$(npy show yes/output_0.npy)" "2x2 -3 1 5 11"
  bycc-run if.json --input x=x.npy --input c=no.npy --outputs no
  expect "$(npy show no/output_0.npy)" "2x2 -1 -1 -1 -1"
done

# Memory of a branch is used again after the if; the report says so without
# contradicting itself.
cat > after.relay <<'END'
#[version = "0.0.5"]
def @main(%c: bool, %x: Tensor[(8), float32]) -> (Tensor[(8), float32], Tensor[(8), float32]) {
  %0 = tanh(%x);
  %1 = if (%c) { exp(%0) } else { negative(%0) };
  %2 = add(%0, %1);
  %3 = sigmoid(%2);
  (%3, %1)
}
END
bycc after.relay -O0 -q -o after.o
bycc-run after.json --random=1 > /dev/null
