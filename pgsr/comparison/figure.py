"""The figure of a comparison for documents and slides: strips, profiles and errors, as the page has them."""

from collections.abc import Iterable
from textwrap import fill
from typing import TYPE_CHECKING

from pgsr.comparison.findings import headline, release_name
from pgsr.comparison.items import Dot, Item, Stroke, Words
from pgsr.comparison.profile import TALL, profile
from pgsr.comparison.runs import MethodRow, ProblemRows, by_kind, read, scored
from pgsr.comparison.solvers import FAMILIES
from pgsr.comparison.strips import HEIGHT, MIDDLE, TITLES, TimeScale, strip
from pgsr.comparison.wording import factor, short_part
from pgsr.figures.drawing import new_figure, tex
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOFT, MUTE, BAR, BEST = "#4a4f55", "#696f76", "#b9b3d6", "#5b4a9c"
COLOURS = {"ours": "#111111", "win": "#111111", "name": SOFT, "grid": "#e4e6e8", "rule": "#c9cdd1"}
COLOURS |= {name.lower().replace("-", ""): light for name, (_, light, _) in FAMILIES.items()}
SIZES = {"name": 7.1, "verdict": 8.2, "silent": 7.1, "tick": 7.8, "end": 8.5}
MARKERS = {"disc": ("o", 8.5), "up": ("^", 6.5), "square": ("s", 5.8), "diamond": ("D", 5.6), "down": ("v", 6.5),
           "cross": ("P", 6.8), "bar": ("|", 8.0)}  # fmt: skip
ANCHORS = {"start": "left", "middle": "center", "end": "right"}

SIDE, PANEL, TOP, GAP, LOWER = 2.75, 5.6, 1.2, 0.62, 4.3
"""Inches: the names of problems, a column of strips, what stands above, a title of strips, and a panel below."""


def figure(rows: "pd.DataFrame") -> "Figure":
    """Draw rows as `Comparison.to_frame` makes them, with `part`, `key` and `variant` if they are of several.

    Complexity: the square of the methods of a problem, times problems.
    """
    problems, releases = read(rows)
    parts = list(dict.fromkeys(problem.part for problem in problems)) or list(releases)
    groups, wide = by_kind(problems), SIDE + PANEL * max(1, len(parts))
    panels: list[tuple[str, list[Item], list[MethodRow]]] = []
    for real, title in ((False, "Exact problems"), (True, "Relaxations")):
        drawn = profile([problem for problem in problems if problem.real is real])
        panels += [(f"{title}: share of the problems proved", drawn, [])] if drawn else []
    for part, runs in scored(problems, releases).items():
        panels.append((f"Members to move per region, {short_part(part)}"[:50], [], runs))
    across = int(wide // 4.1)
    tall = TOP + sum(GAP + len(group) * HEIGHT / 100 for group in groups.values()) + LOWER * -(-len(panels) // across)
    drawn = new_figure(wide, tall)
    drawn.set_layout_engine("none")
    said = fill(headline(problems, releases), int(7 * wide))
    drawn.text(0.012, 1 - 0.15 / tall, tex(said), fontsize=15, fontweight="bold", va="top")
    _legend(drawn, problems, 1 - (0.3 + 0.26 * len(said.splitlines())) / tall)
    down, scale = TOP, TimeScale.of(problems)
    for real, group in groups.items():
        drawn.text(0.012, 1 - (down + GAP - 0.1) / tall, TITLES[real], fontsize=10, fontweight="bold")
        _strips(drawn, group, parts, scale, down + GAP)
        down += GAP + len(group) * HEIGHT / 100
    for i, (title, items, runs) in enumerate(panels):
        left, base = 0.55 + wide / across * (i % across), tall - down - LOWER * (i // across + 1) + 0.6
        drawn.text((left - 0.4) / wide, (base + LOWER - 1.2) / tall, title, fontsize=9.6, fontweight="bold")
        below = "τ: within how many times the time of the fastest (log)"
        if runs:
            below = "One draw of the noise; * totals are off: the same sum, no distance"
            _errors(drawn, runs, (left / wide, base / tall, (wide / across - 0.7) / wide, (LOWER - 1.6) / tall))
        else:
            axes = drawn.add_axes((left / wide, base / tall, (wide / across - 1.7) / wide, (LOWER - 1.5) / tall))
            draw(axes, items, TALL)
        drawn.text((left - 0.4 * bool(runs)) / wide, (base - 0.42) / tall, below, fontsize=8, color=SOFT)
    return drawn


def draw(axes: "Axes", items: Iterable[Item], height: float) -> None:
    """Draw items on axes of as many pixels, of which an inch has a hundred."""
    axes.set_xlim(0, 100)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for item in items:
        match item:
            case Words(x, y, words, look, anchor, shift):
                first, *rest = look.split()
                colour = next((COLOURS[word] for word in [*rest, first] if word in COLOURS), MUTE)
                weight = "bold" if {"ours", "win", "pgsr"} & {*rest} else "normal"
                axes.annotate(words, (x, y), (0.72 * shift, 0), textcoords="offset points", annotation_clip=False,
                              ha=ANCHORS[anchor], color=colour, fontsize=SIZES[first], fontweight=weight)  # fmt: skip
            case Dot(x, y, family, full):
                (marker, size), colour = MARKERS[FAMILIES[family][0]], FAMILIES[family][1]
                face, edge, width = (colour, "white", 0.6) if full else ("white", colour, 1.3)
                axes.plot(x, y, marker, markersize=size, clip_on=False, markerfacecolor=face, markeredgecolor=edge,
                          markeredgewidth=width, zorder=5)  # fmt: skip
            case Stroke(look, points, dash):
                style = (0, tuple(map(float, dash.split()))) if dash else "-"
                width = 2.6 if "pgsr" in look else 1.5 if "curve" in look else 0.8
                axes.plot(*zip(*points, strict=True), color=COLOURS[look.split()[-1]], linewidth=width, clip_on=False,
                          zorder=0 if width < 1 else 3, linestyle=style)  # fmt: skip


def _strips(
    drawn: "Figure", group: list[dict[str, ProblemRows]], parts: list[str], scale: TimeScale, down: float
) -> None:
    """Draw a row per problem and a column per hierarchy, `down` inches from the top."""
    wide, tall = drawn.get_size_inches()
    for i, at in enumerate(group):
        one, middle = next(iter(at.values())), 1 - (down + (i * HEIGHT + MIDDLE) / 100) / tall
        drawn.text(0.012, middle + 0.03 / tall, tex(one.name), fontsize=9.5, fontweight="bold")
        drawn.text(0.012, middle - 0.02 / tall, fill(one.sentence, 48), fontsize=7, va="top", color=MUTE)
        for k, part in enumerate(parts):
            left, base = (SIDE + k * PANEL) / wide, middle - MIDDLE / 100 / tall
            items: list[Item] = [Words(2, MIDDLE, "not run at this size", "silent")]
            if part in at:
                items = strip(at[part], scale, {"": 100 * (PANEL - 0.15)})
            if i == 0:
                items += [item._replace(y=-6) for item in scale.axis()]
                items.append(Words(2, -24, short_part(part)[:70], "name ours"))
            axes = drawn.add_axes((left, base, (PANEL - 0.15) / wide, HEIGHT / 100 / tall))
            draw(axes, [*items, Stroke("grid", [(0, HEIGHT), (100, HEIGHT)])], HEIGHT)


def _legend(drawn: "Figure", problems: list[ProblemRows], height: float) -> None:
    with extra("plots"):
        from matplotlib.lines import Line2D

    there = {run.solver.family for problem in problems for run in problem.runs}
    looks = [(name, *MARKERS[shape], light, light) for name, (shape, light, _) in FAMILIES.items() if name in there]
    looks += [("filled: proved", "o", 6.5, MUTE, MUTE), ("hollow: not proved", "o", 6.5, "white", MUTE)] * bool(
        problems
    )
    handles = [Line2D([], [], linestyle="", marker=marker, markersize=size, markerfacecolor=face, markeredgecolor=edge,
                      label=name) for name, marker, size, face, edge in looks]  # fmt: skip
    drawn.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.006, height), ncols=9, frameon=False, fontsize=9,
                 handletextpad=0.2, columnspacing=1.4)  # fmt: skip


def _errors(drawn: "Figure", runs: list[MethodRow], place: tuple[float, float, float, float]) -> None:
    """Draw a column of bars per level, each on a scale of its own."""
    left, base, wide, high = place
    each = 0.62 * wide / len(runs[0].levels)
    for level, name in enumerate(runs[0].levels):
        axes = drawn.add_axes((left + 0.38 * wide + level * each, base, each * 0.94, high))
        errors = [run.error(level)[0] for run in runs]
        most, colours = max(*errors, 1e-9), [BEST if error <= min(errors) else BAR for error in errors]
        axes.barh(range(len(runs)), errors, height=0.55, color=colours)
        for i, run in enumerate(runs):
            value, exact = run.error(level)
            axes.text(value + most * 0.03, i, f"{factor(value)}{'' if exact else '*'}", va="center", fontsize=8)
            if level == 0:
                axes.text(-most * 0.05, i, tex(release_name(run.method)[0]), ha="right", va="center", fontsize=8)
        axes.set(xlim=(0, most * 1.7), ylim=(max(len(runs), 6) - 0.4, -0.6))
        axes.axis("off")
        axes.text(0, -0.7, name, fontsize=8.6, va="bottom", color=MUTE)
