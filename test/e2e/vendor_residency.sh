#!/usr/bin/env bash
# What compile(), load() and alloc() are told of values that stay in a vendor's own memory.
. "$(dirname "$0")/lib.sh"
cat > r.c <<'END'
/* Takes abs and negative, each in a region of its own, and computes them. A region's blob says what
 * compile() was told: sign, then a letter for each input and output, R where it is to stay. */
#include <bycc/vendor.h>
#include "stateless_vendor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  const char *op = bycc_node_at(region, 0)->op;
  if (strcmp(op, "abs") == 0 || strcmp(op, "negative") == 0)
    return 1;
  answer->reason(answer, "neither abs nor negative");
  return 0;
}
static char letter(uint64_t flags) { return flags & BYCC_VALUE_RESIDENT ? 'R' : '-'; }
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  const char *op = bycc_node_at(region, 0)->op;
  if (getenv("REFUSED") && strcmp(getenv("REFUSED"), bycc_node_at(region, 0)->source) == 0) {
    answer->reason(answer, "not this one");
    return 1;
  }
  char blob[3] = {strcmp(op, "abs") ? '-' : '+', letter(bycc_value_at(region, region->inputs[0])->flags),
                  letter(bycc_value_at(region, region->outputs[0])->flags)};
  answer->blob(answer, blob, sizeof blob);
  return 0;
}
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler vendor = {
      .abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor, .name = "r", .version = "1",
      .patterns = "{\"vendor\": \"r\", \"edges\": {\"deny\": [[\"*\", \"*\"]]}}",
      .flags = BYCC_VENDOR_OWN_MEMORY, .supports = supports, .compile = compile};
  return &vendor;
}
struct region { char sign; int count; };
static int32_t load(const bycc_vendor_context *context, const bycc_region_load *info, void **made,
                    char *error, size_t size) {
  const bycc_tensor *in = bycc_tensor_at(info->inputs, 0), *out = bycc_tensor_at(info->outputs, 0);
  fprintf(stderr, "%s %.3s %c%c\n", info->symbol, (const char *)info->blob, letter(in->flags), letter(out->flags));
  struct region *region = malloc(sizeof *region);
  region->sign = info->blob[0];
  region->count = (int)(out->bytes / sizeof(float));
  *made = region;
  return BYCC_OK;
}
static int32_t run(const bycc_vendor_context *context, void *handle, void *state, const bycc_region_run *run,
                   char *error, size_t size) {
  const struct region *region = handle;
  const float *in = run->inputs[0].data;
  float *out = run->outputs[0].data;
  for (int i = 0; i < region->count; ++i)
    out[i] = region->sign == '+' ? fabsf(in[i]) : -in[i];
  return BYCC_OK;
}
static void *allocate(const bycc_vendor_context *context, const bycc_tensor *tensor) {
  fprintf(stderr, "alloc %d (", tensor->dtype);
  for (int i = 0; i < tensor->rank; ++i)
    fprintf(stderr, "%d,", (int)tensor->shape[i]);
  fprintf(stderr, ") '%s' %d bytes, %c\n", tensor->layout, (int)tensor->bytes, letter(tensor->flags));
  return malloc(tensor->bytes);
}
static void give_back(const bycc_vendor_context *context, void *memory) {
  fprintf(stderr, "release\n");
  free(memory);
}
const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  static bycc_vendor_runtime vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                       .name = "r", .version = "1", .load = load, .unload = unload,
                                       .state_bytes = state_bytes, .init_state = init_state,
                                       .drop_state = drop_state, .run = run,
                                       .alloc = allocate, .release = give_back};
  return &vendor;
}
END
cc -w -shared -fPIC -I"$root/include" -I"$root/test/e2e" r.c -o libbycc_vendor_r.so -lm
export BYCC_PLUGIN_PATH=$work
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> (Tensor[(2, 3), float32], Tensor[(2, 3), float32]) {
  %0 = abs(%x);
  %1 = negative(%0);
  %2 = abs(%1);
  %3 = negative(%2);
  %4 = exp(%2);
  (%3, %4)
}
END
bycc net.relay -q -o host.o
bycc-run host.json --random=3 --outputs expected > /dev/null
# said NAME OPTIONS...: what the run half says, of a model that is right
said() {
  bycc net.relay -q --plugin=libbycc_vendor_r.so --annotate=r --cost-model=none "${@:2}" -o "$1.o"
  bycc-run "$1.json" --random=3 --expected expected 2> "$1.txt" > run.txt || fail "$(cat run.txt "$1.txt")"
  grep -vE '^output |agree' "$1.txt"
}
# What stays: what the second and the third region read alone. compile() is told what load() is told.
expect "$(said four --expect-regions=4)" "four_r_0 +-R -R
four_r_1 -RR RR
four_r_2 +R- R-
four_r_3 --- --
alloc 11 (2,3,) '' 24 bytes, R
alloc 11 (2,3,) '' 24 bytes, R
release
release"
# One of them goes home: its neighbours are compiled again, for values in the host's memory.
REFUSED=%1 bycc net.relay -q --plugin=libbycc_vendor_r.so --annotate=r --cost-model=none -o three.o 2> /dev/null
bycc-run three.json --random=3 --expected expected 2> three.txt > run.txt || fail "$(cat run.txt three.txt)"
expect "$(grep -vE '^output |agree' three.txt)" "three_r_0 +-- --
three_r_1 +-- --
three_r_2 --- --"
