#!/usr/bin/env bash
# The code of an object has no instruction of a feature that it does not record, whatever
# the CPU's name: it is disassembled and assembled again with these features alone. So a
# machine that lacks one is told at load.
. "$(dirname "$0")/lib.sh"
command -v as objdump > /dev/null || skip "no GNU as, objdump"

cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(64, 70), int8], %s: Tensor[(64, 70), int8], %i: Tensor[(128, 64), int32],
          %a: Tensor[(64, 64), float32], %h: Tensor[(64, 64), float16]) {
  %0 = right_shift(%x, %s);
  %1 = transpose(left_shift(%0, %s), axes=[1, 0]);
  %2 = strided_slice(%x, begin=[0, 0], end=[64, 70], strides=[1, 3], axes=[0, 1]);
  %3 = nn.dense(%a, %a, units=64);
  %4 = nn.dense(%h, %h, units=64);
  %5 = right_shift(%i, 3);
  %6 = cast(nn.conv2d(cast(reshape(%3, newshape=[1, 64, 8, 8]), dtype="int8"),
                      reshape(cast(%h, dtype="int8"), newshape=[64, 64, 1, 1]), out_dtype="int32"), dtype="float32");
  (%1, %2, tanh(%3), %4, %5, %6)
}
END

recorded() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["bycc"]["target"]["features"])' "$1"; }

# check OPTIONS...: the code of net.relay made with them
check() {
  bycc net.relay -q --module-name=net "$@" -o net.o
  # Prefixes that it shows by name and no-ops go; addresses of jumps become numbers.
  objdump -d --no-show-raw-insn net.o | sed -nE 's/^ *[0-9a-f]+:\t//; T; /nop/d; s/<.*>//
    s/^((j[a-z]+|call) +)([0-9a-f]+) *$/\10x\3/; p' > net.s
  [ "$(wc -l < net.s)" -gt 500 ] || fail "$*: no code is seen"
  local features arch
  features=$(recorded net.json)
  # As GNU as calls them: avx512_vnni, avx_vnni, avx_ne_convert.
  arch=$(echo "generic64,$features" | sed -E 's/,amx[^,]*//g; s/avx512(bf|bi|fp|vbmi2|vn|vp)/avx512_\1/g
                                              s/avxvnni/avx_vnni/; s/avxneconvert/avx_ne_convert/; s/,+/+/g; s/[+]$//')
  as "-march=$arch" net.s -o /dev/null 2> as.err || fail "$*: not of '$features': $(head -4 as.err)"
}

for cpu in native x86-64 x86-64-v3 x86-64-v4 nehalem knl cascadelake icelake-server sapphirerapids \
           alderlake barcelona bdver4 znver4; do
  check "-mcpu=$cpu"
done
grep -q tbm <(check -mcpu=bdver4; recorded net.json) || fail "bdver4 does not record tbm"
check -mcpu=icelake-server
grep -q vpermt2b net.s || fail "icelake's own instructions are not used"
check -mcpu=icelake-server -mattr=-avx512vbmi,-gfni
check -mcpu=x86-64-v3 -mattr=-fma,-bmi2
check -mattr=-avx512vl
check -mattr=-avx
check -mcpu=x86-64 -mattr=+xop,+fma4

# Names that no code is made of, and a part of AVX-512.
refuse 2 "unknown feature 'avx512wb'" bycc net.relay -o no.o -mattr=+avx512wb
refuse 2 "did you mean 'avx512bw'?" bycc net.relay -o no.o -mattr=+avx512wb
refuse 2 "unknown feature 'slow-3ops-lea'" bycc net.relay -o no.o -mattr=slow-3ops-lea
refuse 2 "error[USAGE]: -mattr: avx512f is not used without all of avx512bw, avx512dq, avx512f, avx512vl" \
  bycc net.relay -o no.o -mcpu=x86-64-v3 -mattr=+avx512f
[ ! -e no.o ] || fail "a refused build wrote a file"

grep -qw xop /proc/cpuinfo && exit 0
check -mcpu=bdver4
refuse 1 "error[LOAD]: the model was compiled for CPU 'bdver4'; this machine lacks" \
  bycc-run net.json --random
grep -qF "[BY0709]" refuse.out || fail "the message has no number"
