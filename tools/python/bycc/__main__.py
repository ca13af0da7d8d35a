"""python -m bycc: the command line, as `bycc` is. `bycc` and `bycc-run` are scripts of the package."""

import os
import sys
from typing import NoReturn

from ._library import program


def _run(name: str) -> NoReturn:
    os.execv(program(name), [name, *sys.argv[1:]])


def bycc() -> NoReturn:
    _run("bycc")


def bycc_run() -> NoReturn:
    _run("bycc-run")


if __name__ == "__main__":
    bycc()
