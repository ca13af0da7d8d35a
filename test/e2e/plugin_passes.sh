#!/usr/bin/env bash
# Passes in plugins (bycc/pass.h), in C: at their place of the default list, by name in any
# other, and what becomes of one that fails, crashes or has a flaw.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {
  %0 = tanh(%x);
  add(%0, 1f)
}
END2
cat > tanhless.c <<'END2'
#include <bycc/pass.h>
#include <stdlib.h>
#include <string.h>

/* Every tanh becomes an abs, to be seen. */
static int32_t run(void *self, const char *program, size_t bytes, const bycc_pass_output *output) {
  const char *flaw = getenv("FLAW") ? getenv("FLAW") : "";
  if (!strcmp(flaw, "crash")) abort();
  if (!strcmp(flaw, "fail")) { output->message(output->self, "tanh is not for me"); return 3; }
  if (!strcmp(flaw, "garbage")) { output->program(output->self, "def", 3); return 0; }
  const char *at = strstr(program, "tanh(");
  if (!at) return 0; /* as it is */
  char *copy = malloc(bytes);
  size_t before = (size_t)(at - program);
  memcpy(copy, program, before);
  memcpy(copy + before, "abs", 3);
  memcpy(copy + before + 3, at + 4, bytes - before - 4);
  output->message(output->self, "one tanh less");
  output->program(output->self, copy, bytes - 1);
  free(copy);
  return 0;
}

const bycc_pass *bycc_pass_entry(uint32_t index) {
  static bycc_pass passes[] = {
      {BYCC_PASS_ABI_VERSION, sizeof(bycc_pass), "drop-tanh", "write tanh as abs", "fold-constants", 0, 1, BYCC_PASS_RELAY, 0, run},
      {BYCC_PASS_ABI_VERSION, sizeof(bycc_pass), "drop-tanh-later", "the same, where it is asked for", 0, 0, 0, BYCC_PASS_RELAY, 0, run}};
  const char *flaw = getenv("FLAW") ? getenv("FLAW") : "";
  if (!strcmp(flaw, "version")) passes[0].abi_version = 9;
  if (!strcmp(flaw, "short")) passes[0].size = 8;
  if (!strcmp(flaw, "name")) passes[0].name = "Drop Tanh";
  if (!strcmp(flaw, "taken")) passes[0].name = "fold-constants";
  if (!strcmp(flaw, "place")) passes[0].before = "fold-constant";
  if (!strcmp(flaw, "places")) passes[0].after = "fold-constants";
  if (!strcmp(flaw, "run")) passes[0].run = 0;
  if (!strcmp(flaw, "form")) passes[0].form = 77;
  return index < 2 ? &passes[index] : 0;
}
END2
cc -shared -fPIC -Wall -Wextra -Wno-unused-parameter -I "$root/include" tanhless.c -o tanhless.so

bycc net.relay --plugin=tanhless.so -v -o net.o 2> log.txt
grep -qF "remark: pass 'drop-tanh': one tanh less" log.txt || fail "$(cat log.txt)"
grep -qF '"--run-before=fold-constants:drop-tanh"' net.json || fail "no flag: $(grep -o '"flags":[^]]*' net.json)"
expect "$(bycc net.relay --plugin=tanhless.so -q --emit=relay -o - | grep -c 'abs(')" 1
bycc-run net.json --random 2> /dev/null
bycc net.relay --plugin=tanhless.so --print-pipeline-passes | grep -qF 'drop-tanh,fold-constants' || fail "no place"
expect "$(bycc net.relay --plugin=tanhless.so -O0 --print-pipeline-passes | grep -c tanh)" 0
bycc --list-passes --plugin=tanhless.so | grep -qF 'drop-tanh-later              -    the same' || fail "not listed"
expect "$(bycc-opt net.relay --plugin=tanhless.so --passes=drop-tanh-later | grep -c abs)" 1
bycc net.relay --plugin=tanhless.so --disable-pass=drop-tanh -q --emit=relay -o - | grep -q tanh

for flaw in "crash|tanhless.so: error[INPUT]: pass 'drop-tanh': it crashed: signal 6" \
            "fail|note: tanh is not for me" \
            "garbage|<what pass 'drop-tanh' sends back>:1:" \
            "version|a pass speaks version 9 of the pass interface, this bycc speaks 1" \
            "short|a bycc_pass has size 8, at least" \
            "name|'Drop Tanh' cannot be a pass's name" \
            "taken|there is a pass 'fold-constants' already" \
            "place|pass 'drop-tanh' stands beside 'fold-constant', which is no pass" \
            "places|one place is needed" \
            "run|pass 'drop-tanh' has no function 'run'" \
            "form|asks for form 77"; do
  FLAW=${flaw%%|*} refuse 1 "${flaw#*|}" bycc net.relay --plugin=tanhless.so -o x.o
done
[ ! -e x.o ] || fail "a build that failed wrote something"

# The one of the docs.
sed -n '/^    #include <bycc\/pass.h>/,/^    cc /p' "$root/share/doc/passes.md" | sed '$d;s/^    //' > note_dropout.c
cc -shared -fPIC -Wall -Werror -I "$root/include" note_dropout.c -o note_dropout.so
cat > drop.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] { %0 = nn.dropout(%x); tanh(%0.0) }
END2
bycc drop.relay --plugin=note_dropout.so -v -o drop.o 2> log.txt
grep -qF "remark: pass 'note-dropout': there is a dropout" log.txt || fail "$(cat log.txt)"
