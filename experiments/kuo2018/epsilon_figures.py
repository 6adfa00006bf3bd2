"""The figures and verdicts that experiments on Kuo et al. 2018 share: errors by epsilon beside printed numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from pgsr.experiments.engine.figures import epsilon_axis, error_axis, wrapped
from pgsr.experiments.engine.summary import LevelError, LevelErrors
from pgsr.figures.drawing import Look, finish, head, legend_below, level_name, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = "error bars: one standard error of the mean"


@dataclass(frozen=True)
class Line:
    """One line of a panel: errors, with label, colour and dashes."""

    label: str
    errors: LevelErrors
    look: Look
    dashes: str = "-"


EMD = "EMD per region\n(entities), log"


def epsilon_panels(lines: Sequence[Line], title: str, value: str = EMD) -> "Figure":
    """Draw a column per data set, a row per level, root first: errors against epsilon per level, both log, or ratios.

    Ratios, of any other name of the `value`, have a line at 1 and one scale for all panels.
    """
    names = list(dict.fromkeys(name for line in lines for name in line.errors.values_of("data")))
    n_levels = max((line.errors.n_levels for line in lines), default=1) or 1
    figure = new_figure(max(6.4, 0.6 + 2.6 * len(names)), 1.3 + 2.3 * n_levels)
    panels = figure.subplots(n_levels, max(1, len(names)), squeeze=False, sharex=True, sharey=value is not EMD)
    for column, name in enumerate(names):
        depth = max(line.errors.where(data=name).n_levels for line in lines)
        for level in range(n_levels):
            axes = panels[level][column]
            for line in lines:
                _draw(axes, line, name, level)
            bottom, left = level == n_levels - 1, column == 0
            finish(
                axes,
                "epsilon per level, log" if bottom else "",
                f"{level_name(level, depth)}: {value}" if left else "",
                titled(name, lines) if level == 0 else "",
            )
            epsilon_axis(axes, sorted({row.epsilon for line in lines for row in line.errors}))
            if value is not EMD:
                axes.axhline(1, color="#555555", linewidth=0.8)
    for axes in panels.flat:
        error_axis(axes)
    legend_below(figure, panels.flat)
    head(figure, f"{title}\n{BARS}")
    return figure


def titled(name: str, lines: Sequence[Line]) -> str:
    """Title a panel: the data set, and whether it is real."""
    real = all(row.real for line in lines for row in line.errors.where(data=name))
    return wrapped(f"{name} ({'real data' if real else 'not real data'})", 28)


def number(value: float) -> str:
    """Write a number for a figure: one decimal below 1,000, whole from there, three significant digits from 10^7.

    Example:
        >>> number(4_462_728_374.0), number(20_731.4), number(772.8)
        ('4.46e+09', '20,731', '772.8')
    """
    size = abs(value)
    return f"{value:.3g}" if size >= 10**7 else f"{value:,.0f}" if size >= 1_000 else f"{value:,.1f}"


def measured(row: LevelError) -> str:
    """Write the mean with its standard error."""
    return f"{number(row.mean)} ± {number(row.standard_error)}"


def ratio_of(ours: LevelError, other: LevelError) -> tuple[float, float] | None:
    """Divide ours by the other, over pairs that share their noise: mean and standard error; None without pairs."""
    pairs = [ours.values[r] / other.values[r] for r in ours.values.keys() & other.values.keys() if other.values[r]]
    if not pairs:
        return None
    return fmean(pairs), stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else 0.0


def compared_words(name: str, ours: LevelError, other_name: str, other: LevelError) -> str:
    return f"{name} {measured(ours)}, {other_name} {measured(other)}"


def where(row: LevelError, n_levels: int) -> str:
    return f"{row.data}, epsilon {row.epsilon:g}, {level_name(row.level, n_levels)}"


def _draw(axes: "Axes", line: Line, name: str, level: int) -> None:
    rows = sorted(line.errors.where(data=name, level=level), key=lambda row: row.epsilon)
    if rows:
        look = replace(line.look, open=line.dashes != "-")
        axes.errorbar(
            [row.epsilon for row in rows], [row.mean for row in rows], [row.standard_error for row in rows],
            label=line.label, linestyle=line.dashes, **look.marks, markersize=5,
            capsize=2, linewidth=1.2,
        )  # fmt: skip
