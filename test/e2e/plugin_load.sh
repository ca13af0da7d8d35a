#!/usr/bin/env bash
# What --plugin and BYCC_PLUGIN_PATH accept, and what they say to the rest.
. "$(dirname "$0")/lib.sh"
cat > probe.c <<'END'
#include <bycc/vendor.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  answer->reason(answer, "nothing is supported");
  return 0;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  return 1;
}
__attribute__((constructor)) static void begin(void) {
  const char *flaw = getenv("FLAW") ? getenv("FLAW") : "";
  if (!strcmp(flaw, "abort")) abort();
  if (!strcmp(flaw, "exit")) exit(0);
  if (!strcmp(flaw, "hang")) for (;;) sleep(1);
}
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler v = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof v,
                                   .name = "probe", .version = "1.0",
                                   .supports = supports, .compile = compile};
  const char *flaw = getenv("FLAW") ? getenv("FLAW") : "";
  if (!strcmp(flaw, "nothing")) return 0;
  if (!strcmp(flaw, "version")) v.abi_version = 1;
  if (!strcmp(flaw, "newer")) v.abi_version = 7;
  if (!strcmp(flaw, "release")) v.version = "1 beta";
  static bycc_vendor_option option = {sizeof option, BYCC_ATTR_INT, "tile", "four", 0, "size of a tile", 0};
  if (!strncmp(flaw, "option", 6)) v.num_options = 1, v.options = &option;
  if (!strcmp(flaw, "option-name")) option.name = "Tile";
  if (!strcmp(flaw, "option-kind")) option.kind = 9;
  if (!strcmp(flaw, "short")) v.size = 24;
  if (!strcmp(flaw, "nameless")) v.name = "";
  if (!strcmp(flaw, "dotted")) v.name = "a.b";
  if (!strcmp(flaw, "taken")) v.name = "dnnl";
  if (!strcmp(flaw, "supports")) v.supports = 0;
  if (!strcmp(flaw, "compile")) v.compile = 0;
  if (!strcmp(flaw, "patterns")) v.patterns = "{\"schema\": 1, \"vendor\": \"probe\", \"patterns\": 3}";
  if (!strcmp(flaw, "other")) v.patterns = "{\"schema\": 1, \"vendor\": \"else\", \"patterns\": []}";
  /* What an older header did not have: must not be read. */
  if (!strcmp(flaw, "older")) {
    v.size = offsetof(bycc_vendor_compiler, num_options);
    v.num_options = 7;
    v.passes = (const char *)8;
    v.annotate = (void *)8;
    v.tune = (void *)8;
  }
  return &v;
}
END
cc -shared -fPIC -I"$root/include" probe.c -o probe.so
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  abs(%x)
}
END
load() { bycc net.relay -q --plugin="$1" --annotate=probe -o net.o; }

load probe.so
load ./probe.so
FLAW=older load probe.so
bycc net.relay -q --plugin=probe.so --annotate=probe -MD -o net.o
grep -q 'probe\.so' net.d || fail "the plugin is no dependency: $(cat net.d)"

flaw() { FLAW=$1 refuse 1 "probe.so: error[LOAD]: $2" load probe.so; }
flaw nothing "bycc_vendor_compiler_entry returns nothing"
flaw version "the plugin speaks version 1 of the vendor interface, this bycc speaks 2: build it anew"
flaw newer "the plugin speaks version 7 of the vendor interface, this bycc speaks 2: it needs a newer bycc"
flaw release "vendor 'probe' has the version '1 beta', wanted letters, digits"
FLAW=option-name refuse 1 "vendor 'probe': its option 'Tile' has no name of lower-case letters" load probe.so
FLAW=option-kind refuse 1 "vendor 'probe': its option 'tile' has kind 9" load probe.so
FLAW=option refuse 1 "vendor 'probe': its option 'tile' has the default 'four', wanted integer" load probe.so
flaw short "the plugin's bycc_vendor_compiler has size 24"
flaw nameless "the plugin's vendor has no name"
flaw dotted "'a.b' cannot be a vendor's name"
flaw taken "a vendor 'dnnl' is there already (built in)"
flaw supports "vendor 'probe' has no function 'supports'"
flaw compile "vendor 'probe' has no function 'compile'"
FLAW=patterns refuse 1 "error[LOAD]: /patterns" load probe.so
FLAW=other refuse 1 "patterns of vendor 'else' in vendor 'probe'" load probe.so

# G8: code that runs before the table is read; a sanitizer's report of abort() is no matter here
rm -f net.*o net.json
if ! sanitized; then
  flaw abort "the plugin crashed while being loaded: signal 6 (Aborted)"
  flaw exit "the plugin ended the process while being loaded, with exit code 0"
  FLAW=hang refuse 1 "probe.so: error[LOAD]: the plugin was not loaded within 0.5 s" \
    timeout 20 bycc net.relay --plugin=probe.so --annotate=probe --vendor-timeout=0.5 -o net.o
  [ ! -e net.o ] && [ ! -e net.json ] || fail "files of a build whose plugin fails"
  FLAW=abort refuse 1 "probe.so: error[LOAD]: the plugin crashed" bycc --list-vendors --plugin=probe.so
fi

cp probe.so second.so
refuse 1 "a vendor 'probe' is there already (probe.so)" bycc net.relay --plugin=probe.so --plugin=second.so
bycc net.relay -q --plugin=probe.so --plugin=probe.so -o twice.o

refuse 2 "nowhere.so: error[USAGE]: cannot read the plugin" load nowhere.so # G1
echo "not a library" > text.so
refuse 1 "text.so: error[LOAD]: not an ELF file" load text.so
cp probe.so foreign.so
printf '\xb7' | dd of=foreign.so bs=1 seek=18 conv=notrunc status=none
refuse 1 "the plugin is built for aarch64, this bycc runs on x86_64" load foreign.so
cc -c -fPIC -I"$root/include" probe.c -o object.so
refuse 1 "not a shared object" load object.so
echo 'int nothing;' | cc -shared -fPIC -xc - -o empty.so
refuse 1 "no bycc_vendor_compiler_entry in it" load empty.so
echo 'void f(void); void bycc_vendor_compiler_entry(void) { f(); }' | cc -shared -fPIC -xc - -o loose.so
refuse 1 "cannot load the plugin: " load loose.so

# G1: cut, or no file at all
mkfifo pipe.so
refuse 1 "pipe.so: error[LOAD]: is not a regular file" timeout 20 bycc net.relay --plugin=pipe.so --annotate=probe -o net.o
refuse 2 "missing.so: error[USAGE]: cannot read the plugin: No such file" load missing.so
for bytes in 0 10 40 63 100 500 4096 8192; do
  head -c $bytes probe.so > cut.so
  refuse 1 "cut.so: error[LOAD]: " load cut.so
done
grep -q "the plugin is cut: a segment" refuse.out || fail "$(cat refuse.out)"

# Folders: plugins are found, run halves and the like are passed over.
mkdir plugins
cp probe.so empty.so plugins
export BYCC_PLUGIN_PATH=$work/plugins:$work/missing
bycc net.relay -q --annotate=probe -o path.o
bycc --list-vendors > list.txt
grep -qE "^probe +1.0 +plugin +0 patterns +$work/plugins/probe.so$" list.txt || fail "$(cat list.txt)"
grep -qE "^dnnl .* built in " list.txt || fail "$(cat list.txt)"
bycc --list-vendors --json > list.json
python3 - <<'END'
import json
vendors = {v["name"]: v for v in json.load(open("list.json"))}
assert vendors["probe"]["kind"] == "plugin" and vendors["probe"]["origin"].endswith("plugins/probe.so"), vendors
assert vendors["dnnl"]["kind"] == "built in" and vendors["dnnl"]["patterns"] > 5, vendors
END
cp text.so cut.so plugins
refuse 2 "left out $work/plugins/text.so: not an ELF file" bycc net.relay --annotate=prob
refuse 2 "left out $work/plugins/cut.so: the plugin is cut: " bycc net.relay --annotate=prob
refuse 2 "left out $work/missing: No such file" bycc net.relay --annotate=prob
FLAW=version refuse 1 "plugins/probe.so: error[LOAD]: the plugin speaks version 1" bycc net.relay --annotate=dnnl
unset BYCC_PLUGIN_PATH
echo '{"vendors": [{"name": "paper", "ops": {"abs": {}}}]}' > rules.json
bycc --list-vendors --rules=rules.json | grep -qE '^paper +- +emulated +0 patterns +rules.json$' || fail "no emulated vendor"
