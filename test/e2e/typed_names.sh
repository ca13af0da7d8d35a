#!/usr/bin/env bash
# What people type and hand in: names of ONNX and of libraries, files of other kinds, options
# that cannot mean what they say.
. "$(dirname "$0")/lib.sh"
model=$root/share/models/example.onnx
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(batch, 8, 16, 16), float32]) -> Tensor[(batch, 8, 8, 8), float32] {
  %0 = nn.relu(%x);
  nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2])
}
END

# Names of ONNX and of libraries.
bycc net.relay --annotate=onednn --annotate-skip-ops=MaxPool --cost-model=none --dump-offloads=d.json -q -o net.o
grep -q '"vendor": "dnnl"' net.json || fail "onednn is not dnnl"
python3 -c '
import json
d = json.load(open("d.json"))
assert d["host_ops"] == ["nn.max_pool2d"], d["host_ops"]'
bycc net.relay --annotate=mkldnn --pin '*=onednn' -q -o net.o
echo '{"vendors": [{"name": "v", "ops": {"Conv": {}}}]}' > conv.json
refuse 1 "unknown operator 'Conv'; ONNX's Conv is nn.conv1d, nn.conv2d, nn.conv3d here" \
  bycc net.relay --rules=conv.json -o x.o
refuse 2 "no operator is called 'MaxPol'" bycc net.relay --annotate-skip-ops=MaxPol -o x.o

# An ONNX model is one, whatever it is called.
bycc inspect - < "$model" > in.txt && diff in.txt <(bycc inspect "$model") > /dev/null || grep -q inputs in.txt
cp "$model" model.bin && bycc model.bin -q -o x.o && rm x.o

# A program that is printed keeps the names of its outputs.
bycc "$model" -O0 --emit=relay -q -o again.relay
bycc again.relay -q -o again.o && bycc "$model" -q -o first.o
names() { python3 -c 'import json, sys; print([t["name"] for t in json.load(open(sys.argv[1]))["bycc"]["outputs"]])' "$1"; }
expect "$(names again.json)" "$(names first.json)"

# Files of other kinds.
printf 'PK\003\004\024\0\0\0' > net.pt
refuse 1 "note: weights or a model of PyTorch: export it, torch.onnx.export" bycc net.pt -o x.o
printf '\211HDF\r\n\032\n' > net.h5
refuse 1 "note: a Keras model: python -m tf2onnx.convert --keras" bycc net.h5 -o x.o
echo 'func.func @main() { return }' > net.mlir
refuse 1 "note: MLIR is not read" bycc net.mlir -o x.o
echo 'import torch' > net.py
refuse 1 "note: a Python program is not read" bycc net.py -o x.o
printf '\010\0\0\0\0\0\0\0{"a":{}}' > net.safetensors
refuse 1 "note: these are weights alone: --params=FILE" bycc net.safetensors -o x.o

# Options that cannot mean what they say.
refuse 2 "-o needs a value, found '-q'" bycc net.relay -o -q
refuse 2 "-o net.json: the object file would be called like a graph JSON" bycc net.relay -o net.json
refuse 2 "-o net.so: the object file would be called like a shared library" bycc net.relay -o net.so
refuse 2 "--strict: no vendor is asked for" bycc net.relay --strict -o x.o
refuse 2 "'200%' is not such as 90% or 90%ops, of 0 to 100" bycc net.relay --annotate=dnnl --min-offload=200% -o x.o
refuse 1 "the model has no dimension 'batsch', did you mean 'batch'?" bycc net.relay --dim batsch=1 -o x.o
refuse 1 "the model has no dimension 'sequence'; its open dimensions: batch" bycc net.relay --dim sequence=1 -o x.o

refuse 2 "no operator is called 'soft*', did you mean '*soft*'? [BY0504]" bycc net.relay --annotate=dnnl '--annotate-skip-ops=soft*' -o x.o

# What the contract names and is not there yet says so.
for option in --minimize=memory --costs=f --save-rules=f --debug-info --cost-model=measured; do
  refuse 1 "error[UNSUP]: ${option%%=*}" bycc net.relay "$option" -o x.o
done
bycc net.relay --minimize=time -q -o net.o
for command in measure costs explore tune probe; do
  refuse 1 "error[UNSUP]: bycc $command is not supported yet: " bycc $command net.relay
done

# Messages for programs, and colour.
bycc net.relay --annotate=dnnl -fdiagnostics-format=json -o net.o 2> d.json
expect "$(cat d.json | tr -d ' \n')" '{"diagnostics":[]}'
sed 's/nn.relu(%x)/nn.rule(%x)/' net.relay > bad.relay
refuse 1 "" bycc bad.relay -fdiagnostics-format=json -o x.o
python3 - <<'END'
import json
d = json.load(open("refuse.out"))["diagnostics"][0]
assert (d["severity"], d["status"], d["file"], d["line"], d["column"]) == ("error", "UNSUP", "bad.relay", 3, 8), d
assert "nn.relu" in d["notes"][0]["message"], d
END
refuse 1 "" bycc bad.relay -fdiagnostics-format=sarif -o x.o
python3 - <<'END'
import json
r = json.load(open("refuse.out"))["runs"][0]["results"][0]
assert r["level"] == "error" and r["locations"][0]["physicalLocation"]["region"]["startLine"] == 3, r
END
refuse 1 $'\e[1;31merror' bycc bad.relay --color -o x.o
refuse 1 "error[UNSUP]" bycc bad.relay --color=never -o x.o
refuse 1 "error[UNSUP]" bycc bad.relay --color never -o x.o

# nn.pad in other spellings.
pad() {
  cat > pad.relay <<END
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2), float32]) -> Tensor[(1, 4), float32] { nn.pad($1, pad_width=[[0, 0], [1, 1]]${2-}) }
END
  bycc pad.relay -q -o pad.o && bycc-run pad.json --random --print=1
}
for spelling in '%x, 0f' '%x, 0' '%x'; do expect "$(pad "$spelling")" "output_0 float32 (1, 4): 0.0 ..."; done
expect "$(pad '%x' ', pad_value=2.0')" "output_0 float32 (1, 4): 2.0 ..."

# Whoever reads what is printed may have enough.
bycc net.relay --dim batch=1 -q -o net.o
(bycc-run net.json --random --print=2000 2> err.txt || true) | head -c 10 > /dev/null
[ ! -s err.txt ] || fail "$(cat err.txt)"
