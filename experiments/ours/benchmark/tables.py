"""The tables of docs/study/field.md: of the list of arms, and of the results of B1; and the file of all its errors."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from pgsr.experiments.engine.summary import LevelErrors, level_errors
from pgsr.experiments.ours.benchmark.arms import ARMS, CURATOR, OF_KUO, OURS, RIVALS
from pgsr.experiments.ours.benchmark.standings import Standings
from pgsr.experiments.ours.benchmark_data import DATA
from pgsr.figures.drawing import level_name

if TYPE_CHECKING:
    import pandas as pd

OF_RESULTS = ("places", "standings", "winners")
"""The names of the tables that need results."""

ERRORS_FILE = "B1_errors.csv"
"""The file of all mean errors, which lies beside the published cells."""

SHOWN = 1.0
"""The epsilon of the table of winners."""


def of_lists() -> Iterator[tuple[str, str]]:
    """Write the table of arms, by name."""
    rows = [(arm.label, arm.made_by, arm.assumes, arm.trust) for arm in ARMS]
    yield "arms", _table(("release", "of", "assumes, to do well", "who sees true sizes"), rows)


def of_results(frame: "pd.DataFrame") -> Iterator[tuple[str, str]]:
    """Write the tables that B1's results give, by the names of `OF_RESULTS`."""
    errors, times = level_errors(frame, "emd"), level_errors(frame, "times_bound")
    yield "places", places(errors)
    yield "standings", standings_table(frame, errors, times)
    yield "winners", winners(errors, times)


def places(errors: LevelErrors) -> str:
    """Say at how many places whose releases are nearest to the truth, and how near others' mechanisms come."""
    curator = {arm.label for arm in CURATOR}
    whose = {arm.label: words for words, arms in WHOSE.items() for arm in arms if arm.label in curator}
    best: Counter[str] = Counter()
    nearest = []
    for data, epsilon, level in errors.values_of("data", "epsilon", "level"):
        at = [row for row in errors.where(data=data, epsilon=epsilon, level=level) if row.arm in whose]
        first = min(at, key=lambda row: row.mean)
        best[whose[first.arm]] += 1
        others = [row.mean for row in at if whose[row.arm] == _OTHERS]
        nearest += [min(others) / first.mean] if others and first.mean else []
    said = ", ".join(f"{words} at {best[words]}" for words in WHOSE)
    least = f"; the nearest of the last have {_times(min(nearest))} times the smallest error" if nearest else ""
    return f"Of {best.total()} places (data set, epsilon, level) the smallest error is that of {said}{least}."


_OTHERS = "other authors"
WHOSE = {"this toolkit": OURS, "Kuo et al.": OF_KUO, _OTHERS: RIVALS}
"""The releases by who made them."""


def write_errors(frame: "pd.DataFrame", folder: Path) -> Path:
    """Write the mean errors of B1 as CSV, a row per data set, epsilon, release and level; returns the file.

    Beside a mean stand its standard error, the number of replicates, and the mean over the lower bound, empty where
    there is no bound.
    """
    names = {"arm": "release", "mean": "emd"}
    errors, times = (level_errors(frame, metric).to_frame() for metric in ("emd", "times_bound"))
    at = ["data", "epsilon", "arm", "level"]
    bounds = times.rename(columns={"mean": "times_bound"})[[*at, "times_bound"]]
    path = folder / ERRORS_FILE
    errors.merge(bounds, on=at, how="left").rename(columns=names).to_csv(path, index=False, float_format="%.6g")
    return path


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
            label, f"{standings.ranks[place]:.1f} [{low:.1f}, {high:.1f}]", _times(mean[place]), _times(worst[place]),
            _times(float(np.exp(np.mean(np.log(bound))))) if bound else "",
            f"{fmean(seconds):.2f}" if seconds else "",
        ))  # fmt: skip
    heads = ("release", "mean rank", "times the best", "at worst", "times the bound", "seconds")
    return _table(heads, rows, numbers=range(1, 6))


def winners(errors: LevelErrors, times: LevelErrors) -> str:
    """Write a data set a row, at epsilon `SHOWN`: at every level the best arm with a curator, and the best of others.

    Behind the name stand the numbers of regions by level, and K. Behind an arm stand its error, this over the bound,
    and how many times as large the least error of others is. Others are those of other authors for a release of this
    toolkit, and this toolkit's for one of others.
    """
    sizes = {data.name: (" / ".join(f"{n:,}" for n in data.levels), f"{data.max_size:,}") for data in DATA}
    rows = []
    for data in errors.where(epsilon=SHOWN).values_of("data"):
        here = errors.where(data=data, epsilon=SHOWN)
        levels = {name: _winner(here.where(level=level), times) for level, name in enumerate(_names(here.n_levels))}
        rows.append((
            data.replace(", real", "").replace(", K = 5,000", "").replace(", generated for B1", ", generated"),
            *sizes.get(data, ("", "")), *(levels.get(name, "") for name in _names(3)),
        ))  # fmt: skip
    return _table(("data", "regions", "K", *_names(3)), rows)


def _winner(here: LevelErrors, times: LevelErrors) -> str:
    ours, labels = {arm.label for arm in OURS}, {arm.label for arm in CURATOR}
    first, *rest = sorted((row for row in here if row.arm in labels), key=lambda row: row.mean)
    bound = times.one(data=first.data, epsilon=first.epsilon, arm=first.arm, level=first.level)
    over = f" ({bound.mean:.1f})" if bound is not None else ""
    other = next((row for row in rest if (row.arm in ours) != (first.arm in ours)), None)
    second = f"; {other.arm} x {other.mean / first.mean:.2f}" if other is not None and first.mean else ""
    return f"**{first.arm}** {_number(first.mean)}{over}{second}"


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
