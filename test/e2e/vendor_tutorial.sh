#!/usr/bin/env bash
# Runs every command of share/doc/vendor-tutorial.md, in order, against an
# installed tree.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
awk '/^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$PREFIX/share/bycc/doc/vendor-tutorial.md" > commands.sh
[ "$(wc -l < commands.sh)" -gt 50 ] || fail "no commands in the tutorial"
env -i HOME="$HOME" PATH=/usr/local/bin:/usr/bin:/bin OMP_NUM_THREADS=1 CMAKE_BUILD_TYPE=Debug PREFIX="$PREFIX" \
  bash -euo pipefail commands.sh > log.txt 2>&1 || fail "$(tail -40 log.txt)"
