#!/usr/bin/env bash
# A build that is killed after any call that changes files leaves the old set or the new
# one, and nothing that the next build minds; one whose N-th such call fails leaves the old
# set; a signal leaves no temporaries; interrupted calls and short writes are nothing to notice.
. "$(dirname "$0")/lib.sh"
sanitized && skip "sanitizers want to be loaded first"
cc -shared -fPIC -O1 "$here/faults.c" -o faults.so -ldl
for value in 1 2; do
  mkdir params$value
  npy write params$value/w.npy f4 3 $value $value $value
done
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {
  add(%x, %w)
}
END
build() { bycc ../net.relay --params=../params$1 -q -o net.o; }
answer() { (cd "$1" && bycc-run net.json --random=1 --print 2>&1) || true; }
faulty() { LD_PRELOAD=$work/faults.so FAULT_NAME=$work/name FAULT=$1 "${@:2}"; }

mkdir old new
(cd old && build 1)
(cd new && build 2)
old=$(answer old) new=$(answer new)
[ "$old" != "$new" ] || fail "the builds do not differ"
(cd new && FAULT_COUNT=$work/count faulty none:0 build 2)
calls=$(cat count)
[ "$calls" -gt 15 ] || fail "only $calls calls are seen"

# try FAULT: a build of 2 over a set of 1, as it leaves it in try/
try() {
  rm -rf try && cp -r old try
  code=0
  : > try.txt # read and written: a file that is only written is one of the outputs
  (cd try && faulty "$1" build 2) 1<> try.txt 2>&1 || code=$?
  now=$(answer try)
}

for tmpfile in "" 1; do
  [ -z "$tmpfile" ] || export FAULT_NO_TMPFILE=1
  for ((i = 1; i <= calls; ++i)); do
    try kill:$i
    # 137, or 1 when it was the process that does the work
    [ $code != 0 ] || [ "$now" = "$new" ] || fail "H3 kill $i: exit $code: $(cat try.txt)"
    [ "$now" = "$old" ] || [ "$now" = "$new" ] || fail "H3 kill $i: neither old nor new: $now"
    (cd try && build 2)
    expect "$(answer try)" "$new"
    [ "$tmpfile" ] || expect "$(cd try && ls -A | tr '\n' ' ')" "net.h net.json net.o net.params "
  done
  # H4: a signal for one of both processes
  for ((i = 1; i <= calls; ++i)); do
    try pipe:$i
    [ $code = 141 ] || [ $code = 0 ] || fail "H4 pipe $i: exit $code: $(cat try.txt)"
    [ "$now" = "$old" ] || [ "$now" = "$new" ] || fail "H4 pipe $i: neither old nor new: $now"
    expect "$(cd try && ls -A | tr '\n' ' ')" "net.h net.json net.o net.params "
  done
  for ((i = 1; i <= calls; ++i)); do
    try fail:$i
    case $code in
      0) expect "$now" "$new"
         case $(cat name) in
           link | unlink | unlinkat) ;; # for what might have failed, of what others left
           *) fail "H1 fail $i: $(cat name) fails, and nobody says so" ;;
         esac ;;
      1) grep -q 'error\[IO\]' try.txt || fail "H1 fail $i: $(cat try.txt)"
         if grep -q 'new files are in place' try.txt; then # the folder cannot be synced
           expect "$now" "$new"
         else
           expect "$now" "$old"
           cmp old/net.h try/net.h
         fi ;;
      *) fail "H1 fail $i: exit $code: $(cat try.txt)" ;;
    esac
    for mode in interrupt short; do
      try $mode:$i
      [ $code = 0 ] && [ "$now" = "$new" ] || fail "H1 $mode $i: exit $code: $(cat try.txt) $now"
    done
  done
done
