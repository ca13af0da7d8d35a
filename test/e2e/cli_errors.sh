#!/usr/bin/env bash
# Exit codes and messages of bad command lines and refused work; nothing is written.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = sigmoid(%x);
  sin(%0)
}
END
cp net.relay keep.relay
before=$(echo *)

refuse 2 "did you mean '--emit'" bycc net.relay --emti=relay
refuse 2 "did you mean 'relay'" bycc net.relay --emit=rely
refuse 1 "error[UNSUP]" bycc net.relay --emit=c
refuse 2 "MODEL" bycc
refuse 1 "nosuch.relay: error[IO]" bycc nosuch.relay
refuse 2 "is an input" bycc net.relay -o net.relay
refuse 2 "did you mean 'dnnl'" bycc net.relay --annotate=dnll
refuse 2 "did you mean 'fold-constants'" bycc net.relay --passes=fold-constant
refuse 2 "no pass 'x'" bycc net.relay --disable-pass=x
refuse 2 "no pass 'infer-typ'" bycc net.relay --print-after=infer-typ
refuse 2 "unknown vendor 'host'" bycc net.relay --annotate=host
refuse 2 "did you mean 'dnnl'" bycc net.relay --annotate=DNNL
refuse 2 "annotate needs a value" bycc net.relay --annotate=
refuse 2 "did you mean '--explain'" bycc net.relay --expl
refuse 2 "did you mean bycc check" bycc chek net.relay
refuse 2 "bycc: -O: bad value '4', it takes 0|1|2|3" bycc net.relay -O4
refuse 2 "it takes none|static" bycc net.relay --cost-model=statik
refuse 2 "it takes a number from 0" bycc net.relay --min-region-ops=few
refuse 2 "unknown CPU" bycc net.relay -mcpu=nosuch
refuse 2 "unknown feature" bycc net.relay -mattr=+nosuch
refuse 1 "error[ARG]" bycc net.relay --shape y=2x3
refuse 1 "error[IO]" bycc net.relay --params=nosuch
refuse 3 "--expect-regions=3" bycc net.relay --expect-regions=3
refuse 3 "--min-offload=90%" bycc net.relay --min-offload=90%
refuse 2 "did you mean '--fold-constants'" bycc-opt net.relay --fold-constant
refuse 2 "the output is the input" bycc-opt net.relay -o net.relay
expect "$(echo *)" "$before refuse.out"
cmp net.relay keep.relay || fail "the input changed"

bycc net.relay -q -o net.o
refuse 1 "this is not the graph JSON of a compiled model" bycc-run net.relay
refuse 2 "more than one model: '300'; --bench takes no value" bycc-run net.json --bench 300
refuse 2 "more than one model: '5'; a value of --print stands after '='" bycc-run net.json --print 5
refuse 2 "unknown option '--plugin=x.so', BYCC_PLUGIN_PATH names the folders of vendors" bycc-run net.json --plugin=x.so
refuse 2 "more than one model: 'b.json'" bycc-run a.json b.json --bench
refuse 1 "graph JSON of a compiled model" bycc net.json -o other.o

printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(2), float32]) {\n  nn.softmax(%%x, axiss=1)\n}\n' > bad.relay
refuse 1 "bad.relay:3:3: error[INPUT]: nn.softmax: unknown attribute axiss" bycc bad.relay
refuse 1 "did you mean axis" bycc check bad.relay
