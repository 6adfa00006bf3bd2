"""The tables of docs/study/field.md: of the lists of arms and data sets, and of the results of B1."""

from collections.abc import Iterator
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from pgsr.experiments.engine.summary import LevelError, LevelErrors, level_errors
from pgsr.experiments.ours.benchmark.arms import ARMS, CURATOR
from pgsr.experiments.ours.benchmark.data import DATA
from pgsr.experiments.ours.benchmark.experiment import EPSILONS
from pgsr.experiments.ours.benchmark.standings import Standings
from pgsr.experiments.report.recommended import recommended
from pgsr.figures.drawing import level_name

if TYPE_CHECKING:
    import pandas as pd

OF_RESULTS = ("standings", "winners", "errors", "recommended")
"""The names of the tables that need results."""


def of_lists() -> Iterator[tuple[str, str]]:
    """Write the tables of arms and of data sets, by name."""
    rows = [(arm.label, arm.made_by, arm.assumes, arm.trust) for arm in ARMS]
    yield "arms", _table(("release", "of", "assumes, to do well", "who sees true sizes"), rows)
    rows = [
        (data.name, " / ".join(f"{n:,}" for n in data.levels), f"{data.max_size:,}", f"{data.groups:,}",
         "real" if data.real else "generated")
        for data in DATA
    ]  # fmt: skip
    yield "data", _table(("data", "regions by level", "K", "groups", ""), rows)


def of_results(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Write the tables that B1's results give, by the names of `OF_RESULTS`."""
    errors, times = level_errors(frame, "emd"), level_errors(frame, "times_bound")
    yield "standings", standings_table(frame, errors, times)
    yield "winners", winners(errors, times)
    yield "errors", "\n\n".join(_errors_of(errors.where(data=data)) for data in errors.values_of("data"))
    yield "recommended", recommended(errors, {arm.label: arm.label for arm in CURATOR}, sorted(EPSILONS, reverse=True))


def standings_table(frame: "pd.DataFrame", errors: LevelErrors, times: LevelErrors) -> str:
    """Write an arm a row, best mean rank first: rank with its interval, score, errors over the bound, and seconds."""
    standings = Standings.of(errors, [arm.label for arm in ARMS])
    worst, mean = standings.scores.max(axis=0), np.exp(np.log(standings.scores).mean(axis=0))
    rows = []
    for place in np.argsort(standings.ranks, kind="stable"):
        label, (low, high) = standings.arms[place], standings.rank_bars[:, place]
        bound = [row.mean for row in times.where(arm=label) if row.mean > 0]
        seconds = [float(s) for s in frame.loc[frame["arm"] == label, "release_seconds"].dropna()]
        rows.append((
            label, f"{standings.ranks[place]:.1f} ({low:.1f} to {high:.1f})", _times(mean[place]), _times(worst[place]),
            _times(float(np.exp(np.mean(np.log(bound))))) if bound else "",
            f"{fmean(seconds):.2f}, at most {max(seconds):.2f}" if seconds else "",
        ))  # fmt: skip
    heads = ("release", "mean rank", "times the best", "at worst", "times the bound", "seconds")
    return _table(heads, rows, numbers=range(1, 6))


def winners(errors: LevelErrors, times: LevelErrors) -> str:
    """Write a data set and epsilon a row: at every level the best arm with a curator, and by how much others err more.

    The multiple is that of the second best.
    """
    labels = {arm.label for arm in CURATOR}
    rows = []
    for data, epsilon in errors.values_of("data", "epsilon"):
        here = errors.where(data=data, epsilon=epsilon)
        levels = {name: _winner(here, times, level, labels) for level, name in enumerate(_names(here.n_levels))}
        rows.append((data, f"{epsilon:g}", *(levels.get(name, "") for name in _names(3))))
    return _table(("data", "epsilon", *_names(3)), rows)


def _winner(here: LevelErrors, times: LevelErrors, level: int, labels: set[str]) -> str:
    rows = sorted((row for row in here.where(level=level) if row.arm in labels), key=lambda row: row.mean)
    first = rows[0]
    bound = times.one(data=first.data, epsilon=first.epsilon, arm=first.arm, level=level)
    over = f", {bound.mean:.1f} x bound" if bound is not None else ""
    second = f"; {rows[1].arm} x {rows[1].mean / first.mean:.2f}" if len(rows) > 1 and first.mean else ""
    return f"**{first.arm}** {_number(first.mean)}{over}{second}"


def _errors_of(part: LevelErrors) -> str:
    """Write the mean errors of a data set, a column per epsilon and level; the least of a column in bold."""
    names = _names(part.n_levels)
    places = [(e, level) for e in sorted(part.values_of("epsilon"), reverse=True) for level in range(len(names))]
    found = {(row.arm, row.epsilon, row.level): row for row in part}
    least = {at: min(row.mean for key, row in found.items() if key[1:] == at) for at in places}

    def cell(row: LevelError | None) -> str:
        if row is None:
            return ""
        text = _number(row.mean)
        return f"**{text}**" if row.mean == least[row.epsilon, row.level] else text

    rows = [(arm.label, *(cell(found.get((arm.label, *at))) for at in places)) for arm in ARMS]
    heads = ("release", *(f"{names[level]}, {epsilon:g}" for epsilon, level in places))
    (name,) = part.values_of("data")
    return f"**{name}**, by level and epsilon:\n\n{_table(heads, rows, numbers=range(1, len(heads)))}"


def _names(levels: int) -> list[str]:
    return [level_name(level, levels) for level in range(levels)]


def _number(value: float) -> str:
    """Write a mean with three digits at least.

    Example:
        >>> _number(1234.4), _number(36.24)
        ('1,234', '36.2')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _times(value: float) -> str:
    """Write a multiple.

    Example:
        >>> _times(1.239), _times(1234.4), _times(float("inf"))
        ('1.24', '1,234', 'no result somewhere')
    """
    if not np.isfinite(value):
        return "no result somewhere"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]], numbers: range = range(0)) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "".join("--:|" if i in numbers else "---|" for i in range(len(heads)))]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
