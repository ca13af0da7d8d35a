#!/usr/bin/env bash
# H5: builds of two models to one output at the same time leave the set of one of them, and
# nothing beside it; a model that is loaded meanwhile is one of them or refused.
. "$(dirname "$0")/lib.sh"
for value in 1 2; do
  mkdir params$value
  npy write params$value/w.npy f4 3 $value $value $value
done
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {
  add(%x, %w)
}
END
build() { bycc net.relay --params=params$1 -q -o out/net.o; }
answer() { bycc-run out/net.json --random=1 --print 2>&1; }
mkdir out
build 1 && one=$(answer)
build 2 && two=$(answer)
for ((i = 0; i < 12; ++i)); do
  build 1 & first=$!
  build 2 & second=$!
  during=$(answer) || [[ $during = *"error[LOAD]"* ]] || fail "H5 during: $during"
  [[ $during = "$one" || $during = "$two" || $during = *"error[LOAD]"* ]] || fail "H5 during: $during"
  wait $first && wait $second || fail "H5: a build fails"
  now=$(answer)
  [ "$now" = "$one" ] || [ "$now" = "$two" ] || fail "H5: $now"
  expect "$(ls -A out | tr '\n' ' ')" "net.h net.json net.o net.params "
done
