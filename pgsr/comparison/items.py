"""The parts of a comparison's pictures, placed in percent across and in pixels down, so that text keeps its size."""

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from pgsr.comparison.solvers import FAMILIES


class Words(NamedTuple):
    """Words at a place, moved aside by `shift` pixels; `look` is a class of page.css, and `tip` is shown on hover."""

    x: float
    y: float
    words: str
    look: str
    anchor: str = "start"
    shift: float = 0
    tip: str = ""


class Dot(NamedTuple):
    """The mark of a family, filled or hollow."""

    x: float
    y: float
    family: str
    full: bool
    tip: str


class Stroke(NamedTuple):
    """A line through places, straight and thin by the class `look`, or a family's curve with dashes."""

    look: str
    points: list[tuple[float, float]]
    dash: str = ""


Item = Words | Dot | Stroke

SHAPES = {
    "disc": '<circle r="6.6"/>',
    "square": '<path d="M-4.5-4.5h9v9h-9z"/>',
    "up": '<path d="M0-5.8 5.6 4.4H-5.6z"/>',
    "down": '<path d="M0 5.8 5.6-4.4H-5.6z"/>',
    "diamond": '<path d="M0-6.2 5.6 0 0 6.2-5.6 0z"/>',
    "cross": '<path d="M-2-5.4h4v3.4h3.4v4h-3.4v3.4h-4v-3.4h-3.4v-4h3.4z"/>',
    "bar": '<path d="M-2.6-5.4h5.2v10.8h-5.2z"/>',
}
SYMBOLS = "".join(f'<g id="m-{name}">{shape}</g>' for name, shape in SHAPES.items())
SYMBOLS = f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{SYMBOLS}</defs></svg>'
"""The shapes, which an HTML page needs once."""


def slug(family: str) -> str:
    """Name a family as CSS does."""
    return family.lower().replace("-", "")


def svg(items: Iterable[Item], height: float, look: str, said: str) -> str:
    """Write items as SVG; `said` is the description for readers who do not see it."""
    label = f' role="img" aria-label="{escape(said)}"' if said else ""
    inner = "".join(_svg(item, height) for item in items)
    return f'<svg class="{look}" height="{height:g}"{label}>{inner}</svg>'


def _svg(item: Item, height: float) -> str:
    title = "" if isinstance(item, Stroke) or not item.tip else f"<title>{escape(item.tip)}</title>"
    match item:
        case Words(x, y, words, look, anchor, shift):
            place = f'x="{x:.2f}%" y="{y:.1f}" dx="{shift:g}" text-anchor="{anchor}"'
            place += ' display="none"' * ("thin" in look)  # page.css shows these; not all viewers keep it
            return f'<text class="{look}" {place}>{escape(words)}{title}</text>'
        case Dot(x, y, family, full):
            look = f"mark {slug(family)} {'full' if full else 'open'}"
            return f'<use href="#m-{FAMILIES[family][0]}" class="{look}" x="{x:.2f}%" y="{y:g}">{title}</use>'
        case Stroke(look, points, dash):
            path = "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
            box = f'width="100%" height="{height:g}" viewBox="0 0 100 {height:g}" preserveAspectRatio="none"'
            return f'<svg {box}><path class="{look}" d="M{path}" stroke-dasharray="{dash}"/></svg>'
