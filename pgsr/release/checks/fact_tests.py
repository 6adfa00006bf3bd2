"""Test whether public facts can be true, given the noisy values of a release.

Where a fact is true, the exact value behind some noisy ones is known: a count of size s in a region is the number n of
the fact, so what the noisy values say of it differs from n by noise alone, whose law is stated. The difference is

    D = y[r, s] - n                                   of noisy counts,
    D = y[r, b] - y[r, a - 1] - n                     of noisy cumulative counts, for the sizes a..b; the public number
                                                      of groups stands for y[r, K] where there is one,

with y[r] the sum over the measured regions below where r itself was not measured. It is a sum R of independent draws.
The chance of a deviation as large, were the fact true, is

    P(|R| >= |D|)  for exactly n,   P(R <= D)  for at least n, since then R <= D,   P(R >= D)  for at most n.

All chances are multiplied by the number of comparisons (Bonferroni), and a fact is called wrong below `FALSE_ALARM`:
at most one release in a million with right facts is. One draw has the exact probabilities of its law. Of several draws
they are computed by an integral to some 1e-12, to which 1e-11 is added; and P(|R| > m) is at most the sum over the n
draws of P(|X| > m / n) (union bound), which is exact. The smaller of the two is taken.

A fact that is wrong by less than the noise cannot be told from a right one. Ranked sizes, and what groups have beyond
the threshold of a split view, say nothing here.

Shown by `tests/test_release_facts.py`: wrong facts are found, and right ones are not called wrong.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pgsr.data.region_ids import path_of_id
from pgsr.data.views import View
from pgsr.noise.measurement import Measurement, Totals
from pgsr.release.checks.noise_law import probability_beyond
from pgsr.release.checks.noise_residuals import measured_below
from pgsr.release.stated.facts import Fact
from pgsr.release.stated.plan import Plan

FALSE_ALARM = 1e-6
"""The largest chance that right facts are called wrong."""

_INTEGRAL_ERROR = 1e-11
_FAR = 40.0
"""Standard deviations beyond which the integral is not evaluated: it is 0 to its error."""


@dataclass(frozen=True)
class FactComparison:
    """A fact of one region, beside what noisy values say.

    Attributes:
        fact: which one.
        region: index.
        draws: of how many draws of every level's noise the deviation is the sum, root first.
        deviation: D, as above.
    """

    fact: Fact
    region: int
    draws: tuple[int, ...]
    deviation: int

    @property
    def against(self) -> int:
        """How far the deviation speaks against the fact; 0 or less if it does not."""
        one_sided = {"equal": abs(self.deviation), "at_least": -self.deviation, "at_most": self.deviation}
        return one_sided[self.fact.relation]

    @property
    def sides(self) -> int:
        """The number of directions that speak against the fact."""
        return 2 if self.fact.relation == "equal" else 1


@dataclass(frozen=True)
class FactVerdict:
    """The answer of the noisy values on public facts.

    Attributes:
        n_comparisons: numbers that were compared.
        worst: the comparison that speaks most against its fact; None if there is none.
        chance: of one that speaks as much against any of them, were all facts true; an upper bound.
    """

    n_comparisons: int
    worst: FactComparison | None
    chance: float

    @property
    def refuted(self) -> bool:
        """Tell whether a fact is wrong; a false alarm has a chance of `FALSE_ALARM` at most."""
        return self.chance < FALSE_ALARM


def judge_facts(plan: Plan, measurement: Measurement) -> FactVerdict:
    """Compare the facts of a release with its noisy values.

    Complexity: O(facts x regions), and a few sums of laws per kind of region.

    Example:
        >>> from pgsr import CountOfCounts, Hierarchy
        >>> from pgsr.privacy import Seeded
        >>> from pgsr.release import Terms
        >>> truth = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 90, 40], [0, 80, 30]])
        >>> for number in (90, 900):
        ...     fact = Fact("equal", number, region="US/GA", sizes=(1, 1))
        ...     plan = Plan.of(Terms("demo", 2, "1", "m_h", facts=(fact,)), [1, 2])
        ...     print(judge_facts(plan, plan.mechanism.measure(truth, Seeded("demo"))).refuted)
        False
        True
    """
    found = list(comparisons(plan, measurement))
    if not found:
        return FactVerdict(0, None, 1.0)
    grouped: defaultdict[tuple[tuple[int, ...], int], list[FactComparison]] = defaultdict(list)
    for each in found:
        grouped[each.draws, each.sides].append(each)
    largest = [max(group, key=lambda each: each.against) for group in grouped.values()]
    laws = tuple(level.law for level in plan.levels)
    chance, worst = min(((chance_of(each, laws), each) for each in largest), key=lambda pair: pair[0])
    # The noisy root may choose how many other comparisons there are: its own and these are bounded one by one.
    sides = 1 if plan.thresholds is None else 2
    return FactVerdict(len(found), worst, min(1.0, chance * len(found) * sides))


def comparisons(plan: Plan, measurement: Measurement) -> Iterator[FactComparison]:
    """List what noisy values say of every fact about single sizes, or of a range that is empty, region by region."""
    terms, tree, n_levels = plan.terms, measurement.hierarchy, measurement.hierarchy.n_levels
    views = [measurement.view_of(region) for region in range(tree.n_regions)]
    measured = measurement.measured & np.array([view is not View.RANKED for view in views])
    below = measured_below(tree, measured)
    named = {fact.region: tree.index(path_of_id(fact.region)) for fact in terms.facts if fact.region is not None}
    for fact in terms.facts:
        if fact.sizes is None:
            continue
        first, last = (size - terms.min_size for size in fact.sizes)
        if fact.region is not None:
            regions = [named[fact.region]]
        else:
            here = tree.level(plan.names.index(fact.level)) if fact.level is not None else slice(0, tree.n_regions)
            regions = range(here.start, here.stop)
        for region in regions:
            parts = [region] if measured[region] else list(below[region])
            if not parts:
                continue
            known = region < len(measurement.totals) and measurement.public is not Totals.NOISY
            total = int(measurement.totals[region]) if known else None
            if not _is_told(measurement, parts, first, last, total):
                continue
            value, each = _value(measurement, parts, first, last, total, counts=views[parts[0]] is View.COUNTS)
            if each:
                draws = each * np.bincount(tree.level_of[parts], minlength=n_levels)
                yield FactComparison(fact, region, tuple(map(int, draws)), value - fact.number)


def _is_told(measurement: Measurement, parts: list[int], first: int, last: int, total: int | None) -> bool:
    """Tell whether noisy values say how many groups of these sizes there are: of split views columns do alone."""
    sizes = min(measurement.view_of(part).ranked_from(measurement.max_size) for part in parts)
    return first <= sizes and (last < sizes or (last == measurement.max_size and total is not None))


def chance_of(comparison: FactComparison, laws: tuple) -> float:
    """Bound the chance of a deviation that speaks as much against its fact, were this true."""
    if comparison.against <= 0:
        return 1.0
    beyond, n = comparison.against - 1, sum(comparison.draws)  # P(|R| > beyond) = P(|R| >= against)
    parts = [(law.shape(1.0), k) for law, k in zip(laws, comparison.draws, strict=True) if k]
    single = np.array([beyond // n])
    both = min(1.0, float(sum(k * shape.probability_beyond(single)[0] for shape, k in parts)))
    deviation = float(np.sqrt(sum(k * shape.variance for shape, k in parts)))
    if n > 1:
        near = np.array([min(beyond, int(_FAR * deviation))])
        both = min(both, max(0.0, float(probability_beyond(near, parts)[0])) + _INTEGRAL_ERROR)
    return both * comparison.sides / 2


def _value(
    measurement: Measurement, parts: list[int], first: int, last: int, total: int | None, *, counts: bool
) -> tuple[int, int]:
    """What noisy values say of the number of groups of these sizes, and of how many draws each part adds noise."""
    values = [measurement.row(part) for part in parts]
    if counts:
        return sum(int(y[first : last + 1].sum()) for y in values), last - first + 1
    whole = last == measurement.max_size and total is not None
    up_to = total if whole and total is not None else sum(int(y[last]) for y in values)
    before = sum(int(y[first - 1]) for y in values) if first else 0
    return up_to - before, int(not whole) + int(first > 0)
