#!/usr/bin/env bash
# H5 I6: a set that a build replaces while it is loaded loads, as the old one or the new one;
# parts that stay of different builds do not.
. "$(dirname "$0")/lib.sh"
sanitized && skip "sanitizers have open() themselves"
cc -shared -fPIC -O1 "$here/replacer.c" -o replacer.so
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {
  add(%x, %w)
}
END
for value in 0 1 2 3 4 5 6; do
  mkdir params$value set$value
  npy write params$value/w.npy f4 3 $value $value $value
  bycc net.relay --params=params$value -q -o set$value/net.o
  bycc-run set$value/net.json --random=1 --print > answer$value
done
# load ENVIRONMENT...: what lies in out
load() { env "$@" LD_PRELOAD="$work/replacer.so" bycc-run out/net.json --random=1 --print; }
# fresh: the set 0 in out, 1 to 6 to come
fresh() {
  rm -rf out next*
  cp -r set0 out
  for value in 1 2 3 4 5 6; do cp -r set$value next.$value; done
  cp -r set1 next
}

# H5: replaced between the JSON and the object, and between the object and the params
for part in net.o net.params; do
  fresh
  load REPLACE_AT=/$part REPLACE_FROM=next > got
  cmp got answer1 || fail "H5 $part: not the new set's answer"
done

# H5: three builds, one after the other
fresh
load REPLACE_AT=/net.o REPLACE_FROM=next REPLACE_TIMES=3 > got
cmp got answer3 || fail "H5: not the third set's answer"
# with no end: refused, in bounded time
fresh
refuse 1 "error[LOAD]: object and graph JSON are of different builds" load REPLACE_AT=/net.o REPLACE_FROM=next REPLACE_TIMES=6
[ -e next.6/net.o ] || fail "H5: tried too often"

# H5: a staged part gets its own name when it is about to be opened
for part in net.o net.params; do
  fresh
  id=$(python3 -c 'import json; print(json.load(open("out/net.json"))["bycc"]["set_id"])')
  mv out/$part out/.bycc-$id-$part
  load NOTHING=1 > got
  cmp got answer0 || fail "H5: a staged $part is not taken"
  load REPLACE_AT="$id-$part" REPLACE_TO=out/$part > got
  cmp got answer0 || fail "H5: a staged $part that gets its name is not found"
  [ -e out/$part ] || fail "H5: $part has not got its name"
done

# I6: parts of different builds that nobody replaces
fresh
cp set1/net.o out
refuse 1 "out/net.o: error[LOAD]: object and graph JSON are of different builds" load NOTHING=1
