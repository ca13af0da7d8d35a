#!/usr/bin/env bash
# What open extents count as: FLOPs, costs and what is said with them; --likely; what
# --min-offload judges. The numbers of a run never depend on it.
. "$(dirname "$0")/lib.sh"

cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(batch, seq, 64), float32], %w: Tensor[(32, 64), float32]) {
  %0 = nn.dense(%x, %w, units=32);
  %1 = nn.batch_matmul(%0, %0, transpose_b=True);
  negative(%1)
}
END
echo '{"vendors": [{"name": "va", "ops": {"nn.dense": {}}}]}' > va.json
member() { python3 -c 'import json, sys; print(eval("json.load(open(sys.argv[1]))" + sys.argv[2]))' "$@"; }
has() { grep -qF -- "$2" "$1" || fail "no '$2' in: $(cat "$1")"; }
hasNo() { ! grep -qF -- "$2" "$1" || fail "'$2' in: $(cat "$1")"; }

# 2 * 64 * 64 * 32 for either product and 64 * 64 for the rest. Counted with 1 for
# seq, the product that stays on the host would be 1.5 % of all.
bycc inspect net.relay > inspect.txt
has inspect.txt "compute 528.4 kFLOP with batch=1, seq=64 (likely)"
expect "$(bycc inspect net.relay --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["flops"], r["likely"])')" \
  "528384.0 {'batch': 1, 'seq': 64}"
bycc net.relay --rules=va.json --explain -o net.o > explain.txt 2> line.txt
has line.txt "1 of 3 ops, 49.6 % of FLOPs"
has line.txt "| host: 2 ops | with batch=1, seq=64 (likely) | net.o "
has explain.txt "FLOPs and costs are with batch=1, seq=64 (likely)"
expect "$(member net.json '["bycc"]["likely"]')" "{'batch': 1, 'seq': 64}"
expect "$(member net.json '["bycc"]["offload"]["flops"]')" 528384.0
bycc net.relay --rules=va.json -q --dump-offloads=d.json -o net.o
expect "$(member d.json '["likely"]')" "{'batch': 1, 'seq': 64}"
refuse 3 "--min-offload=80%: 49.6124 % of FLOPs are offloaded" bycc net.relay --rules=va.json --min-offload=80% -o no.o
[ ! -e no.o ] && [ ! -e no.json ] || fail "files of a build that failed"

# The user knows better; options add up, and it is one of those that are recorded.
bycc net.relay --rules=va.json --likely batch=8 --likely=seq=3,batch=2 --min-offload=80% -o small.o 2> line.txt
has line.txt "| with batch=2, seq=3 (likely) |"
has line.txt "95.5 % of FLOPs"
expect "$(member small.json '["bycc"]["flags"][-2:]')" "['--likely=batch=2', '--likely=seq=3']"
expect "$(member net.json '["bycc"]["flags"].count("--likely")')" 0
bycc inspect net.relay --likely seq=3 > inspect.txt
has inspect.txt "with batch=1, seq=3 (likely)"
for shape in 1x1x64 2x3x64 3x70x64; do
  bycc-run net.json --random=1 --shape x=$shape --outputs a
  bycc-run small.json --random=1 --shape x=$shape --expected=a --rtol=1e-5 > run.txt
done

# Nothing is said where all is known.
bycc net.relay --rules=va.json --dim batch=1 --dim seq=3 -o known.o 2> line.txt
hasNo line.txt likely
hasNo known.json likely
bycc inspect net.relay --dim batch=1 --dim seq=3 > inspect.txt
hasNo inspect.txt likely
bycc net.relay --rules=va.json --dim batch=1 -o known.o 2> line.txt
has line.txt "| with seq=64 (likely) |"

# A dim that is first in every input is a batch, whatever its name is.
printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(s0, s1), float32], %%y: Tensor[(s0, 3), float32]) { (abs(%%x), abs(%%y)) }\n' > first.relay
bycc inspect first.relay > inspect.txt
has inspect.txt "compute 67 FLOP with s0=1, s1=64 (likely)"

# Every command that reads a model takes it, and refuses what it has not.
bycc check net.relay --rules=va.json --likely seq=3 > check.txt
has check.txt "with batch=1, seq=3 (likely)"
bycc extract net.relay --rules=va.json --likely seq=3 --region=va_0 -q -o region.relay
bycc-opt net.relay --likely seq=3 > /dev/null
for command in "bycc" "bycc inspect" "bycc check" "bycc-opt"; do
  refuse 1 "error[ARG]: --likely: the model has no open dimension 'sec', did you mean 'seq'?" $command net.relay --likely sec=3
  has refuse.out "open are batch, seq"
done
refuse 1 "has no open dimension 'seq'" bycc inspect net.relay --dim seq=3 --likely seq=3
has refuse.out "open are batch"
refuse 1 "none of its dimensions has a name and is open" bycc inspect net.relay --dim seq=3 --dim batch=1 --likely seq=3
for bad in seq=0 seq=-1 seq seq= =3 seq=3,batch seq=1.5 seq=1099511627777; do
  refuse 2 "--likely: bad value '$bad', it takes NAME=N[,NAME=N], N from 1 to 1099511627776" bycc net.relay --likely="$bad"
done

# Costs: what small regions are worth depends on how small they are.
cat > costs.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(n, 600), float32], %v: Tensor[(600, 600), float32], %w: Tensor[(600, 600), float32]) {
  %0 = nn.dense(%x, %v, units=600);
  %1 = sin(%0);
  %2 = abs(%1);
  %3 = sin(%2);
  nn.dense(%3, %w, units=600)
}
END
echo '{"vendors": [{"name": "va", "ops": {"abs": {}, "nn.dense": {}}, "cost": {"launch_us": 20, "gflops": 400, "gb_per_s": 100}}]}' > costs.json
bycc costs.relay --rules=costs.json --likely n=1 -q --dump-offloads=few.dump.json -o few.o
bycc costs.relay --rules=costs.json --likely n=10000000 -q --dump-offloads=many.dump.json -o many.o
few=$(member few.dump.json '["totals"]["offloaded_ops"]') many=$(member many.dump.json '["totals"]["offloaded_ops"]')
[ "$few" -lt "$many" ] || fail "$few operators of a small batch are offloaded, $many of a large one"

# A dim without a name: its FLOPs are a guess, and no policy is judged by a guess of
# more than one operator in ten.
cat > guess.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 64), float32], %w: Tensor[(32, 64), float32]) {
  %0 = nn.dense(%x, %w, units=32);
  negative(%0)
}
END
bycc guess.relay --rules=va.json -o guess.o 2> line.txt
has line.txt "| with unknown extents as 64 (likely) |"
expect "$(member guess.json '["bycc"]["likely"]')" "{'?': 64}"
bycc inspect guess.relay > inspect.txt
has inspect.txt "compute 264.2 kFLOP with unknown extents as 64 (likely)"
refuse 3 "--min-offload=1%: FLOPs cannot be judged: nothing is known about extents of 2 of 2 ops" \
  bycc guess.relay --rules=va.json --min-offload=1% -o no.o
has refuse.out "--min-offload=1%ops counts operators"
[ ! -e no.o ] || fail "an object of a build that failed"
bycc guess.relay --rules=va.json --min-offload=50%ops -q -o guess.o
bycc guess.relay --rules=va.json --shape x=8x64 --min-offload=90% -q -o guess.o
chain() { # N: N operators of known extents, one of an unknown one
  printf '#[version = "0.0.5"]\ndef @main(%%x: Tensor[(?), float32], %%y: Tensor[(4), float32]) {\n  %%0 = sin(%%y);\n'
  for ((i = 1; i < $1; ++i)); do printf '  %%%d = sin(%%%d);\n' $i $((i - 1)); done
  printf '  (cos(%%x), %%%d)\n}\n' $(($1 - 1))
}
echo '{"vendors": [{"name": "va", "ops": {"sin": {}}}]}' > sin.json
chain 9 > nine.relay
bycc nine.relay --rules=sin.json --min-offload=10% -q -o nine.o
chain 8 > eight.relay
refuse 3 "nothing is known about extents of 1 of 9 ops" bycc eight.relay --rules=sin.json --min-offload=10% -o no.o
