#!/usr/bin/env bash
# Plugins of other releases: the sample is built against the headers with which version 2 of the vendor interface
# began, against those of today and against those of a later release, whose structs are larger. Each of them compiles
# and runs in this bycc and in one whose structs are larger, with the same bytes and results.
. "$(dirname "$0")/lib.sh"
[ -n "${BYCC_BUILD:-}" ] || skip "BYCC_BUILD is not set"
grown=$BYCC_BUILD/test/abi/grown
[ -x "$grown/libexec/bycc/bycc-worker" ] || fail "there is no $grown/libexec/bycc/bycc-worker"
sample=$root/share/examples/vendor
mkdir -p now kit/bycc
cp -r "$root/include/bycc" now
mv now/bycc/vendor.hpp now/bycc/vendor_*.hpp kit/bycc # the same kit on each vendor.h
cp -r now later
chmod -R u+w later
python3 "$root/test/abi/grow.py" "$root/include/bycc/vendor.h" later/bycc/vendor.h
python3 -c 'import sys; d = open(sys.argv[1], "rb").read()
print("const char examplenpu_patterns[] = {" + ",".join(map(str, d)) + ",0};")' "$sample/examplenpu.json" > patterns.c
cc -c -fPIC patterns.c -o patterns.o
build() { # NAME INCLUDE
  mkdir "$1.plugin"
  for file in compile device runtime translate; do
    c++ -std=c++20 -O0 -c -fPIC -fvisibility=hidden -I"$2" -I"$work/kit" "$sample/$file.cpp" -o "$1.plugin/$file.o" &
  done
  wait
  c++ -shared "$1".plugin/*.o patterns.o -o "$1.plugin/libbycc_vendor_examplenpu.so"
}
build first "$root/test/abi/2"
build now "$work/now"
build later "$work/later"

# The later bycc: its worker beside a libbycc of its own, and its runtime.
mkdir -p after/lib after/libexec/bycc
library=$(readlink -f "$bin/../lib/libbycc.so")
cp -l "$library" "after/lib/$(basename "$library")" 2> /dev/null || cp "$library" after/lib
ln -s "$(basename "$library")" "after/lib/$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
cp -P "$grown"/lib/libbycc_runtime.so* after/lib
cp "$grown/libexec/bycc/bycc-worker" after/libexec/bycc
after() { LD_LIBRARY_PATH=$work/after/lib VENDOR_ABI_LOG=$work/log.txt "$@"; }
after bycc-run --version | grep -q "runtime grown" || fail "$(after bycc-run --version)"

cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 6, 6), float32]) -> (Tensor[(1, 2, 6, 6), float32], Tensor[(1, 2, 6, 6), float32]) {
  %0 = nn.conv2d(%x, Tensor[(2, 2, 1, 1), float32][1, 2, -1, 1], channels=2, kernel_size=[1, 1]);
  %1 = nn.bias_add(%0, Tensor[(2), float32][0.5, -1]);
  %2 = nn.relu(%1);
  %3 = nn.conv2d(%2, Tensor[(2, 1, 3, 3), float32][1, 0, 2, 1, 0.5, -1, 0, 0.25, 1, -1, 0, 1, 0, 0, 1, 2, 1, 0.125], padding=[1, 1, 1, 1], groups=2, channels=2, kernel_size=[3, 3]);
  %4 = nn.relu(%3);
  %5 = exp(%4);
  (%4, %5)
}
END
bycc net.relay -q -o host.o
bycc-run host.json --random=3 --outputs expected > /dev/null
# compiled BYCC RUN PLUGIN: with options, composites, offers, tuning, and a value that stays on the device
compiled() {
  local name=$1
  shift
  $name bycc net.relay -q --plugin="$1.plugin/libbycc_vendor_examplenpu.so" --annotate=examplenpu --cost-model=none \
    --vendor-option examplenpu.heap=100000 --tune="$1.$name.tune" --expect-regions=2 --strict -o "$1.o" --module-name=m
  BYCC_PLUGIN_PATH=$1.plugin $name bycc-run "$1.json" --random=3 --expected expected --profile --runs 1 \
    --vendor-option examplenpu.trace=true > run.txt 2> trace.txt || fail "$name, $1: $(cat run.txt trace.txt)"
  grep -q 'm_examplenpu_0: 1 copies in, 0 copies out' trace.txt && grep -q 'm_examplenpu_1: 0 copies in, 1 copies out' trace.txt ||
    fail "$name, $1: $(cat trace.txt)"
  cmp "$1.o" first.now.o || fail "$name, $1: other bytes"
}
today() { "$@"; }
bycc net.relay -q --plugin=first.plugin/libbycc_vendor_examplenpu.so --annotate=examplenpu --cost-model=none \
  --vendor-option examplenpu.heap=100000 --tune=first.tune -o first.now.o --module-name=m
for plugin in first now later; do
  compiled today $plugin
  compiled after $plugin
done
# It was the later one that was asked: a value has 40 bytes more there.
printf '#include <bycc/vendor.h>\n#include <stdio.h>\nint main(void) { printf("%%zu\\n", sizeof(bycc_value)); }\n' > size.c
cc -I"$root/include" size.c -o size
expect "$(sort -u log.txt)" "$(($(./size) + 40))"
# The test of the layout finds what may not be.
mkdir -p moved/bycc padded/bycc
cp "$root"/include/bycc/abi.h moved/bycc
cp "$root"/include/bycc/abi.h padded/bycc
sed 's/^  int32_t rank;$/  int32_t added;\n  int32_t rank;/' "$root/include/bycc/vendor.h" > moved/bycc/vendor.h
sed 's/^} bycc_region;$/  uint32_t added;\n} bycc_region;/' "$root/include/bycc/vendor.h" > padded/bycc/vendor.h
refuse 1 "bycc_value: its first members are not those of the first release" \
  python3 "$root/test/abi/layout.py" cc moved "$root/test/abi/2"
refuse 1 "bycc_region has padding at its end" python3 "$root/test/abi/layout.py" cc padded "$root/test/abi/2"
python3 "$root/test/abi/layout.py" cc later "$root/test/abi/2" || fail "a header that grew as it may is refused"
