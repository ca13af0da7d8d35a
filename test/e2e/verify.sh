#!/usr/bin/env bash
# bycc verify: builds that agree, and who is at fault in those that do not.
. "$(dirname "$0")/lib.sh"
has() { grep -qF -- "$2" "$1" || fail "no '$2' in: $(cat "$1" err.txt)"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "'$2' in: $(cat "$1")"; }
# verify CODE OPTION..
verify() {
  local code=$1 got=0
  shift
  bycc verify --threads=1 "$@" > found.txt 2> err.txt || got=$?
  [ "$got" = "$code" ] || fail "exit $got instead of $code: $* $(cat found.txt err.txt)"
}
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = abs(negative(%x));
  %1 = exp(%0);
  %2 = subtract(%1, Tensor[(2, 3), float32][1f, 2f, 3f, 4f, 5f, 6f]);
  %3 = nn.relu(%2);
  %4 = negative(%3);
  %5 = exp(%4);
  (abs(negative(%5)), multiply(%4, 3f))
}
END2
c++ -std=c++20 -O0 -shared -fPIC -I"$root/include" "$here/hostile.cpp" -o libbycc_vendor_hostile.so
mine="--plugin=libbycc_vendor_hostile.so --annotate=hostile --cost-model=none"

# What agrees, with each reference, and inputs of both kinds.
npy write expected.npy f4 2x3 1 2 3 4 5 6
verify 0 net.relay
has found.txt "net.relay agrees with the same program at -O0, without vendors"
has err.txt "output 'output_0': max |d| "
verify 0 net.relay --annotate=dnnl,ccompiler --cost-model=none --random=7
verify 0 net.relay $mine --against=host
has found.txt "agrees with the same build without vendors"
mkdir in want
npy write in/x.npy f4 2x3 1 -2 3 -4 5 -6
bycc net.relay -q -o net.o
bycc-run net.json --inputs in --outputs want --threads 1 -q
verify 0 net.relay $mine --inputs=in --against=want
has found.txt "net.relay agrees with want"
touch before.txt; ls > before.txt
mkdir temporary
TMPDIR=$work/temporary verify 0 net.relay $mine
rmdir temporary || fail "verify left files behind"
ls > after.txt
diff <(grep -v after after.txt) before.txt || fail "verify left files here"

# A vendor whose relu gives 1 too much: the second of three regions, and the node in it.
export HOSTILE_RUN=wrong
for against in -O0 host; do
  verify 4 net.relay $mine --against=$against --random=3
  has found.txt "net.relay differs from the same"
  has found.txt "region net_hostile_1 of vendor hostile (2 of 3) makes the difference: with the regions up to it outputs differ, max |d| "
  has found.txt "with those before it they agree"
  has found.txt "node %3 (nn.relu) makes the difference in it"
  has err.txt "error[DIFFERS]: output 'output_0' differs at ["
  lacks found.txt "pass "
done
# As a composite: its nodes come and go together.
HOSTILE_PATTERNS=1 verify 4 net.relay $mine --random=3
has found.txt "composite %2 (subtract), %3 (nn.relu) makes the difference in it"
verify 4 net.relay $mine --inputs=in --against=want
has found.txt "region net_hostile_1 of vendor hostile"
# A tolerance that lets it pass.
verify 0 net.relay $mine --random=3 --atol=100 -q
[ ! -s found.txt ] && [ ! -s err.txt ] || fail "not quiet: $(cat found.txt err.txt)"
unset HOSTILE_RUN

# A pass that changes a constant, in front of vendors and without them.
cat > pass.py <<'END2'
#!/usr/bin/env python3
import sys
sys.stdout.write(sys.stdin.read().replace("3f", "4f"))
END2
chmod +x pass.py
for options in "$mine --run-before=fuse-ops" "--run-after=fold-constants"; do
  verify 4 net.relay $options:'pipe{./pass.py}' --random=3
  has found.txt "pass pipe{program=./pass.py} ("
  has found.txt "makes the difference: with the passes up to it outputs differ, max |d| "
  has found.txt "--opt-bisect-limit="
  lacks found.txt "region net_hostile"
done
limit=$(grep -o 'opt-bisect-limit=[0-9]*' found.txt | grep -o '[0-9]*')
for by in 0 1; do
  bycc net.relay "--run-after=fold-constants:pipe{./pass.py}" --opt-bisect-limit=$((limit - by)) -q -o net.o 2> /dev/null
  got=0
  bycc-run net.json --inputs in --threads 1 --expected want -q 2> /dev/null || got=$?
  expect $got $((by ? 0 : 4))
done

# Operators that have no host code of their own: what makes some is never left out.
cat > integers.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = qnn.quantize(%x, 0.5f, 3, out_dtype="int8");
  %1 = qnn.dequantize(%0, 0.5f, 3);
  multiply(%1, 3f)
}
END2
verify 0 integers.relay
verify 4 integers.relay '--run-after=fold-constants:pipe{./pass.py}'
has found.txt "pass pipe{program=./pass.py} ("

# What was expected is of another program: neither a pass nor a vendor.
npy write want/output_1.npy f4 2x3 1 2 3 4 5 6
verify 4 net.relay --inputs=in --against=want
has found.txt "no pass makes the difference"

refuse 2 "--against: 'nowhere' is no folder" bycc verify net.relay --against=nowhere
refuse 2 "verify writes no files and reports no placement: -o does not go with it" bycc verify net.relay -o net.o
refuse 2 "--expect-regions does not go with it" bycc verify net.relay --expect-regions=1
refuse 1 "error[ARG]: no data for input 'x'" bycc verify net.relay --inputs=want
bycc --help | grep -qF "bycc verify net.onnx --annotate=dnnl" || fail "no example in --help"
