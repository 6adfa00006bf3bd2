"""The blocks of a report: headings, sentences, tables and pictures, with links inside."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A link to an anchor of the same report, "#k8", or to a paper."""

    text: str
    target: str


@dataclass(frozen=True)
class Code:
    """A text to be typed, such as a command."""

    text: str


@dataclass(frozen=True)
class Mark:
    """A verdict: a word, which may be coloured besides."""

    text: str


Part = str | Link | Code | Mark
Cell = Part | tuple[Part, ...]


@dataclass(frozen=True)
class Heading:
    """A heading.

    Attributes:
        level: 1 is the title.
        anchor: where links go; "" for none.
    """

    level: int
    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Text:
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Bullets:
    items: tuple[Cell, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table.

    Attributes:
        caption: what it shows, for those who cannot see it as well.
        columns: their heads; the first one's cells are heads of the rows.
        groups: rows below a head of their own; a single group without a head is labelled "".
        numbers: columns of numbers, set to the right.
        folded: shown on request only, because it is long.
    """

    caption: str
    columns: tuple[str, ...]
    groups: "tuple[tuple[str, tuple[tuple[Cell, ...], ...]], ...]"
    numbers: tuple[int, ...] = ()
    folded: bool = False

    @property
    def n_rows(self) -> int:
        return sum(len(rows) for _, rows in self.groups)


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        png: the picture.
        alt: the same in words.
        caption: what stands below it.
    """

    png: bytes
    alt: str
    caption: str


Block = Heading | Text | Bullets | TableBlock | Picture


def text(*parts: Part) -> Text:
    return Text(parts)


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    numbers: Sequence[int] = (),
    folded: bool = False,
) -> TableBlock:
    """Make a table without groups."""
    return TableBlock(caption, tuple(columns), (("", tuple(tuple(row) for row in rows)),), tuple(numbers), folded)


def parts_of(cell: Cell) -> tuple[Part, ...]:
    return cell if isinstance(cell, tuple) else (cell,)
