#!/usr/bin/env bash
# libbycc shows bycc's names and no others: what it has of LLVM, oneDNN and the standard
# library cannot meet what the program has.   exports.sh LIBBYCC
set -euo pipefail
shown=$(nm --dynamic --demangle --defined-only --extern-only "$1" | cut -d' ' -f3-)
if ! grep -q '^bycc::Compiler::compile(' <<< "$shown"; then
  echo "bycc::Compiler::compile is not shown"
  exit 1
fi
if grep -v 'bycc::' <<< "$shown"; then
  echo "these are shown as well"
  exit 1
fi
