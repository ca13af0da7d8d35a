#!/usr/bin/env bash
# H4, H6, H7: whatever ends the compilation - a fatal error of LLVM, no memory, a limit
# of the system, a signal - there is a message, a code that is not 0, and the old files.
. "$(dirname "$0")/lib.sh"
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- # of whoever runs this: some cases count them
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = sigmoid(%x);
  %1 = sin(%0);
  abs(%1)
}
END
# 64 layers with weights of 64 KiB each.
python3 - > large.relay <<'END'
import base64
layers = 64
print('#[version = "0.0.5"]\ndef @main(%x: Tensor[(8, 128), float32]) -> Tensor[(8, 128), float32] {')
for i in range(layers):
    print(f"  %{i} = nn.dense({'%x' if i == 0 else f'%{i - 1}'}, meta[relay.Constant][{i}], units=128);")
print(f"  nn.relu(%{layers - 1})\n}}\n#[metadata]\n" + '{"relay.Constant": [')
data = [base64.b64encode(bytes([i]) * 65536).decode() for i in range(layers)]
print(",\n".join(f'{{"dtype": "float32", "shape": [128, 128], "data": "{each}"}}' for each in data) + "]}")
END
for file in m.o m.json m.h m.params; do echo old > $file; done
files() { ls -A | grep -v '^refuse.out$'; }
before=$(files)
# kept CASE: nothing was written, nothing is left over.
kept() {
  expect "$(files)" "$before"
  expect "$(cat m.o m.json m.h m.params | tr '\n' ' ')" "old old old old "
}

# H6: from hardly any address space to enough; LLVM may die in between
died=
for mib in $(seq 200 4 400); do
  got=0
  (ulimit -v $((mib * 1024)); bycc large.relay -o other.o > limit.out 2>&1) || got=$?
  [ $got = 0 ] && break
  [ $got = 127 ] && continue # the program itself cannot be loaded
  # nor can LLVM and z3 be made ready, which end the process before main()
  [ $got = 134 ] && [ -z "$died" ] && grep -q '^terminate called' limit.out && continue
  grep -qE 'error\[(LIMIT|IO)\]' limit.out || fail "ulimit -v ${mib} MiB: exit $got: $(cat limit.out)"
  [ $got = 1 ] || fail "ulimit -v ${mib} MiB: exit $got: $(cat limit.out)"
  grep -q 'LIMIT' limit.out && died=1
  expect "$(ls -A | grep -c '^\(other\|\.bycc\)' || true)" 0
done
[ -n "$died" ] || fail "no limit was too small"
rm -f other.* limit.out

# H7: the stack
(ulimit -s 64; refuse 1 "error[LIMIT]: the stack of 64 KiB (ulimit -s) is too small" bycc net.relay -o m.o)
kept
# H7: descriptors
refuse 1 "error[LIMIT]: cannot start a process for the command: Too many open files" \
  bash -c 'ulimit -n 4 && exec bycc net.relay -o m.o'
kept
refuse 1 "error[LIMIT]: cannot start the program that runs vendors' code" \
  bash -c 'ulimit -n 8 && exec bycc net.relay --annotate=ccompiler -o m.o'
kept
# H4: SIGXFSZ
(ulimit -f 100; refuse 1 "cannot write: File too large" bycc large.relay -o m.o)
kept
bycc net.relay -q -o run.o
for outputs in "--outputs run-out" "--outputs run-out --expected run-out" "--bench --runs 1 --json run-bench.json" \
               "--profile=run-trace.json"; do
  # shellcheck disable=SC2086
  refuse 1 "cannot write: File too large" bash -c '(ulimit -f 0; exec "$@" 2>&1) | cat; exit "${PIPESTATUS[0]}"' - \
    bycc-run run.json --random $outputs
  [ -z "$(ls run-out 2> /dev/null)" ] && [ ! -e run-bench.json ] && [ ! -e run-trace.json ] || fail "H4: files of a failed run"
done
rm -r run.* run-out
kept

# One that waits for its model, and the process in it that does the work.
mkfifo in
before=$(files)
waits() {
  bycc - -o m.o < in 2> refuse.out &
  parent=$!
  exec 9> in
  for i in $(seq 200); do
    child=$(pgrep -P $parent) && return
    sleep 0.02
  done
  fail "no child"
}
# ends WANTED: its exit code; the child is gone as well.
ends() {
  local got=0
  wait $parent || got=$?
  exec 9>&-
  expect "$got" "$1"
  for i in $(seq 200); do
    kill -0 "$child" 2> /dev/null || break
    sleep 0.02
  done
  ! kill -0 "$child" 2> /dev/null || fail "the child is still there"
  kept
}
# H6: killed by the system, as when memory is short
waits
kill -KILL "$child"
ends 1
grep -qE 'error\[LIMIT\]: the process was killed while (starting|reading the model)' refuse.out || fail "$(cat refuse.out)"
# a crash of bycc's own
waits
kill -SEGV "$child"
ends 70
grep -qE 'error\[INTERNAL\]: bycc crashed while (starting|reading the model): signal 11' refuse.out || fail "$(cat refuse.out)"
grep -q 'note: reproduce it with: bycc - -o m.o' refuse.out || fail "$(cat refuse.out)"
# H4: signals of the user's
for signal in TERM HUP PIPE; do
  waits
  kill -$signal $parent
  ends $((128 + $(kill -l $signal)))
done

# H7: standard input that does not end
start=$(date +%s%N)
refuse 1 "<stdin>: error[LIMIT]: more than 33554432 bytes" bycc - -o m.o < /dev/zero
kept
refuse 1 "<stdin>: error[LIMIT]: more than 33554432 bytes" bycc - -x onnx -o m.o < /dev/zero
[ $((($(date +%s%N) - start) / 1000000)) -lt 8000 ] || fail "an endless input takes too long"
