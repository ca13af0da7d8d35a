"""Models that are loaded: running, looking into them, keeping them."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _runtime
from ._errors import argument_error
from ._report import Explanation, Placement, Profile, ProfileEntry, Region, TensorSpec

__all__ = ["Model", "load"]

Path = Union[str, "os.PathLike[str]"]


class Parts(NamedTuple):
    """A compiled model in memory."""

    name: str
    graph_json: bytes
    object: bytes
    header: str
    params: Any  # a _runtime.Block, or None
    explain: Optional[str] = None
    messages: Sequence[Tuple[bool, str, str]] = ()


def _stem(path: str) -> str:
    return path[: path.rindex(".")] if path.endswith((".json", ".o")) else path


class Model(_runtime.Model):
    """A compiled model, ready to run. `bycc.compile()` and `bycc.load()` give it.

    It may be shared by threads, and is pickled by the path and id of its files, or with all
    that it holds while it has not been saved.
    """

    path: Optional[str]  #: the graph JSON of its files; None: it is in memory

    def __init__(self, source: Union[str, Parts], *, threads: int = 0, verify: bool = False, set_id: str = ""):
        if isinstance(source, Parts):
            super().__init__(source.name, source.graph_json, source.object, source.params, threads)
            self.path = None
            self._parts: Optional[Parts] = source
        else:
            super().__init__(source, threads, verify, set_id)
            self.path = os.path.abspath(source)
            self._parts = None
        self._asked_threads = threads
        self._graph_cache: Optional[Dict[str, Any]] = None
        # Of this module: another one may be at this path when somebody asks.
        self._label = source.name if isinstance(source, Parts) else os.path.basename(_stem(source))

    # -- what it is

    @property
    def inputs(self) -> List[TensorSpec]:
        """Name, dtype and shape of each input."""
        return [TensorSpec(*spec) for spec in self._inputs()]

    @property
    def outputs(self) -> List[TensorSpec]:
        """Name, dtype and shape of each output."""
        return [TensorSpec(*spec) for spec in self._outputs()]

    @property
    def graph(self) -> Dict[str, Any]:
        """The graph JSON: nodes, memory, and under "bycc" what the compiler reports."""
        if self._graph_cache is None:
            graph = json.loads(self._read_graph())
            if graph["bycc"]["set_id"] != self.set_id:
                raise argument_error(f"{self.path} is of another build than the model that was loaded from it")
            self._graph_cache = graph
        return self._graph_cache

    @property
    def regions(self) -> List[Region]:
        """The parts that vendors run."""
        return [
            Region(r["id"], r["vendor"], tuple(r["nodes"]), tuple(r["composites"]), r["flops"], r["boundary_bytes"])
            for r in self.graph["bycc"]["regions"]
        ]

    @property
    def messages(self) -> List[str]:
        """Remarks and warnings of the compiler; none for a model that was loaded."""
        return [text for _, _, text in self._parts.messages] if self._parts else []

    def explain(self) -> Explanation:
        """A table: where each node is, and why it is not elsewhere."""
        rows = [
            Placement(
                node["name"],
                node["op"],
                node["placed"],
                node["region"],
                node["composite"],
                {**node["refused"], **node.get("why", {})},
            )
            for node in self.graph["bycc"]["placement"]
        ]
        return Explanation(rows, f"{self._label}: {self._summary()}", self._parts.explain if self._parts else None)

    def profile(self, *inputs: Any, runs: int = 10, **named: Any) -> Profile:
        """A table of what a run takes, by host kernel, region, and step of a region."""
        specs = self.inputs
        if len(inputs) > len(specs):
            raise argument_error(f"{len(inputs)} inputs are given, the model has {len(specs)}")
        if runs < 1:
            raise argument_error(f"runs: wanted at least 1, given {runs}")
        given = {spec.name: value for spec, value in zip(specs, inputs)}
        for name in given.keys() & named.keys():
            raise argument_error(f"input '{name}' is given twice")
        rows = self._profile({**given, **named}, runs)
        entries = [ProfileEntry(*row[:5], row[5] / 1e9, row[6]) for row in rows if row[4] > 0]
        return Profile(entries, runs, self._label)

    # -- keeping it

    def save(self, path: Path) -> str:
        """Writes PATH.o, PATH.json, PATH.h and PATH.params, as `bycc -o PATH.o` does; gives the
        path of the graph JSON, for `bycc.load()`."""
        from ._library import compiler

        stem = _stem(os.fspath(path))
        parts = self._parts or self._read_parts()
        compiler().save(stem, parts.graph_json, parts.object, parts.header, parts.params)
        self.path = os.path.abspath(stem + ".json")
        return stem + ".json"

    def _read_graph(self) -> bytes:
        if self._parts:
            return self._parts.graph_json
        assert self.path
        with open(self.path, "rb") as file:
            return file.read()

    def _read_parts(self) -> Parts:
        """The files that it was loaded from."""
        assert self.path
        files = self.graph["bycc"]["files"]
        folder = os.path.dirname(self.path)

        def read(name: str) -> bytes:
            with open(os.path.join(folder, name), "rb") as file:
                return file.read()

        params = None
        if "params" in files:
            data = read(files["params"]["name"])
            params = _runtime.Block(len(data))
            memoryview(params)[:] = data
        header = _stem(self.path) + ".h"
        text = read(header).decode() if os.path.exists(header) else ""
        return Parts(self._label, self._read_graph(), read(files["object"]["name"]), text, params)

    def __reduce__(self) -> Any:
        if self.path:
            return (_restore, (self.path, self.set_id, self._asked_threads))
        assert self._parts
        params = None if self._parts.params is None else bytes(self._parts.params)
        return (_restore_parts, (tuple(self._parts._replace(params=params)), self._asked_threads))

    def __copy__(self) -> "Model":
        return self  # nothing of it changes

    def __deepcopy__(self, memo: Any) -> "Model":
        return self

    # -- how it looks

    def _summary(self) -> str:
        bycc = self.graph["bycc"]
        totals = bycc["offload"]
        ops = totals["ops"] + totals["host_ops"]
        parts = []
        vendors: Dict[str, List[Region]] = {}
        for region in self.regions:
            vendors.setdefault(region.vendor, []).append(region)
        for vendor, regions in vendors.items():
            nodes = sum(1 for node in bycc["placement"] if node["placed"] == vendor)
            share = 100 * sum(r.flops for r in regions) / totals["flops"] if totals["flops"] else 0.0
            count = f"{len(regions)} region" + ("s" if len(regions) != 1 else "")
            parts.append(f"{vendor}: {count}, {nodes} of {ops} ops, {share:.1f} % of FLOPs")
        parts.append(f"host: {totals['host_ops']} op" + ("s" if totals["host_ops"] != 1 else ""))
        return " | ".join(parts)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"<bycc.Model {self._label}: {inputs} -> {outputs} | {self._summary()}>"

    def _repr_html_(self) -> str:
        from ._report import html_table

        rows = [("input", s.name, s.dtype, str(s.shape)) for s in self.inputs]
        rows += [("output", s.name, s.dtype, str(s.shape)) for s in self.outputs]
        return html_table(("", "name", "dtype", "shape"), rows, caption=f"{self._label}: {self._summary()}")


def _restore(path: str, set_id: str, threads: int) -> Model:
    return Model(path, threads=threads, set_id=set_id)


def _restore_parts(fields: Tuple[Any, ...], threads: int) -> Model:
    parts = Parts(*fields)
    if parts.params is not None:
        block = _runtime.Block(len(parts.params))
        memoryview(block)[:] = parts.params
        parts = parts._replace(params=block)
    return Model(parts, threads=threads)


def load(path: Path, *, threads: int = 0, verify: bool = False) -> Model:
    """Loads what `bycc` or `Model.save()` wrote: "net.json", with net.o and net.params beside it.

    threads: of a run; 0: as the model was compiled for, else the CPUs allowed.
    verify: hash all weights, also large ones.
    """
    text = os.fspath(path)
    if text.endswith((".onnx", ".relay")):
        raise argument_error(f"{text} is a model, not a compiled one: bycc.compile() makes one of it")
    if text.endswith(".o") or not text.endswith(".json") and not os.path.exists(text):
        text = _stem(text) + ".json"
    return Model(text, threads=threads, verify=verify)
