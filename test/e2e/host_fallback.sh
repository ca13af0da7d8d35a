#!/usr/bin/env bash
# --host-fallback: regions have host code, which runs where their library is missing or cannot
# load them, with a message and the same results.
. "$(dirname "$0")/lib.sh"
c++ -std=c++20 -O0 -shared -fPIC -I"$root/include" "$here/hostile.cpp" -o libbycc_vendor_hostile.so
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = abs(negative(%x));
  %1 = tanh(%0);
  (negative(%1), add(%1, abs(%x)))
}
END
npy write x.npy f4 2x3 1 -2 3 -4 5 -6
build() { bycc net.relay -q --plugin=libbycc_vendor_hostile.so --annotate=hostile "$@"; }
build -o plain.o --dump-offloads=plain.txt
build --host-fallback -o m.o --dump-offloads=m.txt
expect "$(sed 's/plain/m/g' plain.txt)" "$(cat m.txt)" # what goes where is the same
grep -q -- '"--host-fallback"' m.json || fail "net.json does not tell the flag"
bycc net.relay -q -o host.o
bycc-run host.json --input x=x.npy --outputs=wanted

run() { bycc-run m.json --input x=x.npy --expected=wanted "$@"; }
BYCC_PLUGIN_PATH=$work run 2> said
grep -q warning said && fail "$(cat said)"

# the library is missing, of another version, does not want to, throws
check() {
  run 2> said || fail "$(cat said)"
  grep -qF "warning: region m_hostile_0 runs as host code: $1" said || fail "$(cat said)"
}
check "the model needs vendor 'hostile', but libbycc_vendor_hostile.so is in none of: "
refuse 1 "error[LOAD]: the model needs vendor 'hostile'" bycc-run plain.json --input x=x.npy
export BYCC_PLUGIN_PATH=$work
HOSTILE_RUN=abi check "vendor 'hostile' speaks version 999 of the vendor interface"
HOSTILE_RUN=version check "region m_hostile_0 was compiled by vendor 'hostile' 1.0"
HOSTILE_RUN=null check "vendor 'hostile' gave no run half"
HOSTILE_RUN=load check "region m_hostile_0: vendor hostile cannot load it: hostile does not want to"
HOSTILE_RUN=throw-load check "region m_hostile_0: vendor hostile cannot load it: "
HOSTILE_RUN=load run -q 2> said
expect "$(cat said)" ""

# what fails while it runs is a failure
HOSTILE_RUN=run refuse 70 "region m_hostile_0: hostile has stopped" bycc-run m.json --input x=x.npy

# regions that would leave values in the vendor's memory
echo '{"vendors": [{"name": "hostile", "builtin": true, "edges": {"deny": [["negative", "abs"]]}}]}' > rules.json
rules() { bycc net.relay -q --plugin=libbycc_vendor_hostile.so --rules=rules.json --host-fallback -o m.o "$@"; }
rules --dump-offloads=without.json
HOSTILE_MEMORY=1 rules --dump-offloads=with.json
cmp without.json with.json || fail "values that come back to the host are counted as if they stayed"
HOSTILE_MEMORY=1 HOSTILE_RUN=load run 2> said || fail "$(cat said)"
[ "$(grep -c 'runs as host code' said)" -gt 1 ] || fail "$(cat said)"

# int8 convolutions are written in another way for the host; composites are opened
bycc --list-vendors | grep '^dnnl ' > /dev/null || exit 0
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 3, 1), uint8]) {
  %0 = nn.pad(%x, 128, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]]);
  %1 = qnn.conv2d(%0, Tensor[(3, 3, 1, 1), int8][1, 1, 1, 1, 1, 1, 1, 1, 1], 128, 0, 0.5f, 0.25f, padding=[0, 0, 0, 0],
    channels=1, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32");
  %2 = nn.bias_add(%1, Tensor[(1), int32][3], axis=3);
  qnn.requantize(%2, 0.125f, 0, 0.5f, 10, axis=3, out_dtype="uint8")
}
END
npy write x.npy u1 1x3x3x1 129 129 129 129 129 129 129 129 129
bycc net.relay -q --annotate=dnnl --cost-model=none --host-fallback -o m.o
bycc net.relay -q -o host.o
bycc-run host.json --input x=x.npy --outputs=wanted
run
mkdir -p apart/bin apart/lib
cp "$bin/bycc-run" apart/bin
cp "$bin"/../lib/libbycc_runtime.so* apart/lib 2> /dev/null || exit 0 # linked into the program
LD_LIBRARY_PATH=apart/lib apart/bin/bycc-run m.json --input x=x.npy --expected=wanted 2> said || fail "$(cat said)"
grep -q "warning: region m_dnnl_0 runs as host code: the model needs vendor 'dnnl'" said || fail "$(cat said)"
