#!/usr/bin/env bash
# B2: long chains and wide graphs go through without deep recursion, on a small
# stack. (test/bench/make_graph.py makes the same with a million operators.)
. "$(dirname "$0")/lib.sh"
ulimit -s 1024

for shape in chain wide ladder; do
  python3 "$root/test/bench/make_graph.py" $shape 50000 > $shape.relay
  bycc-opt $shape.relay -o once.relay
  bycc-opt once.relay -o twice.relay
  cmp once.relay twice.relay || fail "$shape: printing is not stable"
  # A ladder doubles its values, so passes see much sharing.
  bycc-opt $shape.relay --simplify-expr --eliminate-common-subexpr --eliminate-dead-code --fuse-ops \
    --verify-each -o passes.relay
done

# A vision transformer of 40,000 small operators becomes an object, in at most 20 s of processor time.
python3 "$root/test/bench/make_graph.py" windows 40000 > windows.relay
(sanitized || ulimit -t 20; bycc windows.relay -o windows.o) || fail "windows: not compiled in 20 s of processor time"
