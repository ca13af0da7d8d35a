#!/usr/bin/env bash
# A vendor's run half that is missing, of another ABI version, or fails.
. "$(dirname "$0")/lib.sh"
c++ -std=c++20 -O0 -shared -fPIC -I"$root/include" "$here/hostile.cpp" -o libbycc_vendor_hostile.so
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { abs(negative(%x)) }
END2
bycc net.relay -q --plugin=libbycc_vendor_hostile.so --annotate=hostile -o m.o

refuse 1 "error[LOAD]: the model needs vendor 'hostile', but libbycc_vendor_hostile.so is in none of: " \
  bycc-run m.json --random
grep -qF "[BY0706]" refuse.out || fail "the message has no number"
export BYCC_PLUGIN_PATH=$work
bycc-run m.json --random > /dev/null
HOSTILE_RUN=abi refuse 1 "error[LOAD]: vendor 'hostile' speaks version 999 of the vendor interface, this bycc speaks 2" bycc-run m.json --random
HOSTILE_RUN=version refuse 1 \
  "error[LOAD]: region m_hostile_0 was compiled by vendor 'hostile' 1.0, its run half is 2.0 and reads 2.0: compile the model again" \
  bycc-run m.json --random
HOSTILE_RUN=null refuse 1 "error[LOAD]: vendor 'hostile' gave no run half" bycc-run m.json --random
HOSTILE_RUN=load refuse 1 "region m_hostile_0: vendor hostile cannot load it: hostile does not want to" bycc-run m.json --random
HOSTILE_RUN=run refuse 70 "region m_hostile_0: hostile has stopped" bycc-run m.json --random
HOSTILE_RUN=memory refuse 1 "error[LIMIT]: no memory for what the run needs" bycc-run m.json --random # J9
# J9: an exception is the vendor's fault, not one of the runtime: LOAD, with the region
threw="the vendor threw an exception"
HOSTILE_RUN=throw refuse 1 "error[LOAD]: region m_hostile_0: $threw: thrown by hostile" bycc-run m.json --random
HOSTILE_RUN=number refuse 1 "error[LOAD]: region m_hostile_0: $threw" bycc-run m.json --random
HOSTILE_RUN=throw-state refuse 1 "region m_hostile_0: its state cannot be set up: $threw: thrown by hostile" \
  bycc-run m.json --random
HOSTILE_RUN=throw-load refuse 1 "error[LOAD]: region m_hostile_0: vendor hostile cannot load it: $threw: thrown by hostile" \
  bycc-run m.json --random
HOSTILE_RUN=throw-entry refuse 1 \
  "libbycc_vendor_hostile.so: error[LOAD]: bycc_vendor_runtime_entry: $threw: thrown by hostile" bycc-run m.json --random
HOSTILE_RUN=short refuse 1 "the table of the run half is too short" bycc-run m.json --random
HOSTILE_RUN=lacking refuse 1 "the run half is incomplete" bycc-run m.json --random
HOSTILE_RUN=older bycc-run m.json --random > /dev/null

# The compile half promises memory that the run half does not have.
echo '{"vendors": [{"name": "hostile", "builtin": true, "edges": {"deny": [["negative", "abs"]]}}]}' > rules.json
HOSTILE_MEMORY=1 bycc net.relay -q --rules=rules.json --expect-regions=2 -o n.o
for mode in older none; do
  HOSTILE_RUN=$mode refuse 1 "region n_hostile_0: vendor hostile has no memory of its own" bycc-run n.json --random
done

# I7, I9: a run half that is cut, no file or no shared object: said before it is loaded
mkdir broken
export BYCC_PLUGIN_PATH=$work/broken
half=broken/libbycc_vendor_hostile.so
size=$(stat -c %s libbycc_vendor_hostile.so)
for bytes in 0 10 40 63 100 500 4096 8192 $((size / 2)); do
  head -c $bytes libbycc_vendor_hostile.so > $half
  refuse 1 "$half: error[LOAD]: " bycc-run m.json --random
done
grep -q "the plugin is cut: a segment" refuse.out || fail "$(cat refuse.out)"
rm $half
mkfifo $half
refuse 1 "$half: error[LOAD]: is not a regular file" timeout 20 bycc-run m.json --random
rm $half
cp libbycc_vendor_hostile.so $half
printf '\xb7' | dd of=$half bs=1 seek=18 conv=notrunc status=none
refuse 1 "$half: error[LOAD]: the plugin is built for aarch64" bycc-run m.json --random
