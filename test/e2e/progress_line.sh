#!/usr/bin/env bash
# What a compilation is at, on a terminal: one line, from half a second on, gone at the end.
# Nothing of it elsewhere; -v tells where the time went.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { tanh(%x) }
END
printf '#!/bin/sh\nsleep 0.9\nexec cat\n' > slow.sh
chmod +x slow.sh
cat > terminal.py <<'END'
import os, pty, sys
out = []
def read(fd):
    data = os.read(fd, 4096)
    out.append(data)
    return data
code = pty.spawn(sys.argv[1:], read)
sys.exit(os.waitstatus_to_exitcode(code))
END
on_terminal() { TERM=${TERM_NAME:-xterm} python3 terminal.py "$@" > tty.txt < /dev/null; }

slow="--run-before=legalize:pipe{./slow.sh}"
on_terminal bycc net.relay "$slow" -o net.o
grep -qF $'\r[4/7] passes: pipe' tty.txt || fail "no line: $(cat -v tty.txt)"
grep -qF $'\r\e[K' tty.txt || fail "the line stays: $(cat -v tty.txt)"
tr '\r' '\n' < tty.txt | grep -q '^.\[Khost: 1 op' || tail -1 tty.txt | grep -q 'host: 1 op' || fail "no summary: $(cat -v tty.txt)"
for quiet in -q -fdiagnostics-format=json; do
  on_terminal bycc net.relay "$slow" $quiet -o net.o
  grep -qF '[4/7]' tty.txt && fail "a line with $quiet"
done
TERM_NAME=dumb on_terminal bycc net.relay "$slow" -o net.o
grep -qF '[4/7]' tty.txt && fail "a line on a dumb terminal"
on_terminal bycc net.relay -o net.o
grep -qF '[4/7]' tty.txt && fail "a line of a fast compilation"
bycc net.relay "$slow" -o net.o 2> err.txt
grep -qF '[4/7]' err.txt && fail "a line in a file"
bycc net.relay -v -o net.o 2> err.txt
grep -qE 'remark: times: .*host code [0-9.]+ s' err.txt || fail "$(cat err.txt)"
exit 0
