"""How figures and verdicts on Kuo et al. 2018 look: panels of errors by epsilon, printed numbers beside ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from experiments.coco_data import WHY, is_the_papers, printed_as
from experiments.engine.figures import Look, finish, head, legend_below, level_name
from experiments.engine.summary import LevelError, LevelErrors
from experiments.engine.verdicts import Finding, Verdict
from experiments.published.printed import Printed
from pgsr.comparison_view import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = "error bars: one standard error of the mean"
REPRODUCED = 0.05
"""A printed number comes out if ours is this close: which L1 optimum is taken moves errors by as much."""


@dataclass(frozen=True)
class Line:
    """One line of a panel: errors, with label, colour and dashes."""

    label: str
    errors: LevelErrors
    look: Look
    dashes: str = "-"


def epsilon_panels(lines: Sequence[Line], title: str) -> "Figure":
    """A column per data set, a row per level, root first: error against epsilon per level, both axes logarithmic."""
    names = list(dict.fromkeys(name for line in lines for name in line.errors.values_of("data")))
    n_levels = max((line.errors.n_levels for line in lines), default=1) or 1
    figure = new_figure(max(6.4, 0.6 + 3.1 * len(names)), 1.3 + 2.3 * n_levels)
    panels = figure.subplots(n_levels, max(1, len(names)), squeeze=False, sharex=True)
    for column, name in enumerate(names):
        depth = max(line.errors.where(data=name).n_levels for line in lines)
        for level in range(n_levels):
            axes = panels[level][column]
            for line in lines:
                _draw(axes, line, name, level)
            bottom, left = level == n_levels - 1, column == 0
            finish(
                axes,
                "epsilon per level" if bottom else "",
                f"{level_name(level, depth)}: EMD per region\n(entities)" if left else "",
                titled(name, lines) if level == 0 else "",
            )
            epsilon_axis(axes, sorted({row.epsilon for line in lines for row in line.errors}))
            error_axis(axes)
    legend_below(figure, panels.flat)
    head(figure, f"{title}\n{BARS}")
    return figure


def epsilon_axis(axes: "Axes", epsilons: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(epsilons), [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    if epsilons:
        axes.set_xlim(min(epsilons) / 1.5, max(epsilons) * 1.5)


def error_axis(axes: "Axes") -> None:
    """A logarithmic axis with few labels in plain figures, however short it is."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def titled(name: str, lines: Sequence[Line]) -> str:
    """The data set in two lines, and whether it is real."""
    real = all(row.real for line in lines for row in line.errors.where(data=name))
    first, _, rest = name.partition(", ")
    return f"{first}\n{rest or 'all levels'} ({'real data' if real else 'not real data'})"


def number(value: float) -> str:
    """
    Example:
        >>> number(4_462_728_374.0), number(20_731.4), number(772.8)
        ('4.46e+09', '20,731', '772.8')
    """
    size = abs(value)
    return f"{value:.3g}" if size >= 10**7 else f"{value:,.0f}" if size >= 1_000 else f"{value:,.1f}"


def measured(row: LevelError) -> str:
    """The mean with its standard error."""
    return f"{number(row.mean)} ± {number(row.standard_error)}"


def ratio(ours: LevelError, other: LevelError) -> str:
    """Ours over the other, from pairs that share their noise, with a standard error."""
    pairs = [ours.values[r] / other.values[r] for r in ours.values.keys() & other.values.keys() if other.values[r]]
    if not pairs:
        return "x ?"
    error = stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else 0.0
    return f"x {fmean(pairs):.2f} ± {error:.2f}"


def compared_words(name: str, ours: LevelError, other_name: str, other: LevelError) -> str:
    return f"{name} {measured(ours)}, {other_name} {measured(other)}: {ratio(ours, other)}"


def printed_verdict(claim: str, printed: Printed, ours: LevelError, remark: str = "") -> Verdict:
    """Whether a printed number comes out; on stand-ins it is shown beside ours and not judged."""
    quotient = ours.mean / printed.value
    words = f"ours {measured(ours)}, printed {number(printed.value)}: x {quotient:.3g}{remark}"
    where = f"{ours.data}, epsilon {ours.epsilon:g}"
    if not is_the_papers(ours.data):
        return Verdict(claim, where, Finding.NOT_CHECKED, f"{words}; {WHY[printed_as(ours.data)]}")
    near = abs(quotient - 1) <= max(REPRODUCED, 2 * ours.standard_error / printed.value)
    return Verdict(claim, where, Finding.HOLDS if near else Finding.FAILS, words)


def stand_beside(
    numbers: Iterable[Printed], names: Iterable[str], arms: Mapping[str, Sequence[str]], **where: Any
) -> list[tuple[dict[str, Any], Printed, str]]:
    """What `experiments.report.printed` asks for: each number on what is or stands for its data set, for its arms.

    Args:
        names: of our data sets.
        arms: from the paper's name of a competitor to our labels.
        where: what else picks our mean, if it is not as the number has it.

    Example:
        >>> from experiments.published import coco
        >>> where, number, remark = stand_beside(coco.K3, ["taxi, root"], {"Hc": ["Hc"]})[0]
        >>> where, number.value, remark
        ({'data': 'taxi, root', 'arm': 'Hc'}, 2819.8, '')
    """
    return [
        ({"data": name, "arm": label} | where, number, why_other(name))
        for number, name in product(numbers, names)
        if number.data == printed_as(name)
        for label in arms.get(number.arm, ())
    ]


def why_other(name: str) -> str:
    """Why a printed number is of other data than the data set of this name; "" if it is of the same.

    Example:
        >>> why_other("taxi"), why_other("White by block group, root")[:8]
        ('', 'stand-in')
    """
    part = "; a hundredth of the groups" if "at 1/100" in name else ""
    return "" if is_the_papers(name) else WHY[printed_as(name)] + part


def nothing_of_the_paper(errors: LevelErrors, claim: str) -> Iterator[Verdict]:
    """One verdict that says so where no data set has printed numbers."""
    if not any(printed_as(name) for name in errors.values_of("data")):
        words = "no data set of the paper among the results: set PGSR_DATA, and run the profile quick"
        yield Verdict(claim, "", Finding.NOT_CHECKED, words)


def where(row: LevelError, n_levels: int) -> str:
    return f"{row.data}, epsilon {row.epsilon:g}, {level_name(row.level, n_levels)}"


def _draw(axes: "Axes", line: Line, name: str, level: int) -> None:
    rows = sorted(line.errors.where(data=name, level=level), key=lambda row: row.epsilon)
    if rows:
        axes.errorbar(
            [row.epsilon for row in rows], [row.mean for row in rows], [row.standard_error for row in rows],
            label=line.label, linestyle=line.dashes, color=line.look.colour, marker=line.look.marker, markersize=5,
            capsize=2, linewidth=1.2,
        )  # fmt: skip
