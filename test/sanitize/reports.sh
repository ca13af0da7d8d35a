#!/usr/bin/env bash
# reports.sh remove|show FOLDER: of sanitizers, as TEST.PID; `show` fails if there are any.
set -euo pipefail
if [ "$1" = remove ]; then
  rm -rf "$2"
  mkdir -p "$2"
  exit 0
fi
[ -d "$2" ] || { echo "FAILED: there is no folder $2" >&2; exit 1; }
found=0
for report in "$2"/*; do
  [ -e "$report" ] || continue
  found=$((found + 1))
  echo "--- ${report##*/}"
  head -n 60 "$report"
done
[ $found = 0 ] || { echo "FAILED: $found reports" >&2; exit 1; }
