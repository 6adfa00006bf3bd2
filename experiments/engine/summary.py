"""The summary of a store's rows: means with standard errors over replicates, as the papers show them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan
from operator import attrgetter
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LevelError:
    """The error of one arm at one level.

    Attributes:
        data, real, epsilon, arm, parameters: of the cells.
        level: 0 is the root.
        values: by replicate; cells without an accepted answer are missing.
    """

    data: str
    real: bool
    epsilon: float
    arm: str
    parameters: tuple
    level: int
    values: dict[int, float] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        return fmean(self.values.values())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; 0 from a single replicate."""
        n = len(self.values)
        return stdev(self.values.values()) / n**0.5 if n > 1 else 0.0


@dataclass(frozen=True)
class LevelErrors:
    """The errors of one metric, of which some can be selected."""

    rows: list[LevelError]

    def where(self, **wanted: object) -> "LevelErrors":
        """Keep the errors with these attributes: `errors.where(data="taxi", epsilon=1)`."""
        kept = self.rows
        for name, value in wanted.items():
            of = attrgetter(name)
            kept = [row for row in kept if of(row) == value]
        return LevelErrors(kept)

    def to_frame(self) -> "pd.DataFrame":
        """Put means and standard errors into a data frame, one row per data set, epsilon, arm and level."""
        import pandas as pd

        names = ("data", "epsilon", "arm", "level", "mean", "standard_error")
        rows = [{name: getattr(row, name) for name in names} | {"replicates": len(row.values)} for row in self.rows]
        return pd.DataFrame(rows)

    def one(self, **wanted: object) -> LevelError | None:
        """Find the only one with these attributes, or None."""
        rows = self.where(**wanted).rows
        return rows[0] if len(rows) == 1 else None

    def values_of(self, *names: str) -> list[Any]:
        """List the values that occur, once each, in order of appearance; tuples for several names."""
        found = (tuple(getattr(row, name) for name in names) for row in self.rows)
        return list(dict.fromkeys(each if len(names) > 1 else each[0] for each in found))

    @property
    def n_levels(self) -> int:
        return 1 + max((row.level for row in self.rows), default=-1)

    def __iter__(self) -> Iterator[LevelError]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return bool(self.rows)


def level_errors(frame: "pd.DataFrame", metric: str, parameters: Sequence[str] = ()) -> LevelErrors:
    """Collect errors by data set, epsilon, arm, parameters and level, in the order of the frame."""
    columns = [str(name) for name in frame.columns if str(name).startswith(f"{metric}_level")]
    levels = [int(column.rpartition("_level")[2]) for column in columns]
    values = frame[columns].to_numpy(float)
    there = np.flatnonzero(~np.isnan(values).all(axis=1))  # NaN: no accepted answer, or fewer levels
    names = ("data", "real", "epsilon", "arm", "replicate", *parameters) if len(there) else ()
    read = zip(*(frame[name].iloc[there].tolist() for name in names), strict=True)
    found: dict[tuple, LevelError] = {}
    for row, (data, real, epsilon, arm, replicate, *free) in zip(values[there].tolist(), read, strict=True):
        parts = tuple(zip(parameters, free, strict=True))
        for level, value in zip(levels, row, strict=True):
            if not isnan(value):
                of = (data, real, epsilon, arm, parts, level)
                found.setdefault(of, LevelError(*of)).values[int(replicate)] = value
    return LevelErrors(list(found.values()))
