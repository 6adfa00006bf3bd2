"""The data set of the benchmark: one of the experiments', with a public stand-in for its shape."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from pgsr import CountOfCounts
from pgsr.experiments.engine.experiment import DataSet


@dataclass(frozen=True)
class BenchmarkData(DataSet):
    """A data set with a stand-in: public counts whose tail is near in order of magnitude.

    Attributes:
        stand_in: makes them. An arm may use them as it likes, since they are public; most do not.
        stand_in_is: what they are, in words, for the page.
    """

    stand_in: Callable[[], CountOfCounts] | None = field(default=None, repr=False)
    stand_in_is: str = ""

    @classmethod
    def of(cls, data: DataSet, stand_in: Callable[[], CountOfCounts], stand_in_is: str) -> "BenchmarkData":
        """Give a data set of another experiment a stand-in; it has no fallback, as the benchmark mixes no data."""
        kept: dict[str, Any] = {each.name: getattr(data, each.name) for each in fields(DataSet)}
        kept["fallback"] = None
        return cls(**kept, stand_in=stand_in, stand_in_is=stand_in_is)
