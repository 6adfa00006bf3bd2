"""The report as one HTML file that needs nothing else: no scripts, no requests, and pictures inside."""

import base64
from collections.abc import Iterator, Sequence
from html import escape

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
    TableBlock,
    Text,
    parts_of,
)
from pgsr.experiments.report.style import STYLE

SCALE = 0.625
"""Pixels on the page per pixel of a picture, so that text is as large in small figures as in wide ones."""


def render(blocks: Sequence[Block]) -> str:
    """Write the page."""
    title = next((block.text for block in blocks if isinstance(block, Heading) and block.level == 1), "Report")
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title><style>{STYLE}</style>'
    )
    body = "\n".join(_body(blocks))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _body(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        yield _block(block)
        if isinstance(block, Heading) and block.level == 1:
            yield _contents(blocks)


def _contents(blocks: Sequence[Block]) -> str:
    items = [
        f'<li><a href="#{escape(block.anchor)}">{escape(block.text)}</a></li>'
        for block in blocks
        if isinstance(block, Heading) and block.level == 2 and block.anchor
    ]
    return f'<nav aria-label="Contents"><ul>{"".join(items)}</ul></nav>'


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
        return f"<h{block.level}{anchor}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        return f"<p>{_cell(block.parts)}</p>"
    if isinstance(block, Bullets):
        return "<ul>" + "".join(f"<li>{_cell(item)}</li>" for item in block.items) + "</ul>"
    return _picture(block) if isinstance(block, Picture) else _table(block)


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode()
    width = int.from_bytes(picture.png[16:20], "big") * SCALE  # where a PNG has it
    return (
        f'<figure><img src="data:image/png;base64,{data}" width="{width:.0f}" alt="{escape(picture.alt)}">'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: TableBlock) -> str:
    heads = "".join(
        f'<th scope="col"{_class(table, i)}>{escape(column)}</th>' for i, column in enumerate(table.columns)
    )
    bodies = "".join(_group(table, head, rows) for head, rows in table.groups)
    # Wide tables scroll inside their frame; the frame takes the keyboard, so that it scrolls without a mouse.
    whole = (
        f'<div class="frame" role="region" tabindex="0" aria-label="{escape(table.caption)}"><table>'
        f"<caption>{escape(table.caption)}</caption><thead><tr>{heads}</tr></thead>{bodies}</table></div>"
    )
    if not table.folded:
        return whole
    return f"<details><summary>{escape(table.caption)} ({table.n_rows:,} rows)</summary>{whole}</details>"


def _group(table: TableBlock, head: str, rows: Sequence[tuple[Cell, ...]]) -> str:
    first = f'<tr><th scope="rowgroup" colspan="{len(table.columns)}">{escape(head)}</th></tr>' if head else ""
    return f"<tbody>{first}{''.join(_row(table, row) for row in rows)}</tbody>"


def _row(table: TableBlock, row: tuple[Cell, ...]) -> str:
    cells = "".join(f"<td{_class(table, i)}>{_cell(cell)}</td>" for i, cell in enumerate(row) if i)
    return f'<tr><th scope="row">{_cell(row[0])}</th>{cells}</tr>'


def _class(table: TableBlock, column: int) -> str:
    return ' class="number"' if column in table.numbers else ""


def _cell(cell: Cell) -> str:
    return "".join(_part(part) for part in parts_of(cell))


def _part(part: Part) -> str:
    if isinstance(part, Link):
        return f'<a href="{escape(part.target)}">{escape(part.text)}</a>'
    if isinstance(part, Code):
        return f"<code>{escape(part.text)}</code>"
    if isinstance(part, Mark):
        return f'<span class="mark {escape(part.text.replace(" ", "-"))}">{escape(part.text)}</span>'
    return escape(part)
