#!/usr/bin/env bash
# G2 to G6, G9: regions that are awkward give what the host alone gives. `npu` is
# emulated and takes what a rules file says; dnnl and ccompiler are themselves.
. "$(dirname "$0")/lib.sh"

rules() { # OPERATOR...
  local ops
  ops=$(printf '"%s": {}, ' "$@")
  echo "{\"vendors\": [{\"name\": \"npu\", \"ops\": {${ops%, }}}]}" > npu.json
}
program() { # BODY [PARAMETERS]
  printf '#[version = "0.0.5"]\ndef @main(%s) { %s }\n' "${2:-%x: Tensor[(4, 4), float32]}" "$1" > net.relay
}
offloaded() { # OPTION...: as the host alone computes it, with as many regions as $regions
  bycc net.relay -q -o net.o --cost-model=none "$@" --expect-regions="$regions"
  bycc net.relay -q -o host.o
  rm -rf want
  bycc-run host.json --random=7 --outputs want > /dev/null
  bycc-run net.json --random=7 --expected want > /dev/null || fail "$case: not what the host gives"
}

case="G2 two vendors claim one operator"
program 'nn.relu(%x)'
for order in dnnl,ccompiler ccompiler,dnnl; do
  for run in 1 2; do
    bycc net.relay -q --annotate=$order --cost-model=none --dump-offloads=$run.json -o net.o
    mv net.o $run.o
    grep -q "\"placed\": \"${order%%,*}\"" $run.json || fail "$case: it does not go to the first of $order"
  done
  cmp 1.o 2.o && cmp 1.json 2.json || fail "$case: other bytes"
done

case="G3 a merge would close a cycle"
rules nn.relu add
body='%0 = nn.relu(%x);'
for i in $(seq 1 2 399); do
  body+=" %$i = sin(%$((i - 1))); %$((i + 1)) = add(%$((i - 1)), %$i);"
done
program '%0 = nn.relu(%x); %1 = sin(%0); add(%0, %1)'
regions=2 offloaded --rules=npu.json
program "$body %400"
regions=201 offloaded --rules=npu.json

case="G4 results of a region that are many, repeated, nested, used inside"
rules nn.relu tanh exp add
program '%0 = nn.relu(%x); %1 = tanh(%0); %2 = exp(%1); %3 = add(%0, %2); (%0, %3, %0, (%1, (%3, %2)), %1)'
regions=1 offloaded --rules=npu.json

case="G5 a pattern fits, an attribute does not"
program 'nn.relu(nn.conv2d(%x, %w, out_layout="NHWC", channels=2, kernel_size=[1, 1]))' \
  '%x: Tensor[(1, 3, 4, 4), float32], %w: Tensor[(2, 3, 1, 1), float32]'
regions=1 offloaded --annotate=dnnl
bycc net.relay -q --annotate=dnnl --explain -o net.o > explained
grep -q 'out_layout' explained || { cat explained >&2; fail "$case: the reason is not reported"; }

case="G6 a weight in two regions, views of inputs and outputs, values needed again"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 2), float32]) {
  %0 = nn.dense(%x, meta[relay.Constant][0], units=2);
  %1 = nn.relu(%0);
  %2 = sin(%1);
  %3 = nn.dense(%2, meta[relay.Constant][0], units=2);
  (reshape(%x, newshape=[4]), %0, %1, reshape(%3, newshape=[4]), reshape(nn.relu(reshape(%x, newshape=[4])), newshape=[2, 2]))
}
#[metadata]
{"relay.Constant": [{"dtype": "float32", "shape": [2, 2], "data": "AACAPwAAAEAAAEBAAACAQA=="}]}
END
bycc net.relay -q --annotate=dnnl --cost-model=none --dump-offloads=6.json -o net.o
regions=$(grep -c '"symbol": "net_dnnl_' 6.json)
[ "$regions" -ge 2 ] || fail "$case: $regions regions"
offloaded --annotate=dnnl

case="G9 nothing, all, very many regions or a very large one"
program 'sin(%x)'
regions=0 offloaded --annotate=dnnl
rules sin
regions=1 offloaded --rules=npu.json
chain() { # COUNT OPERATOR OTHER
  body="%0 = $2(%x);"
  for i in $(seq 1 $(($1 - 1))); do
    body+=" %$i = $([ $((i % 2)) = 1 ] && echo "$3" || echo "$2")(%$((i - 1)));"
  done
  program "$body %$(($1 - 1))"
}
rules nn.relu tanh
chain 2000 nn.relu sin
regions=1000 offloaded --rules=npu.json
chain 10000 nn.relu tanh
regions=1 offloaded --rules=npu.json
for model in a b; do
  bycc net.relay -q --rules=npu.json --cost-model=none --module-name=$model -o $model.o
done
ld -r a.o b.o -o both.o || fail "$case: two models have a symbol in common"
