"""Writes an encoder layer in many spellings, each with its own parameters, into FOLDER/NAME/layer.relay and .npy.

spellings.py FOLDER

  scale  of the scores by * or /, of q, of q and k, of k
  parts  three products; one, split in equal parts or at places, or seen as [b, s, 3, h, d] and taken apart
  keys   transposed after or with the heads, or as [s, h, d] by axes [1, 2, 0]
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy

SCALES = ["times", "over", "of_q", "q_over", "of_q_and_k", "of_k"]
PARTS = ["three", "split", "split_at", "taken"]
KEYS = ["last_two", "with_heads", "rank_3"]
S, D, H = 4, 8, 2
W = D // H

random.seed(7)
numbers = lambda *extents: [numbers(*extents[1:]) for _ in range(extents[0])] if extents else random.uniform(-1, 1)
matrices = {"wq": numbers(D, D), "wk": numbers(D, D), "wv": numbers(D, D), "wo": numbers(D, D),
            "w1": numbers(16, D), "w2": numbers(D, 16)}
vectors = {"bq": numbers(D), "bk": numbers(D), "bv": numbers(D), "bo": numbers(D), "b1": numbers(16),
           "b2": numbers(D), "g1": numbers(D), "h1": numbers(D), "g2": numbers(D), "h2": numbers(D)}
matrices["wqkv"] = matrices["wq"] + matrices["wk"] + matrices["wv"]
vectors["bqkv"] = vectors["bq"] + vectors["bk"] + vectors["bv"]


class Text:
    def __init__(self):
        self.lines, self.params = [], {}

    def let(self, expression):
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {expression};")
        return name

    def weight(self, name):
        value = matrices.get(name) or vectors[name]
        extents = [len(value)] + ([len(value[0])] if name in matrices else [])
        self.params[name] = extents
        return "%" + name

    def dense(self, x, w, b):
        units = len(matrices[w])
        return self.let(f"add({self.let(f'nn.dense({x}, {self.weight(w)}, units={units})')}, {self.weight(b)})")


def projections(text, parts):
    if parts == "three":
        return [text.dense("%x", "w" + name, "b" + name) for name in "qkv"]
    both = text.dense("%x", "wqkv", "bqkv")
    if parts == "taken":
        seen = text.let(f"reshape({both}, newshape=[1, {S}, 3, {H}, {W}])")
        turned = text.let(f"transpose({seen}, axes=[2, 0, 3, 1, 4])")
        return [text.let(f"take({turned}, {i}i64, axis=0)") for i in range(3)]
    sections = "3" if parts == "split" else f"[{D}, {2 * D}]"
    whole = text.let(f"split({both}, indices_or_sections={sections}, axis=-1)")
    return [f"{whole}.{i}" for i in range(3)]


# Heads in front, [2, s, d]; of keys [2, d, s].
def heads(text, x, parts):
    if parts != "taken":
        x = text.let(f"transpose({text.let(f'reshape({x}, newshape=[1, {S}, {H}, {W}])')}, axes=[0, 2, 1, 3])")
    return text.let(f"reshape({x}, newshape=[{H}, {S}, {W}])")


def turnedKeys(text, k, parts, keys):
    if parts == "taken" or keys == "last_two":
        return text.let(f"transpose({heads(text, k, parts)}, axes=[0, 2, 1])")
    if keys == "rank_3":
        return text.let(f"transpose({text.let(f'reshape({k}, newshape=[{S}, {H}, {W}])')}, axes=[1, 2, 0])")
    turned = text.let(f"transpose({text.let(f'reshape({k}, newshape=[1, {S}, {H}, {W}])')}, axes=[0, 2, 3, 1])")
    return text.let(f"reshape({turned}, newshape=[{H}, {W}, {S}])")


def layer(scale, parts, keys):
    text = Text()
    q, k, v = projections(text, parts)
    q, k, v = heads(text, q, parts), turnedKeys(text, k, parts, keys), heads(text, v, parts)
    root = W ** -0.25
    if scale in ("of_q", "of_q_and_k"):
        q = text.let(f"multiply({q}, {root ** 2 if scale == 'of_q' else root!r}f)")
    if scale == "q_over":
        q = text.let(f"divide({q}, {root ** -2}f)")
    if scale in ("of_k", "of_q_and_k"):
        k = text.let(f"multiply({k}, {root ** 2 if scale == 'of_k' else root!r}f)")
    scores = text.let(f"nn.batch_matmul({q}, {k}, transpose_b=False)")
    if scale == "times":
        scores = text.let(f"multiply({scores}, {root ** 2}f)")
    if scale == "over":
        scores = text.let(f"divide({scores}, {root ** -2}f)")
    seen = text.let(f"nn.batch_matmul({text.let(f'nn.softmax({scores})')}, {v}, transpose_b=False)")
    back = text.let(f"transpose({text.let(f'reshape({seen}, newshape=[1, {H}, {S}, {W}])')}, axes=[0, 2, 1, 3])")
    out = text.dense(text.let(f"reshape({back}, newshape=[1, {S}, {D}])"), "wo", "bo")
    normed = text.let(f"nn.layer_norm({text.let(f'add({out}, %x)')}, {text.weight('g1')}, {text.weight('h1')})")
    f = text.dense(normed, "w1", "b1")
    inner = text.let(f"erf({text.let('multiply(' + f + ', 0.70710678f)')})")
    cdf = text.let(f"add({inner}, 1f)")
    gelu = text.let("multiply(" + text.let("multiply(" + f + ", 0.5f)") + ", " + cdf + ")")
    last = text.let(f"add({text.dense(gelu, 'w2', 'b2')}, {normed})")
    result = f"nn.layer_norm({last}, {text.weight('g2')}, {text.weight('h2')})"
    params = "".join(f", %{name}: Tensor[({', '.join(map(str, e))}{',' if len(e) == 1 else ''}), float32]"
                     for name, e in text.params.items())
    return text.params, (f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, {S}, {D}), float32]{params}) {{\n'
                         + "\n".join(text.lines) + f"\n  {result}\n}}\n")


def main():
    for scale in SCALES:
        for parts in PARTS:
            for keys in KEYS:
                if parts == "taken" and keys != "last_two":
                    continue
                folder = os.path.join(sys.argv[1], f"{scale}-{parts}-{keys}")
                os.makedirs(folder)
                params, text = layer(scale, parts, keys)
                with open(os.path.join(folder, "layer.relay"), "w") as file:
                    file.write(text)
                for name, extents in params.items():
                    value = matrices.get(name) or vectors[name]
                    flat = [e for row in value for e in row] if name in matrices else value
                    npy.write(os.path.join(folder, name + ".npy"), "f4", "x".join(map(str, extents)), flat)


main()
