#!/usr/bin/env bash
# Shapes that operands hold: one object for several shapes, views of run-time
# extents, negative strides; what does not fit ends the run with its reason.
. "$(dirname "$0")/lib.sh"

cat > reshape.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 2), float32], %s: Tensor[(2), int64]) -> Tensor[(?, ?), float32] {
  %0 = dyn.reshape(%x, %s);
  negative(%0)
}
END
npy write x.npy f4 3x2 1 2 3 4 5 6
npy write s.npy i8 2 2 -1
bycc reshape.relay -q -o reshape.o
bycc-run reshape.json --input x=x.npy --input s=s.npy --outputs out
expect "$(npy show out/output_0.npy)" "2x3 -1 -2 -3 -4 -5 -6"
npy write s.npy i8 2 0 2
bycc-run reshape.json --input x=x.npy --input s=s.npy --outputs out
expect "$(npy show out/output_0.npy)" "3x2 -1 -2 -3 -4 -5 -6"
npy write s.npy i8 2 4 2
refuse 1 "(dyn.reshape): 6 elements cannot have a shape of 8" bycc-run reshape.json --input x=x.npy --input s=s.npy
npy write s.npy i8 2 -3 -2
refuse 1 "(dyn.reshape): axis 0 of the result has an extent of -3" bycc-run reshape.json --input x=x.npy --input s=s.npy

cat > squeeze.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(N, W), float32]) -> Tensor[(N), float32] {
  %0 = squeeze(%x, axis=[-1]);
  negative(%0)
}
END
bycc squeeze.relay -q -o squeeze.o
npy write x.npy f4 3x1 1 2 3
bycc-run squeeze.json --input x=x.npy --outputs out
expect "$(npy show out/output_0.npy)" "3 -1 -2 -3"
for shape in 3x2 0x2; do
  npy write x.npy f4 $shape $([ $shape = 3x2 ] && echo 1 2 3 4 5 6)
  refuse 1 "(squeeze): axis 1 has 2 elements, not 1" bycc-run squeeze.json --input x=x.npy
done

cat > slice.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(?), float32], %b: Tensor[(1), int64], %e: Tensor[(1), int64], %s: Tensor[(1), int64]) -> Tensor[(?), float32] {
  dyn.strided_slice(%x, %b, %e, %s)
}
END
npy write x.npy f4 5 1 2 3 4 5
bycc slice.relay -q -o slice.o
slice() {
  npy write b.npy i8 1 "$1"; npy write e.npy i8 1 "$2"; npy write s.npy i8 1 "$3"
  bycc-run slice.json --input x=x.npy --input b=b.npy --input e=e.npy --input s=s.npy --outputs out
}
slice 1 4 2; expect "$(npy show out/output_0.npy)" "2 2 4"
slice -1 -100 -2; expect "$(npy show out/output_0.npy)" "3 5 3 1"
slice 0 4611686018427387904 1; expect "$(npy show out/output_0.npy)" "5 1 2 3 4 5"
refuse 1 "a slice has the stride 0" slice 0 5 0

cat > add.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) -> Tensor[(?), float32] {
  add(%x, %y)
}
END
npy write one.npy f4 1 10
npy write two.npy f4 2 10 20
bycc add.relay -q -o add.o
bycc-run add.json --input x=x.npy --input y=one.npy --outputs out
expect "$(npy show out/output_0.npy)" "5 11 12 13 14 15"
refuse 1 "(add): an extent of" bycc-run add.json --input x=x.npy --input y=two.npy

cat > full.relay <<'END'
#[version = "0.0.5"]
def @main(%v: Tensor[(2), float32], %s: Tensor[(2), int64]) -> Tensor[(?, ?), float32] {
  %0 = dyn.broadcast_to(%v, %s);
  negative(%0)
}
END
npy write v.npy f4 2 7 8
npy write s.npy i8 2 1 2
bycc full.relay -q -o full.o
bycc-run full.json --input v=v.npy --input s=s.npy --outputs out
expect "$(npy show out/output_0.npy)" "1x2 -7 -8"
npy write s.npy i8 2 -1 2
refuse 1 "operand 1 holds the extent -1" bycc-run full.json --input v=v.npy --input s=s.npy
npy write s.npy i8 2 4294967296 2
refuse 1 "error[LIMIT]" bycc-run full.json --input v=v.npy --input s=s.npy

# A shape that is read once and asked for twice lives until its last reader.
cat > twice.relay <<'PROGRAM'
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %n: Tensor[(2), int64]) -> Tensor[(?, ?), float32] {
  %0 = add(%n, 1i64);
  %1 = dyn.broadcast_to(%x, %0);
  %2 = sort(%x);
  %3 = cumsum(%2, axis=0);
  %4 = dyn.broadcast_to(%3, %0);
  add(%1, %4)
}
PROGRAM
npy write x.npy f4 4 4 3 2 1
npy write n.npy i8 2 1 3
bycc twice.relay -q -o twice.o
bycc-run twice.json --input x=x.npy --input n=n.npy --outputs out
expect "$(npy show out/output_0.npy)" "2x4 5 6 8 11 5 6 8 11"

# The C header says which extents are open.
grep -qF '/* input 0: "x", float32 (-1, 2), -1: known at run time */' reshape.h || fail "$(cat reshape.h)"
grep -qF '/* input 1: "s", int64 (2) */' reshape.h || fail "$(cat reshape.h)"

# Random data of any shape; an extent that nobody gives is 1.
npy write s.npy i8 2 3 -1
bycc-run reshape.json --random --shape x=6x2 --input s=s.npy --outputs out
expect "$(npy show out/output_0.npy | cut -d' ' -f1)" 3x4
npy write s.npy i8 2 -1 1
bycc-run reshape.json --random --input s=s.npy --outputs out
expect "$(npy show out/output_0.npy | cut -d' ' -f1)" 2x1
npy write s.npy i8 2 3 2
refuse 1 "note: open extents of random data were 1: input 'x' is (" bycc-run reshape.json --random --input s=s.npy
refuse 1 "cannot" bycc-run reshape.json --random --shape x=1x2 --input s=s.npy
! grep -q "note: open extents" refuse.out || fail "advice for extents that are given: $(cat refuse.out)"
refuse 2 "--shape goes with --random" bycc-run reshape.json --shape x=6x2
refuse 2 "--shape: wanted NAME=5x3x4, given 'x=6x'" bycc-run reshape.json --random --shape x=6x
refuse 2 "--shape is for random data" bycc-run reshape.json --random --shape s=2 --input s=s.npy
refuse 1 "the model has no input 'y'" bycc-run reshape.json --random --shape y=6
refuse 1 "wanted rank 2, given rank 1" bycc-run reshape.json --random --shape x=6
refuse 1 "input 'x'" bycc-run reshape.json --random --shape x=6x3

# A result that is a view with run-time extents of a static value; the runtime is
# asked with the shape of the result.
cat > view.relay <<'PROGRAM'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %s: Tensor[(3), int64]) -> Tensor[(?, ?, ?), float32] {
  %0 = exp(%x);
  dyn.reshape(%0, %s)
}
PROGRAM
npy write x.npy f4 2x3 0 0 0 0 0 0
npy write s.npy i8 3 3 1 2
bycc view.relay -q -o view.o
bycc-run view.json --input x=x.npy --input s=s.npy --outputs out
expect "$(npy show out/output_0.npy)" "3x1x2 1 1 1 1 1 1"

# There is nothing to clamp an index to in an axis without elements.
cat > take.relay <<'PROGRAM'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 2), float32], %i: Tensor[(?), int64]) -> Tensor[(?, 2), float32] {
  take(%x, %i, axis=0)
}
PROGRAM
npy write x.npy f4 0x2
npy write i.npy i8 3 0 1 2
bycc take.relay -q -o take.o
refuse 1 "(take): 3 indices into an axis without elements" bycc-run take.json --input x=x.npy --input i=i.npy
npy write i.npy i8 0
bycc-run take.json --input x=x.npy --input i=i.npy --outputs out
expect "$(npy show out/output_0.npy)" "0x2"

# padding at the end alone, of extents that only a run tells
cat > pads.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 1, h, w), float32], %k: Tensor[(1, 1, 2, 2), float32]) {
  nn.conv2d(%x, %k, padding=[0, 0, 1, 1], channels=1, kernel_size=[2, 2])
}
END
npy write x.npy f4 1x1x2x2 1 2 3 4
npy write k.npy f4 1x1x2x2 1 10 100 1000
bycc pads.relay -q -o pads.o
bycc-run pads.json --input x=x.npy --input k=k.npy --outputs out > /dev/null
expect "$(npy show out/output_0.npy)" "1x1x2x2 4321 402 43 4"

# Steps that read nothing but padding are left out: what is left depends on the extents.
cat > taps.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, H, W, 2), float32]) {
  nn.conv2d(%x, ones(shape=[16, 3, 3, 2], dtype="float32"), channels=16, kernel_size=[3, 3], dilation=[4, 4], padding=[4, 4, 4, 4], data_layout="NHWC", kernel_layout="OHWI")
}
END2
bycc taps.relay -q --likely H=6 --likely W=6 -o taps.o
bycc taps.relay -q --likely H=6 --likely W=6 --emit=loops -o taps.loops
grep -q "padding skipped=yes" taps.loops || fail "a convolution that reads mostly padding does all steps"
for size in 1x1 3x9 9x3 5x5 20x30; do
  want="$(python3 -c "
h, w = map(int, '$size'.split('x'))
near = lambda i, n: sum(0 <= i + d < n for d in (-4, 0, 4))
print(*[2 * near(y, h) * near(x, w) for y in range(h) for x in range(w) for _ in range(16)])")"
  npy write x.npy f4 1x${size}x2 $(python3 -c "print(*[1] * (2 * ${size/x/*}))")
  bycc-run taps.json --input x=x.npy --outputs out
  expect "$(npy show out/output_0.npy)" "1x${size}x16 $want"
done

# An extent that a reshape works out is the product of those that it joins: no divisions are left.
cat > joined.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3, ?, ?), float32]) {
  %0 = nn.bias_add(%x, Tensor[(3), float32][10f, 20f, 30f]);
  transpose(reshape(%0, newshape=[0, 3, -1]), axes=[0, 2, 1])
}
END2
bycc joined.relay -q --emit=loops -o joined.loops
if grep -q '\] = .*\( // \| % \)' joined.loops; then fail "$(cat joined.loops)"; fi
bycc joined.relay -q -o joined.o
npy write x.npy f4 2x3x1x2 1 2 3 4 5 6 -1 -2 -3 -4 -5 -6
bycc-run joined.json --input x=x.npy --outputs out
expect "$(npy show out/output_0.npy)" "2x2x3 11 23 35 12 24 36 9 17 25 8 16 24"
npy write x.npy f4 1x3x2x1 1 2 3 4 5 6
bycc-run joined.json --input x=x.npy --outputs out
expect "$(npy show out/output_0.npy)" "1x2x3 11 23 35 12 24 36"
npy write x.npy f4 0x3x2x1
bycc-run joined.json --input x=x.npy --outputs out
expect "$(npy show out/output_0.npy)" "0x2x3"
