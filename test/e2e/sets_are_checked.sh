#!/usr/bin/env bash
# What bycc writes its own runtime takes: views that nobody reads, names.
. "$(dirname "$0")/lib.sh"

cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) { %1 = nn.relu(%x); %2 = exp(%1); %3 = tanh(%x); %4 = reshape(%1, newshape=[6]); %2 }
END
for level in -O0 -O1 -O2; do
  bycc net.relay $level -q -o net.o
  bycc-run net.json --random > /dev/null || fail "$level: the set is not taken"
done

# B3, B6: a NUL in a name
bycc net.relay --emit=json -q -o program.json
sed -i 's/"name": "x"/"name": "x\\u0000y"/' program.json
refuse 1 "program.json:9:19: error[INPUT]: a NUL character in 'x\\x00y'" bycc program.json -o no.o
[ ! -e no.o ] || fail "something is written"
