#!/usr/bin/env bash
# A vendor whose compile half refuses, crashes, hangs, throws, exits, fills the
# memory or answers with garbage: the rest of the region stays with it, the node
# it fails at goes elsewhere, bycc warns, and the results are right.
. "$(dirname "$0")/lib.sh"
. "$here/hostile.bash"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = add(%x, %y);
  %1 = nn.relu(%0);
  %2 = subtract(%1, %y);
  %3 = nn.relu(%2);
  %4 = multiply(%3, %x);
  %5 = tanh(%4);
  %6 = negative(%5);
  %7 = abs(%6);
  add(%7, %y)
}
END2
bycc net.relay -q -o host.o
bycc-run host.json --random=1 --outputs ref > /dev/null


build "" 2
[ "$(grep -c warning m.err)" = 0 ] || fail "$(cat m.err)"

build blame:multiply 2
says "warning: region m_hostile_0: hostile cannot compile it: cannot do multiply; %4 is kept from hostile"
expect "$(reason %4)" "host hostile failed: cannot do multiply"
expect "$(reason %3)" "hostile "

# Without blame the region is halved until the node is alone; what was cut apart
# for that is one region again at the end.
build refuse:add 2
says "region m_hostile_0: hostile cannot compile it: cannot do add; tried again in two halves"
expect "$(reason %0)" "host hostile failed: cannot do add"
expect "$(reason %8)" "host hostile failed: cannot do add"
build refuse:nn.relu 4

for mode in abort segv exit throw empty huge fds; do
  build $mode:multiply 2
  says "%4 is kept from hostile"
  case $mode in
    abort) says "crashed: signal 6" ;;
    segv) says "crashed: signal 11" ;;
    exit) says "ended the process with exit code 0" ;;
    throw) says "threw an exception: thrown by hostile" ;;
    empty) says "it gives no code" ;;
    huge) says "its code takes more than 512 MiB" ;;
    fds) says "sent bytes that are no answer" ;;
  esac
done

# ... fills the memory, of which only a limit on addresses keeps it
sanitized || (ulimit -v 1000000 && build memory:multiply 2 && says "threw an exception: std::bad_alloc")

# The fault is in no single node: parts do, and are not put together again.
build size:2 5
build together:multiply+subtract 4

# Two regions that fail: one is put together again, the other one is not.
sed 's/^  add(%7, %y)/  %8 = add(%7, %y);\n  %9 = tanh(%8);\n  %10 = subtract(%9, %x);\n  subtract(negative(nn.relu(%10)), %y)/' \
  net.relay > longer.relay
bycc longer.relay -q -o host.o
bycc-run host.json --random=1 --outputs longer 2> /dev/null
HOSTILE=refuse:multiply,together:subtract+negative bycc longer.relay --annotate=hostile -q --expect-regions=5 -o m.o
bycc-run m.json --random=1 --expected longer --rtol 1e-6 2> /dev/null

# A hang costs the region at once.
build hang:multiply 1 --vendor-timeout=0.5
says "did not answer within 0.5 s; all of it is kept from hostile"

# It fails everywhere: all is on the host.
build refuse 0
build abort 0 -j 4

# The composite goes as a whole.
HOSTILE_PATTERNS=1 build "" 2
HOSTILE_PATTERNS=1 build blame:subtract 3
expect "$(reason %2)" "host hostile failed: cannot do subtract"
expect "$(reason %3)" "host hostile failed: cannot do subtract"

# The next vendor gets the node.
echo '{"vendors": [{"name": "other", "ops": {"multiply": {}}}]}' > rules.json
HOSTILE=blame:multiply bycc net.relay --rules=rules.json --annotate=hostile,other -q \
  --dump-offloads=report.json -o m.o
expect "$(reason %4)" "other hostile failed: cannot do multiply"
bycc-run m.json --random=1 --expected ref 2> /dev/null

# The same bytes for any number of children.
for jobs in 1 3; do
  HOSTILE=abort:multiply bycc net.relay --annotate=hostile -q -j $jobs -o j.o 2> /dev/null
  cat j.o j.json > j$jobs
done
cmp j1 j3

# A partitioned program cannot be cut again: the region goes as a whole.
HOSTILE= bycc-opt net.relay -O0 --annotate=hostile --module-name=m -o parts.relay
HOSTILE=refuse:multiply bycc parts.relay --annotate=hostile -o m.o 2> m.err
says "region m_hostile_0: hostile cannot compile it: cannot do multiply; it goes back to the host"
bycc-run m.json --random=1 --expected ref 2> /dev/null

# From standard input, which can be read once only.
HOSTILE=refuse:multiply bycc - --annotate=hostile --expect-regions=2 -q -o m.o < net.relay
bycc-run m.json --random=1 --expected ref 2> /dev/null

# --strict: exit 3, nothing written.
export HOSTILE=refuse:multiply
refuse 3 "--strict: region s_hostile_0: hostile cannot compile it: cannot do multiply" \
  bycc net.relay --annotate=hostile --strict -o s.o
[ ! -e s.o ] && [ ! -e s.json ] || fail "a refused build wrote files"

# What a vendor prints is not what was asked for.
export HOSTILE=loud
expect "$(bycc net.relay --annotate=hostile -O0 --emit=relay -o - 2> /dev/null | head -1)" '#[version = "0.0.5"]'
bycc net.relay --annotate=hostile -q -o m.o > out.txt 2> /dev/null
[ ! -s out.txt ] || fail "on stdout: $(cat out.txt)"
expect "$(bycc-opt net.relay --annotate=hostile -O0 2> /dev/null | grep -c here)" 0
expect "$(bycc --list-vendors 2> /dev/null | grep -c here)" 0
