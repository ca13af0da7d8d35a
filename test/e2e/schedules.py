"""schedules.py COUNT SEED: edits values of net.loops by chance until COUNT edits could be
followed, and compares what each makes with the results in want/."""
import random
import re
import subprocess
import sys

count, seed = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(seed)
text = open("net.loops").read().split("\n")
words = {"made": ["never", "compiling", "running"], "run": ["along", "across"],
         "vector": ["yes", "no"], "copied": ["yes", "no"], "skipped": ["yes", "no"], "tail": ["none", "repeat", "mask"], "epilogue": ["once", "loop"]}
numbers = {"chunk": [0, 8, 64, 256, 1000, 4096], "jam": [1, 2, 3, 5, 8], "prefetch": [0, 64, 512, 4096],
           "grain": [0, 1, 3, 100], "copied-grain": [0, 1, 3, 100], "ways": [1, 2, 4, 8], "unroll": [0, 1, 2, 3, 4, 8, 9, 12],
           "unroll-sum": [0, 1, 2], "rows": list(range(1, 13)) + [20, 40, 400],
           "outer": [1, 2, 3], "vectors": [1, 2, 3, 4, 5], "tiles": [1, 2, 3, 7]}


def edit(lines):
    """One line with another value or two; rests of a tile follow from it and are left out."""
    scheduled = [i for i, line in enumerate(lines) if re.match(r" *schedule (?!vectors)", line)]
    at = chance.choice(scheduled)
    values = re.findall(r"([a-z-]+)=(\S+)", lines[at])
    for key, old in chance.sample(values, min(len(values), 1 + (chance.random() < 0.3))):
        new = chance.choice([str(v) for v in words.get(key) or numbers[key] if str(v) != old])
        lines[at] = re.sub(r"(?<= )%s=\S+" % key, "%s=%s" % (key, new), lines[at])
    if "copied=no" in lines[at]:
        lines[at] = re.sub(" copied-grain=.*", "", lines[at])
    return at


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def code(name):
    return [line for line in open(name) if re.match(r"\t[a-z]", line)]


original = code("net.s")
done = differ = refused = 0
while done < count:
    lines = [line for line in text if re.match(r" *(kernel|nest|schedule) ", line)]
    at = edit(lines)
    changed = lines[at]
    # What follows from the value is chosen anew.
    if " tile " in changed or " panels " in changed or " lanes " in changed or "vector=" in changed:
        end = next((i for i in range(at, len(lines)) if re.match(r" *(kernel|nest) ", lines[i])), len(lines))
        begin = max(i for i in range(at) if re.match(r" *nest ", lines[i]))
        lines = [line for i, line in enumerate(lines) if i == at or not begin < i < end or not re.match(r" *schedule (rest|block|stage|threads)", line)]
    open("edited.loops", "w").write("\n".join(lines))
    flags = ["net.relay", "--params=weights", "-mcpu=x86-64-v3", "-q", "--module-name=net", "--schedules=edited.loops"]
    made = run("bycc", *flags, "--emit=obj,asm", "-o", "edited.o")
    if made.returncode:
        if not re.match(r"edited\.loops:\d+: error\[INPUT\]: ", made.stderr):
            sys.exit("%s: %s" % (changed, made.stderr))
        refused += 1
        if refused > 20 * count:
            sys.exit("hardly any edit can be followed")
        continue
    done += 1
    differ += code("edited.s") != original
    if done % 5 == 0:  # what it makes is printed, and read back as the same
        shown = run("bycc", *flags, "--emit=loops", "-o", "-").stdout
        open("shown.loops", "w").write(shown)
        again = run("bycc", *flags[:-1], "--schedules=shown.loops", "--emit=loops", "-o", "-")
        if again.stdout != shown or again.stderr:
            sys.exit("%s: not the same when it is given back: %s" % (changed, again.stderr))
    ran = run("bycc-run", "edited.json", "--random=3", "--expected", "want", "--threads", str(1 + done % 2))
    if ran.returncode:
        sys.exit("%s: %s%s" % (changed, ran.stdout, ran.stderr))
if differ < count * 0.7:
    sys.exit("only %d of %d edits made other code" % (differ, count))
print("%d edits, %d made other code, %d were refused" % (done, differ, refused))
