#!/usr/bin/env bash
# Sets up, builds and runs every test. Extra arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/dev/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release
# Two OpenMP programs at once slow each other down; the tests use one thread each.
export OMP_NUM_THREADS=1
ctest --preset release -j "$(nproc)" "$@"
