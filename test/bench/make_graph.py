#!/usr/bin/env python3
"""Writes a large program as Relay text to stdout: make_graph.py SHAPE COUNT

chain        one value through COUNT operators
wide         COUNT/2 operators on one input, joined by a tree of additions
ladder       two rails that exchange values
random       operators on values of the last twenty
transformer  encoder layers with shared weights and residual connections
windows      a vision transformer in four stages as exporters write them: rolls made of slices,
             windows made of reshapes and transposes, heads taken apart by small slices,
             products, softmax, norms and gelu taken apart; weights are shared in a stage

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


# A stage of the vision transformer: an image of side x side tokens of `width`, in windows of SIDE x SIDE.
SIDE, HEADS = 4, 2


class Windows:
    """Lines, one for each operator; each method gives the name of its last value."""

    def __init__(self):
        self.lines = []

    def op(self, name, *operands, **attributes):
        written = list(operands) + [f"{key}={value}" for key, value in attributes.items()]
        self.lines.append(f"%{len(self.lines)} = {name}({', '.join(written)});")
        return f"%{len(self.lines) - 1}"

    def slice(self, x, axis, begin, end, stride=1):
        return self.op("strided_slice", x, begin=[begin], end=[end], strides=[stride], axes=[axis])

    def join(self, parts, axis):
        return self.op("concatenate", f"({', '.join(parts)})", axis=axis)

    def roll(self, x, shift, side):
        for axis in (1, 2):
            x = self.join([self.slice(x, axis, shift, side), self.slice(x, axis, 0, shift)], axis)
        return x

    def reshape(self, x, *shape):
        return self.op("reshape", x, newshape=list(shape))

    def transpose(self, x, *axes):
        return self.op("transpose", x, axes=list(axes))

    def mean(self, x):
        return self.op("mean", x, axis=[-1], keepdims=True)

    def norm(self, x, stage, which):
        centred = self.op("subtract", x, self.mean(x))
        variance = self.mean(self.op("multiply", centred, centred))
        deviation = self.op("sqrt", self.op("add", variance, "1e-05f"))
        scaled = self.op("multiply", self.op("divide", centred, deviation), f"%g{stage}{which}")
        return self.op("add", scaled, f"%b{stage}{which}")

    def dense(self, x, stage, which, units, *shape):
        product = self.op("nn.dense", x, f"%w{stage}{which}", units=units)
        return self.reshape(self.op("add", product, f"%c{stage}{which}"), *shape)

    def attention(self, x, stage, count, width):
        tokens, depth = SIDE * SIDE, width // HEADS
        packed = self.dense(x, stage, "q", 3 * width, count, tokens, 3, HEADS, depth)
        packed = self.transpose(packed, 2, 0, 3, 1, 4)
        q, k, v = [self.reshape(self.slice(packed, 0, i, i + 1), count * HEADS, tokens, depth) for i in range(3)]
        q = self.op("multiply", q, f"{depth ** -0.5}f")
        scores = self.op("nn.batch_matmul", q, k, transpose_b=True)
        scores = self.op("add", self.reshape(scores, count, HEADS, tokens, tokens), f"%p{stage}")
        weights = self.reshape(self.op("nn.softmax", scores), count * HEADS, tokens, tokens)
        mixed = self.op("nn.batch_matmul", weights, v, transpose_b=False)
        rows = self.transpose(self.reshape(mixed, count, HEADS, tokens, depth), 0, 2, 1, 3)
        return self.dense(self.reshape(rows, count * tokens, width), stage, "o", width, count, tokens, width)

    def gelu(self, x):
        gate = self.op("add", self.op("erf", self.op("divide", x, "1.41421f")), "1f")
        return self.op("multiply", self.op("multiply", x, gate), "0.5f")

    def layer(self, x, stage, side, width, shift):
        n, rows = side // SIDE, side * side
        y = self.roll(self.norm(x, stage, 0), shift, side)
        y = self.transpose(self.reshape(y, 1, n, SIDE, n, SIDE, width), 0, 1, 3, 2, 4, 5)
        y = self.attention(self.reshape(y, rows, width), stage, n * n, width)
        y = self.transpose(self.reshape(y, 1, n, n, SIDE, SIDE, width), 0, 1, 3, 2, 4, 5)
        x = self.op("add", x, self.roll(self.reshape(y, 1, side, side, width), side - shift, side))
        y = self.reshape(self.norm(x, stage, 1), rows, width)
        y = self.gelu(self.dense(y, stage, "u", 2 * width, rows, 2 * width))
        return self.op("add", x, self.dense(y, stage, "d", width, 1, side, side, width))

    # Four neighbours become one token of twice the width.
    def merge(self, x, stage, side, width):
        rows = [self.slice(x, 1, i, side, 2) for i in range(2)]
        joined = self.join([self.slice(row, 2, i, side, 2) for row in rows for i in range(2)], -1)
        joined = self.reshape(joined, side * side // 4, 4 * width)
        return self.reshape(self.op("nn.dense", joined, f"%m{stage}", units=2 * width),
                            1, side // 2, side // 2, 2 * width)


def window_sizes():
    return [(side, 16 * (64 // side)) for side in (64, 32, 16, 8)]


def tensor(*shape):
    return f"Tensor[({', '.join(map(str, shape))}{',' * (len(shape) == 1)}), float32]"


def window_params():
    params = {"x": (1, 64, 64, 16)}
    for stage, (side, width) in enumerate(window_sizes()):
        for which, units, depth in (("q", 3, 1), ("o", 1, 1), ("u", 2, 1), ("d", 1, 2)):
            params[f"w{stage}{which}"] = (units * width, depth * width)
            params[f"c{stage}{which}"] = (units * width,)
        params.update({f"{name}{stage}{which}": (width,) for name in "gb" for which in (0, 1)})
        params[f"p{stage}"] = (HEADS, SIDE * SIDE, SIDE * SIDE)
        if side > 8:
            params[f"m{stage}"] = (2 * width, 4 * width)
    return [f"%{name}: {tensor(*shape)}" for name, shape in params.items()]


def windows(count):
    w, x = Windows(), "%x"
    for stage, (side, width) in enumerate(window_sizes()):
        layer = 0
        while len(w.lines) < count * (stage + 1) // 4:
            x = w.layer(x, stage, side, width, 1 + layer % (SIDE - 1))
            layer += 1
        if side > 8:
            x = w.merge(x, stage, side, width)
    return w.lines + [x]


SHAPES = {"chain": chain, "wide": wide, "ladder": ladder, "random": near, "transformer": transformer,
          "layers": layers, "shared": shared, "diamonds": diamonds, "stripes": stripes, "far": far, "windows": windows}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    params, result = [f"%x: {TYPE}"], TYPE
    if sys.argv[1] == "transformer":
        params += [f"%w{i}: {TYPE}" for i in range(5)]
    if sys.argv[1] == "windows":
        params, result = window_params(), tensor(1, 8, 8, 128)
    out = ['#[version = "0.0.5"]', f"def @main({', '.join(params)}) -> {result} {{"]
    out += ["  " + line for line in SHAPES[sys.argv[1]](int(sys.argv[2]))]
    print("\n".join(out) + "\n}")


if __name__ == "__main__":
    main()
