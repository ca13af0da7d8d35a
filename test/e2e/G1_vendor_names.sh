#!/usr/bin/env bash
# G1: a vendor that is not known, or named twice, is a command-line error that lists the
# known ones; the model is not compiled for the host instead.
. "$(dirname "$0")/lib.sh"
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(2, 3), float32]) { nn.relu(%%x) }\n' > net.relay

for name in nosuch dnll; do
  refuse 2 "error[USAGE]: unknown vendor '$name'" bycc net.relay --annotate=$name -o net.o
  grep -q "there are .*ccompiler.*dnnl" refuse.out || fail "the known vendors are not listed"
done
refuse 2 "names vendor 'dnnl' twice" bycc net.relay --annotate=dnnl,dnnl -o net.o
for list in dnnl, ,dnnl , dnnl,,ccompiler; do
  refuse 2 "error[USAGE]: --annotate=$list: an empty name in the list" bycc net.relay --annotate=$list -o net.o
done
refuse 2 "unknown vendor 'nosuch'" bycc net.relay --annotate=dnnl,nosuch -o net.o
refuse 2 "vendor 'nosuch' is not in use" bycc net.relay --annotate=dnnl --pin '%0=nosuch' -o net.o
[ ! -e net.o ] || fail "something is written"
