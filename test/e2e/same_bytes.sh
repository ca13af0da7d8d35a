#!/usr/bin/env bash
# The same model and flags give the same bytes in any folder, with any -j.
. "$(dirname "$0")/lib.sh"

for options in "-O2" "-O3 --annotate=dnnl"; do
  rm -rf one two && mkdir -p one two/deeper
  cp "$root/share/models/example.onnx" one/
  cp "$root/share/models/example.onnx" two/deeper/
  (cd one && bycc example.onnx $options -q -j 1 -o m.o)
  (cd two/deeper && TZ=Asia/Tokyo HOME=/ bycc example.onnx $options -q -j 2 -o m.o)
  for file in m.o m.json m.h m.params; do
    cmp "one/$file" "two/deeper/$file" || fail "$file differs ($options)"
  done
done
