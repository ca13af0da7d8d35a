#!/usr/bin/env bash
# Programs and vendors ask for passes: where these land in the list, and what is
# said when they cannot.
. "$(dirname "$0")/lib.sh"
program() {
  cat <<END2
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], required_passes=[$1]) -> Tensor[(2, 3), float32] {
  %0 = nn.dropout(%x);
  add(%0.0, multiply(2f, 3f))
}
END2
}
passes() { bycc-opt "$@" --print-pipeline-passes; }

# At every level, as early as it may.
program '"simplify-inference", "fold-constants{max-bytes=64}"' > net.relay
passes net.relay -O0 | grep -q "^'fold-constants{max-bytes=64},simplify-inference" || fail "$(passes net.relay -O0)"
expect "$(passes net.relay -O1)" "$(program '' | passes - -O1)"
expect "$(bycc net.relay -O0 --emit=relay -o - -q | grep -c 'dropout\|multiply')" 0
bycc net.relay -O0 -q -o m.o && bycc-run m.json --random 2> /dev/null

# It stays with a printed program, and holds once the pass has run.
bycc-opt net.relay | grep -qF 'required_passes=["simplify-inference", "fold-constants{max-bytes=64}"]'
bycc-opt net.relay -O2 -o after.relay && bycc after.relay -q -o m.o

# Behind what it needs.
program '"prune-regions"' > late.relay
echo '{"vendors": [{"name": "v", "ops": {"add": {}}}]}' > v.json
expect "$(passes late.relay -O0 --rules=v.json --disable-pass=prune-regions 2>&1 | tail -1)" \
  "error[USAGE]: --disable-pass=prune-regions: the program asks for this pass"
refuse 2 "the program asks for pass 'prune-regions': pass 'prune-regions' needs annotations, which 'annotate-target' makes" \
  bycc late.relay -o x.o
program '"fold-constant"' > wrong.relay
refuse 2 "the program asks for a pass: no pass 'fold-constant'" bycc wrong.relay -o x.o

# A list of the user's is taken as it is.
bycc net.relay --passes=simplify-inference --emit=relay -o out.relay 2> err.txt
grep -qF "warning: the program asks for pass 'fold-constants', which --passes does not have" err.txt ||
  fail "$(cat err.txt)"

# Vendors: before composites are formed, but not at -O0.
program '' > plain.relay
vendor() { echo '{"vendors": [{"name": "v", "ops": {"add": {}}, "passes": ["'"$1"'"]}]}' > v.json; }
vendor 'canonicalize-ops","eliminate-common-subexpr'
passes plain.relay -O1 --rules=v.json |
  grep -qF "canonicalize-ops,eliminate-common-subexpr,merge-composite,annotate-target" ||
  fail "$(passes plain.relay -O1 --rules=v.json)"
passes plain.relay -O0 --rules=v.json | grep -qF "'merge-composite,annotate-target" || fail "passes at -O0"
vendor fuse-ops
refuse 2 "vendor 'v' asks for passes 'fuse-ops': pass 'merge-composite' cannot run after 'fuse-ops', which makes kernels" \
  bycc plain.relay --rules=v.json -o x.o
vendor fold-constant
refuse 2 "v.json:1:58: error[USAGE]: vendor 'v' asks for passes 'fold-constant': no pass 'fold-constant'" bycc plain.relay --rules=v.json -o x.o
