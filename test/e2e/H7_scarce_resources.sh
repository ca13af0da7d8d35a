#!/usr/bin/env bash
# H7: without descriptors, a temporary folder or much of a stack, a build works or says what
# is missing, and leaves what was there.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {
  tanh(add(%x, %w))
}
END
mkdir params
npy write params/w.npy f4 3 1 2 3
bycc net.relay --params=params -q -o net.o
cp net.o keep.o

# attempt NAME COMMAND...: done, or IO or LIMIT with nothing changed
attempt() {
  local name=$1 got=0
  shift
  "$@" > attempt.txt 2>&1 || got=$?
  case $got in
    0) ;;
    1) grep -q 'error\[\(IO\|LIMIT\|LOAD\|USAGE\)\]' attempt.txt || fail "H7 $name: $(cat attempt.txt)" ;;
    127) grep -q 'shared libraries' attempt.txt || fail "H7 $name: $(cat attempt.txt)" ;; # it cannot even start
    *) fail "H7 $name: exit $got: $(cat attempt.txt)" ;;
  esac
  [ $got = 0 ] || cmp -s net.o keep.o || fail "H7 $name: a failed build changed its output"
}
limited() { (ulimit "$1" "$2" && shift 2 && "$@"); }
for vendor in "" --annotate=dnnl --annotate=ccompiler; do
  for count in 3 4 5 6 7 8 10 12 16; do
    attempt "$count descriptors" limited -n $count bycc net.relay --params=params $vendor --cost-model=none -q -o net.o
    cp keep.o net.o
  done
  TMPDIR=/nonexistent attempt "no folder" bycc net.relay --params=params $vendor --cost-model=none -q -o net.o
  [ ! -e /dev/full ] || TMPDIR=/dev/full attempt "no folder" bycc net.relay --params=params $vendor -q -o net.o
  attempt "small stack" limited -s 256 bycc net.relay --params=params $vendor --cost-model=none -q -o net.o
  cp keep.o net.o
done
bycc net.relay --params=params -q -o net.o
for count in 3 4 5 6 8; do
  attempt "run, $count descriptors" limited -n $count bycc-run net.json --random
done
attempt "run, small stack" limited -s 256 bycc-run net.json --random
