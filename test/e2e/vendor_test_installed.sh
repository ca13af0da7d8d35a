#!/usr/bin/env bash
# The conformance suite from an installed tree, without sources and wherever it is
# moved: cases and known gaps are found beside the program.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
mv "$PREFIX" "$work/moved"
unset BYCC_PLUGIN_PATH
"$work/moved/bin/bycc-vendor-test" dnnl > out.txt || fail "$(cat out.txt)"
grep -q '^pass numeric.operators.*known gaps left out' out.txt || fail "$(cat out.txt)"
