"""The choice of a mechanism and its split of the budget before data are seen, by errors on a public stand-in."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import ArgumentError
from pgsr.methods import metrics
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Result
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.random import Seeded

if TYPE_CHECKING:
    import pandas as pd


WORST = "worst ratio to best"
"""The column of a plan's table by which it is sorted where it is shown."""


@dataclass(frozen=True, eq=False)
class ExpectedErrors:
    """The expected errors of mechanisms on a stand-in, level by level.

    Attributes:
        labels: of the mechanisms.
        mean: earth mover's distance per region, mean over a level's regions and replicates (the sum of |cumulative
            counts - true ones| where a mechanism changes totals); shape (mechanisms, levels).
        standard_error: of `mean` over replicates, NaN of one replicate; same shape.
        seconds: that a release took, the median over replicates, compilation left out; shape (mechanisms,).
        made: how many replicates were made of each, where some were dropped; else empty.
    """

    labels: tuple[str, ...]
    mean: np.ndarray
    standard_error: np.ndarray
    seconds: np.ndarray
    made: tuple[int, ...] = field(default=(), kw_only=True)

    def choice(self, importance: Sequence[float] | None = None) -> str:
        """The label of the mechanism with the least regret: the smallest value of

            max over levels of  (error / smallest error of any mechanism at this level) ^ importance[level].

        With equal importance (the default) no level is sacrificed for another; importance 0 disregards a level.
        """
        return self.labels[int(self.worst_regret(importance).argmin())]

    def worst_regret(self, importance: Sequence[float] | None = None) -> np.ndarray:
        """The number that `choice` makes smallest, of every mechanism; shape (mechanisms,)."""
        powers = np.ones(self.mean.shape[1]) if importance is None else np.asarray(importance, float)
        if powers.shape != (self.mean.shape[1],) or not (powers >= 0).all() or not 0 < powers.max() < np.inf:
            raise ArgumentError(
                f"importance is one number per level, not negative and not all 0; there are {self.mean.shape[1]}"
            )
        return (self.regret**powers).max(axis=1)

    @property
    def regret(self) -> np.ndarray:
        """The error over the smallest of all mechanisms at the same level, 1 at least; shape (mechanisms, levels)."""
        errors = np.maximum(self.mean, 1e-9)  # where some mechanism makes none
        return errors / errors.min(axis=0)

    def beside(self, other: "ExpectedErrors") -> "ExpectedErrors":
        """Put the mechanisms of another plan on the same stand-in behind those of this one."""
        mean, error, seconds = (
            np.concatenate(pair)
            for pair in (
                (self.mean, other.mean),
                (self.standard_error, other.standard_error),
                (self.seconds, other.seconds),
            )
        )
        made = () if not self.made else (*self.made, *(other.made or (max(self.made),) * len(other.labels)))
        return ExpectedErrors((*self.labels, *other.labels), mean, error, seconds, made=made)

    def to_frame(self) -> "pd.DataFrame":
        """Make a table, a row per mechanism: mean and standard error per level, the factor to the best, and seconds."""
        import pandas as pd

        columns: dict[str, object] = {"mechanism": self.labels}
        for level in range(self.mean.shape[1]):
            columns[f"level {level}"] = self.mean[:, level]
            columns[f"level {level} s.e."] = self.standard_error[:, level]
        columns[WORST] = self.worst_regret()
        columns["seconds"] = self.seconds
        if self.made:
            columns["replicates"] = self.made
        return pd.DataFrame(columns)


def expected_errors(
    stand_in: CountOfCounts,
    mechanisms: Mapping[str, Mechanism],
    replicates: int = 3,
    seed: str = "plan",
    progress: bool | Callable[[int, int], None] = True,
    *,
    dropped_beyond: float | None = None,
    importance: Sequence[float] | None = None,
    kept: Collection[str] = (),
    first: Mapping[str, Mechanism] | None = None,
    look: Callable[[str, Any, Any], None] | None = None,
) -> ExpectedErrors:
    """Estimate errors of mechanisms on a public stand-in for the data, by simulation with research noise.

    Nothing is spent and nothing private is read, provided that the stand-in is public: earlier published tables,
    `stand_in_of` public facts, or a generator. Choosing by the errors on the data itself would cost budget
    or void the privacy claim.

    Args:
        stand_in: counts of the shape that will be released.
        mechanisms: by label.
        replicates: draws of the noise; all mechanisms see the same ones.
        seed: of the research noise.
        progress: whether to show a progress bar; or what is told how many of how many draws are done.
        dropped_beyond: if given, mechanisms whose `ExpectedErrors.worst_regret` after two replicates is more than this
            many times the least of all get no more replicates, nor those where it is more than its square after one.
            Their means and standard errors are those of the replicates that were made.
        importance: of levels, for this regret; as in `ExpectedErrors.choice`.
        kept: labels of mechanisms that are never dropped.
        first: by label, mechanisms that make the first replicate in place of those of `mechanisms`: ones that give the
            same counts, and keep more about them.
        look: is given every label with the measurement and the result of its first replicate.

    Example:
        >>> from pgsr import View
        >>> from pgsr.methods import Mechanism
        >>> from pgsr.noise import Geometric
        >>> from pgsr.estimators import Matching
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> stand_in = stand_in_of(tree, [40, 60], [0, 3, 2, 1])
        >>> mechanisms = {
        ...     str(shares): Mechanism(Geometric(View.CUMULATIVE, 1, shares), Matching())
        ...     for shares in level_shares(2, ["1/4", "1/2", "3/4"])
        ... }
        >>> plan = expected_errors(stand_in, mechanisms, progress=False)
        >>> plan.choice() in mechanisms
        True
    """
    from tqdm import tqdm

    require_kind(stand_in, CountOfCounts, "the stand-in", "give public counts of the shape of the data")
    if not mechanisms:
        raise ArgumentError("there is nothing to plan; give at least one mechanism by its label")
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 2:
        raise ArgumentError(f"replicates={replicates!r}; give a whole number of at least 2")
    for mechanism in mechanisms.values():
        mechanism.check(stand_in, Seeded(seed))
    labels, tree = tuple(mechanisms), stand_in.hierarchy
    errors: list[list[np.ndarray]] = [[] for _ in labels]
    seconds: list[list[float]] = [[] for _ in labels]
    left = list(range(len(labels)))
    total = replicates * len(labels)
    bar = tqdm(total=total, desc="plan", unit="release", disable=None if progress is True else True)
    for replicate in range(replicates):
        for place in left:
            if callable(progress):
                progress(sum(map(len, errors)), total)
            bar.set_postfix_str(labels[place])
            start = perf_counter()
            mechanism = mechanisms[labels[place]]
            if replicate == 0:
                mechanism = (first or {}).get(labels[place], mechanism)
            measurement = mechanism.measure(stand_in, Seeded(seed, replicate))
            result = mechanism.post_process(measurement)
            seconds[place].append(_spent(start, result))
            errors[place].append(_errors(stand_in, result))
            if replicate == 0 and look is not None:
                look(labels[place], measurement, result)
            bar.update()
        if replicate < 2 and dropped_beyond is not None:
            worst = _plan(labels, errors, seconds, tree.n_levels).worst_regret(importance)
            near = worst <= dropped_beyond ** (2 - replicate) * worst.min()
            left = [place for place in left if near[place] or labels[place] in kept]
            total = bar.total = sum(map(len, errors)) + (replicates - 1 - replicate) * len(left)
    bar.close()
    return _plan(labels, errors, seconds, tree.n_levels)


def _plan(
    labels: tuple[str, ...], errors: list[list[np.ndarray]], seconds: list[list[float]], n_levels: int
) -> ExpectedErrors:
    """Make a plan of the replicates that were made of each mechanism, one at least."""
    made = np.array([len(each) for each in errors])
    mean, spread = np.full((2, len(labels), n_levels), np.nan)
    for place, each in enumerate(errors):
        mean[place] = np.mean(each, axis=0)
        if len(each) > 1:
            spread[place] = np.std(each, axis=0, ddof=1) / np.sqrt(len(each))
    numbers = () if (made == made[0]).all() else tuple(map(int, made))
    return ExpectedErrors(labels, mean, spread, np.array([np.median(each) for each in seconds]), made=numbers)


def _errors(stand_in: CountOfCounts, result: Result) -> np.ndarray:
    """Compute the mean distance of every level, root first; shape (levels,)."""
    return np.array(metrics.level_means(stand_in, metrics.cumulative_l1(stand_in, result.estimate)))


def _spent(start: float, result: Result) -> float:
    """Compute the seconds since the start, compilation left out."""
    return perf_counter() - start - result.seconds.compile


def recommended_split(n_levels: int) -> tuple[Fraction, ...]:
    """Give the split of epsilon over n levels to start from, root first: n parts for the leaves, one for each other.

    On real and made data no split of epsilon is within a tenth of the best at every level: errors of leaves fall nearly
    like one over their share, those of a root like the root of one over it. This one is nowhere far from the best
    (docs/study/choose_a_mechanism.md).

    Example:
        >>> [", ".join(map(str, recommended_split(n))) for n in (1, 2, 3, 4)]
        ['1', '1/3, 2/3', '1/5, 1/5, 3/5', '1/7, 1/7, 1/7, 4/7']
    """
    part = Fraction(1, 2 * n_levels - 1)
    return (*(part,) * (n_levels - 1), n_levels * part)


def usual_splits(n_levels: int) -> list[tuple[Fraction, ...]]:
    """List the splits of epsilon over levels that are worth comparing, root first; every leaf has a share.

    The recommended one; equal shares; half for the leaves and the rest equal; 1/12 and 1/20 for the root and the rest
    for the leaves; and all for the leaves. A level without a share is estimated from those above and below it.

    Example:
        >>> [", ".join(map(str, shares)) for shares in usual_splits(3)]
        ['1/5, 1/5, 3/5', '1/3, 1/3, 1/3', '1/4, 1/4, 1/2', '1/12, 0, 11/12', '1/20, 0, 19/20', '0, 0, 1']
    """
    one, between = Fraction(1), (Fraction(0),) * (n_levels - 2)
    if n_levels == 1:
        return [(one,)]
    splits = [(one / n_levels,) * n_levels, (*(one / (2 * (n_levels - 1)),) * (n_levels - 1), one / 2)]
    splits += [(part, *between, 1 - part) for part in (Fraction(1, 12), Fraction(1, 20))]
    return list(dict.fromkeys([recommended_split(n_levels), *splits, (Fraction(0), *between, one)]))


def splits_of_all(n_levels: int) -> list[tuple[Fraction, ...]]:
    """List the splits that are worth comparing where every level has to have a share, root first.

    The recommended one; equal shares; and a half, three quarters or nine tenths for the leaves, the rest equal.

    Example:
        >>> [", ".join(map(str, shares)) for shares in splits_of_all(3)]
        ['1/5, 1/5, 3/5', '1/3, 1/3, 1/3', '1/4, 1/4, 1/2', '1/8, 1/8, 3/4', '1/20, 1/20, 9/10']
    """
    if n_levels == 1:
        return [(Fraction(1),)]
    of_leaves = (Fraction(1, n_levels), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))
    splits = [(*[(1 - part) / (n_levels - 1)] * (n_levels - 1), part) for part in of_leaves]
    return list(dict.fromkeys([recommended_split(n_levels), *splits]))


def level_shares(n_levels: int, parts: Iterable[Number]) -> list[tuple[Fraction, ...]]:
    """List the ways to give each level one of `parts` of the budget so that they add up to 1, the leaves not 0.

    Example:
        >>> [tuple(map(str, shares)) for shares in level_shares(2, ["0", "1/2", "1"])]
        [('0', '1'), ('1/2', '1/2')]
    """
    values = [exact(part, "a share", zero=True) for part in parts]
    return [shares for shares in product(values, repeat=n_levels) if sum(shares) == 1 and shares[-1] > 0]


def stand_in_of(
    hierarchy: Hierarchy,
    leaf_totals: Sequence[int],
    size_law: Sequence[float],
    seed: int = 0,
    max_sizes: Sequence[int] | None = None,
) -> CountOfCounts:
    """Make a stand-in from public facts alone: the tree, every leaf's number of groups, and a law of sizes 0..K.

    The groups of every leaf are drawn from `size_law` (a published national table, a textbook law), so that rare sizes
    occur somewhere, as in real data. With sizes per level they are drawn by class, without the large tables of which
    these would be folded; above the leaves, groups of the last class get sizes by the law of larger ones, which is what
    drawing all sizes at once would do.

    Args:
        hierarchy: the regions.
        leaf_totals: number of groups of every leaf, in the order of `hierarchy.paths`.
        size_law: proportions of sizes 0..K, not negative, not all 0.
        seed: of the draws, which need no secrecy.
        max_sizes: the largest size of every level, root first, where levels have sizes of their own; K is the root's.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> made = stand_in_of(tree, [40, 60], [0, 3, 2, 1], max_sizes=(3, 1))
        >>> [table.sum(axis=1).tolist() for table in made.tables], made.max_sizes
        ([[100], [40, 60]], (3, 1))
    """
    totals, law = _checked_law(hierarchy, leaf_totals, size_law)
    generator = np.random.default_rng(seed)
    if max_sizes is None:
        return CountOfCounts(hierarchy, generator.multinomial(totals, law), "stand-in")
    if len(max_sizes) != hierarchy.n_levels or len(law) != max_sizes[0] + 1:
        raise ArgumentError(
            f"{len(max_sizes)} largest sizes and a law of {len(law)} sizes for {hierarchy.n_levels} levels; give one "
            "largest size per level, and a proportion for every size of the root"
        )
    last = max_sizes[-1]
    tables = [generator.multinomial(totals, np.append(law[:last], law[last:].sum()))]
    for level in range(hierarchy.n_levels - 2, -1, -1):
        here, k = hierarchy.level(level), max_sizes[level]
        below = np.add.reduceat(tables[0], hierarchy.first_child[here] - here.stop, axis=0)
        larger = np.append(law[last:k], law[k:].sum())
        chances = larger / larger.sum() if larger.any() else np.eye(len(larger))[0]
        tables.insert(0, np.concatenate([below[:, :last], generator.multinomial(below[:, last], chances)], axis=1))
        last = k
    return CountOfCounts(hierarchy, tuple(tables), "stand-in")


def _checked_law(
    hierarchy: Hierarchy, leaf_totals: Sequence[int], size_law: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Check the numbers of groups of the leaves, and make proportions of sizes add up to 1."""
    totals, law = np.asarray(leaf_totals), np.asarray(size_law, float)
    n_leaves = hierarchy.n_regions - hierarchy.n_inner
    if totals.shape != (n_leaves,) or totals.dtype.kind not in "iu" or (totals < 0).any():
        raise ArgumentError(f"leaf_totals are {n_leaves} whole numbers, one per leaf, not negative")
    if law.ndim != 1 or len(law) < 2 or not np.isfinite(law).all() or (law < 0).any() or not law.any():
        raise ArgumentError("size_law is one proportion per size 0..K, not negative and not all 0")
    return totals, law / law.sum()
