#!/usr/bin/env bash
# -DBUILD_TESTING=OFF leaves the tests out, asks for nothing that only they need, and keeps all
# that is installed.
. "$(dirname "$0")/lib.sh"
[ -n "${BYCC_BUILD:-}" ] || skip "BYCC_BUILD does not say which compilers are used"
cached() { sed -n "s/^$1:[A-Z]*=//p" "$BYCC_BUILD/CMakeCache.txt"; }
cmake -S "$root" -B build -G Ninja -DBUILD_TESTING=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON \
  -DCMAKE_C_COMPILER="$(cached CMAKE_C_COMPILER)" -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" \
  -DBYCC_ONEDNN_ROOT="$(cached BYCC_ONEDNN_ROOT)" > cmake.txt 2>&1 || fail "$(tail -20 cmake.txt)"
ninja -C build -t targets all > targets.txt
for target in bycc bycc-opt bycc-run bycc-worker bycc-vendor-test bycc_shared bycc_runtime bycc_runtime_static; do
  grep -q "^$target: phony" targets.txt || fail "$target is not built"
done
grep -E '^(unit-|library-|numeric-|bench-|byccTest)' targets.txt && fail "tests are built"
ctest --test-dir build -N > tests.txt 2>&1 || true
grep -qE 'No tests were found|Total Tests: 0' tests.txt || fail "$(tail -3 tests.txt)"
# The same is installed.
files() { # folders of other builds may lie in this one
  (cd "$1" && grep -rhoE 'file\(INSTALL DESTINATION [^)]*' --include=cmake_install.cmake cmake_install.cmake lib share test tools) | wc -l
}
[ "$(files build)" -gt 50 ] || fail "little is installed"
expect "$(files build)" "$(files "$BYCC_BUILD")"
