#!/usr/bin/env bash
# share/doc/operators.md says what this build says.
. "$(dirname "$0")/lib.sh"
python3 "$root/tools/dev/operators.py" --bycc="$bin/bycc" --check
