"""The shares of epsilon by level, chosen before data are seen, by errors of the release's own method on a stand-in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.errors import ArgumentError
from pgsr.methods.mechanism import Mechanism
from pgsr.release.plan.planning import WORST, ExpectedErrors, expected_errors, level_shares, splits_of_all, usual_splits

if TYPE_CHECKING:
    import pandas as pd

Shares = tuple[Fraction, ...]
"""A part of epsilon per level, root first; they add up to exactly 1."""

COARSE = Fraction(1, 4)
"""The step of the grid that is tried first."""

FINEST = Fraction(1, 32)
"""The smallest step of the search."""

MOST_LEVELS = 6
"""Most levels of a search, whose grid has 126 splits then."""


@dataclass(frozen=True, eq=False)
class ChosenShares:
    """The shares that a search chose, and what it tried.

    Attributes:
        shares: the chosen ones.
        splits: all that were tried, in the order of `errors.labels`.
        errors: of them on the stand-in, level by level.
        least: what errors are divided by; shape (levels,).
        importance: of levels; shape (levels,).
    """

    shares: Shares
    splits: tuple[Shares, ...]
    errors: ExpectedErrors
    least: np.ndarray
    importance: np.ndarray

    @property
    def expected(self) -> np.ndarray:
        """The errors of the chosen shares on the stand-in; shape (levels,)."""
        return self.errors.mean[self.splits.index(self.shares)]

    @property
    def ratios(self) -> np.ndarray:
        """The expected errors, divided by the least ones, `least`; shape (levels,)."""
        return _ratios(self.expected, self.least)

    def to_frame(self) -> "pd.DataFrame":
        """Make a table, a row per split that was tried; the largest ratio is the one that the search makes small."""
        frame = self.errors.to_frame().rename(columns={"mechanism": "split"})
        frame[WORST] = _worst(self.errors.mean, self.least, self.importance)
        return frame


def choose_shares(
    stand_in: CountOfCounts,
    mechanism: Callable[[Shares], Mechanism],
    *,
    importance: Sequence[float] | None = None,
    least: Sequence[float] | np.ndarray | None = None,
    zeros: bool = True,
    replicates: int = 4,
    seed: str = "shares",
    progress: bool = True,
) -> ChosenShares:
    """Choose the shares of epsilon whose forecast errors are small at all levels, on a public stand-in.

    Let e[l](p) be the mean earth mover's distance at level l of releases of the stand-in with shares p. The search
    makes small

        max over levels with importance of  (e[l](p) / least[l]) ^ importance[l],

    with `least` the smallest error of any split that was tried, one with most of epsilon at this level among them: no
    level is further from the best release for that level alone than need be. Or `least` are the errors of rivals, as in
    `pgsr plan`, where a ratio may be below 1.

    The search tries all multiples of 1/4 with a share for the leaves and the usual splits, then moves 1/8, 1/16 and
    1/32 of epsilon from one level to another for as long as this helps. Every split sees the same noise bits. The
    result depends on public input and the seed alone: it can be published before the data are touched, and costs
    nothing.

    Args:
        stand_in: public counts of the shape that will be released (`pgsr.release.plan.planning`).
        mechanism: from shares to the release with its own view, epsilon and method.
        importance: one number per level, as in `ExpectedErrors.choice`; 0 disregards a level.
        least: errors of rivals by level, such as the smallest of the usual splits; of all splits tried if None.
        zeros: whether levels above the leaves may go without a share.
        replicates: draws of the noise for every split.
        seed: of the research noise.
        progress: whether to show a progress bar.

    Raises:
        ArgumentError: importance or `least` do not fit the levels, or there are too many levels.

    Complexity: about 25 releases of the stand-in for two levels and 50 for three, times `replicates`.

    Example:
        >>> from pgsr import Hierarchy, View
        >>> from pgsr.noise import Geometric
        >>> from pgsr.estimators import Matching
        >>> from pgsr.release.plan.planning import stand_in_of
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> stand_in = stand_in_of(tree, [400, 600], [0, 3, 2, 1])
        >>> found = choose_shares(
        ...     stand_in, lambda p: Mechanism(Geometric(View.CUMULATIVE, "1/10", p), Matching()), progress=False
        ... )
        >>> sum(found.shares), bool((found.ratios >= 1).all())
        (Fraction(1, 1), True)

    Source: new here; Hooke and Jeeves 1961 for the search. Shown by `tests/test_release_share_search.py`.
    """
    require_kind(stand_in, CountOfCounts, "the stand-in", "give public counts of the shape of the data")
    n_levels = stand_in.hierarchy.n_levels
    if n_levels > MOST_LEVELS:
        raise ArgumentError(f"shares of {n_levels} levels; a search takes {MOST_LEVELS} at most, use usual_splits")
    weights = _by_level(importance, n_levels, "importance", 1.0)
    rivals = None if least is None else _by_level(least, n_levels, "least", 0.0)
    if not 0 < weights.max() < np.inf:
        raise ArgumentError("importance is finite and not 0 for all levels")
    step = COARSE
    tried: dict[Shares, None] = {}
    nothing = np.zeros((0, n_levels))
    errors = ExpectedErrors((), nothing, nothing, np.zeros(0))

    def floor() -> np.ndarray:
        return errors.mean.min(axis=0) if rivals is None else rivals

    def attempt(splits: Sequence[Shares]) -> Shares:
        """Rehearse those that are new, and give the best of all so far."""
        nonlocal errors
        new = [p for p in dict.fromkeys(splits) if p not in tried and (zeros or all(p))]
        if new:
            by_label = {", ".join(map(str, p)): mechanism(p) for p in new}
            errors = errors.beside(expected_errors(stand_in, by_label, replicates, seed, progress))
            tried.update(dict.fromkeys(new))
        return list(tried)[int(_worst(errors.mean, floor(), weights).argmin())]

    parts = [COARSE * i for i in range(int(1 / COARSE) + 1)]
    best = attempt([*(usual_splits if zeros else splits_of_all)(n_levels), *level_shares(n_levels, parts)])
    while (step := step / 2) >= FINEST and n_levels > 1:
        while (better := attempt(list(_neighbours(best, step)))) != best:
            best = better
    return ChosenShares(best, tuple(tried), errors, floor(), weights)


def _neighbours(shares: Shares, step: Fraction) -> Iterator[Shares]:
    """Yield the splits in which one level gets `step` more and another one less, no share negative, leaves above 0."""
    for giver, taker in permutations(range(len(shares)), 2):
        moved = min(step, shares[giver])
        if moved and (giver < len(shares) - 1 or shares[giver] > step):
            changed = list(shares)
            changed[giver] -= moved
            changed[taker] += moved
            yield tuple(changed)


def _worst(errors: np.ndarray, least: np.ndarray, importance: np.ndarray) -> np.ndarray:
    """Find the largest weighted ratio of every split at the levels that are not disregarded; shape (splits,)."""
    some = importance > 0
    return (_ratios(errors, least)[:, some] ** importance[some]).max(axis=1)


def _ratios(errors: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Divide errors by the least; 1e-9 stands for no error, as in `ExpectedErrors.regret`."""
    return np.maximum(errors, 1e-9) / np.maximum(least, 1e-9)


def _by_level(given: Sequence[float] | np.ndarray | None, n_levels: int, name: str, default: float) -> np.ndarray:
    """Read one number per level that is not negative."""
    found = np.full(n_levels, default) if given is None else np.asarray(given, float)
    if found.shape != (n_levels,) or not (found >= 0).all():
        raise ArgumentError(f"{name} is one number per level, root first, from 0 up; there are {n_levels} levels")
    return found
