"""The estimate that post-processing returns."""

from dataclasses import dataclass
from typing import Any

from pgsr.checks import require_kind
from pgsr.errors import CountError
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import CountOfCounts
from pgsr.views import View, counts_of_cumulative


@dataclass(frozen=True, eq=False)
class Estimate:
    """The values of a view on every region; possibly fractional, negative or inconsistent (relaxations are).

    Attributes:
        hierarchy: the regions.
        view: `View.COUNTS` or `View.CUMULATIVE`.
        values: shape (regions, K + 1), int64 or float64; large estimates of counts are SciPy sparse arrays.
    """

    hierarchy: Hierarchy
    view: View
    values: Any

    def __post_init__(self) -> None:
        require_kind(self.hierarchy, Hierarchy, "hierarchy", "give Hierarchy.from_paths(...)")
        if not isinstance(self.view, View) or self.view is View.RANKED:
            raise CountError(f"an estimate of {self.view!r}; give View.COUNTS or View.CUMULATIVE")
        shape, dtype = getattr(self.values, "shape", ()), getattr(self.values, "dtype", None)
        if len(shape) != 2 or dtype is None or dtype.kind not in "if":
            raise CountError("an estimate has integer or real values of shape (regions, K + 1); give such an array")

    @property
    def max_size(self) -> int:
        return self.values.shape[1] - 1

    @property
    def as_counts(self) -> Any:
        """The values as counts per size, whatever they are; shape (regions, K + 1)."""
        return self.values if self.view is View.COUNTS else counts_of_cumulative(self.values)

    def counts(self) -> CountOfCounts:
        """The finished answer.

        Raises:
            CountError: a count is fractional, negative, or the regions do not add up; the message names it.
        """
        try:
            return CountOfCounts(self.hierarchy, self.as_counts)
        except CountError as error:
            raise CountError(f"this estimate is not a valid release: {error}") from None

    def __repr__(self) -> str:
        kind = "integer" if self.values.dtype.kind == "i" else "real"
        return f"Estimate({self.view!r}, {self.hierarchy!r}, sizes 0..{self.max_size:,}, {kind})"
