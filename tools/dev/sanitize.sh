#!/usr/bin/env bash
# Builds what the tests of broken and odd input run, with clang, warnings as errors and the
# sanitizers for addresses and undefined behaviour, and runs them; with --all first, the unit
# tests of all other libraries, too. Extra arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=sanitized-tests label='^sanitize$'
if [ "${1:-}" = --all ]; then
  target=sanitized-more-tests label='^sanitize'
  shift
fi

tools/dev/setup.sh
cmake --preset asan >/dev/null
cmake --build --preset asan --target "$target"
export OMP_NUM_THREADS=1
ctest --preset asan -L "$label" --no-tests=error -j "$(($(nproc) + 1))" "$@"
