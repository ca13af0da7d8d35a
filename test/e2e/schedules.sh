#!/usr/bin/env bash
# --emit=loops shows the schedule of every kernel; given back with --schedules it is the same,
# edited it makes other code with the same results; what cannot be is an error at its line.
. "$(dirname "$0")/lib.sh"

cat >net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 20, 20), float32], %w: Tensor[(24, 3, 3, 3), float32],
          %d: Tensor[(37, 2400), float32], %b: Tensor[(37), float32], %q: Tensor[(2, 40, 19), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, channels=24, kernel_size=[3, 3], padding=[1, 1, 1, 1]));
  %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
  %2 = nn.bias_add(nn.dense(nn.batch_flatten(%1), %d, units=37), %b);
  %3 = nn.batch_matmul(%q, %q, transpose_b=True);
  (nn.softmax(%2), %1, nn.softmax(%3, axis=1), tanh(%x), sum(%3, axis=[1]))
}
END
python3 - <<'END'
import struct
# The weights, so that panels are made while compiling.
def npy(name, shape, seed):
    n = 1
    for s in shape: n *= s
    values, state = [], seed
    for _ in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        values.append(state / 2**31 - 0.5)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
    head += ' ' * (63 - (len(head) + 10) % 64) + '\n'
    with open('weights/' + name, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<%df' % n, *values))
import os
os.mkdir('weights')
npy('w.npy', (24, 3, 3, 3), 1)
npy('d.npy', (37, 2400), 2)
END
cpu=-mcpu=x86-64-v3
compile() { bycc net.relay --params=weights $cpu --module-name=net -q "$@"; }

# Back as it was: the same text, the same code.
compile --emit=obj,loops,asm -o net.o
compile --emit=obj,loops,asm --schedules=net.loops -MD -o again.o 2>messages
expect "$(cat messages)" ""
cmp net.loops again.loops
diff <(grep -P '^\t[a-z]' net.s) <(grep -P '^\t[a-z]' again.s) >/dev/null || fail "the code of a schedule given back differs"
for kernel in $(grep -o 'net_fused_[a-z0-9_]*' net.s | sed 's/_task.*//' | sort -u); do
  grep -q "^kernel $kernel " net.loops || fail "no schedule of $kernel"
done
grep -q -- '"--schedules=net.loops"' again.json || fail "not among the flags"
grep -q 'net.loops' again.d || fail "not in the dependency file"

# Only the lines that say something, too.
grep -E '^ *(kernel|nest|schedule) ' net.loops >short.loops
compile --emit=loops --schedules=short.loops -o - | cmp - net.loops

# What cannot be.
cat >bad.py <<'END'
import sys
# bad.py LINE-PART FROM TO: changes the first line with it, and tells its number.
part, old, new = sys.argv[1:]
lines = open('net.loops').read().split('\n')
at = next(i for i, line in enumerate(lines) if part in line and old in line)
lines[at] = lines[at].replace(old, new, 1)
open('bad.loops', 'w').write('\n'.join(lines))
print(at + 1)
END
# impossible PART FROM TO MESSAGE
impossible() {
  local line
  line=$(python3 bad.py "$1" "$2" "$3")
  refuse 1 "bad.loops:$line: error[INPUT]: $4" bycc net.relay --params=weights $cpu -q -o x.o --schedules=bad.loops
}
impossible "schedule tile" "rows=" "rows=0 was=" "rows=0: rows of a tile: 1 to"
impossible "schedule tile" "vectors=" "vectors=8 was=" "vectors=8: "
impossible "schedule tile" "unroll=" "unroll=x was=" "unroll=x: not a number"
impossible "schedule block" "tiles=" "tiles=0 was=" "tiles=0: column tiles of a block: 1 to"
impossible "schedule panels" "prefetch=" "prefetch=3 was=" "prefetch=3: bytes ahead must be a multiple of 4"
impossible "schedule panels" "made=compiling" "made=never" "made=never: possible here: compiling, running"
impossible "schedule lanes" "chunk=" "chunk=12 was=" "chunk=12: "
impossible "schedule stage" "ways=" "ways=3 was=" "ways=3: "
impossible "schedule vectors" "lanes=8" "lanes=16" "lanes=16: lanes of the target's vectors: only 8 is possible here"
impossible "schedule tile" "rows=" "height=2 rows=" "height=2: nothing of this name is scheduled here"
impossible "buffer b0" "float32" "float16" "not as it is printed for this kernel"
impossible "for a" " = " " = 1" "not as it is printed for this kernel"
impossible "schedule tile" "rows=" "rows=1 rows=" "'rows' is said twice"
impossible "schedule threads" "grain=" "grain=-1 was=" "grain=-1: work items for a thread: 0 to"
impossible "kernel net" "kernel net" "kernel of net" "expected 'kernel NAME FINGERPRINT'"
impossible "kernel net" "kernel net" "colonel net" ""

# A chain in strips: its kernels are scheduled like others, on one thread; into how many parts it
# is cut is no matter of a file.
cat >chain.relay <<'END'
#[version = "0.0.5"]
def @main(%q: Tensor[(8, 197, 32), float32], %k: Tensor[(8, 197, 32), float32], %v: Tensor[(8, 197, 32), float32]) {
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  %1 = nn.batch_matmul(nn.softmax(%0, axis=-1), %v, transpose_b=False);
  (%1, nn.relu(%1))
}
END
bycc chain.relay $cpu -q --emit=loops
grep -q '^strips chain_' chain.loops || fail "no strips: $(cat chain.loops)"
bycc chain.relay $cpu -q --module-name=other --schedules=chain.loops --emit=loops -o other.loops
diff <(sed 's/other_/chain_/' other.loops) chain.loops
sed '/_strip /,$ s/grain=0/grain=4/' chain.loops >bad.loops
refuse 1 "error[INPUT]: grain=4: a strip runs on one thread" bycc chain.relay $cpu -q -o x.o --schedules=bad.loops
sed 's/^\(strips [^ ]*\) [0-9x?]* /\1 3 /' chain.loops >bad.loops
refuse 1 "bad.loops:2: error[INPUT]: not as it is printed for this program" bycc chain.relay $cpu -q -o x.o --schedules=bad.loops
printf 'strips none 4 0123456789abcdef\n' >bad.loops
refuse 1 "bad.loops:1: error[INPUT]: not as it is printed for this program" bycc net.relay -q -o x.o --schedules=bad.loops
refuse 1 "error[IO]" bycc net.relay -q -o x.o --schedules=none.loops
printf 'kernel mine 0123456789abcdef\n  schedule vectors lanes=8\n' >other.loops
bycc net.relay --params=weights $cpu -o x.o --schedules=other.loops 2>messages
grep -q "other.loops:1: warning: no kernel of the program has the fingerprint 0123456789abcdef" messages || fail "$(cat messages)"

# Rows that are copied, as they fall on one set of the first cache, give the same bits.
cat >rows.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 13, 1024), float32], %w: Tensor[(300, 1024), float32]) {
  (nn.relu(nn.dense(%x, %w, units=300)), nn.dense(sum(%x, axis=[0]), %w, units=300))
}
END
bycc rows.relay $cpu -q --emit=obj,loops -o rows.o
[ "$(grep -c 'schedule block .* copied=yes' rows.loops)" = 2 ] || fail "rows are not copied: $(cat rows.loops)"
sed 's/copied=yes copied-grain=[0-9]*/copied=no/' rows.loops >own.loops
bycc rows.relay $cpu -q --schedules=own.loops -o own.o
bycc-run own.json --random=3 --outputs own --threads 1 >/dev/null
for threads in 1 3; do
  bycc-run rows.json --random=3 --expected own --rtol=0 --atol=0 --threads $threads >messages 2>&1 || fail "$(cat messages)"
done
impossible "schedule block" "copied=no" "copied=yes" "copied=yes: possible here: no"

# Fifty edits by chance.
rm -rf want
bycc net.relay --params=weights -O0 -q -o plain.o
bycc-run plain.json --random=3 --outputs want --threads 1
python3 "$here/schedules.py" 50 7 || fail "schedules.py"
