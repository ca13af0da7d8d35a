"""bycc.compile()."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._errors import Warning, argument_error
from ._library import compiler, plugin_folders
from ._model import Model, Parts

__all__ = ["Pass", "compile", "relay_pass"]

#: Called with phase, item, index and count while the compiler works.
Progress = Callable[[str, str, int, int], Any]


class Pass(NamedTuple):
    """A pass of your own, from Relay text to Relay text; `relay_pass` makes one."""

    name: str
    side: str  #: "before" or "after"
    place: str  #: the pass that it stands beside
    function: Callable[[str], Optional[str]]

    def __call__(self, text: str) -> Optional[str]:
        return self.function(text)


def relay_pass(function: Any = None, *, after: str = "", before: str = "", name: str = "") -> Any:
    """Makes a pass of a function that gets the program as Relay text and gives the new one, or
    None when nothing is to change.

        @bycc.relay_pass(after="simplify-inference")
        def tanh_for_gelu(text):
            return text.replace("gelu(", "tanh(")   # or @bycc.relay_pass alone

        m = bycc.compile("net.onnx", own_passes=[tanh_for_gelu])

    It stands beside a pass of the default list (`bycc --list-passes`) that comes before
    vendors are asked; without a place, behind those that simplify. Large constants stand in
    #[metadata] by number: entries that are kept, keep their data. Calls carry the number of
    their node, so that reports go on calling it by its name (share/doc/passes.md).
    """
    if after and before:
        raise argument_error("a pass stands after one pass or before one, not both")

    def make(function: Callable[[str], Optional[str]]) -> Pass:
        own = name or getattr(function, "__name__", "").replace("_", "-").strip("-<>")
        if not own or own == "lambda":
            raise argument_error("a pass needs a name: relay_pass(name=...)")
        return Pass(own, "before" if before else "after", before or after or "eliminate-dead-code", function)

    return make(function) if callable(function) else make


def _passes(own_passes: Any) -> Sequence[Pass]:
    listed = [own_passes] if isinstance(own_passes, Pass) or callable(own_passes) else list(own_passes)
    for item in listed:
        if not isinstance(item, Pass):
            raise argument_error(f"own_passes: {item!r} is no pass; @bycc.relay_pass makes one of a function")
    return listed


_ALIASES = {"shapes": "shape", "dims": "dim", "opt_level": "O"}
_COMMA_LISTS = ("annotate", "passes", "mattr")


def _extents(value: Any) -> str:
    return value if isinstance(value, str) else "x".join(map(str, value))


def _option(name: str, value: Any) -> Iterable[Tuple[str, str]]:
    """An option of the command line as the texts that it is given there."""
    name = _ALIASES.get(name, name).replace("_", "-")
    if value is None:
        return
    if isinstance(value, bool):
        if value:
            yield name, ""
    elif isinstance(value, Mapping):
        separator = ":" if name in ("run-after", "run-before") else "="
        for key, item in value.items():
            yield name, f"{key}{separator}{_extents(item) if name == 'shape' else item}"
    elif isinstance(value, (list, tuple)):
        if name in _COMMA_LISTS:
            yield name, ",".join(map(str, value))
        else:
            for item in value:
                yield name, os.fspath(item) if isinstance(item, os.PathLike) else str(item)
    else:
        yield name, os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _params(params: Any, files: Dict[str, bytes]) -> List[Tuple[str, str]]:
    """Parameters as arrays become files in memory."""
    if not isinstance(params, Mapping):
        return list(_option("params", params))
    import numpy

    for name, array in params.items():
        buffer = io.BytesIO()
        numpy.save(buffer, numpy.asarray(array))
        files[f"params/{name}.npy"] = buffer.getvalue()
    return [("params", "params")]


_RELAY_BEGINS = ("#[version", "def @", "fn (", "free_var")


def _is_relay(text: str) -> bool:
    return "\n" in text or text.lstrip().startswith(_RELAY_BEGINS)


def _name_of_bytes(data: bytes) -> str:
    start = data[:64].lstrip()
    if start.startswith(tuple(begin.encode() for begin in _RELAY_BEGINS)):
        return "model.relay"
    return "model.json" if start.startswith(b"{") else "model.onnx"


def _serialized(model: Any) -> bytes:
    try:
        return bytes(model.SerializeToString())
    except ValueError as problem:
        raise argument_error(
            f"the model cannot be turned into bytes ({problem}); save it with external data and give the path"
        ) from problem


def _source(model: Any, inputs: Any, dynamic_shapes: Any, files: Dict[str, bytes]) -> str:
    """The name of the model's file; what is in memory goes to `files`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        if inputs is None:
            raise argument_error("a torch module needs example inputs: bycc.compile(module, inputs=(x,))")
        from .torch import export

        model = export(model, inputs, dynamic_shapes)
    if hasattr(model, "model_proto"):  # what torch.onnx.export() gives
        model = model.model_proto
    if isinstance(model, str) and _is_relay(model):
        files["model.relay"] = model.encode()
        return "model.relay"
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        name = _name_of_bytes(data)
        files[name] = data
        return name
    if hasattr(model, "SerializeToString"):
        files["model.onnx"] = _serialized(model)
        return "model.onnx"
    raise argument_error(
        f"a model is a path, an onnx.ModelProto, bytes, Relay text or a torch module, not a {type(model).__name__}"
    )


def _stem_of(model: str) -> str:
    base = os.path.basename(model)
    return base[: base.rindex(".")] if "." in base[1:] else base


def compile(
    model: Any,
    *,
    annotate: Any = None,
    precision: Optional[str] = None,
    shapes: Optional[Mapping[str, Any]] = None,
    dims: Optional[Mapping[str, int]] = None,
    likely: Optional[Mapping[str, int]] = None,
    params: Any = None,
    threads: Optional[int] = None,
    name: Optional[str] = None,
    own_passes: Sequence[Pass] = (),
    progress: Optional[Progress] = None,
    inputs: Any = None,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Model:
    """Compiles a model, in memory, and loads it.

    model: the path of an .onnx, .relay or .json file; an onnx.ModelProto; bytes of ONNX; Relay
        text; what torch.onnx.export() gives; or a torch module, with example `inputs`.
    dynamic_shapes: of a torch module: axes that stay open, as torch.export takes them.
    annotate: vendors, "dnnl" or ["dnnl", "ccompiler"].
    precision: "f32" or "bf16".
    shapes, dims: what open shapes and extents are: {"x": (1, 3, 224, 224)}, {"batch": 8}.
    likely: what open extents count as in costs: {"seq": 128}.
    params: parameters of a Relay program, {"w": array}, or paths.
    threads: of a run; without it, the CPUs allowed.
    name: of the model; without it, the file's.
    own_passes: passes of your own, by `relay_pass`.
    progress: called with phase, item, index and count while the compiler works.
    options: the others of the command line, `bycc --help-all`, by their names, with "_" for "-":
        O=3, mcpu="x86-64-v3", pin={"softmax_*": "host"}, disable_pass=["fold-constants"].

    What is wrong raises `bycc.Error`; warnings of the compiler are warnings of Python.
    """
    files: Dict[str, bytes] = {}
    source = _source(model, inputs, dynamic_shapes, files)
    pairs = _params(params, files) if params is not None else []
    known = dict(annotate=annotate, precision=precision, shapes=shapes, dims=dims, likely=likely, threads=threads)
    for key, value in {**known, **options}.items():
        pairs.extend(_option(key, value))
    stem = name or _stem_of(source)
    extension = compiler()
    if "emit" in options:
        raise argument_error("emit: bycc.compile makes what runs; bycc MODEL --emit=... writes other forms")
    passes = [tuple(item) for item in _passes(own_passes)]
    made = extension.compile(source, stem, pairs, files, passes, plugin_folders(), progress)
    for is_remark, place, text in made["messages"]:
        if not is_remark:
            warnings.warn(f"{place}: {text}" if place else text, Warning, stacklevel=2)
    parts = Parts(
        stem, made["graph_json"], made["object"], made["header"], made["params"], made["explain"], made["messages"]
    )
    return Model(parts, threads=threads or 0)
