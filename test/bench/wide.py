#!/usr/bin/env python3
"""Programs that are wide or deep, and how compile time grows with them.

wide.py SHAPE COUNT              writes one to stdout as Relay text
wide.py --curves [MOST] [SHAPE..]  compiles each with bycc from PATH, ten times larger each
                                 time up to MOST (100000), and prints seconds of CPU and
                                 the exponent of each step: 1 is linear

chain      operators one after the other     fan        a value read COUNT times
concat     COUNT inputs into one             stack      the same along an axis of its own
split      one into COUNT outputs            outputs    COUNT results of as many operators
same       one value returned COUNT times    ifs        one after the other
functions  COUNT, called once each           doubling   each calls the next twice (LIMIT)
rejoined   one into COUNT parts and back     conv_erf   a convolution plus erf(..erf(x)), COUNT deep
"""
import math
import os
import resource
import subprocess
import sys
import tempfile

T = "Tensor[(2, 3), float32]"


def main(body, params="%x: " + T):
    return f"def @main({params}) {{\n" + "\n".join(body) + "\n}\n"


def names(prefix, count, first=0):
    return ", ".join(f"%{prefix}{i}" for i in range(first, first + count))


def chain(n):
    ops = ["nn.relu", "exp", "tanh"]
    return main([f"%{i} = {ops[i % 3]}({'%x' if i == 0 else '%' + str(i - 1)});" for i in range(n)] + [f"%{n - 1}"])


def fan(n):
    return main(["%0 = nn.relu(%x);"] + [f"%{i} = add(%{i - 1}, %0);" for i in range(1, n)] + [f"%{n - 1}"])


def concat(n):
    return main([f"%0 = ({names('x', n)});", "concatenate(%0, axis=0)"], ", ".join(f"%x{i}: {T}" for i in range(n)))


def stack(n):
    return main([f"%{i} = multiply(%x, {i}f);" for i in range(n)] + [f"%{n} = ({names('', n)});", f"stack(%{n}, axis=0)"])


def split(n):
    return main([f"%0 = split(%x, indices_or_sections={n});"] + [f"%{i + 1} = %0.{i};" for i in range(n)] + [f"({names('', n, 1)})"],
                f"%x: Tensor[({n}, 3), float32]")


def rejoined(n):
    return main([f"%0 = split(%x, indices_or_sections={n});", "concatenate(%0, axis=0)"], f"%x: Tensor[({n}, 3), float32]")


def outputs(n):
    return main([f"%{i} = multiply(%x, {i}f);" for i in range(n)] + [f"({names('', n)})"])


def same(n):
    return main(["%0 = nn.relu(%x);", "(" + ", ".join(["%0"] * n) + ")"])


def ifs(n):
    lines, last = [], "%x"
    for i in range(n):
        lines.append(f"let %y{i} = if (%c) {{ nn.relu({last}) }} else {{ tanh({last}) }};")
        last = f"%y{i}"
    return main(lines + [last], f"%x: {T}, %c: bool")


def functions(n):
    lines = "".join(f"def @f{i}(%x: {T}) -> {T} {{ nn.relu(%x) }}\n" for i in range(n))
    return lines + main([f"let %y{i} = @f{i}({'%x' if i == 0 else f'%y{i - 1}'});" for i in range(n)] + [f"%y{n - 1}"])


def doubling(n):
    bodies = [f"@f{i + 1}(exp(@f{i + 1}(%x)))" for i in range(n - 1)] + ["nn.relu(%x)"]
    return "".join(f"def @f{i}(%x: {T}) -> {T} {{ {body} }}\n" for i, body in enumerate(bodies)) + main(["@f0(%x)"])


def conv_erf(n):
    lines = ["%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);"]
    lines += [f"%{i} = erf({'%x' if i == 1 else '%' + str(i - 1)});" for i in range(1, n + 1)]
    return main(lines + [f"add(%0, %{n})"], "%x: Tensor[(1, 64, 64, 64), float32], %w: Tensor[(64, 64, 3, 3), float32]")


SHAPES = {f.__name__: f for f in (chain, fan, concat, stack, split, rejoined, outputs, same, ifs, functions, doubling, conv_erf)}


def program(shape, count):
    return '#[version = "0.0.5"]\n' + SHAPES[shape](count)


def seconds(shape, count, folder):
    path = os.path.join(folder, "net.relay")
    with open(path, "w") as file:
        file.write(program(shape, count))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["bycc", path, "-q", "-o", os.path.join(folder, "net.o")], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def curves(most, shapes):
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes:
            line, count, last = f"{shape:10}", 100, None
            while count <= most:
                took, done = seconds(shape, count, folder)
                step = f" (n^{math.log10(took / last):.1f})" if last else ""
                line += f"  {count}: {took:.2f} s{step}"
                if done.returncode:
                    line += " " + done.stderr.split("error", 1)[-1].split("\n")[0]
                    break
                count, last = count * 10, took
            print(line, flush=True)


if __name__ == "__main__":
    if len(sys.argv) >= 2 and sys.argv[1] == "--curves":
        curves(int(sys.argv[2]) if len(sys.argv) > 2 else 100000, sys.argv[3:] or list(SHAPES))
    elif len(sys.argv) == 3 and sys.argv[1] in SHAPES:
        sys.stdout.write(program(sys.argv[1], int(sys.argv[2])))
    else:
        sys.exit(__doc__)
