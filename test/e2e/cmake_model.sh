#!/usr/bin/env bash
# bycc_add_model(): a model as a library of a CMake project, compiled again when a file that it
# is made of has changed, and not otherwise.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
cat > rules.json <<'END'
{"vendors": [{"name": "v", "ops": {"nn.relu": {}}}]}
END
cp "$PREFIX/share/bycc/models/example.onnx" . && cp "$PREFIX/share/bycc/examples/c/run_linked.c" .
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(has_a_model LANGUAGES C)
find_package(bycc REQUIRED)
bycc_add_model(example example.onnx OPTIONS --rules=rules.json --cost-model=none)
add_executable(run_linked run_linked.c)
target_link_libraries(run_linked PRIVATE example)
get_target_property(params example BYCC_PARAMS)
file(WRITE ${CMAKE_BINARY_DIR}/params.txt ${params})
END
for generator in "Unix Makefiles" Ninja; do
  rm -rf build
  cmake -G "$generator" -B build -DCMAKE_PREFIX_PATH="$PREFIX" > cmake.txt 2>&1 || fail "$(tail -5 cmake.txt)"
  build() { cmake --build build > cmake.txt 2>&1 || fail "$(tail -20 cmake.txt)"; }
  compiled() { grep -c 'Compiling model example' cmake.txt || true; }
  build
  expect "$(compiled)" 1
  build/run_linked "$(cat build/params.txt)" | grep -q '^largest of' || fail "$generator: the program does not run"
  build
  expect "$(compiled)" 0
  sleep 1.1 # make sees whole seconds of some file systems
  touch rules.json
  build
  expect "$(compiled)" 1
  touch run_linked.c
  build
  expect "$(compiled)" 0
done
sed -i 's/example.onnx OPTIONS/example.onnx FOR/' CMakeLists.txt
refuse 1 "bycc_add_model(example): unknown" cmake -B build
