#!/usr/bin/env python3
"""Every row of the checklist of bad inputs has a test that names it: check_ids.py TESTDIR

An id counts where it stands in the name of a script in e2e, in the name of a Catch2 test, or
in a `case="..."` of a script.
"""
import pathlib
import re
import sys

ROWS = {"A": 9, "B": 6, "C": 9, "D": 9, "E": 6, "F": 9, "G": 9, "H": 9, "I": 9, "J": 9}
IDS = [f"{group}{i}" for group, count in ROWS.items() for i in range(1, count + 1)]
assert len(IDS) == 84

NAMES = [r'TEST_CASE\("([^"]*)"', r'^case="([^"]*)"']


def names(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".sh", ".py"):
            yield path.stem.replace("_", " ")
        if path.suffix in (".cpp", ".sh"):
            for pattern in NAMES[:1] if path.suffix == ".cpp" else NAMES[1:]:
                yield from re.findall(pattern, path.read_text(), re.M)


def found(folder):
    ids = set()
    for name in names(folder):
        ids.update(re.findall(r"\b[A-J]\d\b", name))
        for group, first, last in re.findall(r"\b([A-J])(\d) to \1?(\d)\b", name):
            ids.update(f"{group}{i}" for i in range(int(first), int(last) + 1))
    return ids


covered = found(pathlib.Path(sys.argv[1]))
missing = [i for i in IDS if i not in covered]
if missing:
    sys.exit(f"without a test: {missing}")
