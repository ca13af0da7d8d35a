#!/usr/bin/env bash
# Every command that README and share/doc show runs, document by document and in their order.
. "$(dirname "$0")/lib.sh"
python3 "$here/docs_commands.py" "$root" "$bin" "$work"
