#!/usr/bin/env bash
# A C program that was compiled with the header of another build is told so at load.
. "$(dirname "$0")/lib.sh"
lib=$(dirname "$bin")/lib
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { tanh(%x) }
END
cat > main.c <<'END'
#include "net.h"
#include <bycc/runtime.h>
#include <stdio.h>
int main(void) {
  bycc_load_options options = {sizeof options, 1, 0, 0, NET_SET_ID};
  bycc_model *linked = 0, *loaded = 0;
  if (bycc_model_load_linked(&net_bycc_module, &options, &linked) ||
      bycc_model_load("net.json", &options, &loaded))
    return puts(bycc_last_error()), 1;
  options.set_id = 0; /* any */
  options.size = (unsigned)((char *)&options.set_id - (char *)&options); /* of an older header */
  return bycc_model_load("net.json", &options, &loaded) ? puts(bycc_last_error()), 1 : 0;
}
END
program() { cc -I. -I"$root/include" main.c net.o -o main -L"$lib" -lbycc_runtime -Wl,-rpath,"$lib" -lm; }
bycc net.relay -q -o net.o
program && ./main || fail "H3: its own header is refused"
cp net.h old.h
sed -i 's/(2, 3)/(3, 2)/g' net.relay
bycc net.relay -q -o net.o
cp old.h net.h
program
refuse 1 "error[LOAD]: the program was compiled with the header of another build: set id " ./main
