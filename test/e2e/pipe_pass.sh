#!/usr/bin/env bash
# pipe{PROGRAM}: a pass that is a program, in any pass list; what it gets, and what becomes
# of one that fails, hangs, or sends back something else.
. "$(dirname "$0")/lib.sh"
cat > net.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 16, 16), float32], %w: Tensor[(8, 8, 3, 3), float32]) -> Tensor[(1, 8, 16, 16), float32] {
  %0 = nn.conv2d(%x, %w, padding=[1, 1], kernel_size=[3, 3], channels=8);
  %1 = sigmoid(%0);
  %2 = multiply(%0, %1);
  add(%2, 1f)
}
END2
program() { cat > "$1"; chmod +x "$1"; }

# The report without the flags, and without the checksum of them.
facts() { sed '/"flags"/d; /^    "checksum"/d' "$1"; }

# The identity, in ways that change the text and in a way that does not: the same files.
program same.sh <<< $'#!/bin/sh\nexec cat'
program blank.sh <<< $'#!/bin/sh\nexec sed "s,/\\\\*[^*]*\\\\*/,,g"'
program form.py <<'END2'
#!/usr/bin/env python3
import json, sys
json.dump(json.load(sys.stdin), sys.stdout, indent=1)
END2
bycc net.relay --annotate=dnnl -q -o plain.o
for pipe in 'pipe{./same.sh}' 'pipe{./blank.sh}' 'pipe{./blank.sh,constants=data}' 'pipe{./form.py,form=json}'; do
  for place in run-before=simplify-inference: run-before=merge-composite: run-after=partition-graph: run-before=fuse-ops:; do
    mkdir -p other
    bycc net.relay --annotate=dnnl -q --$place"$pipe" -o other/plain.o
    cmp plain.o other/plain.o || fail "$place$pipe: another object"
    diff <(facts plain.json) <(facts other/plain.json) || fail "$place$pipe: another report"
  done
done

# Programs of all kinds come back as they were.
for file in "$root"/test/golden/*.relay; do
  bycc-opt "$file" > plain.txt 2> /dev/null || continue
  for pipe in 'pipe{./blank.sh}' 'pipe{./form.py,form=json}'; do
    if bycc-opt "$file" --passes="$pipe" > other.txt 2> err.txt; then
      cmp plain.txt other.txt || fail "$file: $pipe"
    else # those that are annotated already
      grep -q "pass 'pipe' cannot run after" err.txt || fail "$file: $(cat err.txt)"
    fi
  done
done

# A pass of thirty lines does its work before composites are formed: swish in one operator less.
program half.py <<'END2'
#!/usr/bin/env python3
"""Replaces multiply(x, sigmoid(x)) by nn.relu(x): of less use than speed, but easy to see."""
import re, sys

text = sys.stdin.read()
line = r"  (%\d+) = NAME\(ARGS, annotation.origin=\d+\);[^\n]*\n"
sigmoids = {m[1]: m for m in re.finditer(line.replace("NAME", "sigmoid").replace("ARGS", r"(%\d+)"), text)}
for m in re.finditer(line.replace("NAME", "multiply").replace("ARGS", r"(%\d+), (%\d+)"), text):
    if m[3] in sigmoids and sigmoids[m[3]][2] == m[2]:
        text = text.replace(m[0], f"  {m[1]} = nn.relu({m[2]});\n").replace(sigmoids[m[3]][0], "")
        print("swish at", m[1], file=sys.stderr)
sys.stdout.write(text)
END2
bycc net.relay --annotate=dnnl --cost-model=none -v --run-before='merge-composite:pipe{./half.py}' --dump-offloads=d.json -MD -o half.o 2> half.txt
python3 - <<'END2'
import json
d = json.load(open("d.json"))
ops = sorted(sum((f["ops"] for f in d["functions"]), []) + d["host_ops"])
assert ops == ["add", "nn.conv2d", "nn.relu"], ops
new = [n for n in d["nodes"] if n["op"] == "nn.relu"]
assert len(new) == 1 and new[0]["composite"], new # conv2d and relu are one step
END2
grep -qF 'remark: pipe{half.py}: swish at %2' half.txt || fail "$(cat half.txt)"
grep -q './half.py' half.d || fail "$(cat half.d)"
grep -qF '"--run-before=merge-composite:pipe{half.py}"' half.json || fail "$(grep -o '"flags":[^]]*' half.json)"
expect "$(bycc-opt net.relay --passes='pipe{./half.py}' | grep -c relu)" 1
bycc-opt net.relay --passes='pipe{program=./half.py,timeout=5},eliminate-dead-code' > /dev/null
expect "$(bycc-opt net.relay --passes='pipe{./half.py}' --print-pipeline-passes)" "'pipe{program=./half.py}'"

# Behind planning: host code may change, what vendors have may not. Orders find what a pass made.
program tail.sh <<< $'#!/bin/sh\nexec sed "s/= add(\\(.*\\), 1f,/= subtract(\\1, 1f,/; s/  add(\\(.*\\), 1f,/  subtract(\\1, 1f,/"'
program region.sh <<< $'#!/bin/sh\nexec sed s/padding=.1,\ 1./padding=[1,\ 1],\ dilation=[1,\ 1]/'
bycc net.relay --annotate=dnnl --cost-model=none -q --run-before='fuse-ops:pipe{./tail.sh}' --annotate-skip-ops=add -o late.o
bycc-run late.json --random 2> /dev/null
bycc net.relay --annotate=dnnl -q --cost-model=none --run-before='merge-composite:pipe{./half.py}' --save-partition-plan=plan.json -o saved.o
bycc net.relay --annotate=dnnl -q --cost-model=none --run-before='merge-composite:pipe{./half.py}' --partition-plan=plan.json -o replayed.o --module-name=saved
cmp saved.o replayed.o || fail "a plan with a pass in front of it is not replayed"
bycc net.relay --annotate=dnnl -q --cost-model=none --run-before='merge-composite:pipe{./half.py}' --pin '%2=host' --dump-offloads=d.json -o pinned.o
python3 -c '
import json
n = {n["name"]: n["placed"] for n in json.load(open("d.json"))["nodes"]}
assert n["%2"] == "host", n'

# What goes wrong.
pass() { bycc-opt net.relay --passes="$1"; }
program stop.py <<< $'#!/usr/bin/env python3\nraise KeyError("conv9")'
program hang.sh <<< $'#!/bin/sh\nsleep 60 & sleep 60'
program cut.sh <<< $'#!/bin/sh\nhead -c 120'
program other.sh <<< $'#!/bin/sh\nsed s/8,.8,.3,.3/8,\ 8,\ 1,\ 1/'
program missing.py <<< $'#!/nowhere/python\n'
program quiet.sh <<< $'#!/bin/sh\nexec true'
: > data.txt
refuse 1 "./stop.py: error[INPUT]: it ended the process with exit code 1" pass 'pipe{./stop.py}'
grep -qF "note: KeyError: 'conv9'" refuse.out || fail "$(cat refuse.out)"
refuse 1 "./hang.sh: error[INPUT]: it did not end within 0.3 s" pass 'pipe{./hang.sh,timeout=0.3}'
refuse 1 "<what pipe{cut.sh} sends back>:2:" pass 'pipe{./cut.sh}'
refuse 1 "sends back" pass 'pipe{./other.sh}'
refuse 1 "the file is empty" pass 'pipe{./quiet.sh}'
refuse 1 "./missing.py: error[ARG]: cannot run it" pass 'pipe{./missing.py}'
refuse 1 "./nowhere.py: error[ARG]: cannot run it: No such file" pass 'pipe{./nowhere.py}'
refuse 1 "note: chmod +x data.txt" pass 'pipe{data.txt}'
refuse 1 "cannot run it: it is a folder" pass 'pipe{.}'
refuse 1 "note: a program is a path, which is not looked up in" pass 'pipe{python3}'
refuse 2 "note: arguments and options follow a comma" pass 'pipe{python3 ./half.py}'
refuse 2 "'{' of 'pipe' is not closed" bycc net.relay --run-before='fuse-ops:pipe{./half.py' -o x.o
program print.py <<< $'#!/usr/bin/env python3\nprint("debug")\nimport sys\nprint(sys.stdin.read())'
refuse 1 "note: all that is sent back is read as the program: what is to be printed goes to standard error" pass 'pipe{./print.py}'
refuse 2 "pass 'pipe' needs a program" pass pipe
refuse 2 "form is relay or json, not 'xml'" pass 'pipe{./same.sh,form=xml}'
refuse 2 "timeout is a number of seconds, not '-1'" pass 'pipe{./same.sh,timeout=-1}'
refuse 2 "pass 'pipe' has no option 'from'" pass 'pipe{./same.sh,from=json}'
refuse 2 "pass 'pipe' cannot run after 'annotate-target', which makes annotations" \
  bycc net.relay --annotate=dnnl --run-after='annotate-target:pipe{./same.sh}' -o x.o
refuse 2 "pipe{same.sh} cannot run between merge-composite and choose-plan" \
  bycc net.relay --annotate=dnnl --run-after='merge-composite:pipe{./same.sh}' -o x.o
[ ! -e x.o ] || fail "a build that failed wrote something"

# The example of the docs.
sed -n '/^    #!\/usr\/bin\/env python3/,/^[^ ]/p' "$root/share/doc/passes.md" | sed '$d;s/^    //' > doc.py
chmod +x doc.py
cat > clip.relay <<'END2'
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32]) -> (Tensor[(4, 8), float32], Tensor[(4, 8), float32]) {
  %0 = sigmoid(%x);
  %1 = clip(%0, a_min=0f, a_max=6f);
  %2 = clip(%0, a_min=0.25f, a_max=6f);
  (%1, %2)
}
END2
expect "$(bycc-opt clip.relay --passes='pipe{./doc.py}' | grep -c clip)" 1
