"""torch.compile(model, backend="bycc"), and torch modules as models of bycc.compile().

A graph that torch has captured is exported to ONNX, with its weights as constants, and
compiled when it is first called. What bycc cannot take, and what it does not do (gradients,
graphs that write into their inputs), runs as torch runs it, with a warning that says why.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from ._compile import compile
from ._errors import Error, Warning
from ._model import Model

__all__ = ["backend", "export"]

_MOST_MODELS = 8  # of one graph

_log = logging.getLogger("bycc.torch")


def _onnx_program(module: torch.nn.Module, inputs: Tuple[Any, ...], dynamic_shapes: Any) -> Any:
    """torch's exporter, without what it tells the terminal."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module, inputs, dynamo=True, dynamic_shapes=dynamic_shapes, verbose=False
        )
    return program


def export(module: torch.nn.Module, inputs: Any, dynamic_shapes: Any = None) -> Any:
    """The module as torch.onnx.export() writes it, for inference, in memory."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            return _onnx_program(module, arguments, dynamic_shapes)
    finally:
        module.train(was_training)


class _Refused(Exception):
    """Why a graph is torch's to run."""


def _is_weight(node: torch.fx.Node, example: Any) -> bool:
    """Whether an input of the graph is a parameter or buffer of the module."""
    if isinstance(example, torch.nn.Parameter):
        return True
    return bool((node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type"))


class _Graph(torch.nn.Module):
    """The graph with its weights, and symbols taken from the extents of its tensors."""

    def __init__(self, graph: "_Capture", arguments: Sequence[Any]):
        super().__init__()
        self._plan: List[Tuple[str, Any]] = []
        position = 0
        for index, kind in enumerate(graph.kinds):
            if kind == "weight":
                self.register_buffer(f"weight_{index}", arguments[index].detach())
                self._plan.append(("weight", f"weight_{index}"))
            elif kind == "tensor":
                self._plan.append(("tensor", position))
                position += 1
            else:
                self._plan.append(("extent", graph.extent_of[index]))
        self._run = graph.module
        self._results = graph.results

    def forward(self, *tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        values: List[Any] = []
        for kind, what in self._plan:
            if kind == "weight":
                values.append(getattr(self, what))
            elif kind == "tensor":
                values.append(tensors[what])
            else:
                values.append(tensors[what[0]].size(what[1]))
        results = self._run(*values)
        return tuple(results[i] for i, constant in enumerate(self._results) if constant is None)


class _Capture:
    """A graph of torch's, and what its inputs and outputs are."""

    def __init__(self, module: torch.fx.GraphModule, examples: Sequence[Any]):
        self.module = module
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.kinds: List[str] = []  # "weight", "tensor", "extent"
        self.fakes: List[Any] = []  # of tensors, in order
        for node, example in zip(placeholders, examples):
            if isinstance(example, (torch.SymInt, int)):
                self.kinds.append("extent")
            elif not isinstance(example, torch.Tensor):
                raise _Refused(f"an input is a {type(example).__name__}")
            elif _is_weight(node, example):
                self.kinds.append("weight")
            else:
                self.kinds.append("tensor")
                self.fakes.append(node.meta.get("example_value", example))
        self.is_open = any(isinstance(n, torch.SymInt) for fake in self.fakes for n in fake.shape)
        self.extent_of = self._extents(placeholders)
        self.results = self._constants()

    def _extents(self, placeholders: Sequence[torch.fx.Node]) -> Dict[int, Tuple[int, int]]:
        """By number of a placeholder that is an extent: the tensor and axis that have it."""
        places: Dict[str, Tuple[int, int]] = {}
        for t, fake in enumerate(self.fakes):
            for axis, extent in enumerate(fake.shape):
                places.setdefault(str(extent), (t, axis))
        found = {}
        for index, kind in enumerate(self.kinds):
            if kind != "extent":
                continue
            symbol = str(placeholders[index].meta.get("example_value"))
            if symbol not in places:
                raise _Refused(f"the number {symbol} is no extent of an input")
            found[index] = places[symbol]
        return found

    def _constants(self) -> List[Optional[Tuple[Any]]]:
        """By number of an output: (its value,) where that is no tensor, else None."""
        output = next(node for node in self.module.graph.nodes if node.op == "output")
        results: List[Optional[Tuple[Any]]] = []
        for value in output.args[0]:
            if not isinstance(value, torch.fx.Node):
                results.append((value,))
            elif isinstance(value.meta.get("example_value"), (torch.SymInt, torch.SymFloat, torch.SymBool)):
                raise _Refused("an output is a number")
            else:
                results.append(None)
        return results

    def dynamic_shapes(self) -> Any:
        """Which axes are open, as torch.export wants it; None when none is."""
        if not self.is_open:
            return None
        axes = [
            {axis: torch.export.Dim.AUTO for axis, n in enumerate(fake.shape) if isinstance(n, torch.SymInt)}
            for fake in self.fakes
        ]
        return (tuple(axes),)  # of *tensors

    def compile(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> Model:
        tensors = self.tensors(arguments)
        for tensor in tensors:
            if tensor.device.type != "cpu":
                raise _Refused(f"an input is on {tensor.device}")
        with torch.no_grad():
            program = _onnx_program(_Graph(self, arguments), tensors, self.dynamic_shapes())
        signature = program.exported_program.graph_signature
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            raise _Refused("it writes into its inputs or buffers")
        model = compile(program, **options)
        if len(model.inputs) != len(tensors):
            raise _Refused("the exporter has dropped an input")
        return model

    def tensors(self, arguments: Sequence[Any]) -> Tuple[torch.Tensor, ...]:
        return tuple(a for a, kind in zip(arguments, self.kinds) if kind == "tensor")

    def weights(self, arguments: Sequence[Any]) -> List[Tuple[torch.Tensor, int]]:
        return [(a, a._version) for a, kind in zip(arguments, self.kinds) if kind == "weight"]


def _wants_gradient(arguments: Sequence[Any]) -> bool:
    return torch.is_grad_enabled() and any(
        isinstance(a, torch.Tensor) and a.requires_grad for a in arguments
    )


def _short(problem: BaseException) -> str:
    while problem.__cause__ is not None:  # what the exporter wraps
        problem = problem.__cause__
    text = str(problem).strip().split("\n")[0]
    return text if isinstance(problem, (Error, _Refused)) else f"{type(problem).__name__}: {text}"


def _fits(model: Model, tensors: Sequence[torch.Tensor]) -> bool:
    return all(
        isinstance(wanted, str) or wanted == extent
        for spec, tensor in zip(model.inputs, tensors)
        for wanted, extent in zip(spec.shape, tensor.shape)
    )


class _Runner:
    """What torch calls in place of a graph."""

    def __init__(self, module: torch.fx.GraphModule, examples: Sequence[Any], options: Mapping[str, Any]):
        self._module = module
        self._options = options
        # Modules of one structure share a graph, and weights may be written to.
        self._models: List[Tuple[List[Tuple[torch.Tensor, int]], Model]] = []
        self._said = False
        self._capture: Optional[_Capture] = None
        try:
            self._capture = _Capture(module, examples)
        except _Refused as problem:
            self._give_up(problem)

    def _give_up(self, problem: BaseException) -> None:
        self._capture = None
        _log.info("a graph stays with torch", exc_info=problem)
        warnings.warn(f"bycc: a graph stays with torch: {_short(problem)}", Warning, stacklevel=3)

    def _find(self, arguments: Sequence[Any]) -> Optional[Model]:
        """The model that was compiled with the weights as they are, and for these extents:
        the exporter may have fixed some that torch leaves open."""
        assert self._capture
        given = [a for a, kind in zip(arguments, self._capture.kinds) if kind == "weight"]
        for weights, model in self._models:
            if all(a is known and a._version == version for a, (known, version) in zip(given, weights)):
                if not self._capture.is_open or _fits(model, self._capture.tensors(arguments)):
                    return model
        return None

    def _prepare(self, arguments: Sequence[Any]) -> Optional[Model]:
        assert self._capture
        model = self._find(arguments)
        if model is not None:
            return model
        try:
            if len(self._models) == _MOST_MODELS:
                raise _Refused(f"its weights or extents have changed {_MOST_MODELS} times")
            model = self._capture.compile(arguments, self._options)
        except Exception as problem:  # of the exporter, too: it has no class of its own for all
            if isinstance(problem, Error) and problem.status == "USAGE":
                raise  # the options are wrong, whatever the graph
            self._models.clear()
            self._give_up(problem)
            return None
        self._models.append((self._capture.weights(arguments), model))
        return model

    def __call__(self, *arguments: Any) -> Any:
        if self._capture is None:
            return self._module(*arguments)
        if _wants_gradient(arguments):
            if not self._said:
                warnings.warn(
                    "bycc: gradients are wanted, so torch runs the graph; call the model under torch.no_grad()",
                    Warning,
                    stacklevel=2,
                )
                self._said = True
            return self._module(*arguments)
        model = self._prepare(arguments)
        if model is None:
            return self._module(*arguments)
        outputs = model(*(tensor.detach() for tensor in self._capture.tensors(arguments)))
        outputs = iter(outputs if isinstance(outputs, tuple) else (outputs,))
        return tuple(next(outputs) if constant is None else constant[0] for constant in self._capture.results)


def backend(
    module: torch.fx.GraphModule,
    examples: Sequence[Any],
    *,
    options: Optional[Mapping[str, Any]] = None,
    mode: Optional[str] = None,
) -> Callable[..., Any]:
    """The backend "bycc" of torch.compile(); `options` are those of bycc.compile().

    torch.compile(model, backend="bycc", options={"annotate": "dnnl"})
    """
    return _Runner(module, examples, dict(options or {}))
