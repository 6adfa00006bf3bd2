"""The means of all numbers of an experiment over replicates, with standard errors, beside the printed numbers.

They are read from a table of cells, as a store and docs/results give it alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from pgsr.experiments.engine.effects import ratio_words
from pgsr.experiments.engine.experiment import Experiment, Parameters
from pgsr.experiments.engine.papers import Beside, Printed
from pgsr.experiments.engine.verdicts import Judgement, TestOutcome, agrees, not_judged

if TYPE_CHECKING:
    import pandas as pd

OF_CELLS = ("key", "data", "real", "epsilon", "epsilon_exact", "replicate", "arm", "state", "reason")
OF_PROCESSES = ("seconds", "cpu_seconds", "peak_mb", "own_mb", "time_limit", "code", "finished")
"""Columns of a table of cells that are no result."""

AGREEMENT = {TestOutcome.HOLDS: "agrees", TestOutcome.FAILS: "differs"}


@dataclass(frozen=True)
class Mean:
    """A mean over replicates of a number, by data set, epsilon, arm, free parameters, level and metric.

    Attributes:
        level: 0 is the root; None for numbers that are not of a level.
        values: one per replicate that has it.
        beside: the printed number that it stands beside, if the experiment sets one.
    """

    data: str
    real: bool
    epsilon: Fraction | None
    arm: str
    parameters: Parameters
    metric: str
    level: int | None
    values: tuple[float, ...] = field(repr=False)
    beside: Beside | None = None

    @property
    def printed(self) -> Printed | None:
        """What a paper prints."""
        return None if self.beside is None else self.beside.number

    @property
    def remark(self) -> str:
        """Why the printed number is of other data, if it is."""
        return "" if self.beside is None else self.beside.remark

    @property
    def reading(self) -> str:
        """How ours is computed, where that is not what the paper states."""
        return "" if self.beside is None else self.beside.reading

    def stands_beside(self, each: Beside) -> bool:
        """Tell whether this is a mean that the printed number stands beside."""
        found = dict(self.parameters) | {"epsilon": self.epsilon, "level": self.level, "metric": self.metric}
        return each.fits(self.data, self.arm, found)

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean; None from a single replicate."""
        return stdev(self.values) / self.n**0.5 if self.n > 1 else None

    @property
    def standard_deviation(self) -> float | None:
        """The standard deviation over replicates, which some papers print; None from a single replicate."""
        return stdev(self.values) if self.n > 1 else None

    @property
    def ratio(self) -> float | None:
        """The ratio of our mean over the printed number."""
        return self.mean / self.printed.value if self.printed is not None and self.printed.value else None

    @property
    def judgement(self) -> Judgement:
        """What is found of the printed number, on the paper's own data."""
        if self.printed is None or self.remark or not self.real:
            return not_judged("other data than the paper's")
        return agrees(self.values, self.printed.value, self.printed.runs)

    @property
    def agreement(self) -> str:
        """The same in a word.

        Example:
            >>> beside = Beside({}, Printed("K8", "Taxi", "Hc", "1", 0, "emd", 10.0, "a table", 10))
            >>> mean = Mean("taxi", True, Fraction(1), "Hc", (), "emd", 0, (9.9, 10.2, 10.0, 9.9, 10.1), beside)
            >>> mean.agreement, mean.compared, replace(mean, real=False).agreement
            ('agrees', '1.0020 [0.9822, 1.022]', 'other data')
        """
        found = self.judgement
        if found.finding is TestOutcome.NOT_JUDGED:
            return "other data" if found.replicates is None else found.test
        return AGREEMENT.get(found.finding, str(found.finding))

    @property
    def compared(self) -> str:
        """The ratio of ours over the printed number, with its interval where there is noise."""
        if self.printed is None or self.ratio is None:
            return ""
        effect = agrees(self.values, self.printed.value, self.printed.runs).effect
        return str(effect) if effect is not None and effect.low < effect.high else ratio_words(self.ratio)

    @property
    def median_ratio(self) -> float:
        """The ratio of our median over the printed number, where the tail of errors is heavy."""
        return median(self.values) / self.printed.value if self.printed is not None else 0.0


def means(frame: "pd.DataFrame", experiment: Experiment) -> list[Mean]:
    """Collect the means of every number in a table of cells, each with the first printed number that fits."""
    if frame.empty:
        return []
    parameters = sorted(
        {name for scale in experiment.profiles.values() for free in scale.grid for name, _ in free} & {*frame.columns}
    )
    by = [name for name in ("data", "epsilon_exact", *parameters, "arm") if name in frame]
    no_result = {*OF_CELLS, *OF_PROCESSES, *parameters}
    metrics = [name for name in frame.columns if name not in no_result and frame[name].dtype.kind in "biuf"]
    found = []
    for _, cells in frame.groupby(by, sort=False, dropna=False):
        first = cells.iloc[0]
        text = first.get("epsilon_exact")
        epsilon = Fraction(text) if isinstance(text, str) else None
        free = tuple((name, _plain(first[name])) for name in parameters)
        for name in metrics:
            values = tuple(float(value) for value in cells[name].to_numpy(float) if abs(value) < float("inf"))
            if values:
                metric, _, level = name.rpartition("_level")
                of = (metric, int(level)) if metric and level.isdigit() else (name, None)
                found.append(Mean(first["data"], bool(first["real"]), epsilon, first["arm"], free, *of, values))
    return list(_beside(found, experiment.printed))


def _beside(rows: Sequence[Mean], printed: Sequence[Beside]) -> Iterator[Mean]:
    for row in rows:
        fit = next((each for each in printed if row.stands_beside(each)), None)
        yield row if fit is None else replace(row, beside=fit)


def _plain(value: object) -> int | float | str:
    """Give a free parameter as cells have it: tables hold whole numbers as floats where some cells lack them."""
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    return int(number) if number.is_integer() else number
