"""Errors of bycc as exceptions, with their place and status."""

from __future__ import annotations

import difflib
import re
from typing import Any, List, NamedTuple, Optional, Sequence

__all__ = ["ArgumentError", "Diagnostic", "Error", "Warning"]

_LINE = re.compile(r"^(?:(?P<place>.*?): )?error\[(?P<status>[A-Z]+)\]: (?P<message>.*?)(?: \[(?P<id>BY\d{4})\])?$")
_PLACE = re.compile(r"^(?P<file>.*?)(?::(?P<line>\d+):(?P<column>\d+))?$")


class Diagnostic(NamedTuple):
    """One problem and its place."""

    status: str  #: "INPUT", "UNSUP", "ARG", ...
    message: str
    file: str = ""
    line: int = 0  #: from 1; 0: not in a text
    column: int = 0
    node: str = ""  #: the node of an ONNX model
    op: str = ""
    notes: Sequence[str] = ()
    text: str = ""  #: all of it, as bycc prints it
    id: str = ""  #: "BY0201", which `bycc explain` explains; "": a message without a number

    @property
    def place(self) -> str:
        """Where it is: "net.relay:3:7", "net.onnx: node 'conv1' (Conv)", or ""."""
        if self.line:
            return f"{self.file}:{self.line}:{self.column}"
        if self.node:
            node = f"node '{self.node}'" + (f" ({self.op})" if self.op else "")
            return f"{self.file}: {node}" if self.file else node
        return self.file


class Error(Exception):
    """What bycc refuses, or cannot do. `str()` is the text that bycc prints."""

    def __init__(self, diagnostics: Sequence[Diagnostic]):
        self.diagnostics: List[Diagnostic] = list(diagnostics)  #: never empty
        super().__init__("\n".join(d.text.rstrip("\n") for d in self.diagnostics))

    def __reduce__(self) -> Any:
        return (type(self), (self.diagnostics,))

    @property
    def status(self) -> str:
        """INPUT, UNSUP, LIMIT, IO, CODEGEN, LOAD, ARG, USAGE, POLICY or INTERNAL."""
        return self.diagnostics[0].status

    @property
    def message(self) -> str:
        """The first problem, without its place."""
        return self.diagnostics[0].message

    @property
    def id(self) -> str:
        """Number of the first problem's message, "BY0201", or ""; `bycc explain BY0201` explains it."""
        return self.diagnostics[0].id

    @property
    def place(self) -> str:
        """Where the first problem is; "" when it is nowhere in particular."""
        return self.diagnostics[0].place


class ArgumentError(Error, ValueError):
    """What is given to a call is wrong: an option, an input, a name (USAGE, ARG)."""


class Warning(UserWarning):
    """What the compiler warns of."""


def _error(diagnostics: Sequence[Diagnostic]) -> Error:
    kind = ArgumentError if diagnostics[0].status in ("ARG", "USAGE") else Error
    return kind(diagnostics)


def argument_error(message: str, status: str = "ARG") -> Error:
    return _error([Diagnostic(status, message, text=f"error[{status}]: {message}")])


def from_diagnostics(parts: List[dict]) -> Error:
    return _error([Diagnostic(**{**part, "notes": tuple(part["notes"])}) for part in parts])


def from_text(text: str) -> Error:
    """From what the runtime gives: "net.json:1:1: error[LOAD]: message", with notes below."""
    first, *rest = text.split("\n")
    found = _LINE.match(first)
    if not found:
        return _error([Diagnostic("INTERNAL", text, text=text)])
    notes = [line.strip()[len("note: ") :] for line in rest if line.strip().startswith("note: ")]
    place = _PLACE.match(found["place"] or "")
    assert place
    return _error(
        [
            Diagnostic(
                found["status"],
                found["message"],
                file=place["file"],
                line=int(place["line"] or 0),
                column=int(place["column"] or 0),
                notes=tuple(notes),
                text=text,
                id=found["id"] or "",
            )
        ]
    )


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def nearest(name: str, known: Sequence[str]) -> str:
    """", did you mean 'x'?", or "" when nothing is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f", did you mean '{near[0]}'?" if near else ""


def unknown_name(what: str, name: str, known: Sequence[str]) -> Error:
    near = nearest(name, known)
    return argument_error(f"the model has no {what} '{name}'" + (near or f"; it has {_names(known)}"))


def missing_inputs(missing: Sequence[str]) -> Error:
    return argument_error(f"no data for input{'s' if len(missing) > 1 else ''} {_names(missing)}")


def too_many_inputs(given: int, known: Sequence[str]) -> Error:
    return argument_error(f"{given} inputs are given, the model has {len(known)}: {_names(known)}")
