#!/usr/bin/env bash
# Host code multiplies short integers two by two with the instructions that a CPU
# has. Sums must be those of plain int32 products, for every CPU, odd or even
# numbers of channels, few and many results.
. "$(dirname "$0")/lib.sh"
python3 - > net.relay <<'EOF'
import base64, random, struct
random.seed(3)
metadata, params, body, results = [], [], [], []

def constant(dtype, shape):
    count = 1
    for extent in shape:
        count *= extent
    code, low, high = {"int8": ("b", -128, 127), "uint8": ("B", 0, 255), "int16": ("h", -300, 300)}[dtype]
    data = base64.b64encode(struct.pack("<%d%s" % (count, code), *(random.randint(low, high) for _ in range(count))))
    metadata.append('{"dtype": "%s", "shape": %s, "name": "c%d", "data": "%s"}' % (dtype, list(shape), len(metadata), data.decode()))
    return "meta[relay.Constant][%d]" % (len(metadata) - 1)

def line(text):
    body.append("  %%%d = %s;" % (len(body), text))
    return "%%%d" % (len(body) - 1)

def same(op, x, w, attrs):
    short = line('%s(%s, %s, %s, out_dtype="int32")' % (op, x, w, attrs))
    wide = line('%s(%s, %s, %s, out_dtype="int32")' % (op, line('cast(%s, dtype="int32")' % x), line('cast(%s, dtype="int32")' % w), attrs))
    results.append(line("all(%s)" % line("equal(%s, %s)" % (short, wide))))

def param(dtype, shape):
    params.append("%%x%d: Tensor[(%s), %s]" % (len(params), ", ".join(map(str, shape)), dtype))
    return "%%x%d" % (len(params) - 1)

for dtype in ("uint8", "int16"):
    for c, o, size, k, stride, pad in ((3, 5, 9, 3, 1, 1), (4, 40, 7, 1, 1, 0), (6, 16, 11, 3, 2, 1), (7, 1, 6, 3, 1, 0), (5, 33, 8, 2, 1, 0)):
        same("nn.conv2d", param(dtype, (2, c, size, size)), constant(dtype, (o, c, k, k)),
             "channels=%d, kernel_size=[%d, %d], strides=[%d, %d], padding=[%d, %d]" % (o, k, k, stride, stride, pad, pad))
    same("nn.conv2d", param(dtype, (1, 5, 6, 8)), constant(dtype, (3, 3, 8, 20)),
         'channels=20, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO"')
    same("nn.conv2d", param(dtype, (1, 6, 5, 5)), constant(dtype, (4, 3, 3, 3)), "channels=4, kernel_size=[3, 3], groups=2")
    for m, n, k in ((1, 7, 5), (9, 64, 32), (17, 20, 33)):
        same("nn.dense", param(dtype, (m, k)), constant(dtype, (n, k)), "units=%d" % n)
print('#[version = "0.0.5"]\ndef @main(%s) {' % ", ".join(params))
print("\n".join(body))
print("  (%s)\n}" % ", ".join(results))
print('#[metadata]\n{"relay.Constant": [\n%s]}' % ",\n".join(metadata))
EOF
cpus=native
grep -q avx2 /proc/cpuinfo && cpus="x86-64 x86-64-v3 native"
for cpu in $cpus; do
  bycc net.relay -mcpu=$cpu --disable-pass=fold-constants -q -o net.o
  bycc-run net.json --random -q --outputs="out_$cpu"
  for file in "out_$cpu"/*.npy; do
    expect "$cpu $(basename "$file") $(npy show "$file")" "$cpu $(basename "$file") scalar 1"
  done
done

# A zero point that is known at run time only is taken out of a product: the same sums, with a vendor too.
cat > zero.relay <<'RELAY'
#[version = "0.0.5"]
def @main(%x: Tensor[(5, 7), uint8], %z: Tensor[(), uint8]) -> (Tensor[(5, 3), int32], Tensor[(5, 3), int32]) {
  %0 = cast(%z, dtype="int32");
  %1 = qnn.dense(%x, Tensor[(3, 7), int8][1, -2, 3, 127, -128, 6, 7, 0, 5, -9, 11, 2, 3, 4, -128, -128, 127, 127, 1, 1, 1], %0, 3, 1f, 1f, units=3);
  %2 = qnn.dense(%x, Tensor[(3, 7), int8][9, 8, 7, 6, 5, 4, 3, -9, -8, -7, -6, -5, -4, -3, 100, 0, 100, 0, 100, 0, 100], %0, Tensor[(3), int32][1, -2, 0], 1f, 1f, units=3);
  (%1, %2)
}
RELAY
bycc zero.relay -q -O0 -o plain.o
bycc-run plain.json --random=5 --outputs sums > /dev/null
for options in "" "--annotate=dnnl --cost-model=none"; do
  bycc zero.relay -q --emit=obj,relay $options -o zero.o
  bycc-run zero.json --random=5 --expected sums --rtol=0 --atol=0 > out.txt 2>&1 || fail "$options: $(cat out.txt)"
  grep -q 'qnn.dense(%.*, 0, 3,' zero.opt.relay || [ -z "$options" ] || fail "the zero point is still there"
done
