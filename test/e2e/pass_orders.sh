#!/usr/bin/env bash
# Orders of passes that cannot be are refused before anything runs, and the pass
# that is missing or in the way is named.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { abs(negative(%x)) }
END2
echo '{"vendors": [{"name": "v", "ops": {"abs": {}}}]}' > v.json
order() { refuse 2 "$2" bycc net.relay --rules=v.json --passes="$1" -o x.o; }
needs() { order "$1" "pass '$2' needs $3, which '$4' makes"; grep -qF "note: put '$4' before it" refuse.out || fail "no note"; }
after() { order "$1" "pass '$2' cannot run after '$3', which makes $4"; }

needs partition-graph partition-graph annotations annotate-target
needs merge-compiler-regions merge-compiler-regions annotations annotate-target
needs choose-vendors,annotate-target choose-vendors annotations annotate-target
needs merge-composite,prune-regions prune-regions annotations annotate-target
needs annotate-target,partition-graph,merge-compiler-regions merge-compiler-regions annotations annotate-target
needs annotate-target,partition-graph,partition-graph partition-graph annotations annotate-target
after annotate-target,merge-composite merge-composite annotate-target annotations
after annotate-target,merge-compiler-regions,choose-vendors choose-vendors merge-compiler-regions regions
after annotate-target,partition-graph,annotate-target annotate-target partition-graph external-functions
after annotate-target,partition-graph,merge-composite merge-composite partition-graph external-functions
after merge-composite,place-nodes place-nodes merge-composite composites
for pass in fold-constants simplify-expr canonicalize-ops eliminate-common-subexpr simplify-inference legalize; do
  after "annotate-target,$pass,partition-graph" $pass annotate-target annotations
  after "fuse-ops,$pass" $pass fuse-ops kernels
  bycc net.relay --rules=v.json --passes="annotate-target,partition-graph,$pass,fuse-ops" -q -o m.o
done
after annotate-target,fuse-ops fuse-ops annotate-target annotations
after fuse-ops,annotate-target annotate-target fuse-ops kernels

# A list enables the vendors it names, when nothing else says which.
bycc net.relay --passes='annotate-target{vendors=ccompiler},merge-compiler-regions,partition-graph' --expect-regions=1 -q -o m.o
refuse 2 "did you mean 'ccompiler'" bycc net.relay --passes='annotate-target{vendors=ccompile},partition-graph' -o x.o

# Who is not asked says so.
bycc net.relay --rules=v.json --passes=fold-constants --explain -o m.o > explain.txt 2> /dev/null
grep -q "v refuses: it was not asked: annotate-target did not run" explain.txt || fail "no reason"

# Edits of a list are checked as well, and printed programs know what they are.
refuse 2 "pass 'choose-plan' needs annotations, which 'annotate-target' makes" \
  bycc net.relay --rules=v.json --disable-pass=annotate-target -o x.o
refuse 2 "pass 'fold-constants' cannot run after 'annotate-target', which makes annotations" \
  bycc net.relay --rules=v.json --run-after=annotate-target:fold-constants -o x.o
bycc-opt net.relay --rules=v.json --annotate-target -o annotated.relay
refuse 2 "pass 'merge-composite' cannot run after 'annotate-target', which makes annotations" \
  bycc-opt annotated.relay --rules=v.json --merge-composite
bycc-opt annotated.relay --rules=v.json --merge-compiler-regions --partition-graph | grep -q 'Compiler="v"'
bycc --list-passes --json | grep -A12 '"partition-graph"' | tr -d ' \n' |
  grep -qF '"needs":["annotations|hand-annotations","!external-functions"],"makes":["external-functions","!annotations"' ||
  fail "$(bycc --list-passes --json)"
[ ! -e x.o ] || fail "a refused build wrote files"
