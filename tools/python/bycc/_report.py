"""Where everything went, and what it takes, as text and as HTML for notebooks."""

from __future__ import annotations

import html
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

__all__ = ["Explanation", "Placement", "Profile", "ProfileEntry", "Region", "TensorSpec"]


class TensorSpec(NamedTuple):
    """An input or output. An extent that is known at run time only has a name, or "?"."""

    name: str
    dtype: str
    shape: Tuple[Any, ...]

    def __str__(self) -> str:
        dims = ", ".join(str(dim) for dim in self.shape)
        return f"{self.name}: {self.dtype} ({dims}{',' if len(self.shape) == 1 else ''})"


class Region(NamedTuple):
    """A part of the model that a vendor runs."""

    symbol: str
    vendor: str
    nodes: Sequence[str]  #: of the model
    composites: Sequence[str]
    flops: float
    boundary_bytes: int


class Placement(NamedTuple):
    """Where a node is, and why it is not elsewhere."""

    node: str
    op: str
    placed: str  #: a vendor, or "host"
    region: Optional[str]
    composite: Optional[str]
    refused: Dict[str, str]  #: by vendor: why it does not take the node


class ProfileEntry(NamedTuple):
    """A host kernel, a region, or a step inside of a region."""

    name: str
    detail: str
    source: str  #: nodes of the model
    region: int  #: of a step: the number of its region; else -1
    calls: int
    seconds: float  #: of all calls
    flops: float


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        parts = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths)))
        return "  ".join(parts).rstrip()

    return "\n".join([line(head), *map(line, rows)])


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), caption: str = ""
) -> str:
    def cell(tag: str, i: int, text: str) -> str:
        align = "right" if i in right else "left"
        return f'<{tag} style="text-align: {align}">{html.escape(text)}</{tag}>'

    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(cell(tag, i, c) for i, c in enumerate(cells)) + "</tr>"

    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(line("td", row) for row in rows)
    return f"<table>{title}<thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"


class _Table:
    """What has a head, rows and a caption, and shows them."""

    _right: Sequence[int] = ()

    def _head(self) -> Sequence[str]:
        raise NotImplementedError

    def _rows(self) -> List[Sequence[str]]:
        raise NotImplementedError

    def _caption(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._caption() + "\n" + text_table(self._head(), self._rows(), self._right)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._head(), self._rows(), self._right, self._caption())


class Explanation(_Table):
    """Where each node is and why. A sequence of `Placement`; prints as a table."""

    def __init__(self, rows: Sequence[Placement], caption: str, text: Optional[str]):
        self.rows = list(rows)
        #: What `bycc --explain` prints, estimates and all; None for a model that was loaded.
        self.text = text
        self._title = caption

    def __iter__(self) -> Iterator[Placement]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def _head(self) -> Sequence[str]:
        return ("node", "operator", "where", "region", "why not elsewhere")

    def _rows(self) -> List[Sequence[str]]:
        return [
            (
                row.node,
                row.op + (f" in {row.composite}" if row.composite else ""),
                row.placed,
                row.region or "",
                "; ".join(f"{vendor}: {why}" for vendor, why in row.refused.items()),
            )
            for row in self.rows
        ]

    def _caption(self) -> str:
        return self._title


class Profile(_Table):
    """What a run takes, part by part, slowest first. A sequence of `ProfileEntry`."""

    _right = (2, 3, 4)

    def __init__(self, entries: Sequence[ProfileEntry], runs: int, name: str):
        self.entries = sorted(entries, key=lambda entry: -entry.seconds)
        self.runs = runs
        self._name = name

    def __iter__(self) -> Iterator[ProfileEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: Any) -> Any:
        return self.entries[index]

    @property
    def seconds(self) -> float:
        """Of one run: kernels and regions, steps of regions not counted again."""
        return sum(entry.seconds for entry in self.entries if entry.region < 0) / self.runs

    def _head(self) -> Sequence[str]:
        return ("part", "nodes", "µs a run", "share", "GFLOP/s", "how")

    def _rows(self) -> List[Sequence[str]]:
        whole = self.seconds * self.runs or 1.0
        return [
            (
                ("  " if entry.region >= 0 else "") + entry.name,
                entry.source,
                f"{entry.seconds / self.runs * 1e6:.1f}",
                f"{100 * entry.seconds / whole:.1f} %",
                f"{entry.flops * entry.calls / entry.seconds / 1e9:.1f}" if entry.seconds and entry.flops else "",
                entry.detail,
            )
            for entry in self.entries
        ]

    def _caption(self) -> str:
        return f"{self._name}: {self.seconds * 1e6:.1f} µs a run, of {self.runs}"
