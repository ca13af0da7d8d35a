#!/usr/bin/env bash
# Sets up, builds and runs every test, then those that are run with sanitizers once more.
# Extra arguments go to ctest; with any, the sanitizers are left out.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/dev/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release
# Two OpenMP programs at once slow each other down; the tests use one thread each.
export OMP_NUM_THREADS=1
status=0
# Many of them wait, for processes that start or end: one more than there are processors.
ctest --preset release -j "$(($(nproc) + 1))" "$@" || status=$?
if [ $# = 0 ]; then
  tools/dev/sanitize.sh || status=$?
fi
exit "$status"
