# Sourced after lib.sh by tests of a vendor that does what $HOSTILE says (hostile.cpp). What
# they build is net.relay; ref/ holds its results.
c++ -std=c++20 -O0 -shared -fPIC -I"$root/include" "$here/hostile.cpp" -o libbycc_vendor_hostile.so
export BYCC_PLUGIN_PATH=$work

# build MODE REGIONS OPTIONS...: compiles and runs; m.err and report.json stay.
build() {
  local mode=$1 regions=$2
  shift 2
  HOSTILE=$mode bycc net.relay --annotate=hostile --vendor-timeout=30 --expect-regions="$regions" \
    --dump-offloads=report.json -o m.o "$@" 2> m.err || fail "$mode: $(cat m.err)"
  bycc-run m.json --random=1 --expected ref --rtol 1e-6 2> run.err || fail "$mode: wrong results"
}
says() { grep -qF -- "$1" m.err || fail "no '$1' in: $(cat m.err)"; }
# reason NODE: where it is, and why hostile does not have it
reason() { python3 -c '
import json, sys
for node in json.load(open("report.json"))["nodes"]:
    if node["name"] == sys.argv[1]:
        print(node["placed"], node["refused"].get("hostile", ""))' "$1"; }
