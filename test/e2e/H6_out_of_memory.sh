#!/usr/bin/env bash
# H6: allocations that fail, and a small address space: a build says LIMIT, or dies inside
# of LLVM or a vendor; it never writes a part of its outputs. A load says LIMIT.
. "$(dirname "$0")/lib.sh"
sanitized && skip "sanitizers have a malloc of their own"
cc -shared -fPIC -O1 "$here/allocations.c" -o allocations.so
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {
  tanh(add(%x, %w))
}
END
mkdir params
npy write params/w.npy f4 3 1 2 3
bycc net.relay --params=params -q -o good.o --module-name=net
failing() { LD_PRELOAD=$work/allocations.so FAIL_AT=$1 "${@:2}"; }
build() { bycc net.relay --params=params --module-name=net -q -o net.o; }

numTold=0
# check NAME COMMAND...: done and right, LIMIT, or dead without outputs
check() {
  local name=$1 got=0
  shift
  rm -f net.o net.json net.h net.params
  "$@" > check.txt 2>&1 || got=$?
  if [ $got = 0 ]; then
    cmp net.o good.o || fail "H6 $name: another object"
    return
  fi
  [ ! -e net.o ] && [ ! -e net.json ] || fail "H6 $name: exit $got, with outputs"
  case $got in
    1) grep -q 'error\[LIMIT\]' check.txt || fail "H6 $name: $(cat check.txt)"; numTold=$((numTold + 1)) ;;
    127) ;; # the dynamic linker
    70 | 13[0-9]) ;;
    *) fail "H6 $name: exit $got: $(cat check.txt)" ;;
  esac
}
(COUNT_FILE=$work/count failing -1 build)
calls=$(cat count)
for ((at = 0; at < calls; at += 1 + calls / 60)); do
  check "allocation $at of $calls" failing $at build
  FAIL_COUNT=1000000 check "allocations from $at of $calls on" failing $at build
done
for kib in 60000 100000 150000 200000 250000 300000 400000 600000; do
  check "$kib KiB" bash -c "ulimit -v $kib && exec $bin/bycc net.relay --params=params --module-name=net -q -o net.o"
done
[ $numTold -gt 20 ] || fail "H6: LIMIT was said $numTold times"

# Of what C++ does before main() nobody can be told.
COUNT_FILE=$work/before failing -1 bycc-run --version > version.txt
COUNT_FILE=$work/count failing -1 bycc-run good.json --random -q
calls=$(cat count)
for ((at = $(cat before); at < calls; at += 1 + calls / 200)); do
  got=0
  failing $at bycc-run good.json --random -q > check.txt 2>&1 || got=$?
  [ $got = 0 ] || [ $got = 127 ] || { [ $got = 1 ] && grep -q 'error\[LIMIT\]\|no memory\|Out of memory' check.txt; } ||
    fail "H6 load, allocation $at: exit $got: $(cat check.txt)"
done

# H6: a load and a run in little address space say LIMIT whatever it is that finds none: a file
# of the set, a vendor's library, a tensor. oneDNN may die inside of its own code.
cat > large.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 2000), float32], %w: Tensor[(1500, 2000), float32]) { nn.dense(%x, %w, units=1500) }
END
npy write params/w.npy f4 1500x2000
head -c 12000000 /dev/zero >> params/w.npy
bycc large.relay --params=params -q -o host.o
bycc large.relay --params=params -q -o dnnl.o --annotate=dnnl --cost-model=none --expect-regions=1
for net in host dnnl; do
  said=
  for ((kib = 4000; kib < 200000; kib += kib < 30000 ? 700 : 7000)); do
    got=0
    (ulimit -v $kib && exec bycc-run $net.json --random -q --threads=1) > check.txt 2>&1 || got=$?
    case $net$got in
      *127 | *0 | dnnl139) ;;
      *1) grep -q 'error\[LIMIT\]' check.txt || fail "H6 $net in $kib KiB: $(cat check.txt)"; said+=$(cat check.txt) ;;
      *) fail "H6 $net in $kib KiB: exit $got: $(cat check.txt)" ;;
    esac
  done
  [[ $said = *"$net.params: error[LIMIT]: cannot map the file"* ]] || fail "H6 $net: the weights had room: $said"
done
[[ $said = *"libbycc_vendor_dnnl.so: error[LIMIT]: cannot load the run half of vendor 'dnnl'"* ]] ||
  fail "H6: oneDNN had room: $said"
