#!/usr/bin/env bash
# C9: the entry of a program with more than a thousand instructions is made in parts.
# Values, extents and branches that span several of them are what they are in a small one:
# each `if` below adds 1 or takes 1 away, so that results tell how many were run.
. "$(dirname "$0")/lib.sh"
ulimit -s 1024

# ifs of each: before the loop, in each turn of it, in the taken branch of an if, after it
cat > program.py <<'END'
import sys
before, turn, nested, after = map(int, sys.argv[1:])
T = "Tensor[(N, 2), float32]"

def ifs(name, first, count, indent="  "):
    lines = []
    for i in range(count):
        lines.append(f"{indent}let %{name}{i} = if (%c) {{ add({first}, 1f) }} else {{ subtract({first}, 1f) }};")
        first = f"%{name}{i}"
    return "\n".join(lines), first

a, va = ifs("a", "%x", before)
t, vt = ifs("t", "%s", turn, "      ")
b, vb = ifs("b", "%looped", nested, "    ")
d, vd = ifs("d", "%branch", after)
print(f"""#[version = "0.0.5"]
def @main(%x: {T}, %c: bool, %n: int64) {{
  let %found = argwhere(greater(%x, 0f));
  let %kept = argwhere(less(%x, 0f));
{a}
  let %loop = fn (%i: int64, %s: {T}) -> {T} {{
    if (less(%i, %n)) {{
{t}
      %loop(add(%i, 1i64), {vt})
    }} else {{
      %s
    }}
  }};
  let %looped = %loop(0i64, {va});
  let %branch = if (less(0i64, %n)) {{
{b}
    add({vb}, cast(sum(%kept), dtype="float32"))
  }} else {{
    negative(%looped)
  }};
{d}
  let %twice = add(%found, %found);
  ({vd}, %twice, shape_of(%twice), %twice)
}}""")
END

npy write x.npy f4 3x2 0 1 0 2 0 3
npy write c0.npy b1 "" 0
npy write c1.npy b1 "" 1
npy write n0.npy i8 "" 0
npy write n3.npy i8 "" 3

# %kept has a size of its own and is released at the else of the if that reads it: in a block
# in which nothing is loaded yet.
# agrees BEFORE TURN NESTED AFTER OPTION...
agrees() {
  python3 program.py "${@:1:4}" > net.relay
  bycc net.relay "${@:5}" -q -o net.o
  local c n
  for c in 0 1; do
    for n in 0 3; do
      bycc-run net.json --input x=x.npy --input c=c$c.npy --input n=n$n.npy --outputs got > /dev/null
      expect "$(npy show got/output_0.npy)" "$(python3 - "$c" "$n" "${@:1:4}" <<'END'
import sys
c, n, before, turn, nested, after = map(int, sys.argv[1:])
step = 1 if c else -1
values = [0, 1, 0, 2, 0, 3]
values = [v + step * (before + n * turn) for v in values]
values = [v + step * nested if n else -v for v in values]
print("3x2", *["%.6g" % (v + step * after) for v in values])
END
)"
      expect "$(npy show got/output_1.npy)" "3x2 0 2 2 2 4 2"
      expect "$(npy show got/output_2.npy)" "2 3 2"
      expect "$(npy show got/output_3.npy)" "3x2 0 2 2 2 4 2"
    done
  done
}

agrees 2 2 2 2
agrees 900 3 3 3         # one after the other
agrees 3 900 3 3         # a loop larger than a part
agrees 3 3 900 3         # an if larger than a part
agrees 400 400 400 400 -O0
agrees 400 400 400 400

# more slots than stand on the stack
python3 "$root/test/bench/wide.py" ifs 5000 > net.relay
bycc net.relay -q -o net.o
npy write y.npy f4 2x3 -1 0 1 2 3 4
bycc-run net.json --input x=y.npy --input c=c1.npy --outputs got > /dev/null
expect "$(npy show got/output_0.npy)" "2x3 0 0 1 2 3 4"
