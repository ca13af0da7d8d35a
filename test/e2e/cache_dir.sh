#!/usr/bin/env bash
# --cache-dir: regions that vendors have compiled are there for other builds.
. "$(dirname "$0")/lib.sh"
model=$root/share/models/example.onnx
mkdir plain first second fast third fourth fifth
build() { bycc "$model" --annotate=dnnl --cost-model=none -v "$@" 2> log.txt; }
from_cache() { grep -c 'from the cache' log.txt || true; }

build -q -o plain/net.o
build --cache-dir=kept -o first/net.o
expect "$(from_cache)" 0
expect "$(ls -A kept | wc -l)" 1
build --cache-dir=kept -o second/net.o
expect "$(from_cache)" 1
# The same files, whoever made them; names of the model stand in them.
mkdir a b
bycc "$model" -q --annotate=dnnl --cost-model=none -o a/net.o
bycc "$model" -q --annotate=dnnl --cost-model=none --cache-dir=other -o b/net.o
rm -r b; mkdir b
bycc "$model" -q --annotate=dnnl --cost-model=none --cache-dir=other -o b/net.o
diff -r a b || fail "a build from the cache has other bytes"
bycc-run second/net.json --random --outputs out
bycc-run plain/net.json --random --expected out 2> compare.txt || fail "$(cat compare.txt)"

# What a region depends on counts: other weights, another way with NaN.
build --cache-dir=kept --nan=fast -o fast/net.o
expect "$(from_cache)" 0
bycc "$model" -q --emit=relay -o other.relay
sed -i '0,/channels=8/s//channels=8/; 0,/\[-0.09913663/s//[-0.19913663/' other.relay
bycc other.relay -v --annotate=dnnl --cost-model=none --cache-dir=kept --module-name=net -o other.o 2> log.txt
expect "$(from_cache)" 0

# A damaged file is made again; a folder that cannot be written is no reason to fail.
for file in kept/*; do printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc status=none; done
build --cache-dir=kept -o third/net.o
expect "$(from_cache)" 0
build --cache-dir=kept -o fourth/net.o
expect "$(from_cache)" 1
: > file
build --cache-dir=file/below -o fifth/net.o
grep -q 'warning: region net_dnnl_0 is not kept' log.txt || fail "$(cat log.txt)"

# Builds at once share a folder; none leaves a part of a file.
for i in 1 2 3 4 5 6; do bycc "$model" -q --annotate=dnnl --cost-model=none --cache-dir=shared -o "at_once$i.o" & done
wait
expect "$(ls -A shared | grep -cv '\.region$')" 0
for i in 1 2 3 4 5 6; do bycc-run "at_once$i.json" --random --expected out 2> compare.txt || fail "$(cat compare.txt)"; done

# Weights of some size are there once: a second name instead of a second file, which nobody may write.
mkdir w v one two three
python3 - <<'END'
import struct
for folder, scale in ("w", 64), ("v", 32):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (600, 600), }".ljust(117) + "\n"
    with open(folder + "/w.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack("<360000f", *((i * 37 % 101 - 50) / scale for i in range(360000))))
END
cat > large.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 600), float32], %w: Tensor[(600, 600), float32]) { nn.dense(%x, %w, units=600) }
END
large() { bycc large.relay --params=$1 --annotate=dnnl --cost-model=none --cache-dir=big -q -o $2/net.o; }
inode() { stat -c %i "$1"; }
large w one
cp one/net.params whole
expect "$(stat -c %a big/*.params)" 444
kept=$(echo big/*.params)
large w two
cmp whole two/net.params
expect "$(inode two/net.params)" "$(inode "$kept")"
large w two # which is that file already
expect "$(inode two/net.params)" "$(inode "$kept")"
expect "$(ls -A two | tr '\n' ' ')" "net.h net.json net.o net.params "
bycc-run one/net.json --random --outputs out.one -q
bycc-run two/net.json --random --expected out.one -q
# Another build in its place does not write into it.
large v two
cmp whole "$kept" && cmp whole one/net.params
bycc-run two/net.json --random --outputs out.two -q
expect "$(ls big/*.params | wc -l)" 2
# What was changed all the same is found, and made again.
chmod u+w one/net.params
printf x | dd of=one/net.params bs=1 seek=5000 conv=notrunc status=none
chmod u-w one/net.params
cmp -s whole "$kept" && fail "one/net.params is no second name"
large w three
cmp whole three/net.params
cmp whole "$kept"
# So is one that may be written to, and one that cannot be there by another name.
chmod u+w "$kept"
large w three
expect "$(stat -c %a "$kept")" 444
cmp whole three/net.params
if [ -w /dev/shm ]; then
  elsewhere=$(mktemp -d /dev/shm/bycc.XXXXXX)
  bycc large.relay --params=w --annotate=dnnl --cost-model=none --cache-dir=big -q -o "$elsewhere/net.o" || fail "$elsewhere"
  cmp whole "$elsewhere/net.params"
  rm -r "$elsewhere"
fi
expect "$(find big -name '*.params.*' | wc -l)" 0
