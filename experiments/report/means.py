"""The means of all numbers of an experiment over replicates, with standard errors, beside the printed numbers."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import fmean, stdev

from pgsr.experiments.engine.experiment import Parameters
from pgsr.experiments.engine.printed import Beside, Printed
from pgsr.experiments.engine.store import StoredCell, plain
from pgsr.experiments.engine.verdicts import FEWEST, half_width


@dataclass(frozen=True)
class Mean:
    """A mean over replicates of a number, by data set, epsilon, arm, free parameters, level and metric.

    Attributes:
        level: 0 is the root; None for numbers that are not of a level.
        values: one per replicate that has it.
        printed: what a paper prints, if the experiment sets something beside it.
        remark: why the printed number is of other data, if it is.
    """

    data: str
    real: bool
    epsilon: Fraction | None
    arm: str
    parameters: Parameters
    metric: str
    level: int | None
    values: tuple[float, ...] = field(repr=False)
    printed: Printed | None = None
    remark: str = ""

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
    def words(self) -> str:
        """The comparison with the printed number, in words.

        Example:
            >>> printed = Printed("K8", "Taxi", "Hc", "1", 0, "emd", 10.0, "a table")
            >>> mean = Mean("taxi", True, Fraction(1), "Hc", (), "emd", 0, (9.0, 12.0, 10.0, 9.0, 11.0), printed)
            >>> mean.words
            'agrees within 2.78 standard errors, 5 replicates'
            >>> replace(mean, values=(14.0, 15.0, 16.0, 15.0, 15.0)).words
            'larger, by 15.8 standard errors'
        """
        if self.printed is None:
            return ""
        difference, error = self.mean - self.printed.value, self.standard_error
        if self.remark or not self.real:
            return "not compared, other data"
        if difference == 0:
            return "equal"
        if self.n < FEWEST:
            return f"not judged, {self.n} of {FEWEST} replicates"
        assert error is not None, "there are several replicates"
        half = half_width(self.values)
        if abs(difference) <= half:
            return f"agrees within {half / error:.2f} standard errors, {self.n} replicates"
        direction = "larger" if difference > 0 else "smaller"
        return f"{direction}, by {abs(difference) / error:.1f} standard errors" if error else f"{direction}, exactly"


def means(entries: Iterable[StoredCell]) -> list[Mean]:
    """Collect the means of every number that finished cells recorded. Lists other than levels belong to figures."""
    found: dict[tuple, tuple[StoredCell, list[float]]] = {}
    for entry in entries:
        cell = entry.cell
        for metric, level, value in _values(entry):
            key = (cell.data, cell.epsilon, cell.parameters, cell.arm, metric, level)
            found.setdefault(key, (entry, []))[1].append(value)
    return [
        Mean(data, entry.real, epsilon, arm, parameters, metric, level, tuple(values))
        for (data, epsilon, parameters, arm, metric, level), (entry, values) in found.items()
    ]


def beside(rows: Sequence[Mean], printed: Sequence[Beside]) -> list[Mean]:
    """Give every mean the first printed number that fits."""
    fitting = ((row, next((each for each in printed if row.stands_beside(each)), None)) for row in rows)
    return [row if fit is None else replace(row, printed=fit.number, remark=fit.remark) for row, fit in fitting]


def _values(entry: StoredCell) -> Iterator[tuple[str, int | None, float]]:
    record = plain(entry.record)
    levels = record.pop("levels", None)
    for metric, values in (levels if isinstance(levels, dict) else {}).items():
        for level, value in enumerate(values):
            if _is_number(value):
                yield metric, level, float(value)
    violations = record.pop("violations", None)
    for kind, value in (violations if isinstance(violations, dict) else {}).items():
        if _is_number(value):
            yield f"violations_{kind}", None, float(value)
    for metric, value in record.items():
        if _is_number(value):
            yield metric, None, float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
