#!/usr/bin/env bash
# G7: a vendor that takes an operator and then cannot compile its region. The
# nodes go back to the host with a warning that names region and reason; the
# result is the same; --strict is exit 3 and writes nothing.
. "$(dirname "$0")/lib.sh"
cat > liar.c <<'END'
#include <bycc/vendor.h>
#include <string.h>
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  if (strcmp(bycc_node_at(region, 0)->op, "sin") != 0)
    return 1;
  answer->reason(answer, "sin is too hard");
  return 0;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  answer->reason(answer, "out of luck");
  return 1;
}
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                        .name = "liar", .version = "1.0",
                                        .supports = supports, .compile = compile};
  return &vendor;
}
END
cc -shared -fPIC -I"$root/include" liar.c -o liar.so
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = sigmoid(%x);
  %1 = sin(%0);
  abs(%1)
}
END
bycc net.relay -q -o host.o
bycc-run host.json --random=1 --print=6 > host.txt

bycc net.relay --plugin=liar.so --annotate=liar --dump-offloads=report.json -o m.o 2> err.txt
grep -q 'warning: region m_liar_0: liar cannot compile it: out of luck; %0 is kept from liar' err.txt ||
  fail "$(cat err.txt)"
grep -q '"liar": ".*out of luck"' report.json || fail "$(cat report.json)"
bycc-run m.json --random=1 --print=6 | cmp - host.txt

refuse 3 "out of luck" bycc net.relay --plugin=liar.so --annotate=liar --strict -o s.o
[ ! -e s.o ] && [ ! -e s.json ] || fail "a refused build wrote files"

# Weights that only the vendor would have read are not written.
weights=$(head -c 16384 /dev/zero | base64 -w0)
cat > dense.relay <<END
#[version = "0.0.5"]
def @main(%x: Tensor[(8, 64), float32]) -> Tensor[(8, 64), float32] { nn.dense(%x, meta[relay.Constant][0], units=64) }
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [64, 64], "data": "$weights"}]}
END
bycc dense.relay -q -o host.o
bycc dense.relay -q --plugin=liar.so --annotate=liar -o m.o
expect "$(stat -c %s m.params)" "$(stat -c %s host.params)"
