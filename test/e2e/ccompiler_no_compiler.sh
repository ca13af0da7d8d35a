#!/usr/bin/env bash
# ccompiler on a machine without a C compiler, or with one that fails: the region
# returns to the host, with the reason; nothing is left in $TMPDIR.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) { add(sigmoid(%x), 1f) }
END
mkdir tmp
export TMPDIR=$work/tmp
bycc net.relay -q -o host.o
bycc-run host.json --random=1 --outputs=want
CC=/no/such/cc bycc net.relay --annotate=ccompiler -o m.o 2> err.txt
grep -q "cannot run the C compiler '/no/such/cc': No such file" err.txt ||
  fail "$(cat err.txt)"
bycc-run m.json --random=1 --expected=want
refuse 3 "cannot run the C compiler 'cc'" env CC= PATH="$work/tmp" "$bin/bycc" net.relay --annotate=ccompiler --strict -o s.o

printf '#!/bin/sh\necho "region.c: error: out of ink" >&2\nexit 3\n' > broken
chmod +x broken
CC=$work/broken bycc net.relay --annotate=ccompiler -o b.o 2> err.txt
grep -q "fails with status 3: region.c: error: out of ink" err.txt || fail "$(cat err.txt)"
bycc-run b.json --random=1 --expected=want
expect "$(ls tmp)" ""
