"""The first numbers of regions as a table, in text and in HTML, with facts in a line below."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any

MOST_REGIONS, MOST_COLUMNS = 10, 12
"""How many rows and columns are shown of a larger table; its last column is, too."""


@dataclass(frozen=True)
class NumbersTable:
    """A table of words: a title, heads of columns, a row per region, and facts.

    Example:
        >>> counts = [[0, 1200, 3], [0, 7, 3]]
        >>> print(numbers_table("groups by size", ["US", "GA"], range(3), lambda region: counts[region], {"sizes": 3}))
        groups by size
            0      1  2
        US  0  1,200  3
        GA  0      7  3
        sizes: 3
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, list[str]]]
    facts: Mapping[str, object]

    def __str__(self) -> str:
        lines = [("", self.heads), *self.rows]
        first = max(len(name) for name, _ in lines)
        widths = [max(len(cells[k]) for _, cells in lines if k < len(cells)) for k in range(len(self.heads))]
        shown = []
        for name, cells in lines:
            columns = (cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
            shown.append("  ".join([name.ljust(first), *columns]).rstrip())
        return "\n".join([self.title, *shown, *([fill(self._said, 120, subsequent_indent="  ")] if self.facts else [])])

    @property
    def html(self) -> str:
        head = "".join(f"<th>{escape(text)}</th>" for text in ("", *self.heads))
        body = "".join(
            f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
            for name, cells in self.rows
        )
        caption = f"<caption>{escape(self.title)}</caption>"
        return f"<table>{caption}<tr>{head}</tr>{body}</table><p>{escape(self._said)}</p>"

    @property
    def _said(self) -> str:
        return "; ".join(f"{name}: {_word(fact)}" for name, fact in self.facts.items() if fact is not None)


class ShowsNumbers:
    """The display of what has numbers of regions: `print` writes the first of them, a notebook shows them."""

    @abstractmethod
    def numbers_table(self) -> NumbersTable:
        """Give the first numbers and the facts about all."""

    def __str__(self) -> str:
        return str(self.numbers_table())

    def _repr_html_(self) -> str:
        return self.numbers_table().html


def numbers_table(
    title: str,
    names: Sequence[str],
    columns: Sequence[object],
    row: Callable[[int], Any],
    facts: Mapping[str, object],
) -> NumbersTable:
    """Make the table of the first regions: `row(k)` has the numbers of region k, at most one per column."""
    few = len(columns) <= MOST_COLUMNS
    heads = [str(name) for name in (columns if few else columns[: MOST_COLUMNS - 2])]
    rows = []
    for region in range(min(MOST_REGIONS, len(names))):
        values = row(region)
        cells = [_word(value) for value in values[: len(heads)]]
        rows.append((names[region], cells if few or len(values) <= len(heads) else [*cells, "...", _word(values[-1])]))
    if len(names) > MOST_REGIONS:
        rows.append((f"... {len(names) - MOST_REGIONS:,} more", []))
    return NumbersTable(title, heads if few else [*heads, "...", str(columns[-1])], rows, facts)


def _word(value: object) -> str:
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, float) and not float(value).is_integer():
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"  # pyright: ignore[reportIndexIssue]
    return f"{int(value):,}" if isinstance(value, float) or hasattr(value, "__index__") else str(value)  # pyright: ignore[reportArgumentType]
