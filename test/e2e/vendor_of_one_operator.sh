#!/usr/bin/env bash
# The vendor of one operator: at most 100 lines on the kit, built outside of the tree against installed headers. It
# holds what every vendor has to, and a region that the kit prints as Relay text computes the same.
. "$(dirname "$0")/lib.sh"
. "$here/install.sh"
sample=$PREFIX/share/bycc/examples/dense
cmake -S "$sample" -B dense -DCMAKE_PREFIX_PATH="$PREFIX" > cmake.txt
cmake --build dense > cmake.txt 2>&1 || fail "$(cat cmake.txt)"
grep -q warning cmake.txt && fail "$(cat cmake.txt)"
[ "$(wc -l < "$sample/dense.cpp")" -le 100 ] || fail "$(wc -l < "$sample/dense.cpp") lines"
plugin=$work/dense/libbycc_vendor_dense.so
bycc-vendor-test dense --plugin="$plugin" > suite.txt 2>&1 || fail "$(cat suite.txt)"
grep -qE '^pass numeric.operators +[1-9]' suite.txt || fail "$(cat suite.txt)"

# Products one after the other in one region, with a result inside that leaves it as well.
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = nn.dense(%0, Tensor[(2, 4), float32][1, -2, 3, 0.5, 0, 1, -1, 2], units=2);
  %2 = nn.dense(%1, Tensor[(3, 2), float32][1, 2, 3, 4, 5, 6], units=3);
  (%2, %0)
}
END
bycc net.relay -q -o host.o
bycc-run host.json --random=3 --outputs expected > /dev/null
bycc net.relay -q --plugin="$plugin" --annotate=dense --cost-model=none --expect-regions=1 --min-offload=100% -o net.o
BYCC_PLUGIN_PATH=$work/dense bycc-run net.json --random=3 --expected expected > run.txt || fail "$(cat run.txt)"

# A run half with another format says so.
mkdir later
sed 's/"dense region", 1/"dense region", 2/' "$sample/dense.cpp" > later.cpp
plugin() { c++ -std=c++20 -shared -fPIC -fvisibility=hidden -Wall -Wextra -I"$PREFIX/include" "$1" -o "$2"; }
plugin later.cpp later/libbycc_vendor_dense.so
BYCC_PLUGIN_PATH=$work/later refuse 1 'dense region of version 1, wanted 2: compile the model again' \
  bycc-run net.json --random=3

# A vendor that takes everything, prints the region and refuses it.
cat > printer.cpp <<'END'
#include <bycc/vendor.hpp>
#include <cstdlib>
#include <fstream>
struct Compiler {
  void supports(const bycc::vendor::Question &) {}
  bycc::vendor::Bytes compile(const bycc::vendor::Question &question) {
    if (question.region.nodes().size() > 9)
      std::ofstream(std::getenv("REGION_TEXT")) << bycc::vendor::relayText(question.region);
    throw bycc::vendor::Refusal("it is printed");
  }
};
constexpr bycc::vendor::About about = {.name = "printer", .version = "1"};
BYCC_VENDOR_COMPILER(Compiler, about)
END
plugin printer.cpp libbycc_vendor_printer.so
cat > all.relay <<'END'
#[version = "0.0.5"]
def @main(%p0: Tensor[(1, 2, 6, 6), float32], %p1: Tensor[(1, 2, 6, 6), float32]) {
  %0 = nn.conv2d(%p0, Tensor[(2, 1, 3, 3), float32][1, 0, 2, 1, 0.5, -1, 0, 0.25, 1, -1, 0, 1, 0, 0, 1, 2, 1, 0.125], padding=[1, 1, 1, 1], groups=2, channels=2, kernel_size=[3, 3]);
  %1 = concatenate((%0, %p1), axis=1);
  %2 = split(%1, indices_or_sections=2, axis=1);
  %3 = multiply(%2.1, %2.0);
  %4 = clip(%3, a_min=-1.5f, a_max=1e+30f);
  %5 = nn.pad(%4, -inff, pad_width=[[0, 0], [0, 0], [1, 1], [0, 2]]);
  %6 = nn.max_pool2d(%5, pool_size=[2, 2]);
  %7 = greater(%6, 0f);
  %8 = cast(%6, dtype="int8");
  %9 = add(%8, Tensor[(7), int8][1, -2, 3, -128, 127, 0, 5]);
  (%7, %9)
}
END
bycc all.relay -q -o host.o
rm -rf expected
bycc-run host.json --random=3 --outputs expected > /dev/null
REGION_TEXT=text.relay bycc all.relay -q -O0 --plugin=./libbycc_vendor_printer.so --annotate=printer \
  --cost-model=none -o all.o 2> err.txt || fail "$(cat err.txt)"
bycc text.relay -q -o again.o || fail "$(cat text.relay)"
bycc-run again.json --random=3 --expected expected > run.txt || fail "$(cat run.txt text.relay)"
