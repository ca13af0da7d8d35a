#!/usr/bin/env bash
# Builds what the tests of broken and odd input run, with clang, warnings as errors and the
# sanitizers for addresses and undefined behaviour, and runs them. Extra arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/dev/setup.sh
cmake --preset asan >/dev/null
cmake --build --preset asan --target sanitized-tests
export OMP_NUM_THREADS=1
ctest --preset asan -L sanitize --no-tests=error -j "$(nproc)" "$@"
