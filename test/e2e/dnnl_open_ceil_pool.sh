#!/usr/bin/env bash
# Pools with ceil_mode over extents that come at run time: dnnl takes those whose every window touches data.
. "$(dirname "$0")/lib.sh"
pool() { # OP SIZE STRIDE PADDING MORE
  cat > net.relay <<EOR
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, n, 8), float32]) {
  $1(%x, pool_size=[$2, 1], strides=[$3, 1], padding=[$4, 0], ceil_mode=True${5-})
}
EOR
  bycc net.relay -q -o host.o
  bycc net.relay --annotate=dnnl --cost-model=none --explain -o net.o > why.txt 2> line.txt
}
agree() { # EXTENTS
  for n in "$@"; do
    bycc-run host.json --random --shape "x=1x16x${n}x8" --outputs=want > /dev/null
    bycc-run net.json --random --shape "x=1x16x${n}x8" --expected=want > out.txt || fail "$n: $(cat out.txt)"
  done
}

pool nn.max_pool2d 3 2 0
grep -q '^dnnl: 1 region, 1 of 1 op' line.txt || fail "$(cat line.txt why.txt)"
agree 2 3 4 5 6 64 # the one window of 2 is longer than the data
pool nn.avg_pool2d 3 2 1
grep -q '^dnnl: 1 region, 1 of 1 op' line.txt || fail "$(cat line.txt why.txt)"
agree 1 2 3 4 5 64

refused() { # REASON
  grep -q '^dnnl: 0 regions' line.txt || fail "$(cat line.txt)"
  grep -qF "dnnl refuses: $1 at some extents that are known at run time only" why.txt || fail "$(cat why.txt)"
  agree 2 4 5 7 64
}
pool nn.max_pool2d 1 3 0
refused "nn.max_pool2d: ceil_mode makes a window that lies in the padding"
pool nn.avg_pool2d 3 2 0 ", count_include_pad=True"
refused "nn.avg_pool2d: ceil_mode counts what is beyond the padding"
