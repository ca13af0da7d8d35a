#!/usr/bin/env bash
# G8: a vendor that crashes, hangs, exits, throws or answers with garbage when it is asked
# a question: what it was asked is refused with a reason, bycc warns with the vendor and
# the question, and goes on; --strict is exit 3. One that does so three times is given up.
. "$(dirname "$0")/lib.sh"
. "$here/hostile.bash"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = add(%x, %y);
  %1 = nn.relu(%0);
  %2 = subtract(%1, %y);
  %3 = multiply(%2, %x);
  %4 = negative(%3);
  abs(%4)
}
END
bycc net.relay -q -o host.o
bycc-run host.json --random=1 --outputs ref > /dev/null

warnings() { grep -c warning m.err || true; }

build "" 1
expect "$(warnings)" 0
for mode in abort segv exit fds; do
  build supports-$mode:multiply 2
  case $mode in
    abort) what="crashed: signal 6 (Aborted)" ;;
    segv) what="crashed: signal 11 (Segmentation fault)" ;;
    exit) what="ended its process with exit code 0" ;;
    fds) what="sent bytes that are no answer" ;;
  esac
  says "warning: vendor 'hostile', asked about multiply, $what; it does not get it"
  expect "$(warnings)" 1
  expect "$(reason %3)" "host when it was asked about multiply, it $what"
done
build supports-hang:multiply 2 --vendor-timeout=0.5
says "warning: vendor 'hostile', asked about multiply, did not answer within 0.5 s; it does not get it"

# An exception is a no.
build supports-throw:multiply 2
expect "$(warnings)" 0
expect "$(reason %3)" "host it threw an exception: thrown by hostile"

# Asked about anything it crashes: after the third time nobody asks it.
build supports-segv 0
says "asked about add, crashed: signal 11 (Segmentation fault); it does not get it"
says "asked about subtract, crashed: signal 11 (Segmentation fault); it is not asked any more"
expect "$(warnings)" 3
expect "$(reason %3)" "host it crashed or hung 3 times before, it is not asked any more"

# Its annotator, about the whole program.
build annotate-exit 0
says "warning: vendor 'hostile', asked to annotate, ended its process with exit code 0; it does not get it"

# It is the same for any number of processes, and when regions fail as well.
for jobs in 1 3; do
  HOSTILE=supports-abort:multiply,abort:negative bycc net.relay --annotate=hostile -q -j $jobs -o j.o
  cat j.o j.json > j$jobs
done
cmp j1 j3

# Other commands ask as well.
HOSTILE=supports-abort:multiply bycc check net.relay --annotate=hostile > /dev/null 2> m.err
says "warning: vendor 'hostile', asked about multiply, crashed: signal 6"
HOSTILE=supports-abort:multiply bycc-opt net.relay -O0 --annotate=hostile > /dev/null 2> m.err
says "warning: vendor 'hostile', asked about multiply, crashed: signal 6"

# --strict: exit 3, nothing written.
HOSTILE=supports-abort:multiply refuse 3 \
  "error[POLICY]: --strict: vendor 'hostile', asked about multiply, crashed: signal 6 (Aborted)" \
  bycc net.relay --annotate=hostile --strict -o s.o
[ ! -e s.o ] && [ ! -e s.json ] || fail "a refused build wrote files"

# Without the program that runs vendors' code: it is needed for vendors with code only.
mkdir -p alone/bin alone/lib
cp "$bin/bycc" alone/bin
cp "$bin"/../lib/libbycc.so.* alone/lib
refuse 1 "error[LOAD]: cannot start the program that runs vendors' code" alone/bin/bycc net.relay --annotate=hostile -o s.o
alone/bin/bycc net.relay --annotate=arm_compute_lib -q -o s.o
