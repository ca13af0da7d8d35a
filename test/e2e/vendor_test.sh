#!/usr/bin/env bash
# bycc-vendor-test on a plugin: one that does it right passes, and each way to do
# it wrong fails the check that is for it, a crash included, and the others go on.
. "$(dirname "$0")/lib.sh"
command -v cc > /dev/null || skip "no C compiler"
cat > copycat.c <<'END'
/* Takes abs of float32; a region's blob says of which input each output is. */
#include <bycc/vendor.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef DEFECT
#define DEFECT 0
#endif
enum { CRASHES = 1, COUNTS, STOPS_SHORT, TRUSTS, OVERRUNS, LEAKS, SILENT, ALTERS,
       ONE_BUFFER, USES_UP, TUNES_BY_CHANCE, KEEPS_REGIONS, READS_NAMES, ONE_CONTEXT, ANNOTATES_MORE, DIES_IN_RUN, GUESSES,
       MISREADS_LAYOUTS, REMEMBERS, SPILLS };

struct part { uint32_t input, pad; uint64_t elements; };
struct blob { uint32_t magic, parts; struct part part[64]; };

static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  const bycc_node *node = bycc_node_at(region, 0);
  int plain = !strcmp(node->op, "abs");
  if (plain) {
    const bycc_value *x = bycc_value_at(region, node->inputs[0]);
    plain = x->dtype == BYCC_FLOAT32 && !x->data;
    for (int32_t i = 0; i < x->rank; ++i)
      plain &= (x->dims[i] >= 0 || DEFECT == GUESSES) && x->dims[i] < 1000;
  }
  for (uint32_t i = 0; i < node->num_attrs && DEFECT == MISREADS_LAYOUTS; ++i)
    if (!strcmp(node->op, "nn.global_avg_pool2d") && !strcmp(bycc_attr_at(node->attrs, i)->name, "layout"))
      plain = !strcmp(bycc_attr_at(node->attrs, i)->s, "NHWC");
  if (DEFECT == CRASHES && !strcmp(node->op, "tanh"))
    abort();
  if (DEFECT == READS_NAMES && node->source && strchr(node->source, '/'))
    plain = 0;
  if (!plain && DEFECT != SILENT)
    answer->reason(answer, "it is no abs of a small float32 tensor");
  return plain;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  static uint32_t calls;
  struct blob *blob = calloc(1, sizeof *blob);
  blob->magic = 0x746163 + (DEFECT == COUNTS ? ++calls << 24 : 0);
  blob->parts = region->num_outputs;
  for (uint32_t o = 0; o < region->num_outputs; ++o) {
    uint32_t value = region->outputs[o];
    for (uint32_t n = region->num_nodes; n-- > 0;)
      if (bycc_node_at(region, n)->outputs[0] == value)
        value = bycc_node_at(region, n)->inputs[0];
    blob->part[o].elements = 1;
    const bycc_value *x = bycc_value_at(region, region->outputs[o]);
    for (int32_t i = 0; i < x->rank; ++i)
      blob->part[o].elements *= x->dims[i] < 0 ? 2 : x->dims[i];
    while (region->inputs[blob->part[o].input] != value)
      ++blob->part[o].input;
  }
  answer->blob(answer, blob, 8 + blob->parts * sizeof(struct part));
  free(blob);
  return 0;
}
static int32_t tune(void *self, const bycc_target *target, const bycc_region *region,
                    bycc_answer *answer) {
  static uint8_t record = 7;
  record += DEFECT == TUNES_BY_CHANCE;
  answer->blob(answer, &record, 1);
  return 0;
}
static int32_t annotate(void *self, const bycc_target *target, const bycc_region *block,
                        bycc_answer *answer) {
  for (uint32_t i = 0; i < block->num_nodes; ++i)
    if (!strcmp(bycc_node_at(block, i)->op, "abs"))
      answer->take(answer, i, 0);
    else
      answer->refuse(answer, i, "no abs");
  if (DEFECT == ANNOTATES_MORE)
    answer->take(answer, block->num_nodes, 0);
  return 0;
}
static const char layouts[] = "{\"schema\": 1, \"vendor\": \"copycat\", \"layouts\": {\"nn.global_avg_pool2d\": [\"NHWC\"]}}";
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                        .name = "copycat", .version = "1.0",
                                        .patterns = DEFECT == MISREADS_LAYOUTS ? layouts : NULL,
                                        .flags = BYCC_VENDOR_OWN_MEMORY, .supports = supports,
                                        .compile = compile,
                                        .annotate = DEFECT == MISREADS_LAYOUTS ? NULL : annotate, .tune = tune};
  return &vendor;
}

static int32_t load(const bycc_vendor_context *context, const bycc_region_load *info, void **region,
                    char *error, size_t size) {
  struct blob *blob = calloc(1, sizeof *blob + (DEFECT == LEAKS ? 1 << 18 : 0));
  if (DEFECT == LEAKS)
    memset(calloc(1, 1 << 18), 1, 1 << 18);
  memcpy(blob, info->blob, info->blob_bytes < sizeof *blob ? info->blob_bytes : sizeof *blob);
  if (DEFECT != TRUSTS && ((blob->magic & 0xffffff) != 0x746163 || blob->parts != info->num_outputs ||
                           info->blob_bytes != 8 + blob->parts * sizeof(struct part))) {
    strncpy(error, "damaged", size);
    free(blob);
    return BYCC_LOAD;
  }
  *region = blob;
  return BYCC_OK;
}
static void unload(const bycc_vendor_context *context, void *region) {
  if (DEFECT != KEEPS_REGIONS)
    free(region);
}
static int open_contexts;
static int32_t open_context(bycc_vendor_context *context, char *error, size_t size) {
  context->impl = malloc(1);
  return ++open_contexts > 1 && DEFECT == ONE_CONTEXT ? BYCC_LIMIT : BYCC_OK;
}
static void close_context(bycc_vendor_context *context) {
  --open_contexts;
  free(context->impl);
}
static void *alloc(const bycc_vendor_context *context, const bycc_tensor *tensor) {
  static char buffer[1 << 20];
  static uint64_t used;
  used += tensor->bytes;
  if (DEFECT == USES_UP && used > 64 << 20)
    return NULL;
  return DEFECT == ONE_BUFFER ? buffer : malloc(tensor->bytes + 1);
}
static void release(const bycc_vendor_context *context, void *memory) {
  if (DEFECT != ONE_BUFFER)
    free(memory);
}
static uint64_t state_bytes(const bycc_vendor_context *context, void *region) { return 0; }
static int32_t init_state(const bycc_vendor_context *context, void *region, void *state,
                          int32_t threads) { return BYCC_OK; }
static void drop_state(const bycc_vendor_context *context, void *region, void *state) {}
static int32_t run(const bycc_vendor_context *context, void *region, void *state,
                   const bycc_region_run *run, char *error, size_t size) {
  struct blob *blob = region;
  if (DEFECT == DIES_IN_RUN)
    abort();
  const bycc_array *inputs = run->inputs, *outputs = run->outputs;
  uint64_t lent = 64;
  float *factor = run->scratch(run, lent);
  if (blob->part[63].pad++ == 0 || DEFECT != REMEMBERS)
    *factor = 1;
  if (DEFECT == SPILLS)
    ((char *)factor)[lent] = 0;
  for (uint32_t p = 0; p < blob->parts; ++p) {
    float *from = inputs[blob->part[p].input].data, *to = outputs[p].data;
    uint64_t count = blob->part[p].elements - (DEFECT == STOPS_SHORT) + (DEFECT == OVERRUNS);
    for (uint64_t i = 0; i < count; ++i)
      to[i] = *factor * fabsf(from[i]);
    if (DEFECT == ALTERS)
      from[0] = 0;
  }
  return BYCC_OK;
}
const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  static bycc_vendor_runtime vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                       .name = "copycat", .version = "1.0", .load = load,
                                       .unload = unload, .state_bytes = state_bytes,
                                       .init_state = init_state, .drop_state = drop_state, .run = run,
                                       .open = open_context, .close = close_context,
                                       .alloc = alloc, .release = release};
  return &vendor;
}
END
suite() { # DEFECT OPTIONS...
  mkdir -p v$1
  [ -e v$1/libbycc_vendor_copycat.so ] ||
    cc -O1 -w -shared -fPIC -DDEFECT=$1 -I"$root/include" copycat.c -o v$1/libbycc_vendor_copycat.so -lm
  bycc-vendor-test copycat --plugin=v$1/libbycc_vendor_copycat.so --cases="$root/test/numeric" \
    --data="$root/test/conformance/vendor" "${@:2}"
}
# fails DEFECT CHECK TEXT: this check fails so, with the exit code for it.
fails() {
  local got=0
  suite "$1" --filter="$2" > out.txt || got=$?
  expect "$got" 4
  grep -q "^FAIL $2" out.txt && grep -qF -- "$3" out.txt || fail "$(cat out.txt)"
}

suite 0 > out.txt || fail "$(cat out.txt)"
grep -q '^pass numeric.operators' out.txt && grep -q '^pass numeric.regions' out.txt || fail "$(cat out.txt)"
grep -q '^skip numeric.patterns *the vendor has no patterns' out.txt || fail "$(cat out.txt)"
cp out.txt clean.txt
for check in answers.names annotate tune load.many load.contexts memory.alloc memory.resident; do
  grep -q "^pass $check " out.txt || fail "$(cat out.txt)"
done

fails 1 answers "variant 0: the process dies of signal 6"
fails 2 blob.same "the bytes differ"
fails 3 run.repeated "a run on other contents of the outputs gives other results"
fails 4 blob.damaged "load() takes it"
fails 5 numeric.operators "run() has written beside output"
fails 6 load.many "KiB behind"
fails 7 answers "refused without a reason"
fails 8 run.concurrent "run() has written to input"
fails 9 memory.alloc "two tensors that are there at the same time are in one place"
fails 9 memory.resident "(through values in the vendor's memory, of several runs at once)"
fails 10 memory.alloc "each released, there is no memory left"
fails 11 tune "two records for one region"
fails 12 load.many "bytes of the heap behind"
fails 13 answers.names "another answer when the model calls it otherwise"
fails 14 load.contexts "a context beside others is not opened"
fails 17 numeric.open "with n = 7: "
grep -q "^skip numeric.layouts *the vendor's file has no layouts" clean.txt || fail "$(cat clean.txt)"
fails 18 numeric.layouts "result 0, element 0 is "
suite 18 --filter=numeric.layouts --keep=laid_out > out.txt && fail "exit 0 although a check fails"
grep -q NHWC laid_out/numeric.layouts-1/case.relay || fail "$(cat laid_out/numeric.layouts-1/case.relay)"
refuse 4 "output_0" sh laid_out/numeric.layouts-1/repeat.sh
fails 19 run.repeated "gives other results"
fails 20 numeric.operators "run() has written beside the memory that it was lent"
fails 15 annotate "it speaks of a node that is not there"
# What a failure leaves: program, inputs, expected outputs, and how to see it again; after a crash too.
suite 3 --filter=numeric.regions --keep=wrong > out.txt && fail "exit 0 although a check fails"
grep -q '(kept in wrong/numeric.regions-1)' out.txt || fail "$(cat out.txt)"
expect "$(grep -c abs wrong/numeric.regions-1/case.relay)" 1 # the smallest that fails
refuse 4 "output_0" sh wrong/numeric.regions-1/repeat.sh
suite 16 --filter=numeric.regions --keep=dead > out.txt && fail "exit 0 although a check fails"
grep -q 'dies of signal 6 .*(kept in dead/numeric.regions-1)' out.txt || fail "$(cat out.txt)"
grep -q '^# bycc-vendor-test copycat --plugin=.*/v16/libbycc_vendor_copycat.so --seed=1 --filter=numeric.regions$' \
  dead/numeric.regions-1/repeat.sh || fail "$(cat dead/numeric.regions-1/repeat.sh)"
for case in wrong dead; do
  bycc $case/numeric.regions-1/case.relay -q -o host.o
  bycc-run host.json --inputs $case/numeric.regions-1/inputs --expected $case/numeric.regions-1/expected > out.txt ||
    fail "$case: $(cat out.txt)"
done
suite 0 --keep=none > out.txt || fail "$(cat out.txt)"
[ ! -e none ] || fail "something is kept though nothing fails"
suite 1 --filter='[!b]*' > /dev/null 2>&1 && fail "a filter that matches nothing"
suite 1 --json > out.json && fail "exit 0 although a check fails"
python3 - <<'END'
import json
checks = {c["check"]: c["result"] for c in json.load(open("out.json"))["checks"]}
assert checks["answers"] == "fail" and checks["run.profiled"] == "skip", checks
END
echo '{"schema": 1, "vendor": "copycat", "gaps": [{"item": "answers/tanh*", "reason": "it aborts"}]}' > gaps.json
suite 1 --filter=answers --gaps=gaps.json | grep -q 'known gaps left out'
refuse 2 "unknown vendor 'nobody'" bycc-vendor-test nobody
