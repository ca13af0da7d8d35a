#!/usr/bin/env bash
# A region or function written by hand that its vendor cannot compile: the node it
# fails at goes to the host, the rest stays, the results are right.
. "$(dirname "$0")/lib.sh"
. "$here/hostile.bash"
type="Tensor[(2, 3), float32]"
cat > host.relay <<END2
#[version = "0.0.5"]
def @main(%x: $type, %y: $type) -> $type { tanh(multiply(nn.relu(add(%x, %y)), %y)) }
END2
cat > brackets.relay <<END2
#[version = "0.0.5"]
def @main(%x: $type, %y: $type) -> $type {
  %0 = annotation.compiler_begin(%x, compiler="hostile");
  %1 = annotation.compiler_begin(%y, compiler="hostile");
  %2 = add(%0, %1);
  %3 = nn.relu(%2);
  %4 = multiply(%3, %1);
  %5 = annotation.compiler_end(%4, compiler="hostile");
  tanh(%5)
}
END2
cat > function.relay <<END2
#[version = "0.0.5"]
def @f(%x: $type, %y: $type, Compiler="hostile") -> $type { multiply(nn.relu(add(%x, %y)), %y) }
def @main(%x: $type, %y: $type) -> $type { tanh(@f(%x, %y)) }
END2
bycc host.relay -q -o host.o
bycc-run host.json --random=1 --outputs ref > /dev/null
for form in brackets function; do
  for level in -O0 -O2; do
    bycc $form.relay $level -q --expect-regions=1 --min-offload=75%ops -o m.o
    HOSTILE=refuse:multiply bycc $form.relay $level --expect-regions=1 --min-offload=50%ops -o m.o 2> m.err
    grep -q "cannot do multiply" m.err || fail "no warning: $(cat m.err)"
    bycc-run m.json --random=1 --expected ref 2> /dev/null
  done
done
