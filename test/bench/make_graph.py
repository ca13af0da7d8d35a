#!/usr/bin/env python3
"""Writes a large program as Relay text to stdout: make_graph.py SHAPE COUNT

chain        one value through COUNT operators
wide         COUNT/2 operators on one input, joined by a tree of additions
ladder       two rails that exchange values
random       operators on values of the last twenty
transformer  encoder layers with shared weights and residual connections

What a partitioner might find hard:
layers       rows of 300 operators, each on two of the row before
shared       a chain every operator of which reads the same value as well
diamonds     a value that parts and meets again, over and over
stripes      two rails whose operators take turns and cross at every step
far          a chain whose operators also read values of anywhere before
"""
import random
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


def choose(count, operands):
    """Operators on `operands(i)`, a list of one or two numbers."""
    for i in range(count):
        values = [f"%{v}" if v >= 0 else "%x" for v in operands(i)]
        op = UNARY[i % 4] if len(values) == 1 else "add"
        yield f"%{i} = {op}({', '.join(values)});"
    yield f"%{count - 1}"


def near(count):
    pick = random.Random(1)
    return choose(count, lambda i: [max(i - pick.randint(1, 20), -1)
                                    for _ in range(pick.randint(1, 2))])


def far(count):
    pick = random.Random(1)
    return choose(count, lambda i: [i - 1] + ([pick.randint(-1, i - 1)] if i % 3 else []))


def layers(count):
    pick = random.Random(1)
    return choose(count, lambda i: [max(i // 300 * 300 - pick.randint(1, 300), -1)
                                    for _ in range(pick.randint(1, 2))])


def shared(count):
    return choose(count, lambda i: [i - 1, 0] if i % 3 == 1 else [i - 1])


def diamonds(count):
    return choose(count, lambda i: [[i - 1], [i - 2], [i - 1, i - 2]][i % 3])


def stripes(count):
    return choose(count, lambda i: [i - 2, i - 1] if i % 4 == 3 else [i - 2 if i > 1 else -1])


DENSE = "nn.dense({}, {}, units=4)"
LAYER = [DENSE.format("{x}", "%w0"), DENSE.format("{x}", "%w1"), DENSE.format("{x}", "%w2"),
         DENSE.format("{0}", "{1}"), "nn.softmax({3})", "transpose({2}, axes=[1, 0])",
         DENSE.format("{4}", "{5}"), "add({6}, {x})", "tanh({7})", DENSE.format("{8}", "%w3"),
         "nn.relu({9})", DENSE.format("{10}", "%w4"), "add({11}, {8})"]


def transformer(count):
    for i in range(count):
        first = i - i % len(LAYER)
        x = f"%{first - 1}" if first else "%x"
        values = [f"%{first + k}" for k in range(len(LAYER))]
        yield f"%{i} = " + LAYER[i % len(LAYER)].format(*values, x=x) + ";"
    yield f"%{count - 1}"


SHAPES = {"chain": chain, "wide": wide, "ladder": ladder, "random": near, "transformer": transformer,
          "layers": layers, "shared": shared, "diamonds": diamonds, "stripes": stripes, "far": far}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    params = ["%x"] + ([f"%w{i}" for i in range(5)] if sys.argv[1] == "transformer" else [])
    head = ", ".join(f"{name}: {TYPE}" for name in params)
    out = ['#[version = "0.0.5"]', f"def @main({head}) -> {TYPE} {{"]
    out += ["  " + line for line in SHAPES[sys.argv[1]](int(sys.argv[2]))]
    print("\n".join(out) + "\n}")


if __name__ == "__main__":
    main()
