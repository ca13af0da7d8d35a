#!/usr/bin/env python3
"""Reads and writes .npy without NumPy.

npy.py write FILE DTYPE SHAPE VALUE...   DTYPE f2 f4 f8 i1 i2 i4 i8 u1 u2 b1, SHAPE 2x3 or "" (rank 0)
npy.py show FILE                         prints "SHAPE VALUE..."
"""
import ast
import struct
import sys

CODES = {"f2": ("<f2", "e"), "f4": ("<f4", "f"), "i1": ("|i1", "b"), "i2": ("<i2", "h"), "i4": ("<i4", "i"),
         "i8": ("<i8", "q"), "u1": ("|u1", "B"), "u2": ("<u2", "H"), "b1": ("|b1", "?"), "f8": ("<f8", "d")}


def write(path, dtype, shape, values):
    descr, code = CODES[dtype]
    dims = tuple(int(d) for d in shape.split("x")) if shape else ()
    head = repr({"descr": descr, "fortran_order": False, "shape": dims})
    head += " " * ((64 - (11 + len(head)) % 64) % 64) + "\n"
    convert = float if dtype.startswith("f") else int
    data = struct.pack(f"<{len(values)}{code}", *[convert(float(v)) for v in values])
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def show(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    code = next(c for d, c in CODES.values() if d == head["descr"])
    body = data[10 + size:]
    values = struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body)
    print("x".join(map(str, head["shape"])) or "scalar", *[f"{v:.6g}" if isinstance(v, float) else int(v) for v in values])


if __name__ == "__main__":
    if len(sys.argv) >= 5 and sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
    elif len(sys.argv) == 3 and sys.argv[1] == "show":
        show(sys.argv[2])
    else:
        sys.exit(__doc__)
