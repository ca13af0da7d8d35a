#!/usr/bin/env bash
# Library kernels: results whose extents depend on data feed other operators,
# and an index that is out of range at run time ends the run with its reason.
. "$(dirname "$0")/lib.sh"

cat > unique.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(6), int32]) -> (Tensor[(?), int32], Tensor[(?), int32]) {
  %0 = unique(%x, sorted=True, return_counts=True);
  %1 = %0.0;
  %2 = negative(%1);
  (%1, %2)
}
END
npy write x.npy i4 6 5 1 5 2 1 5
bycc unique.relay -q -o unique.o
bycc-run unique.json --input x=x.npy --outputs out
expect "$(npy show out/output_0.npy)" "3 1 2 5"
expect "$(npy show out/output_1.npy)" "3 -1 -2 -5"

cat > scatter.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %i: Tensor[(2), int64], %u: Tensor[(2), float32]) -> Tensor[(4), float32] {
  scatter_elements(%x, %i, %u, axis=0, reduction="add")
}
END
npy write x.npy f4 4 1 2 3 4
npy write i.npy i8 2 3 3
npy write bad.npy i8 2 3 4
npy write u.npy f4 2 10 20
bycc scatter.relay -q -o scatter.o
bycc-run scatter.json --input x=x.npy --input i=i.npy --input u=u.npy --outputs out
expect "$(npy show out/output_0.npy)" "4 1 2 3 34"
refuse 1 "(scatter_elements): index 4 is out of range for an axis of 4 elements" \
  bycc-run scatter.json --input x=x.npy --input i=bad.npy --input u=u.npy
