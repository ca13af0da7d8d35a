#!/usr/bin/env bash
# A vendor's library that is cut, or is a FIFO, is told from its file before the dynamic linker
# has it: neither a program nor a vendor's process dies of it or waits for it.
. "$(dirname "$0")/lib.sh"
c++ -std=c++20 -O0 -shared -fPIC -I"$root/include" "$here/hostile.cpp" -o libbycc_vendor_hostile.so
cat > net.relay <<'END'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { abs(negative(%x)) }
END
compile() { timeout 20 bycc net.relay -q --plugin="$1" --annotate=hostile -o net.o; }
run() { BYCC_PLUGIN_PATH=$work/cut timeout 20 bycc-run net.json --random > /dev/null; }
compile libbycc_vendor_hostile.so
mkdir cut
file=cut/libbycc_vendor_hostile.so

# I7 I9 G1: cut at some lengths; from the last only sections are gone, which nobody needs
bytes=$(stat -c %s libbycc_vendor_hostile.so)
numTold=0
for part in 0 1 2 4 8 12 16 20 24 28; do
  for what in "compile $file" run; do
    rm -f $file # a new file each time
    head -c $((bytes * part / 32)) libbycc_vendor_hostile.so > $file
    got=0
    $what 2> told.txt || got=$?
    [ $got != 0 ] || continue
    [ $got = 1 ] || fail "$what, $part of 32: exit $got: $(cat told.txt)"
    grep -qE "$file: error\[LOAD\]: (not an ELF file|the plugin is cut: )" told.txt ||
      fail "$what, $part of 32: $(cat told.txt)"
    numTold=$((numTold + 1))
  done
done
[ $numTold -gt 8 ] || fail "a plugin that is cut was refused $numTold times"

# I9 G1: a FIFO that nobody writes to; a folder
compile libbycc_vendor_hostile.so
rm $file
mkfifo $file
refuse 1 "$file: error[LOAD]: is not a regular file" compile $file
refuse 1 "$file: error[LOAD]: is not a regular file" run
BYCC_PLUGIN_PATH=$work/cut refuse 2 "left out $work/$file: is not a regular file" bycc net.relay --annotate=hostil
rm $file
mkdir $file
refuse 1 "$file: error[LOAD]: is a directory" compile $file
refuse 1 "$file: error[LOAD]: is a directory" run
