#!/usr/bin/env bash
# Several files of one vendor, each for another version of its library: the newest that
# loads is taken, one that cannot be loaded is passed over, and any can be asked for.
. "$(dirname "$0")/lib.sh"
cat > v.c <<'END'
#include "bycc/vendor.h"
#include "stateless_vendor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region, bycc_answer *answer) {
  return strcmp(bycc_node_at(region, 0)->op, "abs") == 0;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region, bycc_answer *answer) {
  answer->blob(answer, "plan", 4);
  return 0;
}
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static const bycc_vendor_compiler vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
    .name = "v", .version = "1", .library = "libv " LIBRARY, .supports = supports, .compile = compile};
  return &vendor;
}
static int32_t load(const bycc_vendor_context *context, const bycc_region_load *load, void **region, char *error,
                    size_t size) {
  fprintf(stderr, "%s with libv " LIBRARY "\n", load->library);
  *region = malloc(1);
  return BYCC_OK;
}
static int32_t run(const bycc_vendor_context *context, void *region, void *state, const bycc_region_run *run,
                   char *error, size_t size) {
  for (int i = 0; i < 2; ++i)
    ((float *)run->outputs[0].data)[i] = fabsf(((const float *)run->inputs[0].data)[i]);
  return BYCC_OK;
}
const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  static const bycc_vendor_runtime vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
    .name = "v", .version = "1", .library = "libv " LIBRARY, .load = load, .unload = unload,
    .state_bytes = state_bytes, .init_state = init_state, .drop_state = drop_state, .run = run};
  return &vendor;
}
END
variant() { cc -w -shared -fPIC -DLIBRARY="\"$1\"" -I"$root/include" -I"$root/test/e2e" v.c "${@:3}" -o "$2" -lm; }
mkdir halves libraries
echo 'int behind = 1;' | cc -shared -fPIC -x c - -o libraries/libbehind.so
variant 1.9.4 halves/libbycc_vendor_v.so
variant 3.2.1 halves/libbycc_vendor_v-3.2.so
variant 3.13.0 halves/libbycc_vendor_v-3.13.so -Wl,--no-as-needed -Llibraries -lbehind
cp v.c halves/libbycc_vendor_v-next.so # no version: none of ours
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { abs(%x) }
END
npy write x.npy f4 2 -1 2
mkdir want
npy write want/output_0.npy f4 2 1 2
v() { bycc net.relay -q --annotate=v --cost-model=none "$@"; }
run() { bycc-run "$1.json" --input x=x.npy --expected want "${@:2}" 2> said.txt > run.txt || fail "$(cat said.txt run.txt)"; }
export BYCC_PLUGIN_PATH=$work/halves
v --plugin=halves/libbycc_vendor_v.so -o old.o

# 3.13 is newer than 3.2, and is passed over as long as its library is not found.
run old -v
grep -q "^libv 1.9.4 with libv 3.2.1" said.txt || fail "$(cat said.txt)"
grep -q "passed over: $work/halves/libbycc_vendor_v-3.13.so: cannot load the run half of vendor 'v': libbehind.so" said.txt ||
  fail "what is passed over is not said: $(cat said.txt)"
grep -q "vendor 'v' 1 (libv 3.2.1) loaded from $work/halves/libbycc_vendor_v-3.2.so" said.txt || fail "$(cat said.txt)"
grep -q "was compiled by vendor 'v' 1 (libv 1.9.4), it runs with 1 (libv 3.2.1)" said.txt || fail "$(cat said.txt)"
LD_LIBRARY_PATH=libraries run old
expect "$(head -1 said.txt)" "libv 1.9.4 with libv 3.13.0"

# Asked for: by as much of its version as one likes.
for wanted in 1=1.9.4 1.9=1.9.4 1.9.4=1.9.4 3.2=3.2.1 3.2.1=3.2.1 3=3.2.1; do
  run old --vendor-option v.library=${wanted%=*}
  expect "$(head -1 said.txt)" "libv 1.9.4 with libv ${wanted#*=}"
done
LD_LIBRARY_PATH=libraries run old --vendor-option v.library=3
expect "$(head -1 said.txt)" "libv 1.9.4 with libv 3.13.0"
refuse 1 "error[ARG]: no run half of vendor 'v' is of a library 2: " bycc-run old.json --input x=x.npy --vendor-option v.library=2
refuse 1 "error[ARG]: no run half of vendor 'v' is of a library 3.13: " bycc-run old.json --input x=x.npy --vendor-option v.library=3.13

# The compiler takes the same one and writes down which.
compiled() { # NAME LIBRARY OPTION...
  v -o "$1.o" "${@:3}"
  expect "$(python3 -c "import json; print(json.load(open('$1.json'))['bycc']['vendors'][0]['library'])")" "libv $2"
}
compiled new 3.2.1
compiled asked 1.9.4 --vendor-option v.library=1.9
LD_LIBRARY_PATH=libraries compiled newest 3.13.0
refuse 2 "halves/libbycc_vendor_v.so: its library is libv 1.9.4, wanted is 7" v --vendor-option v.library=7
refuse 2 "--vendor-option v.library: its library is libv 1.9.4, wanted is 3" \
  v --plugin=halves/libbycc_vendor_v.so --vendor-option v.library=3
run newest
expect "$(head -1 said.txt)" "libv 3.13.0 with libv 3.2.1"
LD_LIBRARY_PATH=libraries run new
expect "$(head -1 said.txt)" "libv 3.2.1 with libv 3.13.0"

rm halves/libbycc_vendor_v-3.2.so
refuse 1 "libbycc_vendor_v.so: its library is libv 1.9.4, wanted is 3.2" \
  bycc-run old.json --input x=x.npy --vendor-option v.library=3.2
rm halves/libbycc_vendor_v.so
refuse 1 "libbycc_vendor_v-3.13.so: error[LOAD]: cannot load the run half of vendor 'v'" bycc-run old.json --input x=x.npy
