#!/usr/bin/env bash
# What a program says about vendors by hand is asked, not believed: a function with
# Compiler="v" is the program with --annotate=v, brackets around what the vendor does
# not take are errors. --hand-annotations=trust believes.
. "$(dirname "$0")/lib.sh"
type="Tensor[(2, 3), float32]"
image="Tensor[(1, 3, 8, 8), float32]"
cat > npu.json <<'END2'
{"vendors": [{"name": "npu", "ops": {"nn.conv2d": {}, "nn.relu": {}, "nn.dense": {"dtype": ["float16"]}},
  "patterns": [{"name": "npu.conv2d_bias_relu", "root": "nn.relu(nn.bias_add(nn.conv2d(*, #), #))"}]}],
 "mod_name": "m"}
END2
sed 's/]}],$/]}, {"name": "idle", "ops": {}}],/' npu.json > two.json
mkdir params
npy write params/w.npy f4 4x3x3x3 $(seq 108 | awk '{ print $1 % 7 - 3 }')
npy write params/b.npy f4 4 1 -1 0.5 2
parameters="%x: $image, %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32]"
body='  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  %3 = tan(%2);
  %4 = nn.conv2d(%3, Tensor[(1, 4, 1, 1), float32][1, 2, 3, 4], channels=1, kernel_size=[1, 1]);
  %5 = multiply(%4, 2f);
  (nn.relu(%5), %3)'
# program FILE MAIN [MORE]: MAIN is attributes of @main, MORE other functions.
program() { printf '#[version = "0.0.5"]\n%s\ndef @main(%s) {\n%s\n}\n' "$3" "$parameters$2" "${4:-$body}" > "$1"; }
program plain.relay "" ""
program main.relay ', Compiler="npu"' ""
program call.relay "" "def @f($parameters, Compiler=\"npu\") {
$body
}" "  @f(%x, %w, %b)"
program closure.relay "" "" "  let %f = fn ($parameters, Compiler=\"npu\") {
$body
};
  %f(%x, %w, %b)"

# placement FILE: where every operator is and why, without where it is written.
placement() {
  python3 - "$1" <<'END2'
import json, sys
report = json.load(open(sys.argv[1]))["bycc"]
for row in report["placement"]:
    row.pop("source")
print(json.dumps([report["placement"], report["regions"], report["offload"]], indent=1))
END2
}
for vendor in npu dnnl ccompiler; do
  bycc --list-vendors | grep -q "^$vendor" || [ $vendor = npu ] || continue
  for form in main call closure; do
    sed "s/\"npu\"/\"$vendor\"/" $form.relay > $form.$vendor.relay
  done
  for level in -O0 -O2 "-O2 --cost-model=none" -O3; do
    rm -rf one && mkdir one
    bycc plain.relay --params=params --rules=two.json --annotate=$vendor $level --module-name=m -q -o one/m.o
    placement one/m.json > one/placement.json
    for form in main call closure; do
      rm -rf two && mkdir two
      # Named by the program alone, and by --annotate as well.
      [ $form = main ] && annotate=idle || annotate=$vendor
      bycc $form.$vendor.relay --params=params --rules=two.json --annotate=$annotate $level --module-name=m -q -o two/m.o
      for file in m.o m.params; do
        cmp one/$file two/$file || fail "$file differs ($form, $vendor, $level)"
      done
      placement two/m.json > two/placement.json
      if [ $annotate = $vendor ]; then
        cmp one/placement.json two/placement.json || fail "the placement differs ($form, $vendor, $level)"
      fi
    done
  done
done

# The rules of npu take no tan; what is refused is on the host, with the reason.
bycc main.relay --params=params --rules=npu.json --annotate=dnnl -q -o m.o --dump-offloads=r.json
python3 - <<'END2'
import json
rows = {row["name"]: row for row in json.load(open("r.json"))["nodes"]}
assert rows["%3"]["placed"] == "host" and rows["%3"]["refused"]["npu"] == "operator not supported", rows["%3"]
assert rows["%3"]["refused"]["dnnl"] == "the program asks npu only, by a function with Compiler", rows["%3"]
assert rows["%0"]["composite"] == "npu.conv2d_bias_relu", rows["%0"]
END2
bycc plain.relay --params=params -q -o host.o
bycc-run host.json --random=1 --outputs ref > /dev/null
bycc-run m.json --random=1 --expected ref > /dev/null

# Printed between the passes and read again it is the same program.
bycc-opt main.relay --params=params --rules=npu.json --read-annotations -o read.relay
grep -q 'tan(%2, annotation.asked="npu")' read.relay || fail "$(cat read.relay)"
bycc-opt read.relay --rules=npu.json -O0 --module-name=m > one.relay
bycc-opt main.relay --params=params --rules=npu.json -O0 --module-name=m > two.relay
cmp one.relay two.relay
grep -q 'asked' two.relay && fail "marks are left"
bycc read.relay --rules=npu.json --passes=eliminate-dead-code -q --emit=json -o read.json
python3 "$here/schema.py" "$root/share/schema/program.schema.json" read.json
bycc read.json --rules=npu.json -O0 --module-name=m -q --emit=relay -o three.relay
bycc read.relay --rules=npu.json -O0 --module-name=m -q --emit=relay -o four.relay
cmp three.relay four.relay
grep -q 'Compiler="npu"' three.relay || fail "$(cat three.relay)"
sed 's/"asked": "npu"/"asked": 3/' read.json > wrong.json
refuse 1 "a vendor's name is a string" bycc wrong.json --rules=npu.json -o m.o

sed 's/annotation.asked="npu"/annotation.asked=3/' read.relay > wrong.relay
refuse 1 "attribute annotation.asked is not the name of a vendor" bycc-opt wrong.relay --rules=npu.json

# Called twice it is one function; outside of it a vendor of the program's has nothing.
cat > twice.relay <<END2
#[version = "0.0.5"]
def @f(%a: $type, %b: $type, Compiler="npu") -> $type { nn.relu(tan(nn.relu(add(%a, %b)))) }
def @main(%x: $type, %y: $type) -> $type { nn.relu(add(@f(%x, %y), @f(%y, %x))) }
END2
bycc twice.relay --rules=npu.json --annotate=dnnl --cost-model=none -q -o m.o --dump-offloads=r.json
python3 - <<'END2'
import json
report = json.load(open("r.json"))
placed = sorted((row["op"], row["placed"]) for row in report["nodes"])
assert placed == [("add", "dnnl"), ("add", "host"), ("nn.relu", "dnnl"), ("nn.relu", "npu"), ("nn.relu", "npu"), ("tan", "host")], placed
END2
sed 's/, Compiler="npu"//' twice.relay > host.relay
bycc host.relay -q -o host.o
bycc-run host.json --random=1 --outputs ref2 > /dev/null
bycc-run m.json --random=1 --expected ref2 > /dev/null

# Brackets: all that is not taken, with place and reason; composites count.
cat > brackets.relay <<END2
#[version = "0.0.5"]
def @main(%x: $image) {
  %0 = annotation.compiler_begin(%x, compiler="npu");
  %1 = nn.relu(%0);
  %2 = tan(%1);
  %3 = nn.conv2d(%2, Tensor[(1, 3, 1, 1), float32][1, 2, 3], channels=1, kernel_size=[1, 1]);
  %4 = nn.bias_add(%3, Tensor[(1), float32][1]);
  %5 = nn.relu(%4);
  %6 = abs(%5);
  annotation.compiler_end(%6, compiler="npu")
}
END2
for program in "bycc brackets.relay" "bycc check brackets.relay" "bycc-opt brackets.relay -O0" \
  "bycc-opt brackets.relay --merge-composite --merge-compiler-regions --partition-graph"; do
  refuse 1 "brackets.relay:5:8: error[INPUT]: npu does not take tan: operator not supported" $program --rules=npu.json
  grep -qF "brackets.relay:9:8: error[INPUT]: npu does not take abs: operator not supported" refuse.out || fail "$(cat refuse.out)"
  grep -qF "note: with --hand-annotations=trust vendors are not asked" refuse.out || fail "$(cat refuse.out)"
  grep -q "conv2d\|relu\|bias" refuse.out && fail "$(cat refuse.out)"
done
[ ! -e brackets.o ] || fail "a refused build wrote files"
sed 's/tan(/nn.relu(/; s/abs(/nn.relu(/' brackets.relay > taken.relay
bycc taken.relay --rules=npu.json -q --expect-regions=1 --min-offload=100%ops -o m.o
sed -i 's/4), float32]/4), float16]/' brackets.relay
cat > dense.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="npu");
  %1 = nn.dense(%0, Tensor[(1, 4), float32][1, 2, 3, 4], units=1);
  annotation.compiler_end(%1, compiler="npu")
}
END2
refuse 1 "dense.relay:4:8: error[INPUT]: npu does not take nn.dense: argument 0 is float32, it takes float16" \
  bycc dense.relay --rules=npu.json -o m.o
{
  echo '#[version = "0.0.5"]'
  echo "def @main(%x: $type) {"
  echo '  %0 = annotation.compiler_begin(%x, compiler="npu");'
  for i in $(seq 30); do echo "  %$i = tan(%$((i - 1)));"; done
  echo '  annotation.compiler_end(%30, compiler="npu")'
  echo '}'
} > many.relay
refuse 1 "many.relay:4:8: error[INPUT]: npu does not take tan" bycc many.relay --rules=npu.json -o m.o
expect "$(grep -c 'npu does not take tan' refuse.out)" 20

# Trusted, all of it is the vendor's.
trust="--rules=npu.json --hand-annotations=trust --expect-regions=1"
bycc many.relay $trust --min-offload=100%ops -q -o m.o
bycc main.relay --params=params $trust --min-offload=100%ops -O0 -q -o m.o
bycc-run m.json --random=1 --expected ref > /dev/null
grep -q -- '--hand-annotations=trust' m.json || fail "the flag is not recorded"
bycc check many.relay $trust > /dev/null
bycc-opt many.relay $trust -O0 | grep -q 'Compiler="npu"' || fail "bycc-opt does not trust"
refuse 2 "--hand-annotations: bad value 'maybe', it takes ask|trust" bycc main.relay --hand-annotations=maybe

# A list of passes without the one that asks.
bycc-opt main.relay --params=params --rules=npu.json --partition-graph 2> err.txt > out.relay
grep -q "warning: nobody is asked about functions with Compiler: pass 'annotate-target' is not in the list" err.txt || fail "$(cat err.txt)"
