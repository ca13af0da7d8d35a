"""vendor.h of a later release, as share/doc/abi.md allows it: every struct with a `size` has more
members at its end.

  grow.py VENDOR.H OUT.H
"""
import re
import sys

ADDED = "  uint64_t added_later[5];\n"
STRUCT = re.compile(r"^typedef struct (\w+) \{\n(.*?)^\} \1;\n", re.M | re.S)


def grown(text):
    def grow(match):
        name, members = match.groups()
        if not re.search(r"^  uint32_t size;", members, re.M):
            return match.group(0)
        return f"typedef struct {name} {{\n{members}{ADDED}}} {name};\n"

    return STRUCT.sub(grow, text)


if __name__ == "__main__":
    source, target = sys.argv[1:]
    with open(source) as file:
        text = grown(file.read())
    with open(target, "w") as file:
        file.write(text)
