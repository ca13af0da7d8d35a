#!/usr/bin/env bash
# A failed build leaves what was there, exits non-zero and names the node.
. "$(dirname "$0")/lib.sh"

cat > bad.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4), float32]) -> Tensor[(2, 3), float32] {
  %0 = abs(%x);
  add(%0, %y)
}
END
echo old > bad.o
refuse 1 "bad.relay:4:" bycc bad.relay -o bad.o
expect "$(cat bad.o)" "old"
expect "$(ls)" "$(printf 'bad.o\nbad.relay\nrefuse.out')"
refuse 2 "MODEL" bycc
refuse 2 "--annotate" bycc bad.relay --anotate=dnnl
refuse 2 "did you mean" bycc bad.relay --annotate=dnl
refuse 1 "IO" bycc missing.relay
