"""The report as Markdown, with the pictures in a folder beside it."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from pgsr.experiments.report.blocks import (
    Block,
    Bullets,
    Cell,
    Code,
    Heading,
    Link,
    Mark,
    Part,
    Picture,
    Shown,
    TableBlock,
    Text,
    parts_of,
)

_SPECIAL = str.maketrans({each: f"\\{each}" for each in "\\`*_[]|#<>"})


def render(blocks: Sequence[Block], figures: Path) -> str:
    """Write the document. Pictures are written to `figures`, which must lie beside it."""
    return "\n\n".join(_block(block, figures) for block in blocks) + "\n"


def _block(block: Block, figures: Path) -> str:
    if isinstance(block, Heading):
        # Sites make anchors of headings in ways of their own, so ours are written out.
        anchor = f'<a id="{escape(block.anchor)}"></a>\n\n' if block.anchor else ""
        return f"{anchor}{'#' * block.level} {_escaped(block.text)}"
    if isinstance(block, Text):
        return _cell(block.parts)
    if isinstance(block, Bullets):
        return "\n".join(f"- {_cell(item)}" for item in block.items)
    if isinstance(block, Picture):
        return _picture(block, figures)
    if isinstance(block, Shown):
        return f"![{_escaped(block.alt)}]({block.target})"
    return _folded(block) if block.folded else f"**{_escaped(block.caption)}**\n\n{_table(block)}"


def _picture(picture: Picture, figures: Path) -> str:
    figures.mkdir(parents=True, exist_ok=True)
    name = f"{picture.name.replace(' ', '-')}.png"
    (figures / name).write_bytes(picture.png)
    place = f"{figures.name}/{name}"
    return f"[![{_escaped(picture.alt)}]({place})]({place})\n\n{_escaped(picture.caption)}"


def _folded(table: TableBlock) -> str:
    summary = f"<summary>{escape(table.caption)} ({table.n_rows:,} rows)</summary>"
    return f"<details>\n{summary}\n\n{_table(table)}\n\n</details>"


def _table(table: TableBlock) -> str:
    return "\n".join(_lines(table))


def _lines(table: TableBlock) -> Iterator[str]:
    yield _line(table.columns)
    yield _line(["---:" if i in table.numbers else "---" for i in range(len(table.columns))], raw=True)
    for head, rows in table.groups:
        if head:
            yield _line([f"**{_escaped(head)}**", *("" for _ in table.columns[1:])], raw=True)
        for row in rows:
            yield _line(row)


def _line(cells: Sequence[Cell], *, raw: bool = False) -> str:
    return "| " + " | ".join(str(cell) if raw else _cell(cell) for cell in cells) + " |"


def _cell(cell: Cell) -> str:
    return "".join(_part(part) for part in parts_of(cell))


def _part(part: Part) -> str:
    if isinstance(part, Link):
        return f"[{_escaped(part.text)}]({part.target})"
    if isinstance(part, Code):
        return f"`{part.text}`"
    return f"**{part.text}**" if isinstance(part, Mark) else _escaped(part)


def _escaped(text: str) -> str:
    return " ".join(text.split("\n")).translate(_SPECIAL)
