#!/usr/bin/env bash
# Every program says so when what it prints cannot be written, and exits with 1; a closed
# stream is never taken by a file that is opened later.
. "$(dirname "$0")/lib.sh"
[ -e /dev/full ] || skip "no /dev/full"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  tanh(%x)
}
END
bycc net.relay -q -o net.o --save-partition-plan=plan.json
bycc inspect net.relay --json > inspect.json # it prints something at all

# lost COMMAND...: to a full disk and to nowhere
lost() {
  local got=0
  "$@" > /dev/full 2> err.txt || got=$?
  [ "$got" = 1 ] && grep -q 'error\[IO\]' err.txt || { cat err.txt >&2; fail "H9 full: exit $got: $*"; }
  got=0
  "$@" >&- 2> err.txt || got=$?
  [ "$got" = 1 ] && grep -q 'error\[IO\]' err.txt || { cat err.txt >&2; fail "H9 closed: exit $got: $*"; }
}
for options in --version --help --help-all --list-passes --list-ops --list-onnx-ops --list-vendors \
               "--list-passes --json" "--list-ops --json" "--list-vendors --json" --annotate=help --print-pipeline-passes \
               "check net.relay" "check net.relay --json" "check net.relay --annotate=dnnl" \
               "inspect net.relay" "inspect net.relay --json" "net.relay --emit=relay -o -" \
               "net.relay --annotate=dnnl --explain -o m.o" "net.relay --annotate=dnnl --dump-offloads -o m.o" \
               "plan-diff plan.json plan.json"; do
  lost bycc $options
done
for options in --version --help --list-passes net.relay; do
  lost bycc-opt $options
done
for options in --version --help "net.json --random --print" "net.json --random --bench --runs 2" \
               "net.json --random --bench --runs 2 --json -" "net.json --random --profile"; do
  lost bycc-run $options
done
for options in --version --help --list; do
  lost bycc-vendor-test $options
done

# Nothing to print: closed streams do no harm, and nothing is printed into the outputs.
bycc net.relay --module-name=net -o closed.o <&- >&- 2>&-
cmp net.o closed.o || fail "H9: the object differs when streams are closed"
bycc-run closed.json --random --outputs out <&- >&- 2>&-

# Another build's object beside the graph JSON is told by its set id.
sed 's/tanh/exp/' net.relay > other.relay
bycc other.relay -q -o other.o --module-name=net
cp other.o net.o
refuse 1 "object and graph JSON are of different builds: set id" bycc-run net.json --random
