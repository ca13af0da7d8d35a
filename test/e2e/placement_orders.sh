#!/usr/bin/env bash
# --pin, --annotate-ops, --annotate-skip-ops: single nodes and operators go where
# the user says; a name that does not exist or a vendor that refuses is an error.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'EOF'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  %0 = abs(%x);
  %1 = nn.relu(%0);
  %2 = tanh(%1);
  %3 = nn.dense(%2, %w, units=4);
  %4 = nn.relu(%3);
  exp(%4)
}
EOF
cat > rules.json <<'EOF'
{"vendors": [
  {"name": "va", "ops": {"abs": {}, "nn.relu": {}, "nn.dense": {}, "exp": {}},
   "patterns": [{"name": "va.dense_relu", "root": "nn.relu(nn.dense(*, *))"}]},
  {"name": "vb", "ops": {"nn.relu": {}, "tanh": {}}}]}
EOF
# place OPTIONS...: where each node is
place() {
  bycc net.relay --rules=rules.json -q -o m.o --dump-offloads=r.json "$@"
  python3 -c 'import json; print(*(n["placed"] for n in json.load(open("r.json"))["nodes"]))'
}
expect "$(place)" "va va vb va va va"
expect "$(place --pin %1=vb)" "va vb vb va va va"
expect "$(place --pin %1=host)" "va host vb va va va"
expect "$(place --pin '%*=host')" "host host host host host host"
expect "$(place --pin '%*=host' --pin %2=vb)" "host host vb host host host"
expect "$(place --pin %4=vb)" "va va vb va vb va"
expect "$(place --annotate-ops=nn.*)" "host va host va va host"
expect "$(place --annotate-skip-ops=nn.relu,tanh)" "va host host va host va"
expect "$(place --annotate-skip-ops=nn.relu --pin %1=va)" "va va vb va host va"
for level in 0 1 3; do
  expect "$(place -O$level --pin %0=host)" "host va vb va va va"
done
# The pinned model computes the same.
bycc net.relay -q -o host.o
bycc net.relay --rules=rules.json --pin %3=host -q -o pinned.o
bycc-run host.json --random=1 --print=8 > host.txt
bycc-run pinned.json --random=1 --print=8 | cmp - host.txt
grep -q '"--pin=%3=host"' pinned.json || fail "the pin is not among the flags"

refuse 1 "error[ARG]: --pin: no node is called '%44', did you mean '%4'?" \
  bycc net.relay --rules=rules.json --pin %44=va -o e.o
refuse 1 "error[ARG]: --pin: no node is called '%44'" bycc net.relay --pin %44=host -o e.o
refuse 2 "vendor 'vaa' is not in use, did you mean 'va'?" \
  bycc net.relay --rules=rules.json --pin %0=vaa -o e.o
refuse 1 "error[ARG]: --pin: %0 (abs) is pinned to vb, which refuses it: operator not supported" \
  bycc net.relay --rules=rules.json --pin %0=vb -o e.o
refuse 2 "--annotate-ops: no operator is called 'nn.covn2d', did you mean 'nn.conv2d'?" \
  bycc net.relay --rules=rules.json --annotate-ops=nn.covn2d -o e.o
refuse 2 "need pass 'place-nodes'" \
  bycc net.relay --rules=rules.json --passes=annotate-target,partition-graph --pin %0=va -o e.o
[ ! -e e.o ] || fail "a refused build wrote files"
