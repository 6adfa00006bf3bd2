"""The errors against the truth, per region. For evaluation only: they are not private and never reach a release."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.checks import is_sparse, require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.views import View
from pgsr.errors import CountError
from pgsr.machine.blocks import row_blocks
from pgsr.privacy.budget import Number, exact
from pgsr.problems.tolerances import CONDITION

_OfOne = Callable[[np.ndarray], np.ndarray]
_OfTwo = Callable[[np.ndarray, np.ndarray], np.ndarray]


def l1(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> np.ndarray:
    """Add up |counts - true counts| over sizes; shape (regions,), in groups.

    Source: Fioretto and Van Hentenryck 2019, the errors of table 1.
    """
    return _per_region(
        truth,
        estimate,
        lambda difference: np.abs(difference).sum(axis=1),
        lambda changes: changes.sums(np.abs(changes.values)),
    )


def emd(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> np.ndarray:
    """Compute the earth mover's distance: the fewest entities to add or remove to make both alike; shape (regions,).

        emd(H, H') = sum_s |Hc[s] - Hc'[s]|,  equal group totals.

    Raises:
        CountError: a region's estimated number of groups is not the true one. `cumulative_l1` and the error of the
            totals are defined then, and mean something only together with K.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["all"], [-1])
        >>> emd(CountOfCounts(tree, [[0, 100, 0, 0, 0, 0]]), CountOfCounts(tree, [[0, 0, 0, 0, 0, 100]]))
        array([400])

    Source: Kuo et al. 2018, section 3.2.
    """
    off = np.flatnonzero(total_error(truth, estimate))
    if len(off):
        region = " / ".join(truth.hierarchy.paths[off[0]])
        raise CountError(
            f"region {region} has another number of groups than the truth, so its earth mover's distance is not "
            "defined; use metrics.cumulative_l1 and report metrics.total_error and K beside it"
        )
    return cumulative_l1(truth, estimate)


def cumulative_l1(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> np.ndarray:
    """Add up |cumulative counts - true ones| over sizes; shape (regions,). Equals `emd` where the totals agree."""
    return _per_region(
        truth,
        estimate,
        lambda difference: np.abs(np.cumsum(difference, axis=1)).sum(axis=1),
        lambda changes: changes.sums(np.abs(changes.cumulative) * changes.widths),
    )


def total_error(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> np.ndarray:
    """Subtract the true number of groups from the estimated one; shape (regions,)."""
    error = _per_region(
        truth, estimate, lambda difference: difference.sum(axis=1), lambda changes: changes.sums(changes.values)
    )
    return error if error.dtype.kind == "i" else np.where(np.abs(error) < CONDITION, 0.0, error)


def tail_error(truth: CountOfCounts, estimate: Estimate | CountOfCounts, size: int) -> np.ndarray:
    """Compute the relative error of the number of groups larger than `size`, per region; shape (regions,), no unit.

        |N' - N| / max(1, N),    N = sum of counts[s] over s > size,    N' the same of the estimate.

    Raises:
        CountError: `size` is no whole number from 0 to K - 1.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["all"], [-1])
        >>> tail_error(CountOfCounts(tree, [[0, 5, 3, 1]]), CountOfCounts(tree, [[0, 4, 3, 2]]), 1)
        array([0.25])
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 0 <= size < truth.max_size:
        raise CountError(f"size={size!r}; give a whole number from 0 to K - 1 = {truth.max_size - 1}")

    def reduce(true: np.ndarray, estimated: np.ndarray) -> np.ndarray:
        larger, found = true[:, size + 1 :].sum(axis=1), estimated[:, size + 1 :].sum(axis=1)
        return np.abs(found - larger) / np.maximum(1, larger)

    return _of_both(truth, estimate, reduce)


def mean_size_error(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> np.ndarray:
    """Compute the relative error of the mean size, per region; shape (regions,), no unit.

        |m' / m - 1|,    m = (sum over s of s counts[s]) / (sum over s of counts[s]),    m' the same of the estimate.

    Sizes above K count as K in both. An m below one entity in the whole region counts as one entity, and a region
    without groups has mean 0.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["all"], [-1])
        >>> mean_size_error(CountOfCounts(tree, [[0, 2, 0, 2]]), CountOfCounts(tree, [[0, 1, 0, 3]]))
        array([0.25])
    """

    def reduce(true: np.ndarray, estimated: np.ndarray) -> np.ndarray:
        groups, mean = _mean_size(true)
        return np.abs(_mean_size(estimated)[1] - mean) / np.maximum(mean, 1 / np.maximum(1, groups))

    return _of_both(truth, estimate, reduce)


def quantile_error(truth: CountOfCounts, estimate: Estimate | CountOfCounts, part: Number) -> np.ndarray:
    """Compute the absolute error of a quantile of the sizes, per region; shape (regions,), in entities.

        |q' - q|,    q = the smallest s with  counts[0] + ... + counts[s] >= part (counts[0] + ... + counts[K]).

    q' is the same of the estimate, with its own number of groups. A region without groups has quantile 0.

    Args:
        part: 1/2 for the median; above 0 and at most 1, read exactly, so that no quantile hangs on a rounding.

    Raises:
        CountError: `part` is not in this range.
        BudgetError: it is negative, or no number.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["all"], [-1])
        >>> quantile_error(CountOfCounts(tree, [[0, 2, 1, 1]]), CountOfCounts(tree, [[0, 0, 0, 4]]), "1/2")
        array([2])
    """
    wanted = exact(part, "part", zero=True)
    if not 0 < wanted <= 1:
        raise CountError(f"part={part!r}; give a number above 0 and at most 1, as 1/2 for the median")

    def quantile(counts: np.ndarray) -> np.ndarray:
        upto = np.cumsum(counts, axis=1)
        groups = np.maximum(upto[:, -1], 0)
        if groups.dtype.kind == "f":  # beyond a billionth a part of a real number means nothing
            part = wanted.limit_denominator(10**9)
            return (part.denominator * upto >= part.numerator * groups[:, None]).argmax(axis=1)
        # part n rounded up, in Python's integers: products with a long part would wrap in 64 bits.
        needed = [-(-wanted.numerator * n // wanted.denominator) for n in groups.tolist()]
        return (upto >= np.array(needed, np.int64)[:, None]).argmax(axis=1)

    return _of_both(truth, estimate, lambda true, estimated: np.abs(quantile(estimated) - quantile(true)))


def omniscient(truth: CountOfCounts, level_epsilon: Number) -> np.ndarray:
    """Compute the expected error of a reference that knows which sizes occur where; shape (regions,), in entities.

        sqrt(2) / level_epsilon * number of sizes that occur.

    A yardstick, not a bound: it spends no budget on finding the sizes, but measures each of them alone.

    Source: the dashed lines of Kuo et al. 2018, figure 5. Their constant is restored: Laplace noise of standard
    deviation sqrt(2) / epsilon.
    """
    tree = truth.hierarchy
    occurring = [np.count_nonzero(truth.rows(region, region + 1)) for region in range(tree.n_regions)]
    return np.sqrt(2) / float(exact(level_epsilon)) * np.array(occurring)


def level_means(truth: CountOfCounts, per_region: np.ndarray) -> list[float]:
    """Average over the regions of each level, root first (the convention of Kuo et al. 2018)."""
    tree = truth.hierarchy
    return [float(per_region[tree.level(level)].mean()) for level in range(tree.n_levels)]


def level_sums(truth: CountOfCounts, per_region: np.ndarray) -> list[float]:
    """Add up over the regions of each level, root first (the convention of Fioretto and Van Hentenryck 2019)."""
    tree = truth.hierarchy
    return [float(per_region[tree.level(level)].sum()) for level in range(tree.n_levels)]


def _mean_size(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute numbers of groups and mean sizes of regions; shape (regions,) each."""
    groups, entities = counts.sum(axis=1), counts @ np.arange(counts.shape[1])
    return groups, np.divide(entities, groups, out=np.zeros(len(counts)), where=groups > 0)


@dataclass(frozen=True, eq=False)
class _Changes:
    """The sizes at which two sparse tables of whole counts differ, region by region in ascending order.

    Attributes:
        values: what the second table has more, int64; shape (changes,).
        widths: the number of sizes up to the region's next change, or its last size; shape (changes,).
        start: the first change of every region, and the number of all; shape (regions + 1,).
    """

    values: np.ndarray
    widths: np.ndarray
    start: np.ndarray

    @classmethod
    def between(cls, one: Any, other: Any) -> "_Changes":
        """Subtract the first table from the second one."""
        table = other.astype(np.int64) - one.astype(np.int64)
        table.sort_indices()
        start, size = table.indptr.astype(np.int64), table.indices.astype(np.int64)
        ends = np.append(size[1:], table.shape[1])
        ends[start[1:][np.diff(start) > 0] - 1] = table.shape[1]
        return cls(table.data, ends - size, start)

    @property
    def cumulative(self) -> np.ndarray:
        """The differences of cumulative counts, which stay as they are up to the next change."""
        upto = np.concatenate([[0], np.cumsum(self.values)])
        return upto[1:] - np.repeat(upto[self.start[:-1]], np.diff(self.start))

    def sums(self, terms: np.ndarray) -> np.ndarray:
        """Add up a term of every change, region by region; shape (regions,)."""
        return np.diff(np.concatenate([[0], np.cumsum(terms)])[self.start])


def _per_region(
    truth: CountOfCounts,
    estimate: Estimate | CountOfCounts,
    reduce: _OfOne,
    of_changes: Callable[[_Changes], np.ndarray],
) -> np.ndarray:
    """Reduce estimate - truth to one number per region.

    Args:
        reduce: of blocks of rows.
        of_changes: the same where both tables are sparse, in time and memory of what they hold.
    """
    _check(truth, estimate)
    tables = truth.stored, _stored_counts(estimate)
    if all(is_sparse(table) and table.dtype.kind == "i" for table in tables):
        return of_changes(_Changes.between(*tables))
    return np.concatenate([reduce(estimated - true) for true, estimated in _blocks(truth, estimate)])


def _stored_counts(estimate: Estimate | CountOfCounts) -> Any:
    """Give counts as they are kept; None where other values than counts are."""
    if isinstance(estimate, CountOfCounts):
        return estimate.stored
    return estimate.values if estimate.view is View.COUNTS else None


def _of_both(truth: CountOfCounts, estimate: Estimate | CountOfCounts, reduce: _OfTwo) -> np.ndarray:
    """Reduce blocks of rows of the true and of the estimated counts to one number per region."""
    _check(truth, estimate)
    return np.concatenate([reduce(*blocks) for blocks in _blocks(truth, estimate)])


def _check(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> None:
    """Raise an error unless both are tables of the same regions and sizes."""
    require_kind(truth, CountOfCounts, "truth", "the truth comes first, a CountOfCounts")
    require_kind(estimate, (Estimate, CountOfCounts), "the estimate", "give result.estimate, or a CountOfCounts")
    tree, sizes = truth.hierarchy, estimate.sizes
    if estimate.hierarchy.paths != tree.paths or (
        sizes.max_sizes != truth.max_sizes and sizes.equal and truth.sizes.equal
    ):
        raise CountError(
            f"the estimate ({estimate.hierarchy!r}, K = {estimate.max_size}) and the truth "
            f"({tree!r}, K = {truth.max_size}) are of different regions or sizes; give the truth "
            "that was measured and an estimate from it"
        )


def _blocks(truth: CountOfCounts, estimate: Estimate | CountOfCounts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give blocks of rows of the true and of the estimated counts, with sizes of the estimate's."""
    tree, sizes = truth.hierarchy, estimate.sizes
    folded = truth if truth.max_sizes == sizes.max_sizes else truth.folded(sizes.max_sizes)
    for level, k in enumerate(sizes.max_sizes):
        for rows in row_blocks(tree.level(level), k + 1):
            yield folded.rows(rows.start, rows.stop), estimate.rows(rows.start, rows.stop)
