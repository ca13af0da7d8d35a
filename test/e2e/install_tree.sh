#!/usr/bin/env bash
# An installed tree is complete and finds its own parts: with a clean environment it
# compiles and runs a model for dnnl, and C programs and plugins build against it.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
for part in bin/bycc bin/bycc-opt bin/bycc-run libexec/bycc/bycc-worker lib/libbycc_runtime.so lib/bycc/libbycc_vendor_dnnl.so \
            include/bycc/vendor.h include/bycc/vendor.hpp include/bycc/vendor_region.hpp include/bycc/abi.h include/bycc/runtime.h share/bycc/patterns/dnnl.json \
            share/bycc/schema/params.md share/bycc/doc/vendor-tutorial.md share/bycc/examples/vendor/CMakeLists.txt share/bycc/examples/openblas/Compile.cpp share/bycc/examples/openblas/openblas.json \
            share/bycc/cmake/byccConfig.cmake lib/pkgconfig/bycc.pc lib/pkgconfig/bycc-compiler.pc; do
  [ -e "$PREFIX/$part" ] || fail "$part is not installed"
done
if grep -rlF -e "$BYCC_BUILD" -e "$root/" "$PREFIX"; then
  fail "these name the build or the source folder"
fi
mv "$PREFIX" "$work/moved prefix" # nothing may remember where it was
PREFIX="$work/moved prefix"

clean() { env -i PATH=/usr/bin:/bin OMP_NUM_THREADS=1 "$@"; }
models=$PREFIX/share/bycc/models
clean "$PREFIX/bin/bycc" "$models/example.onnx" --annotate=dnnl -q -o example.o
clean "$PREFIX/bin/bycc-run" example.json --inputs "$models/example" --expected "$models/example-expected"
clean "$PREFIX/bin/bycc-opt" "$root/test/golden/fold-constants.relay" > /dev/null

cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(uses_bycc LANGUAGES C)
find_package(bycc REQUIRED)
if(NOT EXISTS "${bycc_PLUGIN_DIR}/libbycc_vendor_dnnl.so")
  message(FATAL_ERROR "bycc_PLUGIN_DIR is ${bycc_PLUGIN_DIR}")
endif()
add_executable(run_linked run_linked.c example.o)
target_include_directories(run_linked PRIVATE .)
target_link_libraries(run_linked PRIVATE bycc::runtime m)
END
cp "$PREFIX/share/bycc/examples/c/run_linked.c" .
clean cmake -B build -DCMAKE_PREFIX_PATH="$PREFIX" > cmake.txt 2>&1 || fail "$(tail -5 cmake.txt)"
clean cmake --build build > cmake.txt 2>&1 || fail "$(tail -20 cmake.txt)"
clean build/run_linked example.params | grep -q '^largest of' || fail "the linked program does not run"

[ -x /usr/bin/pkg-config ] || exit 0
mv "$PREFIX" plain && PREFIX=$work/plain # pkg-config cannot quote
flags=$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --cflags --libs bycc)
# shellcheck disable=SC2086
cc -I. run_linked.c example.o $flags -lm -o by_pkg_config
clean env LD_LIBRARY_PATH="$PREFIX/lib" ./by_pkg_config example.params | grep -q '^largest of' || fail "no result"
flags=$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --cflags --libs bycc-compiler)
# shellcheck disable=SC2086
cc "$PREFIX/share/bycc/examples/c/compile_and_run.c" $flags -o compile_and_run
clean env LD_LIBRARY_PATH="$PREFIX/lib" ./compile_and_run "$PREFIX/share/bycc/models/example.onnx" annotate=dnnl |
  grep -q "^output '" || fail "what is compiled from C does not run"
