"""bycc: a graph-partitioning compiler for neural networks.

    import bycc

    m = bycc.compile("net.onnx", annotate="dnnl")
    y = m(x)                   # NumPy arrays or torch tensors
    m.explain()                # where each node went, and why
    m.save("net")
    m = bycc.load("net.json")  # needs no compiler
"""

from __future__ import annotations

from . import _runtime
from ._compile import Pass, compile, relay_pass
from ._errors import ArgumentError, Diagnostic, Error, Warning
from ._model import Model, load
from ._report import Explanation, Placement, Profile, ProfileEntry, Region, TensorSpec
from ._runtime import guard_files

__version__: str = _runtime.version()
__all__ = [
    "ArgumentError",
    "Diagnostic",
    "Error",
    "Explanation",
    "Model",
    "Pass",
    "Placement",
    "Profile",
    "ProfileEntry",
    "Region",
    "TensorSpec",
    "Warning",
    "compile",
    "guard_files",
    "load",
    "relay_pass",
]
