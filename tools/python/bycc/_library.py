"""Where the parts of the package are."""

from __future__ import annotations

import os
from typing import Any, List

FOLDER = os.path.dirname(os.path.abspath(__file__))


def compiler() -> Any:
    """The extension with the compiler; it needs LLVM's library and oneDNN."""
    try:
        from . import _compiler
    except ImportError as problem:
        raise ImportError(
            f"the compiler cannot be loaded: {problem}\n"
            "It needs libLLVM 19 and libdnnl, on Debian: apt-get install libllvm19 libdnnl2 (or "
            "libdnnl3). bycc.load() runs compiled models without them."
        ) from problem
    return _compiler


def plugin_folders() -> List[str]:
    """Where plugins of the compiler are looked for."""
    path = os.environ.get("BYCC_PLUGIN_PATH")
    return ([path] if path else []) + [os.path.join(FOLDER, "lib", "bycc")]


def program(name: str) -> str:
    return os.path.join(FOLDER, "bin", name)
