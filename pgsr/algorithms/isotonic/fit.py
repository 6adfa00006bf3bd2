"""The estimation of every region's groups from its own noisy vector (the paper's H_c and H_g methods)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pgsr.algorithms.groups import GroupRuns
from pgsr.algorithms.isotonic.regression import (
    Optimum,
    isotonic_l1,
    isotonic_l1_middles,
    isotonic_l2,
    isotonic_l2_runs,
)
from pgsr.algorithms.isotonic.threshold import groups_below
from pgsr.checks import member_of, require_kind
from pgsr.data.rounding import nearest
from pgsr.data.views import View
from pgsr.errors import MethodError
from pgsr.machine.parallel import Threads
from pgsr.noise.measurement import Measurement, Totals


@dataclass(frozen=True)
class IsotonicFit:
    """A way to estimate the groups of one region from its noisy vector and its public number of groups G.

    H_c, cumulative: cells 0..K-1 are fitted by non-decreasing values in [0, G], cell K is G; differences are counts.
    H_g, ranked: the G sizes are fitted by non-decreasing values in [min_size, K].
    Split at T: cells 0..T-1 are fitted as H_c, and what ranks have beyond T as H_g. Both decide how many groups have T
    or more members (`groups_below`), n; the n largest ranks are these groups, those without a rank have T members.

    Args:
        cumulative_norm: 1 (the paper's choice) or 2.
        ranked_norm: 2 (the paper's choice) or 1.
        optimum: which L1 optimum.
        min_size: public smallest size; smaller sizes get no group. Never take it from the data.

    Complexity: O(K log K) for H_c, O(G) for H_g (L2), O(G log G) (L1); regions run on all cores.

    Source: Kuo et al. 2018, sections 4.2 and 4.3.
    """

    cumulative_norm: int = 1
    ranked_norm: int = 2
    optimum: Optimum = Optimum.SMALLEST
    min_size: int = 0

    def __post_init__(self) -> None:
        if not all(isinstance(norm, int) and norm in (1, 2) for norm in (self.cumulative_norm, self.ranked_norm)):
            raise MethodError(f"norms are 1 or 2, not {self.cumulative_norm!r} and {self.ranked_norm!r}")
        object.__setattr__(self, "optimum", member_of(Optimum, self.optimum, "optimum", MethodError))
        if isinstance(self.min_size, bool) or not isinstance(self.min_size, int) or self.min_size < 0:
            raise MethodError(f"min_size={self.min_size!r} is not a size; give 0 or a public smallest size")

    def refusal(self, measurement: Measurement, levels: Iterable[int]) -> str | None:
        """Say why the regions of these levels cannot be fitted, or return None."""
        require_kind(measurement, Measurement, "the measurement", "give what Geometric(...).measure returned")
        if measurement.public is Totals.ROOT:
            return "isotonic fits need every region's number of groups; measure with Geometric(..., totals='regions')"
        if self.min_size > measurement.sizes.max_sizes[-1]:
            return f"min_size {self.min_size} is above the largest size {measurement.sizes.max_sizes[-1]}"
        if not measurement.measured[measurement.hierarchy.leaves].all():
            return "the leaves were not measured; give the last level a share of epsilon"
        if any(View.COUNTS in measurement.views_on(level) for level in levels):
            return "isotonic fits need View.CUMULATIVE or View.RANKED; for counts use SimplexProjection"
        return None

    def groups(self, measurement: Measurement, region: int) -> GroupRuns:
        """Estimate the groups of one measured region; `refusal` says beforehand whether it can be fitted."""
        view = measurement.view_of(region)
        total = int(measurement.region_totals[region])
        row, largest = measurement.row(region), measurement.max_size_of(region)
        if view is View.CUMULATIVE:
            return GroupRuns.of_counts(self.cumulative_counts(row[None], np.array([total]))[0])
        if view.mixed:
            return self._from_split(row, view.ranked_from(largest), total, largest)
        return self._from_ranked(row, self.min_size, largest)

    def all_groups(self, measurement: Measurement, regions: Iterable[int]) -> list[GroupRuns]:
        """Estimate the groups of many regions on all cores, because the compiled loops release Python's lock."""
        return Threads(len(measurement.cells))(lambda region: self.groups(measurement, region), regions)

    def cumulative_counts(self, rows: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Estimate the counts of many regions from their noisy cumulative counts; int64, of the shape of `rows`.

        Args:
            rows: noisy cumulative counts, shape (regions, K + 1).
            totals: the regions' numbers of groups, shape (regions,).
        """
        first, last = self.min_size, rows.shape[1] - 1
        below, fit = rows[:, first:last], np.zeros(rows.shape, np.int64)
        fit[:, last] = totals
        if self.cumulative_norm == 2:
            fit[:, first:last] = isotonic_l2(below, np.zeros_like(totals), totals)
        elif self.optimum is Optimum.MIDPOINT:
            fit[:, first:last] = nearest(isotonic_l1_middles(below, totals))
        else:
            Threads(below.size)(lambda r: self._fit_l1(below[r], int(totals[r]), fit[r, first:last]), range(len(rows)))
        return np.diff(fit, prepend=0, axis=1)

    def _fit_l1(self, row: np.ndarray, total: int, out: np.ndarray) -> None:
        out[:] = isotonic_l1(row, 0, total, self.optimum)

    def _from_ranked(self, row: np.ndarray, least: int, largest: int) -> GroupRuns:
        if self.ranked_norm == 1:
            size = nearest(isotonic_l1(row, least, largest, self.optimum))
            return GroupRuns.of_counts(np.bincount(size, minlength=1))
        return GroupRuns.pooled(*isotonic_l2_runs(row, least, largest))

    def _from_split(self, row: np.ndarray, threshold: int, total: int, max_size: int) -> GroupRuns:
        noisy = row[:threshold]
        least = max(0, self.min_size - threshold)
        beyond = self._from_ranked(row[threshold:], least, max_size - threshold)
        fitted = np.cumsum(self.cumulative_counts(np.append(noisy, total)[None], np.array([total]))[0])[:threshold]
        if threshold > 0:
            fitted = np.minimum(fitted, groups_below(fitted, noisy, beyond, total))
        *below, n_beyond = np.diff(np.append(fitted, total), prepend=0)
        # The smallest have no place where ranks are more than groups; groups without a rank have the least size.
        left = np.clip(np.cumsum(beyond.count) - max(0, beyond.total - n_beyond), 0, beyond.count)
        sizes = np.concatenate([np.arange(threshold), [threshold + least], threshold + beyond.size])
        counts = np.concatenate([below, [max(0, n_beyond - beyond.total)], left])
        return GroupRuns.pooled(sizes[counts > 0], counts[counts > 0])

    def __repr__(self) -> str:
        defaults = IsotonicFit()
        changed = [
            f"{name}={str(value) if isinstance(value, Optimum) else value!r}"
            for name, value in vars(self).items()
            if value != getattr(defaults, name)
        ]
        return f"IsotonicFit({', '.join(changed)})"
