#!/usr/bin/env bash
# -ftime-trace: a Chrome trace with the passes, the regions and the phases.
. "$(dirname "$0")/lib.sh"
c++ -std=c++20 -O0 -shared -fPIC -I"$root/include" "$here/hostile.cpp" -o hostile.so
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { abs(negative(%x)) }
END2
bycc net.relay --plugin=hostile.so --annotate=hostile -ftime-trace=trace.json -q -o m.o
bycc-opt net.relay --fold-constants -ftime-trace=opt.json > /dev/null
python3 - <<'END2'
import json
def names(file):
    trace = json.load(open(file))
    for event in trace["traceEvents"]:
        assert event["ph"] == "X" and event["ts"] >= 0 and event["dur"] >= 0, event
    return {(event["cat"], event["name"]) for event in trace["traceEvents"]}
found = names("trace.json")
for wanted in [("phase", "load"), ("pass", "partition-graph"), ("region", "m_hostile_0"), ("phase", "host code")]:
    assert wanted in found, (wanted, found)
assert ("pass", "fold-constants") in names("opt.json")
END2
refuse 2 "the output ./net.relay is an input" bycc net.relay -ftime-trace=./net.relay -o m.o
