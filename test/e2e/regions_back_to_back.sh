#!/usr/bin/env bash
# Regions back to back pass buffers directly: no copy between regions of one or
# two vendors, through a reshape, from an input, or where a result is also read.
# The program asks for its vendors by itself.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %y: Tensor[(4, 4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  %1 = nn.relu(%0);
  %2 = annotation.compiler_end(%1, compiler="dnnl");
  %3 = reshape(%2, newshape=[4, 4]);
  %4 = annotation.compiler_begin(%3, compiler="ccompiler");
  %5 = annotation.compiler_begin(%y, compiler="ccompiler");
  %6 = add(%4, %5);
  %7 = annotation.compiler_end(%6, compiler="ccompiler");
  %8 = annotation.compiler_begin(%7, compiler="dnnl");
  %9 = tanh(%8);
  %10 = annotation.compiler_end(%9, compiler="dnnl");
  %11 = annotation.compiler_begin(%10, compiler="ccompiler");
  %12 = annotation.compiler_begin(%y, compiler="ccompiler");
  %13 = add(%11, %12);
  %14 = annotation.compiler_end(%13, compiler="ccompiler");
  (%2, %7, %14)
}
END2
bycc --list-vendors | grep -q ccompiler || skip "no ccompiler"
for level in -O0 -O2; do
  bycc net.relay $level -q --emit=obj,llvm --expect-regions=4 -o m.o
  expect "$(grep -c memcpy m.ll)" 0
  # One buffer per value: the reshape has that of its operand, nothing else shares.
  python3 - <<'END2'
import json
graph = json.load(open("m.json"))
names = [node["name"] for node in graph["nodes"]]
ids = graph["attrs"]["storage_id"][1]
assert len(names) == len(ids) == 7, names
alias = names.index("m_dnnl_0"), next(i for i, n in enumerate(graph["nodes"]) if n.get("attrs", {}).get("func_name") == "__nop")
assert ids[alias[0]] == ids[alias[1]], ids
assert len(set(ids)) == 6, ids
END2
  bycc-run m.json --random=1 --outputs out > /dev/null
  sed 's/annotation.compiler_[a-z]*(\(%[0-9a-z]*\), compiler="[a-z]*")/copy(\1)/' net.relay > host.relay
  bycc host.relay -q -o host.o
  bycc-run host.json --random=1 --expected out > /dev/null
done
