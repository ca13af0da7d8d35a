#!/usr/bin/env bash
# A file that changes while it is mapped is an error, never SIGBUS: weights in a run,
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
  static bycc_vendor_compiler vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                        .name = "cutter", .version = "1.0",
                                        .supports = supports, .compile = compile};
  return &vendor;
}
END
cc -shared -fPIC -I"$root/include" cutter.c -o cutter.so
export CUT=cut.safetensors
for length in 100 5000000 8388000; do # the last one in the last page: it reads as zeros
  cp weights.safetensors cut.safetensors
  refuse 1 "cut.safetensors: error[IO]: the file was changed while it was read" \
    env LENGTH=$length bycc net.relay --params=cut.safetensors --plugin=cutter.so --annotate=cutter -o cut.o
  [ ! -e cut.o ] && [ ! -e cut.params ] || fail "A9: a failed build wrote files"
done

# A9: rewritten or cut while it is imported, when its external data are opened
sanitized && exit 0 # they want to be loaded first
cat > rewriter.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void rewrite(const char *name) {
  if (strcmp(name, "w.bin") != 0)
    return;
  const char *length = getenv("LENGTH"), *text = getenv("TEXT");
  int file = open(getenv("CHANGE"), O_WRONLY);
  if (length && ftruncate(file, atol(length)) != 0)
    abort();
  char bytes[4096];
  memset(bytes, text ? *text : 0, sizeof bytes);
  for (int at = 0; text && at < 16; ++at)
    if (write(file, bytes, sizeof bytes) < 0)
      abort();
  close(file);
}
int openat(int folder, const char *name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  rewrite(name);
  return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat"))(folder, name, flags, mode);
}
int openat64(int folder, const char *name, int flags, ...) __attribute__((alias("openat")));
END
cc -shared -fPIC rewriter.c -o rewriter.so -ldl
PYTHONPATH=$root/tools/dev python3 - <<'END'
from make_example import field, node, value_info
entries = [("location", "w.bin"), ("length", "8")]
weight = field(1, 2) + field(2, 1) + field(8, "w") + field(14, 1)
weight += b"".join(field(13, field(1, k) + field(2, v)) for k, v in entries)
nodes = [node("n0", "Add", ["x", "w"], "v0")]
nodes += [node(f"n{i}", "Abs", [f"v{i - 1}"], f"v{i}") for i in range(1, 1000)]
graph = b"".join(field(1, each) for each in nodes) + field(2, "g") + field(5, weight)
graph += field(11, value_info("x", [2])) + field(12, value_info("v999", [2]))
open("model.onnx", "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))
END
printf '\0\0\200\077\0\0\0\100' > w.bin
cp model.onnx changed.onnx
bycc changed.onnx -q -o changed.o
rm changed.o changed.json
export CHANGE=changed.onnx
for change in TEXT=a TEXT=v 'TEXT=\' LENGTH=0 LENGTH=100 LENGTH=5000; do
  cp model.onnx changed.onnx
  refuse 1 "changed.onnx: error[IO]: the file was changed while it was read" \
    env "$change" LD_PRELOAD="$work/rewriter.so" bycc changed.onnx -o changed.o
  [ ! -e changed.o ] || fail "A9: a failed build wrote files"
done
CHANGE=w.bin LENGTH=4 refuse 1 "w.bin" env LD_PRELOAD="$work/rewriter.so" bycc model.onnx -o changed.o
