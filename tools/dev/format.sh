#!/usr/bin/env bash
# Formats every C and C++ file of the tree as .clang-format says; with --check only tells which
# differ (exit 1). What others include as it was released, and what documents quote, is left alone.
set -euo pipefail
cd "$(dirname "$0")/../.."

list() { # the files of the checkout, and of an unpacked archive alike
  find include lib share test tools patterns -regex '.*\.\(c\|cpp\|h\)' \
    -not -path 'test/abi/*' -not -path 'share/examples/*' -print0 | sort -z
}
if [ "${1:-}" = --check ]; then
  list | xargs -0 -P "$(nproc)" -n 64 clang-format-19 --dry-run --Werror
else
  list | xargs -0 -P "$(nproc)" -n 64 clang-format-19 -i
fi
