#!/usr/bin/env bash
# An annotator that puts nodes into groups: what is in one region, and what is not.
. "$(dirname "$0")/lib.sh"
cat > g.c <<'END'
/* Takes all but exp. With GROUPED=abs1,sqrt2 abs is in group 1 and sqrt in group 2. */
#include <bycc/vendor.h>
#include <stdlib.h>
static int32_t supports(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  answer->offer(answer, "unit", 0.001);
  return 1;
}
static int32_t annotate(void *self, const bycc_target *target, const bycc_region *block,
                        bycc_answer *answer) {
  for (uint32_t i = 0; i < block->num_nodes; ++i) {
    const bycc_node *node = bycc_node_at(block, i);
    const char *groups = getenv("GROUPED"), *place = groups ? strstr(groups, node->op) : NULL;
    if (strcmp(node->op, "exp") == 0)
      answer->refuse(answer, i, "no exp");
    else
      answer->take(answer, i, place ? atoi(place + strlen(node->op)) : 0);
  }
  return 0;
}
static int32_t compile(void *self, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  for (uint32_t i = 0; i < region->num_nodes; ++i)
    if (getenv("FAILS") && strcmp(bycc_node_at(region, i)->op, getenv("FAILS")) == 0) {
      answer->blame(answer, i);
      return 1;
    }
  answer->blob(answer, "g", 1);
  return 0;
}
const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {
  static bycc_vendor_compiler vendor = {.abi_version = BYCC_VENDOR_ABI_VERSION, .size = sizeof vendor,
                                        .name = "g", .version = "1", .supports = supports,
                                        .compile = compile, .annotate = annotate};
  return &vendor;
}
END
cc -w -shared -fPIC -I"$root/include" g.c -o g.so

# regions NAME OPTIONS...: the operators of each region of NAME.relay, as g groups them
regions() {
  bycc "$1.relay" -q --plugin=g.so --annotate=g "${@:2}" -o "$1.o" --dump-offloads="$1.report.json"
  python3 -c 'import json, sys
print(" ".join(sorted("+".join(f["ops"]) for f in json.load(open(sys.argv[1]))["functions"])))' "$1.report.json"
}
net() { # NAME BODY
  printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(4096), float32], %%y: Tensor[(4096), float32]) {\n%s\n}\n' "$2" > "$1.relay"
}
# What is one region without groups are three with them.
net chain '  %0 = abs(%x);
  %1 = negative(%0);
  %2 = nn.relu(%1);
  %3 = sqrt(%2);
  %4 = tanh(%3);
  sigmoid(%4)'
for how in "-O0" "-O2 --cost-model=none" "-O2 --cost-model=static"; do
  expect "$(regions chain $how)" "abs+negative+nn.relu+sigmoid+sqrt+tanh"
  expect "$(GROUPED=abs1,negative1,nn.relu2,sqrt2 regions chain $how)" "abs+negative nn.relu+sqrt sigmoid+tanh"
done
# Siblings that share an input.
net siblings '  %0 = abs(%x);
  %1 = negative(%x);
  %2 = nn.relu(%x);
  %3 = sqrt(%x);
  (%0, %1, %2, %3)'
expect "$(regions siblings -O0)" "abs+negative+nn.relu+sqrt"
expect "$(GROUPED=abs1,negative2,nn.relu1,sqrt2 regions siblings -O0)" "abs+nn.relu negative+sqrt"
# A group that the program leaves in between is two regions.
net leaves '  %0 = abs(%x);
  %1 = exp(%0);
  %2 = nn.relu(%1);
  add(%2, %y)'
expect "$(GROUPED=abs1,nn.relu1 regions leaves -O0)" "abs add nn.relu"
# A group of its own for each node; and what an annotator says is said again after a region has failed.
expect "$(GROUPED=abs1,negative2,nn.relu3,sqrt4,tanh5 regions chain -O0)" "abs negative nn.relu sigmoid sqrt tanh"
expect "$(FAILS=negative GROUPED=abs1,negative1,nn.relu2,sqrt2 regions chain -O0)" "abs nn.relu+sqrt sigmoid+tanh"
