#!/usr/bin/env bash
# ccompiler: one region, two regions, several results, two vendors in one model;
# the same results as the host, the same bytes wherever it is built, and the C
# text where it is asked for.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32], %n: Tensor[(4, 2), int32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1]);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  %3 = mean(%2, axis=[2, 3]);
  %4 = transpose(%3, axes=None);
  %5 = floor_divide(%n, 3);
  (%4, exp(%3), %5, add(%5, %n))
}
END
bycc net.relay -q -o host.o
bycc-run host.json --random=1 --outputs=want
mkdir c
BYCC_CCOMPILER_KEEP=c bycc net.relay --annotate=ccompiler -o m.o 2> out.txt
grep -q 'host: 0 ops' out.txt || fail "$(cat out.txt)"
bycc-run m.json --random=1 --expected=want
grep -q 'nn.conv2d, nn.bias_add, nn.relu: (2, 4, 8, 8)' c/m_ccompiler_0.c || fail "$(cat c/*.c)"

# Two regions: what is between them stays on the host.
cat > two.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(5, 4), float32]) {
  %0 = tanh(%x);
  %1 = cumsum(%0, axis=1);
  (multiply(%1, %x), %1, subtract(%1, 0.5f), %x)
}
END
bycc two.relay -q -o host2.o
bycc two.relay --annotate=ccompiler -o two.o 2> out.txt
grep -q '^ccompiler: 2 regions' out.txt || fail "$(cat out.txt)"
bycc-run host2.json --random=2 --outputs=want2
bycc-run two.json --random=2 --expected=want2

# Two vendors: dnnl first, ccompiler takes what it refuses.
bycc net.relay --annotate=dnnl,ccompiler -o both.o 2> out.txt
grep -q 'dnnl: ' out.txt && grep -q 'ccompiler: ' out.txt || fail "$(cat out.txt)"
bycc-run both.json --random=1 --expected=want

mkdir -p elsewhere/deep
(cd elsewhere/deep && cp ../../net.relay . && bycc net.relay --annotate=ccompiler -q -o m.o)
cmp m.o elsewhere/deep/m.o
