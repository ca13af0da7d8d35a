#!/usr/bin/env bash
# The floor program of test/bench: every kind of layer, forms kept in a file, refusals.
. "$(dirname "$0")/lib.sh"
command -v bench-floor > /dev/null || skip "no bench-floor"
cat > net.txt <<'EOL'
conv name=c src=x:f32:1x8x6x6 weights=w:f32:16x8x3x3 groups=1 strides=1x1 pads=1x1x1x1 dilations=1x1 bias=f32 dst=r:f32:1x16x6x6 post=relu
conv name=d src=r:f32:1x16x6x6 weights=v:f32:16x1x3x3 groups=16 strides=1x1 pads=1x1x1x1 dilations=1x1 dst=s:f32:1x16x6x6 post=sum=r:f32:1x16x6x6,clip:0:6
concat name=t src0=r:f32:1x16x6x6 src1=s:f32:1x16x6x6 count=2 axis=1 dst=t:f32:1x32x6x6
pool name=p src=t:f32:1x32x6x6 algorithm=avg kernel=6x6 strides=1x1 pads=0x0x0x0 dst=p:f32:1x32x1x1
matmul name=m src=p:f32:1x32 weights=u:f32:32x8 constant=1 bias=f32 dst=m:f32:1x8 post=gelu
matmul name=a src=m@0:f32:1x2x2x2 weights=m@0:f32:1x2x2x2 scale=0.5 dst=a:f32:1x2x2x2 post=add=k:f32:1x1x1x2
softmax name=o src=a:f32:1x2x2x2 axis=3 dst=o:f32:1x2x2x2
layer_norm name=l src=o:f32:1x8 dst=l:f32:1x8
binary name=b algorithm=mul src=l:f32:1x8 other=m:f32:1x8 dst=b:f32:1x8
eltwise name=e src=b:f32:1x8 dst=e:f32:1x8 post=tanh
reorder name=q src=e:f32:1x8 dst=e:s8:1x8
matmul name=i src=e:s8:1x8 weights=j:s8:8x4 constant=1 bias=f32 dst=i:s8:1x4
EOL
bench-floor net.txt --forms net.forms --runs 3 --products --layers > line.json 2> layers.txt
grep -qE '"runs": 3, "min_ms": [0-9.]+, .*"products_min_ms": [0-9.]+' line.json || fail "$(cat line.json)"
expect "$(grep -c ' ms  ' layers.txt)" 12
expect "$(cut -d' ' -f1 net.forms | tr -d '\n')" cdtpmaolbeqi
# A kept choice is taken as it stands: here the second layer in another form.
sed -i 's/^d [^ ]*/d last/' net.forms
bench-floor net.txt --forms net.forms --runs 1 --layers > /dev/null 2> layers.txt
grep -qE ' conv +last +.* d \|' layers.txt || fail "$(cat layers.txt)"
bench-floor --control --runs 2 | grep -q '"control"' || fail "no control"
refuse 1 "net.forms is not of these layers" bench-floor <(head -3 net.txt) --forms net.forms
sed 's/^softmax /sofmax /' net.txt > bad.txt
refuse 1 "no layer 'sofmax'" bench-floor bad.txt
sed 's/ axis=3//' net.txt > bad.txt
refuse 1 "softmax o: no axis" bench-floor bad.txt
refuse 2 "bench-floor LAYERS" bench-floor net.txt --runs
