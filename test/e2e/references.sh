#!/usr/bin/env bash
# What is written from tables says what this build says.
. "$(dirname "$0")/lib.sh"
python3 "$root/tools/dev/operators.py" --bycc="$bin/bycc" --check
python3 "$root/tools/dev/passes.py" --bycc="$bin/bycc" --check
python3 "$root/tools/dev/messages.py" --bycc="$bin/bycc" --check
