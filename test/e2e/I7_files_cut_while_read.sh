#!/usr/bin/env bash
# A file that gets shorter while it is mapped is an error, never SIGBUS: weights in a run,
# by host code and by a vendor's library, and a model while it is compiled.
. "$(dirname "$0")/lib.sh"

# weights.safetensors: w1, w2 of 1024 x 1024 floats, all 0.001
python3 - <<'END'
import json, struct
size = 4 << 20
header = json.dumps({name: {"dtype": "F32", "shape": [1024, 1024], "data_offsets": [i * size, (i + 1) * size]}
                     for i, name in enumerate(["w1", "w2"])}).encode()
with open("weights.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + struct.pack("<f", 0.001) * (2 * size // 4))
END
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 1024), float32], %w1: Tensor[(1024, 1024), float32],
          %w2: Tensor[(1024, 1024), float32]) -> Tensor[(1, 1024), float32] {
  %0 = nn.dense(%x, %w1, units=1024);
  nn.dense(tanh(%0), %w2, units=1024)
}
END

# I7: cut at some time of many runs
for options in "" "--annotate=dnnl --cost-model=none"; do
  # shellcheck disable=SC2086
  bycc net.relay --params=weights.safetensors $options -q -o net.o
  for wait in 0.15 0.2 0.25; do
    cp net.params keep.params
    bycc-run net.json --random --bench --seconds 20 > bench.txt 2>&1 & running=$!
    sleep $wait
    truncate -s 4096 net.params
    got=0
    wait $running || got=$?
    [ $got = 1 ] || fail "I7 $options: exit $got: $(cat bench.txt)"
    grep -q 'net.params.*error\[LOAD\]\|error\[LOAD\]: the params file became shorter' bench.txt || fail "I7: $(cat bench.txt)"
    mv keep.params net.params
  done
done

# A9: cut when a vendor is asked about the first operator
cat > cutter.c <<'END'
#include <bycc/vendor.h>
#include <stdlib.h>
#include <unistd.h>
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  answer->reason(answer, truncate(getenv("CUT"), atol(getenv("LENGTH"))) ? "no such file" : "it is cut");
  return 0;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  return 1;
}
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler vendor = {BYCC_VENDOR_ABI_VERSION, sizeof vendor, "cutter", "1.0", 0, 0,
                                        supports, compile};
  return &vendor;
}
END
cc -shared -fPIC -I"$root/include" cutter.c -o cutter.so
export CUT=cut.safetensors
for LENGTH in 100 5000000 8388000; do # the last one in the last page: it reads as zeros
  export LENGTH
  cp weights.safetensors cut.safetensors
  refuse 1 "cut.safetensors: error[IO]: the file was changed while it was read" \
    bycc net.relay --params=cut.safetensors --plugin=cutter.so --annotate=cutter -o cut.o
  [ ! -e cut.o ] && [ ! -e cut.params ] || fail "A9: a failed build wrote files"
done
