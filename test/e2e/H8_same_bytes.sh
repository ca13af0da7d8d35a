#!/usr/bin/env bash
# H8: the same model and flags give the same bytes in any folder, time zone, locale, HOME,
# umask and place in memory, with any -j, and as often as one likes.
. "$(dirname "$0")/lib.sh"

for options in "-O2" "-O3 --annotate=dnnl"; do
  rm -rf one two && mkdir -p one two/deeper
  cp "$root/share/models/example.onnx" one/
  cp "$root/share/models/example.onnx" two/deeper/
  # shellcheck disable=SC2086
  {
    (cd one && bycc example.onnx $options -q -j 1 -o m.o)
    (cd two/deeper && umask 077 && TZ=Asia/Tokyo HOME=/ LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 \
      OMP_NUM_THREADS=2 setarch -R bycc example.onnx $options -q -j 2 -o m.o)
  }
  for file in m.o m.json m.h m.params; do
    cmp "one/$file" "two/deeper/$file" || fail "$file differs ($options)"
  done
done

# H8: from other folders than the model's, Relay text as well, which has lines and columns
cat > one/net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  abs(sigmoid(%x))
}
END
cp one/net.relay two/deeper/
for model in example.onnx net.relay; do
  for options in "-O2" "-O2 --annotate=dnnl"; do
    # shellcheck disable=SC2086
    {
      (cd one && bycc $model $options -q --dump-offloads=d.json -o m.o)
      (cd two && bycc "$PWD/deeper/$model" $options -q --dump-offloads=d.json -o m.o)
      bycc one/$model $options -q --dump-offloads=d.json -o m.o
    }
    for file in m.o m.json m.h d.json; do
      cmp one/$file two/$file || fail "$file differs with an absolute path ($model $options)"
      cmp one/$file $file || fail "$file differs with a folder in the path ($model $options)"
    done
  done
done

# H8: whatever was in memory before: packed weights of few channels have places that nothing fills.
cat > one/quantised.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), uint8]) {
  %0 = qnn.conv2d(%x, full(1i8, shape=[5, 3, 3, 3], dtype="int8"), 128, 0, 0.5f, 0.25f, padding=[1, 1, 1, 1],
    channels=5, kernel_size=[3, 3], out_dtype="int32");
  qnn.requantize(%0, 0.125f, 0, 0.25f, 10, axis=1, out_dtype="int8")
}
END
for fill in 85 170; do
  MALLOC_PERTURB_=$fill bycc one/quantised.relay --annotate=dnnl --cost-model=none -q -o one/quantised.o
  cat one/quantised.o one/quantised.params > one/$fill
done
cmp one/85 one/170 || fail "the bytes of a quantised region depend on what was in memory"
