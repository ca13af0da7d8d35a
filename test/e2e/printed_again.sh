#!/usr/bin/env bash
# A partitioned program that is printed and compiled again gives the same bytes.
# Only the report beside differs: which file was read, and why each node is where
# it is, which the one who partitions knows.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  %3 = sin(%2);
  %4 = split(%3, indices_or_sections=2, axis=1);
  %5 = add(%4.0, %4.1);
  %6 = tanh(%5);
  %7 = cos(%6);
  (%2, (%6, multiply(%5, 2f)), abs(%7))
}
END2
cat > rules.json <<'END2'
{"pipeline": {"vendors": [
  {"name": "va", "ops": {"abs": {}, "add": {}, "split": {}, "multiply": {}},
   "patterns": [{"name": "va.conv", "root": "nn.relu(nn.bias_add(nn.conv2d(*, #), #))"}]},
  {"name": "vb", "ops": {"tanh": {}}}]}}
END2
mkdir params
npy write params/w.npy f4 4x3x3x3 $(seq 108 | awk '{ print $1 % 7 - 3 }')
npy write params/b.npy f4 4 1 -1 0.5 2

program() {
  python3 - "$1" <<'END2'
import json, sys
report = json.load(open(sys.argv[1]))
for key in "inputs_hash", "checksum", "placement", "operators":
    del report["bycc"][key]
# What could have been chosen instead is not in a program that is partitioned already.
report["bycc"]["offload"].pop("estimate", None)
# What legalize writes in other operators counts as it stands in the program that is read.
for key in "ops", "host_ops":
    del report["bycc"]["offload"][key]
for region in report["bycc"]["regions"]:
    region["nodes"] = list(dict.fromkeys(region["nodes"]))
print(json.dumps(report, indent=1))
END2
}

for options in "-O0 --annotate=dnnl" "-O2 --annotate=dnnl" "-O0 --rules=rules.json" "-O2 --rules=rules.json"; do
  rm -rf one two three && mkdir one two three
  bycc net.relay --params=params $options -q --emit=obj,relay -o one/m.o
  mv one/m.opt.relay printed.relay
  bycc printed.relay $options -q --emit=obj,relay -o two/m.o
  for file in m.o m.h m.params; do
    cmp "one/$file" "two/$file" || fail "$file differs ($options)"
  done
  program one/m.json > one/program.json
  program two/m.json > two/program.json
  diff one/program.json two/program.json || fail "m.json differs ($options)"
  cmp printed.relay two/m.opt.relay || fail "the text differs ($options)"
  # Once more: now the text is the same, and so is all of it.
  mv two/m.opt.relay printed.relay
  bycc printed.relay $options -q -o three/m.o
  for file in m.o m.h m.params m.json; do
    cmp "two/$file" "three/$file" || fail "$file differs the second time ($options)"
  done
done

# After partition-graph and before anything else, too; and a program brings its
# vendors along.
bycc net.relay --params=params -O0 --annotate=dnnl -q -o one/m.o
bycc-opt net.relay --params=params -O0 --annotate=dnnl --module-name=m -o parts.relay
bycc parts.relay -O0 -q -o two/m.o
grep -q '"vendor": "dnnl"' two/m.json || fail "the vendor of the program is lost"
bycc-run one/m.json --random=1 --outputs ref > /dev/null
bycc-run two/m.json --random=1 --expected ref > /dev/null
