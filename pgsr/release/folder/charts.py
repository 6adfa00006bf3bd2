"""Draw bar charts as SVG text.

They are written here and not by a plotting library because a check writes the page of a release again and compares it
byte by byte, on whatever versions it runs.
"""

import math
from collections.abc import Sequence
from html import escape

INK, GRID, BAR = "#333333", "#dddddd", "#0072b2"  # a blue that colour-blind readers tell from grey

_WIDTH, _PLOT_HEIGHT = 760, 242
_LEFT, _RIGHT, _TOP = 90, 16, 14
_LETTER, _LONGEST = 7, 18  # pixels of a letter, and letters of a label


def bars(labels: Sequence[str], values: Sequence[int], x_title: str, y_title: str) -> str:
    """Draw one bar per value, from 0 up, with labelled axes.

    Args:
        labels: under the bars; some are left out where there are many.
        values: heights, not negative.
        x_title, y_title: what the axes show, with units.
    """
    ticks = nice_ticks(max(values, default=0))
    top = ticks[-1] or 1
    plot_width, plot_height = _WIDTH - _LEFT - _RIGHT, _PLOT_HEIGHT
    step = plot_width / max(1, len(values))
    every = -(-len(values) // 21)
    shown = [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…" for label in labels]
    longest = max(map(len, shown), default=0) * _LETTER
    slanted = longest > 0.95 * step * every  # beside each other they would overlap
    bottom = _TOP + plot_height
    height_of_all = bottom + (40 + int(0.7 * longest) if slanted else 64)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height_of_all}" width="{_WIDTH}" role="img" aria-label="{escape(y_title)} by '
        f'{escape(x_title)}" font-family="sans-serif" font-size="12" fill="{INK}">'
    ]
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
    middle, centre = _TOP + plot_height / 2, _LEFT + plot_width / 2
    parts += [
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" stroke="{INK}"/>',
        f'<text x="{centre:.1f}" y="{height_of_all - 12}" text-anchor="middle">{escape(x_title)}</text>',
        f'<text x="16" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 16 {middle:.1f})">'
        f"{escape(y_title)}</text>",
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
