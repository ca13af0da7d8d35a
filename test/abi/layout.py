"""Holds bycc/vendor.h to share/doc/abi.md: members of structs are where the headers of this version's
first release (test/abi/N) have them, enumerators and macros have the values, functions the arguments;
what was added stands behind them; no struct has padding at its end.

  layout.py CC NOW THEN    include folders
"""
import re
import subprocess
import sys
import tempfile

STRUCT = re.compile(r"^typedef struct (\w+) \{\n(.*?)^\} \1;\n", re.M | re.S)
FIXED = {"bycc_array", "bycc_extent"}  # may not grow


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.S)).strip()


def members(body):
    """Declarations in their order, with the names that they declare."""
    for declaration in plain(body).split(";"):
        declaration = declaration.strip()
        if not declaration:
            continue
        function = re.match(r".*?\(\*(\w+)\)\(", declaration)
        if function:
            yield function.group(1), declaration
            continue
        first, *others = declaration.split(",")
        base = re.match(r"(.*?)(\w+)(\[\d+\])?$", first.strip())
        for name in [base.group(2)] + [re.match(r"\*?(\w+)", other.strip()).group(1) for other in others]:
            yield name, declaration


def structs(folder):
    found = {}
    for header in ("abi.h", "vendor.h"):
        with open(f"{folder}/bycc/{header}") as file:
            for name, body in STRUCT.findall(file.read()):
                # Of abi.h a vendor sees tensors alone; the rest is between compiled code and the runtime.
                if header == "vendor.h" or name == "bycc_array":
                    found[name] = list(members(body))
    return found


def constants(folder):
    found = set()
    for header in ("abi.h", "vendor.h"):
        with open(f"{folder}/bycc/{header}") as file:
            text = plain(file.read())
        if header == "vendor.h":
            found.update(re.findall(r"#define (BYCC_\w+) \d+u?", text))
        for name, body in re.findall(r"enum (\w+) \{(.*?)\}", text):
            if header == "vendor.h" or name in ("bycc_dtype", "bycc_status"):
                found.update(re.findall(r"(BYCC_\w+) =", body))
    return sorted(found)


def values(cc, folder, wanted, fixed):
    """What a program says that is built with the headers of the folder."""
    lines = [f'  printf("{name} {member} %zu %zu\\n", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));'
             for name, list_ in wanted.items() for member, _ in list_]
    lines += [f'  printf("{name} sizeof %zu 0\\n", sizeof({name}));' for name in wanted]
    lines += [f'  printf("{name} = %lld 0\\n", (long long){name});' for name in fixed]
    program = "#include <bycc/vendor.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n"
    with tempfile.TemporaryDirectory() as temporary:
        with open(f"{temporary}/t.c", "w") as file:
            file.write(program)
        subprocess.run([cc, "-w", "-I", folder, f"{temporary}/t.c", "-o", f"{temporary}/t"], check=True)
        output = subprocess.run([f"{temporary}/t"], check=True, capture_output=True, text=True).stdout
    return {tuple(line.split()[:2]): tuple(map(int, line.split()[2:])) for line in output.splitlines()}


def main(cc, now, then):
    old, new = structs(then), structs(now)
    assert len(old) > 15, sorted(old)
    wrong = []
    for name, list_ in old.items():
        if [d for _, d in new.get(name, [])][:len(list_)] != [d for _, d in list_]:
            wrong.append(f"{name}: its first members are not those of the first release")
        if name in FIXED and len(new[name]) != len(list_):
            wrong.append(f"{name} may not grow")
    if not wrong:
        fixed = constants(then)
        assert len(fixed) > 40, fixed
        theirs, ours = values(cc, then, old, fixed), values(cc, now, old, fixed)
        for key, value in theirs.items():
            if key[1] != "sizeof" and ours[key] != value:
                wrong.append(f"{' '.join(key)}: {ours[key]}, in the first release {value}")
            if key[1] == "sizeof" and ours[key] < value:
                wrong.append(f"{key[0]} is smaller than in the first release")
    if not wrong:
        own = values(cc, now, new, [])
        for name, list_ in new.items():
            end = sum(own[(name, list_[-1][0])])
            if name not in FIXED and own[(name, "sizeof")][0] != end:
                wrong.append(f"{name} has padding at its end, where a new member would not be seen to be new")
    for text in wrong:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
