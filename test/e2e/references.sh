#!/usr/bin/env bash
# What is written from tables says what this build says.
. "$(dirname "$0")/lib.sh"
# The table has a column for every vendor that can be built in.
if [ "$(bycc --list-vendors | grep -c -e '^xnnpack ' -e '^openblas ')" = 2 ]; then
  python3 "$root/tools/dev/operators.py" --bycc="$bin/bycc" --check
else
  echo "built without XNNPACK or OpenBLAS: operators.md is not compared"
fi
python3 "$root/tools/dev/passes.py" --bycc="$bin/bycc" --check
python3 "$root/tools/dev/messages.py" --bycc="$bin/bycc" --check
