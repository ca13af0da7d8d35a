#!/usr/bin/env bash
# H8: the same model and flags give the same bytes in any folder, time zone, locale, HOME,
# umask and place in memory, with any -j, and as often as one likes.
. "$(dirname "$0")/lib.sh"

for options in "-O2" "-O3 --annotate=dnnl"; do
  rm -rf one two && mkdir -p one two/deeper
  cp "$root/share/models/example.onnx" one/
  cp "$root/share/models/example.onnx" two/deeper/
  # shellcheck disable=SC2086
  {
    (cd one && bycc example.onnx $options -q -j 1 -o m.o)
    (cd two/deeper && umask 077 && TZ=Asia/Tokyo HOME=/ LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 \
      OMP_NUM_THREADS=2 setarch -R bycc example.onnx $options -q -j 2 -o m.o)
  }
  for file in m.o m.json m.h m.params; do
    cmp "one/$file" "two/deeper/$file" || fail "$file differs ($options)"
  done
done
