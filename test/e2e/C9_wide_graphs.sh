#!/usr/bin/env bash
# C5, C9: programs that are very wide or deep compile in time near linear, or are
# refused at once. The limits are a few times what a slow machine takes; what was
# quadratic is far above them. (test/bench/wide.py --curves prints how times grow.)
. "$(dirname "$0")/lib.sh"
ulimit -s 1024

wide() { python3 "$root/test/bench/wide.py" "$@"; }
compiles() { # SECONDS SHAPE COUNT
  wide "$2" "$3" > net.relay
  (ulimit -t "$1"; bycc net.relay -q -o net.o) || fail "$2 of $3: not in $1 s"
}

# what was written is what was meant
compiles 20 stack 300
npy write x.npy f4 2x3 0 1 2 3 4 5
bycc-run net.json --input x=x.npy --outputs got > /dev/null
expect "$(npy show got/output_0.npy)" "$(python3 -c '
print("300x2x3", *["%.6g" % (i * j) for i in range(300) for j in range(6)])')"

wide split 200 > net.relay
bycc net.relay -q -o net.o
npy write x.npy f4 200x3 $(seq 0 599)
bycc-run net.json --input x=x.npy --outputs parts > /dev/null
for i in 0 63 64 127 128 199; do
  expect "$(npy show parts/output_$i.npy)" "1x3 $((3 * i)) $((3 * i + 1)) $((3 * i + 2))"
done

# an entry with few instructions of many values each
wide rejoined 3000 > net.relay
bycc net.relay -q -o net.o
npy write x.npy f4 3000x3 $(seq 0 8999)
bycc-run net.json --input x=x.npy --outputs got > /dev/null
expect "$(npy show got/output_0.npy)" "3000x3 $(seq -s ' ' 0 8999)"

# C9: many inputs, many readers, many results
compiles 20 chain 10000
compiles 20 fan 10000
compiles 30 concat 10000
compiles 30 split 10000
compiles 10 rejoined 20000
compiles 40 outputs 10000
(ulimit -t 40; bycc net.relay --annotate=dnnl -q -o net.o) || fail "10000 outputs of a region"
compiles 20 same 10000
compiles 30 ifs 10000
compiles 20 functions 9999

# an entry of many instructions keeps its values elsewhere and gives the same
for n in 900 1100; do
  wide ifs $n > net.relay
  bycc net.relay -q -o net.o
  npy write x.npy f4 2x3 -1 0 1 2 3 4
  npy write c.npy b1 "" 1
  bycc-run net.json --input x=x.npy --input c=c.npy --outputs got > /dev/null
  expect "$(npy show got/output_0.npy)" "2x3 0 0 1 2 3 4"
done

# C5: LIMIT within a second
wide doubling 40 > net.relay
(ulimit -t 1; refuse 1 "error[LIMIT]" bycc net.relay -o no.o)
wide functions 100000 > net.relay
(ulimit -t 1; refuse 1 "functions, the limit is 10000" bycc net.relay -o no.o)
{ echo '#[version = "0.0.5"]'
  for i in $(seq 0 100); do echo "def @f$i(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { @f$((i + 1))(%x) }"; done
  echo "def @f101(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { exp(%x) }"
  echo "def @main(%x: Tensor[(2, 3), float32]) { @f0(%x) }"; } > net.relay
refuse 1 "error[LIMIT]" bycc net.relay -o no.o
sed -i '/def @f[0-5](/d; s/@f0(%x)/@f6(%x)/' net.relay
bycc net.relay -q -o net.o
for last in '%39' '%x'; do
  { echo '#[version = "0.0.5"]'
    echo 'def @main(%x: float32) {'
    echo '  %0 = (%x, %x);'
    for i in $(seq 1 39); do echo "  %$i = (%$((i - 1)), %$((i - 1)));"; done
    echo "  $last }"; } > net.relay
  (ulimit -t 1; refuse 1 "net.relay:20:9: error[LIMIT]: a tuple of tuples with 262144 tensors" bycc net.relay -o no.o)
done
# a loop in which nothing is done
cat > net.relay <<'END'
#[version = "0.0.5"]
def @f(%x: float32, %c: bool) -> float32 { if (%c) { @f(%x, %c) } else { %x } }
def @main(%x: float32, %c: bool) -> float32 { @f(%x, %c) }
END
npy write x.npy f4 "" 2.5
npy write c.npy b1 "" 0
bycc net.relay -q -o net.o
bycc-run net.json --input x=x.npy --input c=c.npy --outputs got > /dev/null
expect "$(npy show got/output_0.npy)" "scalar 2.5"
cat > net.relay <<'END'
#[version = "0.0.5"]
def @f(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { exp(@g(%x)) }
def @g(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { tanh(@f(%x)) }
def @main(%x: Tensor[(2, 3), float32]) { @f(%x) }
END
refuse 1 "error[INPUT]: the recursive call of @f" bycc net.relay -o no.o
sed -i 's/exp(@g(%x))/@f(%x)/' net.relay
refuse 1 "error[INPUT]: the recursive function @f never ends" bycc net.relay -o no.o

# what a kernel repeats is bounded
compiles 10 conv_erf 5
compiles 10 conv_erf 40
