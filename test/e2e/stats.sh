#!/usr/bin/env bash
# --stats: a table by phase whose counts are those of what was written.
. "$(dirname "$0")/lib.sh"
. "$here/hostile.bash"
export HOSTILE_PATTERNS=1
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 5), float32], %y: Tensor[(4, 5), float32]) {
  %0 = ones(shape=[4, 5], dtype="float32");
  %1 = add(%0, %0);
  %2 = subtract(multiply(%x, %1), %y);
  %3 = nn.relu(%2);
  %4 = sort(%3);
  %5 = tanh(sigmoid(%4));
  %6 = sort(%5);
  tanh(sigmoid(%6))
}
END2
# count FILE PHASE WHAT: its count.
count() { sed -nE "s/^$2 +(.*[0-9])  $3\$/\1/p" "$1"; }
bycc net.relay --annotate=hostile --stats -o m.o 2> stats.txt
expect "$(head -1 stats.txt | tr -s ' ')" "phase count of"
expect "$(cut -c1-10 stats.txt | sed 's/ *$//' | grep -vE 'phase|hostile|remark' | uniq | paste -sd,)" "model,passes,partition,host code,output"
expect "$(count stats.txt model operators) $(count stats.txt model functions)" "11 1"
expect "$(count stats.txt passes 'operators, fold-constants')" "11 -> 9"
expect "$(count stats.txt passes 'bytes of constants made, fold-constants')" 160
expect "$(count stats.txt passes 'functions, partition-graph' | cut -c1-4)" "1 ->"
python3 - "$(count stats.txt partition 'regions of hostile')" "$(count stats.txt partition 'operators of hostile')" \
  "$(count stats.txt partition 'composites of hostile')" "$(count stats.txt output 'bytes of arena')" \
  "$(count stats.txt output 'bytes of object code')" "$(count stats.txt output weights)" <<'END2'
import json, os, sys
regions, operators, composites, arena, code, weights = map(int, sys.argv[1:])
graph = json.load(open("m.json"))["bycc"]
assert regions == len(graph["regions"]) > 0, (regions, graph["regions"])
assert composites == sum(len(region["composites"]) for region in graph["regions"]) == 1
assert operators == graph["offload"]["ops"], (operators, graph["offload"])
assert arena == graph["memory"]["arena_bytes"], (arena, graph["memory"])
assert code == os.path.getsize("m.o")
assert weights == 1
END2
# Equal groups share a kernel; sort is a function of the library of kernels.
bycc net.relay --stats -o host.o 2> host.txt
expect "$(count host.txt 'host code' 'calls of library kernels')" 2
[ "$(count host.txt 'host code' kernels)" -lt "$(count host.txt 'host code' 'calls of kernels')" ] || fail "$(cat host.txt)"
expect "$(grep -c '^partition' host.txt || true)" 0

# Passes alone; no part of a document; nothing without it.
bycc-opt net.relay --fold-constants --stats 2> opt.txt > /dev/null
expect "$(count opt.txt passes 'operators, fold-constants') $(grep -c 'host code' opt.txt || true)" "11 -> 9 0"
bycc net.relay --stats -fdiagnostics-format=json -o m.o 2> said.json
expect "$(tr -d ' \n' < said.json)" '{"diagnostics":[]}'
bycc net.relay -o m.o 2> said.txt
! grep -q '^phase' said.txt || fail "$(cat said.txt)"
