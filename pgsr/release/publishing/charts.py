"""Draw bar charts as SVG text.

They are written here and not by a plotting library because a check writes the page of a release again and compares it
byte by byte, on whatever versions it runs.
"""

import math
from collections.abc import Sequence
from html import escape

INK, GRID, BAR = "#333333", "#dddddd", "#0072b2"  # a blue that colour-blind readers tell from grey

_WIDTH, _PLOT_HEIGHT = 540, 230  # narrow, so that letters stay legible where the page is as wide as a telephone
_LEFT, _RIGHT, _TOP = 88, 12, 14
_LETTER, _LONGEST = 8, 18  # pixels of a letter, and letters of a label under bars
_ROW, _LONGEST_NAME = 20, 20  # pixels of a row, and letters of a name beside it


def bars(
    labels: Sequence[str],
    values: Sequence[int],
    x_title: str,
    y_title: str,
    ends: tuple[Sequence[int], Sequence[int]] | None = None,
) -> str:
    """Draw one bar per value, from 0 up, with labelled axes.

    Args:
        labels: under the bars; some are left out where there are many.
        values: heights, not negative.
        x_title, y_title: what the axes show, with units.
        ends: the lower and the upper ends of the values' intervals, drawn as lines with caps; or None.
    """
    highest = [*values, *(ends[1] if ends else [])]
    ticks = nice_ticks(max(highest, default=0))
    top = ticks[-1] or 1
    plot_width, plot_height = _WIDTH - _LEFT - _RIGHT, _PLOT_HEIGHT
    step = plot_width / max(1, len(values))
    every = -(-len(values) // 21)
    shown = [_cut(label, _LONGEST) for label in labels]
    longest = max(map(len, shown), default=0) * _LETTER
    slanted = longest > 0.95 * step * every  # beside each other they would overlap
    bottom = _TOP + plot_height
    height_of_all = bottom + (40 + int(0.7 * longest) if slanted else 64)
    parts = [_opened(height_of_all, f"{y_title} by {x_title}")]
    for tick in ticks:
        y = bottom - plot_height * tick / top
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>')
    for place, (label, short, value) in enumerate(zip(labels, shown, values, strict=True)):
        x, height = _LEFT + place * step, plot_height * value / top
        parts.append(
            f'<rect x="{x + 0.12 * step:.1f}" y="{bottom - height:.1f}" width="{0.76 * step:.1f}" '
            f'height="{height:.1f}" fill="{BAR}"><title>{escape(label)}: {value:,}</title></rect>'
        )
        if place % every == 0:
            under = f"{x + step / 2:.1f}"
            turn = f' transform="rotate(-40 {under} {bottom + 14})"' if slanted else ""
            anchor, y = ("end", bottom + 14) if slanted else ("middle", bottom + 18)
            parts.append(f'<text x="{under}" y="{y}" text-anchor="{anchor}"{turn}>{escape(short)}</text>')
    if ends:
        cap, path = min(4.0, 0.3 * step), []
        for place, (lower, upper) in enumerate(zip(*ends, strict=True)):
            x, low, high = _LEFT + (place + 0.5) * step, *(bottom - plot_height * end / top for end in (lower, upper))
            path.append(
                f"M{x - cap:.1f} {low:.1f}H{x + cap:.1f}M{x:.1f} {low:.1f}V{high:.1f}M{x - cap:.1f} "
                f"{high:.1f}H{x + cap:.1f}"
            )
        parts.append(f'<path d="{"".join(path)}" stroke="{INK}" stroke-width="1.3" fill="none"/>')
    middle, centre = _TOP + plot_height / 2, _LEFT + plot_width / 2
    parts += [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" stroke="{INK}"/>',
        f'<text x="{centre:.1f}" y="{height_of_all - 12}" text-anchor="middle">{escape(x_title)}</text>',
        f'<text x="16" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 16 {middle:.1f})">'
        f"{escape(y_title)}</text>",
        "</svg>",
    ]
    return "\n".join(parts)


def rows(names: Sequence[str], values: Sequence[float], said: Sequence[str], x_title: str) -> str:
    """Draw one horizontal bar per value, from 0 on, each with its whole name (or its start) beside it.

    Args:
        names: of the rows, from the top.
        values: lengths, not negative.
        said: the values as text, at the ends of the bars.
        x_title: what the axis shows, with units.
    """
    ticks = nice_ticks(math.ceil(max(values, default=0)))
    end = ticks[-1] or 1
    shown = [_cut(name, _LONGEST_NAME) for name in names]
    left = 16 + max(map(len, shown), default=0) * _LETTER
    room = 12 + max(map(len, said), default=0) * _LETTER
    plot_width, bottom = _WIDTH - left - room, _TOP + _ROW * len(values)
    parts = [_opened(bottom + 50, x_title)]
    for tick in ticks:
        x = left + plot_width * tick / end
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}" stroke="{GRID}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,}</text>')
    for place, (name, short, value, text) in enumerate(zip(names, shown, values, said, strict=True)):
        y, width = _TOP + place * _ROW, plot_width * value / end
        parts += [
            f'<text x="{left - 6}" y="{y + 14}" text-anchor="end">{escape(short)}</text>',
            f'<rect x="{left}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 5}" fill="{BAR}"><title>{escape(name)}: '
            f"{escape(text)}</title></rect>",
            f'<text x="{left + width + 5:.1f}" y="{y + 14}">{escape(text)}</text>',
        ]
    parts += [
        f'<line x1="{left}" x2="{left}" y1="{_TOP}" y2="{bottom}" stroke="{INK}"/>',
        f'<text x="{left + plot_width / 2:.1f}" y="{bottom + 40}" text-anchor="middle">{escape(x_title)}</text>',
        "</svg>",
    ]
    return "\n".join(parts)


def nice_ticks(largest: int) -> list[int]:
    """Choose the numbers of an axis: 0, d, 2 d, ... up to at least `largest`, d being 1, 2 or 5 times a power of ten.

    Example:
        >>> nice_ticks(730)
        [0, 200, 400, 600, 800]
    """
    rough = max(1.0, largest / 4)
    power = 10 ** math.floor(math.log10(rough))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= rough)
    return list(range(0, step * max(1, -(-largest // step)) + 1, step))


def _opened(height: int, what: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" aria-label="{escape(what)}" '
        f'font-family="sans-serif" font-size="13" fill="{INK}">'
    )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
