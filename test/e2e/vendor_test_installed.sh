#!/usr/bin/env bash
# The conformance suite from an installed tree, without sources: for the sample
# vendor as a plugin, and for built-in ones.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
cmake -S "$PREFIX/share/bycc/examples/vendor" -B npu -DCMAKE_PREFIX_PATH="$PREFIX" > cmake.txt
cmake --build npu > cmake.txt 2>&1 || fail "$(cat cmake.txt)"
unset BYCC_PLUGIN_PATH
suite=$PREFIX/bin/bycc-vendor-test
"$suite" examplenpu --plugin="$work/npu/libbycc_vendor_examplenpu.so" > out.txt || fail "$(cat out.txt)"
grep -q '^pass numeric.operators' out.txt && grep -q '^pass numeric.patterns' out.txt || fail "$(cat out.txt)"
"$suite" dnnl > out.txt || fail "$(cat out.txt)"
grep -q 'known gaps left out' out.txt || fail "$(cat out.txt)"
