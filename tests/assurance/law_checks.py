"""Exact laws of what is drawn beside counts: numbers of groups, on every level.

Each function raises AssertionError where a likelihood ratio exceeds e^epsilon, or where epsilon is not used up, and
returns how many likelihoods, or losses, were compared.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from exact_law import Law, Step, largest_ratio, law_of, loss, noise_by
from neighbours import ALONE, CHAIN, PAIR, THREE, Table, joined, tables, truth_of, with_empty_group

from pgsr import CountOfCounts, Hierarchy, View
from pgsr.noise import Geometric, Totals, group_totals
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream

TREES = (ALONE, CHAIN, THREE, PAIR)
"""One, two and three levels, and two leaves."""

BASES = (Fraction(1, 2), Fraction(2, 3))
ONE = Fraction(1)

Drawn = Callable[[CountOfCounts], Hashable]


def check_noisy_totals_lose_their_epsilon() -> int:
    """One empty group more: no more than e^epsilon after post-processing, and exactly that before it."""

    def final(truth: CountOfCounts) -> Hashable:
        return group_totals.noisy_totals(truth, _of_levels(truth), Seeded("law")).tobytes()

    def drawn(truth: CountOfCounts) -> Hashable:
        return group_totals.noisy_numbers(truth, _of_levels(truth), Seeded("law")).tobytes()

    n = 0
    for tree in TREES:
        pairs = [(t, o) for t in _one_group_each(tree) for o in with_empty_group(t)]
        n += _compared(final, tree, pairs)[0]
        n_drawn, attained = _compared(drawn, tree, pairs)
        assert attained, f"not all of epsilon is used on {tree}"
        n += n_drawn
    return n


def check_values_lose_no_more_beside_noisy_totals() -> int:
    """Given any noisy totals, all levels together: an entity loses the values' epsilon, an empty group the totals'.

    An empty group changes one count by 1, too, which is half of what noise of sensitivity 2 hides.
    """
    n = 0
    for view in View:
        for tree, groups in ((ALONE, (2,)), (CHAIN, (2,)), (THREE, (2,)), (PAIR, (1, 1))):
            for share in ("1/10", "2/3"):
                noise = Geometric(view, "7/10", totals=Totals.NOISY, totals_share=share)
                of_values = noise.budget(tree.n_levels).total
                worst = {"entity": Fraction(0), "group": Fraction(0)}
                for what, lost in _losses(noise, tree, groups):
                    worst[what] = max(worst[what], lost)
                    n += 1
                of_group = noise.totals_epsilon + (of_values / 2 if view is View.COUNTS else 0)
                assert max(worst.values()) <= Fraction(7, 10), f"{view} on {tree} loses {worst} of 7/10"
                assert worst == {"entity": of_values, "group": of_group}, f"{view} on {tree} loses {worst}"
    return n


def _of_levels(truth: CountOfCounts) -> DoubleGeometric:
    """Make the noise of numbers that spend epsilon 1 over the levels."""
    return DoubleGeometric(truth.hierarchy.n_levels / ONE)


def _losses(noise: Geometric, tree: Hierarchy, groups: Sequence[int]) -> Iterator[tuple[str, Fraction]]:
    """Yield losses of all pairs of neighbours, given noisy totals below, at and above the true ones, by name."""
    for table in tables(groups, 2):
        for what, others in (("entity", joined(table, 2)), ("group", with_empty_group(table))):
            for other in others:
                for given in (0, 2, 4):
                    ours, theirs = (_steps_given(noise, truth_of(tree, t, 2), given) for t in (table, other))
                    lost = loss(ours, theirs)
                    assert lost is not None, f"{table} and {other}: different cells get noise"
                    yield what, lost


def _steps_given(noise: Geometric, truth: CountOfCounts, given: int) -> list[Step]:
    """List what gets noise while the noisy totals are `given` in every region, whatever was drawn."""
    found: list[Step] = []
    n_totals = int((~truth.hierarchy.padded).sum())

    def add(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        del stream
        found.append(Step(tuple(values.ravel().tolist()), law.scale))
        if len(found) <= n_totals:
            values[:] = given

    with noise_by(add):
        noise.measure(truth, Seeded("steps"))
    return found


def _compared(drawn: Drawn, tree: Hierarchy, pairs: Sequence[tuple[Table, Table]]) -> tuple[int, bool]:
    """Raise AssertionError if P(drawn) of some pair differs by more than a factor e.

    Every number has noise of scale `tree.n_levels`, clamped as in `exact_law.law_of`, and e is a power of `BASES`.

    Returns:
        The number of likelihoods, and whether some pair attains the factor.
    """
    low, high = (-2, 3) if tree.n_regions < 3 else (0, 3)
    laws: dict[Table, list[Law]] = {}
    for table in dict.fromkeys(table for pair in pairs for table in pair):
        run = partial(drawn, truth_of(tree, table, 1))
        laws[table] = law_of(run, _as_it_is, low, high, BASES, Fraction(1, tree.n_levels))
    n, attained = 0, set()
    for table, other in pairs:
        for base, ours, theirs in zip(BASES, laws[table], laws[other], strict=True):
            ratio, bound = largest_ratio(ours, theirs), 1 / base**tree.n_levels
            assert ratio is not None, f"{table} and {other}: a release that only one of them can give"
            assert ratio <= bound, f"{table} and {other}: likelihood ratio {float(ratio):.6g} > {float(bound):.6g}"
            attained |= {base} if ratio == bound else set()
            n += len(ours)
    return n, len(attained) == len(BASES)


def _one_group_each(tree: Hierarchy) -> Iterator[Table]:
    """All tables with one group of size 0 or 1 in each leaf."""
    return tables((1,) * (tree.n_regions - tree.n_inner), 1)


def _as_it_is(found: object) -> Hashable:
    assert isinstance(found, Hashable)
    return found
