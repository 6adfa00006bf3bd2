"""The tree of sizes: counts of ever coarser ranges of sizes, from which cumulative counts have little error.

With branching b, level l of the tree is the histogram of sizes in ranges of b^l sizes,

    T_l[i] = number of groups whose size is in  i b^l, ..., (i + 1) b^l - 1,      l = 0 .. h - 1,   b^h > K,

so T_0 is the histogram H itself, and each number is the sum of up to b numbers below it. The number of all groups, the
top of the tree, is public. A cumulative count is then a sum of few of these numbers, where it is one of up to K + 1
counts; that is why whoever protects whole groups, whose cumulative counts cannot be measured directly (they change in
up to K cells), may measure a tree.

Source: Hay, Rastogi, Miklau, Suciu 2010 (the tree of ranges and its consistent estimates).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.sensitivity import Sensitivity, sensitivity_of


@dataclass(frozen=True)
class SizeTree:
    """The tree of ranges over the sizes 0..K.

    Args:
        max_size: K.
        branching: b, the numbers below each number. 2 is good for zCDP, 4 to 16 for pure epsilon (docs/units.md).

    Raises:
        ProblemError: K is no size, or b is below 2.

    Example:
        >>> tree = SizeTree(3)
        >>> tree.of(np.array([[0, 2, 1, 2]])).tolist()
        [[0, 2, 1, 2, 2, 3]]
        >>> tree.counts(np.array([[1, 2, 1, 2, 2, 3]]), np.array([5])).round(2).tolist()
        [[0.58, 1.58, 0.92, 1.92]]
    """

    max_size: int
    branching: int = 2

    def __post_init__(self) -> None:
        for name, value, least in (("max_size", self.max_size, 0), ("branching", self.branching, 2)):
            if type(value) is not int or value < least:
                raise ProblemError(f"{name}={value!r}; give a public whole number from {least} up")

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The numbers on every level, from the counts up; all but the top, which is the number of groups."""
        found = [self.max_size + 1]
        while found[-1] > self.branching:
            found.append(-(-found[-1] // self.branching))
        return tuple(found)

    @property
    def n_values(self) -> int:
        """The numbers in the tree."""
        return sum(self.lengths)

    def of(self, counts: np.ndarray) -> np.ndarray:
        """Add up counts, shape (regions, K + 1), to all numbers of the tree, counts first; (regions, n_values)."""
        levels = [counts]
        for _ in self.lengths[1:]:
            levels.append(self._sums(levels[-1]))
        return np.concatenate(levels, axis=1)

    def sensitivity(self, unit: Unit, relation: Relation = Relation.REPLACE, *, max_quantity: int = 1) -> Sensitivity:
        """Find how far the trees of all regions of a level of the hierarchy differ between neighbouring data sets.

        Every level of the tree is a histogram of coarser sizes and changes as counts do, so that a change of the tree
        is at most h changes of the counts side by side. For groups that is reached.

        Example:
            >>> SizeTree(20).sensitivity(Unit.GROUP, Relation.ADD_REMOVE)
            Sensitivity(l1=5, l2_squared=5, largest=1)
        """
        counts = sensitivity_of(View.COUNTS, unit, max_quantity=max_quantity, max_size=self.max_size, relation=relation)
        return Sensitivity(tuple(tuple(sorted(change * len(self.lengths), reverse=True)) for change in counts.changes))

    def counts(self, noisy: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Estimate the counts by least squares, such that every level of the tree adds up to the number of groups.

            minimise  sum over levels l and ranges i of (T_l[i] - noisy_l[i])^2   subject to  sum_s H[s] = total,

        with T the tree of the real vector H. Upwards, every number is averaged with the sum of those below it, by their
        variances; downwards, what a number differs from that sum is shared out by variances. O(numbers of the tree).

        Args:
            noisy: the noisy numbers of the trees, all with noise of one variance; shape (regions, n_values).
            totals: numbers of groups, shape (regions,).

        Returns:
            H, real and possibly negative; shape (regions, K + 1).
        """
        starts = np.cumsum([0, *self.lengths])
        measured = [noisy[:, a:b].astype(float) for a, b in pairwise(starts)]
        best, variance = [measured[0]], [np.ones(self.lengths[0])]
        for level in measured[1:]:
            below, of_below = self._sums(best[-1]), self._sums(variance[-1])
            own = of_below / (1 + of_below)
            best.append(own * level + (1 - own) * below)
            variance.append(own)
        above = np.asarray(totals, float)[:, None]
        for mean, weight in zip(reversed(best), reversed(variance), strict=True):
            lengths = self._widths(mean.shape[1], above.shape[1])
            missing = (above - _grouped(mean, lengths)) / _grouped(weight, lengths)
            above = mean + weight * np.repeat(missing, lengths, axis=1)
        return above

    def cumulative_variances(self, *, total_known: bool = True) -> np.ndarray:
        """Compute the variances of the cumulative counts of `counts`, for noise of variance 1; shape (K + 1,).

        With total_known=False the number of groups is one more noisy number.

        For a number with below it the sizes of a range, let p say which of these sizes are at most s. The covariance
        matrix C of the range's counts, given all numbers below and including this one, enters only by 1'C1, 1'Cp and
        p'Cp, which follow from those of the parts of the range; a known total takes (1'Cp)^2 / 1'C1 off p'Cp.
        """
        n = self.max_size + 1
        ones, mixed, prefix = np.ones((3, n))  # of ranges; at every size s, of its range and p
        members = np.arange(n)
        for level, length in enumerate((*self.lengths[1:], 1)):
            widths = self._widths(self.lengths[level], length)
            parts = np.repeat(np.arange(length), widths)
            sums = _grouped(ones, widths)
            before = np.cumsum(ones) - ones - np.repeat(np.cumsum(sums) - sums, widths)
            mixed, prefix = mixed + before[members], prefix + before[members]
            members = parts[members]
            top = total_known and level == len(self.lengths) - 1
            taken = 1 / (sums if top else 1 + sums)  # a known total is a measurement without noise
            prefix = prefix - mixed**2 * taken[members]
            mixed = mixed - mixed * sums[members] * taken[members]
            ones = sums - sums**2 * taken
        return prefix

    def _sums(self, values: np.ndarray) -> np.ndarray:
        n = values.shape[-1]
        return _grouped(values, self._widths(n, -(-n // self.branching)))

    def _widths(self, n: int, n_ranges: int) -> np.ndarray:
        """The numbers below each of the ranges; the last range may have fewer."""
        width = self.branching if n_ranges > 1 else n
        return np.minimum(width, n - width * np.arange(n_ranges))


def _grouped(values: np.ndarray, widths: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, np.cumsum(widths) - widths, axis=-1)
