"""The privacy checks in sizes of a second, for `mutants`: each raises AssertionError if it does not hold."""

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import naive
import numpy as np
from exact_law import noise_by
from instances import rng_of
from law_fits import chi_square_p, histogram, kolmogorov_smirnov_p
from neighbours import ALONE, CHAIN, PAIR, THREE, random_pair, truth_of
from privacy_checks import check_likelihood, check_losses, check_replay, frozen, release_loss

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.algorithms import TreeProjection
from pgsr.data import Split
from pgsr.data.views import cumulative
from pgsr.errors import BudgetError
from pgsr.estimators import IsotonicTreeProjection, Matching
from pgsr.experiments.kuo2018.choosing import ChosenByScore, ChosenByStatistic
from pgsr.methods import Mechanism
from pgsr.noise import Geometric, Noise, SplitByRoot
from pgsr.privacy import Ledger, Rho, Secure, Seeded
from pgsr.privacy.budget import Budget, exact
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, inversion
from pgsr.privacy.random import ByteStream, StreamId
from tests.privacy.test_laws_double_geometric import REJECT, exact_size, forced_cases, independent_thresholds, p_value
from tests.privacy.test_laws_double_geometric import Script as ScriptedBytes

TREE = Hierarchy.from_paths([("root", "a", "x"), ("root", "b", "x"), ("root", "b", "y")])
DEEP = Hierarchy.from_paths([("root", "a", "b", state, county) for state in "cd" for county in "ef"])


def r1_thresholds() -> None:
    for scale in (Fraction(1), Fraction(20, 3), Fraction(60)):
        assert inversion.thresholds(DoubleGeometric(scale)) == independent_thresholds(scale)


def r1_thresholds_of_large_scales() -> None:
    """A table of more than 2^20 sizes has all of them: every 10,007th, the last ones and the end are the law's."""
    law = DoubleGeometric(Fraction(50_000))
    found = inversion.table_of(law).thresholds.astype(np.int64)
    n = len(found)
    assert n > 2**20, f"{n:,} thresholds"
    for m in [*range(0, n, 10_007), 2**20 - 2, 2**20 - 1, 2**20, n - 2, n - 1]:
        low, high = law.probability_at_most(m, 128)
        assert low >> 128 - inversion.BITS == min(high >> 128 - inversion.BITS, 2**inversion.BITS - 1) == found[m], m
    assert found[-1] == 2**inversion.BITS - 1 > found[-2], "the table ends too early or too late"


def r2_ties() -> None:
    noise, rng = DoubleGeometric(Fraction(2)), rng_of(1)
    for first_bits, chunks in forced_cases(rng, noise.scale, 80):
        values = np.zeros(1, np.int64)
        noise.add_to(values, ScriptedBytes([first_bits], chunks))  # type: ignore[arg-type]
        assert values[0] == exact_size(noise.scale, first_bits, chunks)


def r3_law_of_measurements() -> None:
    """The noise of a whole measurement has the scale that sensitivity, levels and epsilon ask for."""
    truth = CountOfCounts(PAIR, np.zeros((2, 500_000), np.int64), name="fit")
    for view, sensitivity in ((View.COUNTS, 2), (View.CUMULATIVE, 1)):
        for epsilon in ("4", "1/15"):
            noise = Geometric(view, epsilon).measure(truth, Seeded("fit")).matrix
            assert p_value(noise.ravel(), float(sensitivity * 2 / Fraction(epsilon))) > REJECT


def r3_gaussian_law_of_measurements() -> None:
    """Gaussian noise of a whole measurement has the sigma that sensitivity, levels and rho ask for."""
    truth = CountOfCounts(PAIR, np.zeros((2, 500_000), np.int64), name="fit")
    for view, l2_squared in ((View.COUNTS, 2), (View.CUMULATIVE, 1)):
        for rho in ("1/5", "1/2000"):
            noise = Noise(view, Rho(rho), laws="gaussian").measure(truth, Seeded("fit")).matrix
            law = DiscreteGaussian(Fraction(l2_squared) / (2 * Fraction(rho) / 2))  # rho is split over two levels
            seen = histogram(iter([noise.ravel()]))
            assert min(chi_square_p(law, seen), kolmogorov_smirnov_p(law, seen)) > REJECT


def r5_noise_is_used_once() -> None:
    """No two regions, levels, views, data sets or replicates share draws, and no two cells."""
    rows: list[bytes] = []
    for tree, name in ((TREE, "one"), (TREE, "two"), (DEEP, "three")):
        leaves = np.ones((len(tree.paths[tree.leaves]), 1), np.int64)
        n_leaves, truth = tree.sum_up(leaves), CountOfCounts(tree, np.full((len(leaves), 60), 2), name=name)
        for source in (Seeded("key"), Seeded("key", 1), Seeded("other"), Secure(), Secure()):
            for view in (View.COUNTS, View.CUMULATIVE):
                step = np.full(60, 2) if view is View.COUNTS else 2 * np.arange(1, 61)
                measured = Geometric(view, "1/5").measure(truth, source)
                noise = measured.matrix - n_leaves * step
                assert (noise != noise[:, :1]).any(axis=1).all(), "all cells of a region have the same noise"
                rows += [np.sign(row).tobytes() for row in noise]
    assert len(set(rows)) == len(rows), "some noise is used twice"


def r5_secure_is_secure() -> None:
    """Fresh keys, no seed, and only such noise may claim privacy."""
    identity = StreamId("x", "counts", 0, ("root",))
    assert list(inspect.signature(Secure).parameters) == []
    assert len({Secure().stream(identity).words(4).tobytes() for _ in range(50)}) == 50
    truth = truth_of(PAIR, ((0, 1), (1,)), 2)
    assert Geometric(View.COUNTS, 1).measure(truth, Secure()).secure
    assert not Geometric(View.COUNTS, 1).measure(truth, Seeded("key")).secure


def r6_losses() -> None:
    for view in View:
        for shares in (None, ("1/4", "3/4")):
            check_losses(Geometric(view, "7/10", shares), PAIR, (2, 1), 3)
        check_losses(Geometric(view, "7/10"), THREE, (2,), 3)
    for leaf in (View.CUMULATIVE, View.RANKED):
        check_losses(Geometric((View.CUMULATIVE, leaf, View.RANKED), "7/10"), PAIR, (3, 2), 3)
    check_losses(Geometric((View.COUNTS, View.CUMULATIVE, View.RANKED), "1", max_quantity=2), PAIR, (3, 2), 3)
    for view in (View.COUNTS, View.CUMULATIVE):
        check_losses(Geometric(view, "1", totals="root"), PAIR, (2, 0), 2)


def r6_losses_of_split_views() -> None:
    """All thresholds from 0 to beyond K, alike on all levels, by level, by region; quantities."""
    for threshold in range(5):
        check_losses(Geometric(Split(threshold), "7/10"), PAIR, (2, 1), 3)
        check_losses(Geometric(Split(threshold), "7/10", ("1/2", "1/3", "1/6")), THREE, (2,), 3)
        check_losses(Geometric(Split(threshold), "1", max_quantity=2), PAIR, (2, 1), 3)
    check_losses(Geometric((Split(1), Split(2)), "7/10"), PAIR, (3, 2), 3)
    check_losses(Geometric((Split(2), Split(1), View.RANKED), "7/10"), PAIR, (2, 2), 3)


def r6_split_views_are_boxes() -> None:
    """The cells are columns and rows of the definition, each with noise; at this scale no draw is 0 (fixed seed)."""
    for table in (((), ()), ((0,), ()), ((0, 2, 2, 2), (1, 1)), ((3, 3, 1), (2,))):
        truth = truth_of(PAIR, table, 3)
        for threshold in range(3):
            split = Split(threshold)
            measured = Geometric(split, "1/1000").measure(truth, Seeded("boxes"))
            shifted = Geometric(split, 10**9).measure(truth, Seeded("boxes"))
            for region, sizes in enumerate((sum(table, ()), *table)):
                exact_values = naive.split_view(sizes, threshold)
                assert shifted.row(region).tolist() == exact_values, f"{sizes} split at {threshold}"
                noise = measured.row(region) - np.array(exact_values, np.int64)
                assert noise.all(), f"{table}: {(noise == 0).sum()} cells without noise"


def r6_views_hang_on_public_facts() -> None:
    """Regions of the same numbers of groups get the same views, whatever their sizes; noise hides the root here."""
    rule, tables = (
        Geometric(SplitByRoot(), "1/1000", ("1/2", "1/2")),
        (((0,) * 6, (1,) * 2), ((0, 1, 2, 2, 3, 3), (0, 3))),
    )
    for seed in range(20):
        views = [rule.measure(truth_of(PAIR, table, 3), Seeded("views", seed)).views for table in tables]
        assert views[0] == views[1], f"{tables[0]} and {tables[1]} are measured by {views[0]} and {views[1]}"


def r6_shares_hang_on_the_noisy_root() -> None:
    """Data sets with the same first values get the same shares; the levels spend epsilon together, the root once."""
    step, tree = (
        Geometric(SplitByRoot(), "1/5", "root"),
        Hierarchy.from_paths([("root", f"{leaf}") for leaf in range(30)]),
    )
    few, wide, found = np.append([10, 10, 6, 4], np.zeros(57, int)), np.arange(61) % 2, []
    for leaf in (few, wide):
        with noise_by(lambda law, values, stream: values.__setitem__(slice(None), np.arange(len(values)) + 1)):
            found.append(step.measure(CountOfCounts(tree, [leaf] * 30, "shares"), Seeded("shares")))
    assert found[0].noise == found[1].noise, f"{found[0].noise} and {found[1].noise} by the same first values"
    truth = CountOfCounts(tree, [np.arange(2_000) % 2] * 30, "many sizes")
    measured, exact_root = step.measure(truth, Seeded("once")), cumulative(truth.row(0))
    assert sum(level.epsilon for level in measured.noise) == step.epsilon, "the second step has more than what is left"
    noises = measured.first_root - exact_root, measured.row(0) - exact_root
    assert 0.2 < np.corrcoef(*noises)[0, 1] < 0.9, "the root was drawn anew, and costs both times"


def r6_losses_of_quantities() -> None:
    """An entity that adds up to 2 to its group's size."""
    for view in View:
        check_losses(Geometric(view, "1", max_quantity=2), PAIR, (2, 1), 3)


def r6_every_cell_is_noised() -> None:
    """Each region of each level, all its cells, also empty ones; at this scale no draw is 0 (fixed seed)."""
    for table in (((), ()), ((0,), ()), ((0, 2), (1,))):
        truth = truth_of(PAIR, table, 3)
        for view, exact_values in ((View.COUNTS, truth.counts), (View.CUMULATIVE, cumulative(truth.counts))):
            noise = Geometric(view, "1/1000").measure(truth, Seeded("all cells")).matrix - exact_values
            assert noise.all(), f"{table}: {(noise == 0).sum()} cells without noise"


def r6_levels_add_up() -> None:
    for epsilon in ("0.1", "1/3", 0.7, 1):
        for n_levels in range(1, 13):
            levels = Budget.split(epsilon, n_levels).levels
            assert all(isinstance(level, Fraction) for level in levels)
            assert sum(levels, Fraction(0)) == Fraction(str(epsilon))


def r6_public_facts_only() -> None:
    """Totals and sizes that a measurement carries are the public ones, in memory of their own."""
    truth = truth_of(PAIR, ((0, 1), (1,)), 5)
    measured = Geometric(View.COUNTS, 1, totals="root").measure(truth, Seeded("key"))
    assert measured.totals.tolist() == [3]
    assert measured.matrix.shape == (3, 6)
    for array in (measured.totals, measured.matrix):
        assert not np.shares_memory(array, truth.totals)
        assert not np.shares_memory(array, truth.counts)
        assert array.base is None or array.base.size == array.size


def r6_integers() -> None:
    """Counts stay exact at any size."""
    for large in (2**31 + 7, 2**53 + 1, 2**60 + 1):
        for view in (View.COUNTS, View.CUMULATIVE):
            big, small = (CountOfCounts(ALONE, [[large + 3, n]]) for n in (0, 1))
            ours, theirs = (Geometric(view, 1).measure(t, Seeded("key")).matrix for t in (big, small))
            change = [0, 1]
            assert (theirs - ours).tolist() == [change]
            zero = Geometric(view, 1).measure(CountOfCounts(ALONE, [[0, 0]]), Seeded("key")).matrix
            assert (ours - zero).tolist() == [[large + 3, 0 if view is View.COUNTS else large + 3]]


class _Untouchable:
    """A source that must not be asked for bytes."""

    secure = False

    def stream(self, identity: StreamId) -> ByteStream:
        raise OSError(f"bytes for {identity}")


def ledger_is_exact() -> None:
    ledger = Ledger(1)
    for amount, fits in ((Fraction(1, 3), True), (Fraction(2, 3) + Fraction(1, 10**30), False), (Fraction(2, 3), True)):
        assert _fits(ledger, amount) == fits
    assert ledger.left == 0
    assert not _fits(ledger, Fraction(1, 10**9))


def ledger_is_charged_first() -> None:
    """Check that all of epsilon is charged before a byte is asked for, by whatever draws; refusals cost nothing."""
    truth = truth_of(PAIR, ((0, 1), (1,)), 2)
    steps = Mechanism(Geometric(View.CUMULATIVE, "1/4"), Matching())

    def drawings(epsilon: str) -> list[Callable[[Ledger], object]]:
        source = _Untouchable()
        return [
            lambda ledger: Geometric(View.COUNTS, epsilon).measure(truth, source, ledger),
            lambda ledger: Geometric(View.RANKED, epsilon, totals="noisy").measure(truth, source, ledger),
            lambda ledger: Mechanism(Geometric(View.CUMULATIVE, epsilon), Matching()).release(truth, source, ledger),
            lambda ledger: ChosenByScore([steps, steps], epsilon).release(truth, source, ledger),
            lambda ledger: ChosenByStatistic([steps], lambda t: steps, epsilon).release(truth, source, ledger),
        ]

    costs = [Fraction(1, 4)] * 3 + [Fraction(3, 4), Fraction(1, 2)]
    for run, refused, cost in zip(drawings("1/4"), drawings("1/1000000"), costs, strict=True):
        ledger = Ledger(1)
        try:
            run(ledger)
            raise AssertionError("no bytes were asked for")
        except OSError:
            assert ledger.left == 1 - cost, f"noise is drawn with {ledger.left} of 1 left, and costs {cost}"
        try:
            refused(ledger)
            raise AssertionError("noise beyond the table was not refused")
        except BudgetError:
            assert ledger.left == 1 - cost, "what is refused was charged"


def bad_epsilons_are_refused() -> None:
    for value in (float("inf"), float("nan"), True, 0, -1, 1e-320, 10**12):
        try:
            exact(value)
        except BudgetError:
            continue
        raise AssertionError(f"epsilon {value} was accepted")
    assert exact(0.1) == Fraction(1, 10)


def ranked_needs_public_totals() -> None:
    try:
        Geometric(View.RANKED, 1, totals="root")
    except PgsrError:
        return
    raise AssertionError("ranked sizes tell a total that is not public")


def choices_are_paid_for() -> None:
    """All noise drawn on the way is within the epsilon that the ledger is charged."""
    ours, theirs = (truth_of(ALONE, table, 3) for table in (((0, 1, 2),), ((0, 1, 3),)))
    both = [Mechanism(Geometric(view, "1"), Matching()) for view in (View.CUMULATIVE, View.RANKED)]
    choices: list[Any] = [
        ChosenByScore(both, choice_epsilon="1/2"),
        ChosenByStatistic(both, lambda t: both[t % 2], choice_epsilon="1/2"),
    ]
    for choice, least in zip(choices, (Fraction(5, 2), Fraction(3, 2)), strict=True):
        ledger = Ledger(10)
        choice.release(ours, Seeded("key"), ledger)
        lost = release_loss(lambda truth, c=choice: c.release(truth, Seeded("key")), ours, theirs)
        assert lost <= 10 - ledger.left, "more noise is used than is charged"
        assert 10 - ledger.left == choice.epsilon >= least


def r7_likelihood() -> None:
    noise = Geometric(View.CUMULATIVE, "1", totals="root")
    check_likelihood(Mechanism(noise, IsotonicTreeProjection()), CHAIN, (1,), 2, 0, 1, [Fraction(1, 2)])
    noise = Geometric(View.COUNTS, "1", totals="root")
    check_likelihood(Mechanism(noise, TreeProjection()), CHAIN, (1,), 2, 0, 1, [Fraction(1, 2)])


def r7_likelihood_of_quantities() -> None:
    """An entity that adds up to 2 to its group's size."""
    noise = Geometric(View.CUMULATIVE, "1", totals="root", max_quantity=2)
    check_likelihood(Mechanism(noise, IsotonicTreeProjection()), CHAIN, (1,), 2, 0, 1, [Fraction(1, 2)])


def r7_likelihood_with_noisy_totals() -> None:
    """One and two levels, and with most of epsilon for totals; `test_assurance_likelihood` has three."""
    for share, tree, groups, high in (("1/3", ALONE, 1, 3), ("2/3", ALONE, 0, 3), ("2/3", CHAIN, 0, 1)):
        noise = Geometric(View.COUNTS, "1", totals="noisy", totals_share=share)
        low = -1 if tree is ALONE else 0
        check_likelihood(Mechanism(noise, TreeProjection()), tree, (groups,), 1, low, high, [Fraction(1, 2)])
    mechanism = Mechanism(Geometric(View.RANKED, "1", totals="noisy", totals_share="1/3"), Matching())
    for published in (None, lambda m: (m.views, frozen(m.rows))):  # noisy values are published with their view
        check_likelihood(mechanism, ALONE, (1,), 1, -1, 2, [Fraction(1, 2)], published)


def r8_replay() -> None:
    """Random pairs, and one in which the smallest size changes."""
    rng = rng_of(5)
    pairs = [(truth_of(PAIR, ((1, 1, 2), (1, 3)), 3), truth_of(PAIR, ((0, 1, 2), (1, 3)), 3))]
    for _ in range(8):
        truth = CountOfCounts(PAIR, rng.integers(0, 3, (2, 4)), name="replay")
        other = random_pair(rng, truth)
        assert other is not None
        pairs.append((truth, other))
    mechanisms = [
        Mechanism(Geometric(View.COUNTS, "1", totals="root"), TreeProjection()),
        Mechanism(Geometric(View.CUMULATIVE, "1"), Matching()),
    ]
    for i, (truth, other) in enumerate(pairs):
        for mechanism in mechanisms:
            check_replay(mechanism, truth, other, i)


def _fits(ledger: Ledger, amount: Fraction) -> bool:
    try:
        ledger.charge(amount, "a release")
    except BudgetError:
        return False
    return True
