#!/usr/bin/env bash
# --vendor-option: what vendors describe, what is refused and how, where it is written down.
. "$(dirname "$0")/lib.sh"
cat > v.c <<'END'
/* Takes abs. Its code, and what it says about nodes, are its options; its run half adds `plus`
 * and multiplies by `times`. */
#include <bycc/vendor.h>
#include "stateless_vendor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static const bycc_attr *option(const bycc_target *target, const char *name) {
  return bycc_attr_named(target->options, target->num_options, name);
}
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  if (strcmp(bycc_node_at(region, 0)->op, "abs") == 0 && option(target, "takes-abs")->i)
    return 1;
  answer->reason(answer, "it does not take this");
  return 0;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  char text[200] = "";
  snprintf(text, sizeof text, "%s %lld %g %s", option(target, "mode")->s, (long long)option(target, "tile")->i,
           option(target, "scale")->f, option(target, "table")->s);
  answer->blob(answer, text, sizeof text);
  return 0;
}
static const bycc_vendor_option options[] = {
    {sizeof(bycc_vendor_option), BYCC_ATTR_INT, "tile", "8", 0, "elements at a time", 0},
    {sizeof(bycc_vendor_option), BYCC_ATTR_STRING, "mode", "fast", "fast|exact", "how it computes", 0},
    {sizeof(bycc_vendor_option), BYCC_ATTR_FLOAT, "scale", "1.5", 0, "a factor", 0},
    {sizeof(bycc_vendor_option), BYCC_ATTR_BOOL, "takes-abs", "true", 0, "whether it takes abs", 0},
    {sizeof(bycc_vendor_option), BYCC_ATTR_STRING, "table", "", 0, "a file", BYCC_VENDOR_OPTION_PATH},
};
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                        .name = "v", .version = "3.1", .library = "libv 7.2",
                                        .supports = supports, .compile = compile,
                                        .num_options = 5, .options = options};
  return &vendor;
}
struct region { char blob[200]; };
static int32_t open_context(bycc_vendor_context *context, char *error, size_t size) {
  const bycc_attr *plus = bycc_attr_named(context->options, context->num_options, "plus");
  if (plus->i < 0) {
    snprintf(error, size, "plus is %lld", (long long)plus->i);
    return BYCC_LOAD;
  }
  context->impl = malloc(sizeof(int64_t));
  *(int64_t *)context->impl = plus->i;
  return BYCC_OK;
}
static void close_context(bycc_vendor_context *context) { free(context->impl); }
static int32_t load(const bycc_vendor_context *context, const bycc_region_load *info, void **region,
                    char *error, size_t size) {
  const bycc_tensor *in = bycc_tensor_at(info->inputs, 0);
  fprintf(stderr, "%s: '%s' of %s, %s; %d of rank %d, %d bytes\n", info->symbol, (const char *)info->blob,
          info->version, info->library, in->dtype, in->rank, (int)in->bytes);
  *region = malloc(1);
  return BYCC_OK;
}
static int32_t run(const bycc_vendor_context *context, void *region, void *state, const bycc_region_run *run,
                   char *error, size_t size) {
  const float *in = run->inputs[0].data;
  float *out = run->outputs[0].data;
  for (int i = 0; i < 2; ++i)
    out[i] = fabsf(in[i]) + *(int64_t *)context->impl;
  return BYCC_OK;
}
static const bycc_vendor_option run_options[] = {
    {sizeof(bycc_vendor_option), BYCC_ATTR_INT, "plus", "0", 0, "what is added", 0},
};
const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  static bycc_vendor_runtime vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                       .name = "v", .version = "3.2", .library = "libv 7.3", .load = load,
                                       .unload = unload, .state_bytes = state_bytes, .init_state = init_state,
                                       .drop_state = drop_state, .run = run, .reads = "2.9 3.*",
                                       .num_options = 1, .options = run_options,
                                       .open = open_context, .close = close_context};
  return &vendor;
}
END
cc -w -shared -fPIC -I"$root/include" -I"$root/test/e2e" v.c -o libbycc_vendor_v.so -lm
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  abs(%x)
}
END
v() { bycc net.relay -q --plugin=libbycc_vendor_v.so --annotate=v --cost-model=none "$@"; }
export BYCC_PLUGIN_PATH=$work
npy write x.npy f4 2 -1 2
mkdir want5
npy write want5/output_0.npy f4 2 6 7

# Defaults, and what is given; the last one counts, and one value has one spelling.
v -o plain.o
bycc-run plain.json --input x=x.npy 2> said.txt
expect "$(cat said.txt)" "plain_v_0: 'fast 8 1.5 ' of 3.1, libv 7.2; 11 of rank 1, 8 bytes"
v --vendor-option v.tile=4 --vendor-option v.mode=exact --vendor-option=v.tile=016 \
  --vendor-option v.table=/some/where/table.bin -o given.o --module-name=plain
bycc-run given.json --input x=x.npy --vendor-option v.plus=5 --expected want5 2> said.txt > run.txt || fail "$(cat run.txt)"
grep -q "^plain_v_0: 'exact 16 1.5 /some/where/table.bin' of 3.1, libv 7.2" said.txt || fail "$(cat said.txt)"
bycc-run given.json --input x=x.npy -v 2>&1 | grep -q "was compiled by vendor 'v' 3.1 (libv 7.2), it runs with 3.2 (libv 7.3)" ||
  fail "the versions are not said"

# Written down: the flags without folders, the versions, another id.
python3 - <<'END'
import json
plain, given = (json.load(open(name + ".json"))["bycc"] for name in ("plain", "given"))
assert not [f for f in plain["flags"] if "vendor-option" in f], plain["flags"]
assert [f for f in given["flags"] if "vendor-option" in f] == [
    "--vendor-option=v.mode=exact", "--vendor-option=v.table=table.bin", "--vendor-option=v.tile=16"], given["flags"]
assert given["vendors"] == [{"name": "v", "version": "3.1", "library": "libv 7.2"}], given["vendors"]
assert plain["set_id"] != given["set_id"]
END

# An option that decides what is taken.
v --vendor-option v.takes-abs=false --expect-regions=0 -o none.o
refuse 3 "--expect-regions" v --vendor-option v.takes-abs=1 --expect-regions=0 -o none.o

# What is wrong is said with what there is.
refuse 2 "--vendor-option: bad value 'tile=3', it takes V.NAME=VALUE" v --vendor-option tile=3 -o x.o
refuse 2 "--vendor-option v.tiles: vendor 'v' has no such option for compiling, did you mean 'tile'?" v --vendor-option v.tiles=3 -o x.o
grep -qF "note: tile=8 (integer): elements at a time" refuse.out && grep -qF "note: mode=fast (fast|exact): how it computes" refuse.out ||
  fail "$(cat refuse.out)"
refuse 2 "--vendor-option v.tile: wanted integer, given 'many'" v --vendor-option v.tile=many -o x.o
refuse 2 "--vendor-option v.mode: wanted fast|exact, given 'odd'" v --vendor-option v.mode=odd -o x.o
refuse 2 "--vendor-option w.tile: unknown vendor 'w'" v --vendor-option w.tile=3 -o x.o
refuse 1 "--vendor-option ccompiler.cc: vendor 'ccompiler' is not in use" v --vendor-option ccompiler.cc=gcc -o x.o
refuse 2 "--vendor-option: wanted V.NAME=VALUE, given 'plus=3'" bycc-run plain.json --vendor-option plus=3
refuse 1 "error[ARG]: --vendor-option v.minus: vendor 'v' has no such option for running" \
  bycc-run plain.json --input x=x.npy --vendor-option v.minus=3
grep -qF "note: plus=0 (integer): what is added" refuse.out || fail "$(cat refuse.out)"
refuse 1 "error[LOAD]: vendor 'v' cannot be opened: plus is -1" bycc-run plain.json --input x=x.npy --vendor-option v.plus=-1
bycc-run plain.json --input x=x.npy --vendor-option other.minus=3 2> /dev/null # of a vendor that this model does not need

# Lists.
bycc --list-vendors --plugin=libbycc_vendor_v.so > list.txt
grep -qE "^v +3.1 \(libv 7.2\) +plugin" list.txt || fail "$(cat list.txt)"
grep -qF -- "--vendor-option v.mode=fast (fast|exact)  how it computes" list.txt || fail "$(cat list.txt)"
bycc --list-vendors --json --plugin=libbycc_vendor_v.so > list.json
python3 - <<'END'
import json
v = {v["name"]: v for v in json.load(open("list.json"))}["v"]
assert v["library"] == "libv 7.2" and v["options"][0] == {
    "name": "mode", "type": "fast|exact", "default": "fast", "help": "how it computes"}, v
END

# --cc is the option of ccompiler: a compiler that is not there sends the region home.
bycc net.relay --annotate=ccompiler --cost-model=none --cc=no-such-compiler -o home.o 2> said.txt
grep -q "cannot run the C compiler 'no-such-compiler'" said.txt || fail "$(cat said.txt)"
bycc net.relay -q --annotate=ccompiler --cost-model=none --strict --vendor-option ccompiler.opt-level=1 -o one.o
bycc net.relay -q --annotate=ccompiler --cost-model=none --strict -o three.o
refuse 2 "ccompiler.opt-level: wanted 0|1|2|3, given '7'" bycc net.relay --annotate=ccompiler --vendor-option ccompiler.opt-level=7
grep -q -- "--vendor-option=ccompiler.opt-level=1" one.json || fail "the flag is not written"
