#!/usr/bin/env bash
# --crash-reproducer=F: when bycc ends by a fault, F holds the program before the pass with the
# command that shows the fault; without one there is no F.
. "$(dirname "$0")/lib.sh"
weights=$(python3 -c "import base64, struct; print(base64.b64encode(struct.pack('<20f', *range(20))).decode())")
cat > net.relay <<END2
#[version = "0.0.5"]
def @main(%x: Tensor[(batch, 5), float32]) {
  %0 = nn.dense(%x, meta[relay.Constant][0], units=4);
  %1 = nn.relu(%0);
  %2 = tanh(%1);
  multiply(%2, 2f)
}
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [4, 5], "data": "$weights"}]}
END2
# A pass in which bycc gets a signal, as if by a fault of its own.
printf '#!/bin/sh\nkill -$(cat signal) $PPID\nsleep 20\n' > crash.sh
chmod +x crash.sh
echo SEGV > signal
run_line() { sed -n 's/^\/\/ RUN: //p' "$1"; }

# Before the pass that fails, with what came before it done: it fails again, with nothing but F.
refuse 70 "note: c.relay holds the program before the fault, and the command that shows it" \
  bycc net.relay --dim batch=3 --annotate=dnnl --cost-model=none --pin '%2=host' -O3 --run-before='fuse-ops:pipe{./crash.sh}' \
  --crash-reproducer=c.relay -o m.o
grep -q 'crashed while running passes: signal 11' refuse.out || fail "$(cat refuse.out)"
grep -q "^// The program before pass 'pipe', after which bycc .* ended by a fault. To see it:\$" c.relay ||
  fail "$(head -1 c.relay)"
expect "$(run_line c.relay)" "bycc c.relay --passes='pipe{program=./crash.sh},fuse-ops' --annotate=dnnl --cost-model=none -O3 -om.o"
grep -q 'Compiler="dnnl"' c.relay || fail "the program is not partitioned: $(cat c.relay)"
grep -qF 'Tensor[(3, 5), float32]' c.relay || fail "the batch is not bound: $(cat c.relay)"
mv net.relay away.relay
refuse 70 "signal 11" bash -c "$(run_line c.relay)"
[ ! -e m.o ] || fail "an object was written"
printf '#!/bin/sh\ncat\n' > crash.sh # the fault is mended
bash -c "$(run_line c.relay) -q"
bycc-run m.json --random --print > /dev/null
mv away.relay net.relay
printf '#!/bin/sh\nkill -$(cat signal) $PPID\nsleep 20\n' > crash.sh


# A pass that fails while orders are carried out: from the first pass on that hears of them.
echo ABRT > signal
refuse 70 "note: d e.txt holds" bycc net.relay --annotate=dnnl --cost-model=none --pin '%2=host' --dim=batch=3 -v \
  --run-after='merge-composite:pipe{./crash.sh}' --crash-reproducer="d e.txt" -o m.o
grep -q "before pass 'place-nodes'" "d e.txt" || fail "$(head -1 "d e.txt")"
run_line "d e.txt" | grep -qF "bycc 'd e.txt' -x relay --passes='place-nodes,merge-composite,pipe{" || fail "$(run_line "d e.txt")"
run_line "d e.txt" | grep -qF -- "--pin=%2=host" || fail "$(run_line "d e.txt")"
refuse 70 "signal 6" bash -c "$(run_line "d e.txt")"

# bycc-opt; passes that are flags; a limit of passes.
refuse 70 "note: e.relay holds" bycc-opt net.relay --fold-constants --pipe=./crash.sh --simplify-expr --opt-bisect-limit=2 \
  --crash-reproducer=e.relay
expect "$(run_line e.relay)" "bycc-opt e.relay --passes='pipe{program=./crash.sh}'"
refuse 70 "signal 6" bash -c "$(run_line e.relay)"

# An end before the first pass, one that somebody else wants, an error that is none of bycc's,
# and none at all: no file.
mkfifo in
bycc - --crash-reproducer=f.relay -o m.o < in 2> said.txt &
parent=$!
exec 3> in
child=
for i in $(seq 200); do
  child=$(pgrep -P $parent) && break
  sleep 0.02
done
kill -SEGV "$child"
code=0
wait $parent || code=$?
exec 3>&-
expect $code 70
grep -q 'note: --crash-reproducer: nothing is written: no pass had begun' said.txt || fail "$(cat said.txt)"
# (Memory that runs out in a pass is a fault worth a look.)
echo KILL > signal
refuse 1 "note: g.relay holds" bycc-opt net.relay --pipe=./crash.sh --crash-reproducer=g.relay
echo TERM > signal
code=0
bycc-opt net.relay --pipe=./crash.sh --crash-reproducer=f.relay 2> said.txt || code=$?
expect $code 143
printf '#!/bin/sh\nexit 3\n' > crash.sh
refuse 1 "error[INPUT]" bycc-opt net.relay --pipe=./crash.sh --crash-reproducer=f.relay
bycc net.relay --crash-reproducer=f.relay -q -o m.o
[ ! -e f.relay ] || fail "a file without a fault"
refuse 2 "the output net.relay is an input" bycc net.relay --crash-reproducer=net.relay -o m.o
refuse 2 "the output is the input" bycc-opt net.relay --crash-reproducer=net.relay
