#!/usr/bin/env python3
"""Writes a large program as Relay text to stdout: make_graph.py SHAPE COUNT

chain   one value through COUNT operators
wide    COUNT/2 operators on one input, joined by a tree of additions
ladder  two rails that exchange values
"""
import sys

TYPE = "Tensor[(4, 4), float32]"
UNARY = ["abs", "nn.relu", "tanh", "sigmoid"]


def chain(count):
    last = "%x"
    for i in range(count):
        yield f"%{i} = {UNARY[i % 4]}({last});"
        last = f"%{i}"
    yield last


def wide(count):
    leaves = max(1, count // 2)
    level = []
    for i in range(leaves):
        yield f"%{i} = {UNARY[i % 4]}(%x);"
        level.append(i)
    number = leaves
    while len(level) > 1:
        above = []
        for i in range(0, len(level) - 1, 2):
            yield f"%{number} = add(%{level[i]}, %{level[i + 1]});"
            above.append(number)
            number += 1
        if len(level) % 2:
            above.append(level[-1])
        level = above
    yield f"%{level[0]}"


def ladder(count):
    left, right = "%x", "%x"
    for i in range(0, count, 2):
        yield f"%{i} = add({left}, {right});"
        yield f"%{i + 1} = {UNARY[i // 2 % 4]}({right});"
        left, right = f"%{i + 1}", f"%{i}"
    yield right


SHAPES = {"chain": chain, "wide": wide, "ladder": ladder}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    out = ['#[version = "0.0.5"]', f"def @main(%x: {TYPE}) -> {TYPE} {{"]
    out += ["  " + line for line in SHAPES[sys.argv[1]](int(sys.argv[2]))]
    print("\n".join(out) + "\n}")


if __name__ == "__main__":
    main()
