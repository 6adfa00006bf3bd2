"""Numbers of entities: conditions against exhaustive search, the projection against an interior point, exact noise."""

from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from counting import Counting
from instances import random_tree, random_truth, scale
from scipy.optimize import linprog

from pgsr import (
    CountOfCounts,
    Estimate,
    Geometric,
    Hierarchy,
    Ledger,
    PgsrError,
    Problem,
    Secure,
    Seeded,
    Status,
    Totals,
    View,
    certify,
)
from pgsr.algorithms import (
    CostTables,
    CumulativeProjection,
    EntityTotalsProjection,
    Isotonic,
    MeanConsistency,
    RegionTotalsProjection,
    SimplexProjection,
    TreeProjection,
)
from pgsr.certificates import Multipliers, is_decided, lagrangian_bound, violations
from pgsr.models import CpSat, Cvxpy, Flow, Gurobi, MathOpt, Scipy
from pgsr.models.availability import capabilities
from pgsr.models.formulate import formulate
from pgsr.models.latex import latex
from pgsr.noise import Noise
from pgsr.noise.entities import entity_totals, noisy_entities
from pgsr.noise.group_totals import nearest_consistent, noisy_numbers
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.privacy.random import StreamId

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 2, 0, 1], [0, 1, 1, 1]])
EXACT = [Scipy(), Gurobi(), MathOpt("GSCIP"), CpSat()]


def tiny(rng, total=3):
    """A tree, sizes, and all its tables with this many groups; shape (points, regions, sizes)."""
    while True:
        tree, n_sizes = random_tree(rng, max_regions=6), int(rng.integers(2, 5))
        if (tree.n_regions - tree.n_inner) * n_sizes <= 9:
            return tree, n_sizes, naive.feasible_points(tree, n_sizes, total)


def tiny_problem(rng, norm=2):
    """Any combination of whose totals and whose entities hold; the points that satisfy it, never none."""
    tree, n_sizes, points = tiny(rng)
    truth = points[rng.integers(len(points))]
    sums, people = truth.sum(axis=1), truth @ np.arange(n_sizes)
    totals = [Totals.ROOT, Totals.REGIONS][rng.integers(2)]
    if rng.random() < 0.5:
        people = people[:1]
    measurement = measurement_of(tree, truth + rng.integers(-4, 5, truth.shape), sums)
    weights = rng.integers(0, 3, tree.n_regions)
    weights[tree.leaves] += 1
    problem = Problem.about(measurement, "tiny", norm=norm, totals=totals, weights=weights, entities=people)
    return problem, fitting(problem, points)


def fitting(problem, points):
    """Those that have the totals and entities."""
    if problem.totals is Totals.REGIONS:
        points = points[(points.sum(axis=2) == problem.groups).all(axis=1)]
    people = points @ np.arange(points.shape[2])
    return points[(people[:, : len(problem.entities)] == problem.entities).all(axis=1)]


def measurement_of(tree, noisy, totals):
    return replace(naive.measurement_of(tree, noisy, 0), public=Totals.REGIONS, totals=np.asarray(totals))


def random_problem(rng, spread=6, sizes=9):
    """The relaxation of a random tree: K from 0 up, empty leaves, inner regions without weight."""
    tree = random_tree(rng)
    leaves = rng.integers(0, 5, (tree.n_regions - tree.n_inner, int(rng.integers(1, sizes))))
    leaves[rng.random(len(leaves)) < 0.2] = 0
    counts = tree.sum_up(leaves * rng.integers(0, 2, leaves.shape))
    noisy = counts + rng.integers(-spread, spread + 1, counts.shape)
    weights = rng.integers(0, 5, tree.n_regions) * rng.integers(0, 2, tree.n_regions)
    weights[tree.leaves] = rng.integers(1, 5, tree.n_regions - tree.n_inner)
    measurement = measurement_of(tree, noisy, counts.sum(axis=1))
    problem = Problem.m_h(measurement, totals="regions", entities=counts @ np.arange(counts.shape[1]))
    return replace(problem, weights=weights).relaxed()


def assert_optimal(problem, result):
    """Proved, and feasible to nine digits."""
    assert result.status is Status.OPTIMAL, result
    assert result.certificate.gap <= 1e-9
    x, tree = result.estimate.values, problem.hierarchy
    assert x.min() >= 0
    np.testing.assert_allclose(x, tree.sum_up(x[tree.leaves]), rtol=1e-12)
    np.testing.assert_allclose(x.sum(axis=1), problem.region_totals, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(x @ np.arange(x.shape[1]), problem.entities, rtol=1e-9, atol=1e-8)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("method", EXACT, ids=repr)
def test_integers_equal_brute_force(method):
    rng = np.random.default_rng(71)
    for _ in range(scale(25, 300)):
        problem, points = tiny_problem(rng)
        result = method.solve(problem, 60)
        assert result.status is Status.OPTIMAL, result
        assert result.certificate.objective == naive.objectives(problem, points).min()


def test_conditions_are_rows_and_violations():
    """Every point satisfies the program if and only if it has the totals and entities; all violations are counted."""
    rng = np.random.default_rng(72)
    for _ in range(scale(30, 400)):
        problem, good = tiny_problem(rng)
        program = formulate(problem)
        _, n_sizes = problem.target.shape
        points = naive.feasible_points(problem.hierarchy, n_sizes, 3)
        fits = {point.tobytes() for point in good}
        for point in points[rng.integers(0, len(points), 20)]:
            z = point.ravel() - program.origin
            found = violations(problem, Estimate(problem.hierarchy, View.COUNTS, point))
            assert (program.matrix @ z == program.right).all() == (point.tobytes() in fits) == (not any(found.values()))
            people = point @ np.arange(n_sizes)
            assert found["entities"] == (people[: len(problem.entities)] != problem.entities).sum()
    halves = Estimate(problem.hierarchy, View.COUNTS, good[0] + np.eye(1, n_sizes, 1))
    assert violations(problem.relaxed(), halves)["entities"] == len(problem.entities)


@pytest.mark.drawn(5, pool="M_H against brute force")
def test_wild_multipliers_give_a_bound():
    rng = np.random.default_rng(73)
    for _ in range(scale(300, 5_000)):
        problem, points = tiny_problem(rng, norm=int(rng.integers(1, 3)))
        best = (np.abs(points - problem.target) ** problem.norm * problem.w[:, None]).sum(axis=(1, 2)).min()
        n_totals = 1 if problem.totals is Totals.ROOT else problem.hierarchy.n_regions
        for spread in (0.0, 0.3, 2.0, 30.0, 1e9):
            shape = problem.hierarchy.n_inner, problem.target.shape[1]
            prices = [rng.normal(0, spread, size) for size in (shape, n_totals, len(problem.entities))]
            for stated in (problem, problem.relaxed()):
                bound = lagrangian_bound(stated, Multipliers(*prices))
                assert np.isfinite(bound)
                assert bound <= best
                certificate = certify(stated, Estimate(problem.hierarchy, View.COUNTS, points[0]), Multipliers(*prices))
                assert bound <= certificate.bound <= best
    with pytest.raises(PgsrError, match="prices of entities"):
        lagrangian_bound(problem, Multipliers(prices[0], prices[1], np.zeros(99)))


def test_no_exact_test_decides():
    rng = np.random.default_rng(74)
    for _ in range(20):
        problem, points = tiny_problem(rng)
        best = points[naive.objectives(problem, points).argmin()]
        certificate = certify(problem, Estimate(problem.hierarchy, View.COUNTS, best))
        assert not is_decided(problem)
        assert certificate.feasible
        assert not certificate.optimal


@pytest.mark.drawn(5, pool="M_H against brute force")
def test_contradictions_are_found_exactly():
    """A reason if and only if no point exists: integers by enumeration, reals by a linear program."""
    rng = np.random.default_rng(75)
    reasons, solvable = set(), 0
    for _ in range(scale(400, 5_000)):
        tree, n_sizes, points = tiny(rng)
        n_leaves = tree.n_regions - tree.n_inner
        people = tree.sum_up(rng.integers(0, 5, n_leaves) - (rng.random(n_leaves) < 0.05))
        people = people[: [1, len(people)][rng.integers(2)]]
        sums = points[rng.integers(len(points))].sum(axis=1)
        totals = [Totals.ROOT, Totals.REGIONS][rng.integers(2)]
        noisy = np.zeros((tree.n_regions, n_sizes), int)
        problem = Problem.about(measurement_of(tree, noisy, sums), "tiny", totals=totals, entities=people)
        assert (problem.contradiction is None) == (len(fitting(problem, points)) > 0)
        program = formulate(problem.relaxed())
        bounds = np.stack([program.lower, program.upper], axis=1)
        found = linprog(np.zeros(program.n), A_eq=program.matrix, b_eq=program.right, bounds=bounds)
        assert (problem.relaxed().contradiction is None) == (found.status == 0)
        if problem.contradiction is not None:
            assert Scipy().solve(problem).status is Status.INFEASIBLE
            reasons.add(problem.contradiction.split()[2 if problem.contradiction.startswith("the") else 1])
        solvable += problem.contradiction is None
    assert solvable > 50
    assert len(reasons) >= 2


def test_sentences_name_the_region():
    noisy = Geometric(View.COUNTS, 1, totals="regions").measure(TRUTH, Seeded(0))
    for entities, words in [
        ([11, 5, 5], "US has 11 entities, the regions below it add up to 10"),
        ([15, 10, 5], "US / GA has 10 entities, more than 3 groups of up to 3 hold; truncate"),
        ([4, 5, -1], "US / MI has -1 entities"),
    ]:
        problem = Problem.m_h(noisy, totals="regions", entities=np.array(entities))
        assert words in problem.contradiction
        assert EntityTotalsProjection().solve(problem).reason == problem.contradiction
    root = Problem.m_h(noisy, entities=np.array([18, 9, 9]))
    assert root.contradiction is None
    assert "need 7 groups" in Problem.m_h(noisy, entities=np.array([18, 10, 8])).contradiction
    assert Problem.m_h(noisy, entities=np.array([18, 10, 8])).relaxed().contradiction is None
    for wrong in ([1, 2], [1.5, 1, 0.5], [[11]]):
        with pytest.raises(PgsrError, match=r"entities have shape .* shape \(3,\)"):
            Problem.m_h(noisy, entities=np.array(wrong))
    with pytest.raises(PgsrError, match="consistent counts"):
        replace(Problem.naive(noisy), entities=np.array([11, 5, 6]))
    flat = naive.measurement_of(TREE, np.zeros((3, 1), int), 4)
    assert "the only size is 0" in Problem.m_h(flat, entities=np.array([1])).contradiction


def test_the_problem_and_its_text():
    noisy = Geometric(View.COUNTS, 1, totals="regions").measure(TRUTH, Seeded(0))
    problem = Problem.m_h(noisy, totals="regions", entities=entity_totals(TRUTH))
    assert problem.label == "M_H with entities"
    assert problem.relaxed().label == "M_H with entities^r"
    assert (problem.relaxed().entities == [11, 5, 6]).all()
    assert problem.entities.dtype == np.int64
    assert r"\sum_{s=0}^{K} s\, x_{r,s} = E_{r} && r \in R" in latex(problem)
    assert r"s\, x_{\top,s} = E_{\top}" in latex(Problem.m_h(noisy, entities=np.array([11])))
    assert r"E_" not in latex(Problem.m_h(noisy))


def test_refusals_are_sentences():
    noisy = Geometric(View.COUNTS, 1, totals="regions").measure(TRUTH, Seeded(0))
    people = entity_totals(TRUTH)
    everywhere, root = Problem.m_h(noisy, totals="regions", entities=people), Problem.m_h(noisy, entities=people[:1])
    free = Problem.about(noisy, "free", integer=False, nonnegative=False, totals=None, entities=people)
    for method in (TreeProjection(), CostTables(), RegionTotalsProjection(), Flow(), Flow(around=TreeProjection())):
        for problem in (everywhere, root):
            result = method.solve(problem)
            assert result.status is Status.UNSUPPORTED, method
            assert len(result.reason) > 20
        assert any("entities" in method.supports(problem) for problem in (everywhere, root))
    for method in (MeanConsistency(), SimplexProjection(), CumulativeProjection(), Isotonic()):
        assert all(method.solve(problem).status is Status.UNSUPPORTED for problem in (everywhere, root, free)), method
    for problem, word in [
        (root, "every region's total"),
        (replace(everywhere, entities=people[:1]), "every region's total"),
        (Problem.m_h(noisy, totals="regions"), "does not state"),
        (replace(everywhere, norm=1), "absolute"),
        (free, "non-negativity"),
    ]:
        result = EntityTotalsProjection().solve(problem)
        assert result.status is Status.UNSUPPORTED
        assert word in result.reason


def test_linear_programs_alone_are_bounds():
    """Vertices of unit steps need not be integer with numbers of entities, and an answer then says so."""
    rng = np.random.default_rng(76)
    statuses = set()
    for _ in range(scale(60, 500)):
        problem, points = tiny_problem(rng)
        best = naive.objectives(problem, points).min()
        result = MathOpt("GLOP").solve(problem)
        statuses.add(result.status)
        assert result.certificate.bound <= best + 1e-6
        if result.status is Status.RELAXED:
            assert "fractional" in result.reason
        else:
            assert result.certificate.objective == best
    assert statuses == {Status.OPTIMAL, Status.RELAXED}
    noisy = Geometric(View.COUNTS, 1, totals="regions").measure(TRUTH, Seeded(0))
    problem = Problem.m_h(noisy, totals="regions", entities=entity_totals(TRUTH))
    methods = [MathOpt("GLOP"), Scipy(), MathOpt("GSCIP"), Cvxpy("CLARABEL"), EntityTotalsProjection(), Flow()]
    how = [next(iter(row.values())) for row in capabilities([problem], methods).values()]
    assert how == ["rounded", "steps", "exact", "rounded", "rounded", ""]


@pytest.mark.slow
def test_relaxation_equals_clarabel():
    """Against a dense model in the leaves' values."""
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(77)
    for _ in range(scale(50, 600)):
        problem = random_problem(rng)
        tree, w = problem.hierarchy, np.sqrt(problem.w)[:, None]
        below = tree.sum_up(np.eye(tree.n_regions - tree.n_inner))
        x = cvxpy.Variable((below.shape[1], problem.target.shape[1]), nonneg=True)
        distance = cvxpy.sum_squares(cvxpy.multiply(w @ np.ones((1, x.shape[1])), below @ x - problem.target))
        fixed = [
            cvxpy.sum(x, axis=1) == problem.region_totals[tree.leaves],
            x @ np.arange(x.shape[1]) == problem.entities[tree.leaves],
        ]
        model = cvxpy.Problem(cvxpy.Minimize(distance), fixed)
        best = model.solve("CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        result = EntityTotalsProjection().solve(problem)
        assert_optimal(problem, result)
        assert result.certificate.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("spread", [1, 30, 1_000])
def test_random_problems_are_solved_and_proved(spread):
    """Noise far beyond the counts leaves most leaves with one or two sizes."""
    rng = np.random.default_rng(78)
    for _ in range(scale(150, 3_000)):
        problem = random_problem(rng, spread, sizes=30)
        assert_optimal(problem, EntityTotalsProjection().solve(problem))


def test_weights_of_very_different_sizes():
    rng = np.random.default_rng(79)
    for _ in range(scale(100, 2_000)):
        problem = random_problem(rng)
        weights = (10.0 ** rng.uniform(0, 6, len(problem.w))).astype(np.int64) * (problem.w > 0)
        problem = replace(problem, weights=weights)
        assert_optimal(problem, EntityTotalsProjection().solve(problem))


@pytest.mark.parametrize("n_levels", [1, 2, 3, 5])
@pytest.mark.parametrize("n_sizes", [40, 400])
def test_counts_of_1e8_keep_nine_digits(n_levels, n_sizes):
    rng = np.random.default_rng(80)
    tree = random_tree(rng, max_regions=30, n_levels=n_levels)
    counts = (10.0 ** rng.uniform(-1, 8, (tree.n_regions - tree.n_inner, n_sizes))).astype(np.int64)
    counts[rng.random(len(counts)) < 0.1] = 0
    truth = CountOfCounts(tree, counts)
    noisy = Geometric(View.COUNTS, "0.1", totals="regions").measure(truth, Seeded(f"large {n_levels}"))
    problem = Problem.m_h(noisy, totals="regions", entities=entity_totals(truth)).relaxed()
    assert_optimal(problem, EntityTotalsProjection().solve(problem))


def test_extreme_entities():
    """No entities, as many as fit, one group somewhere: leaves whose size is forced."""
    rng = np.random.default_rng(81)
    for _ in range(scale(100, 2_000)):
        problem = random_problem(rng, spread=50)
        tree, largest = problem.hierarchy, problem.max_size
        groups = problem.region_totals[tree.leaves]
        most = largest * groups
        choices = [0 * most, most, groups * (largest // 2), np.minimum(1, most), most - np.minimum(1, most)]
        leaves = np.choose(rng.integers(0, len(choices), len(most)), choices)
        problem = replace(problem, entities=tree.sum_up(leaves))
        assert_optimal(problem, EntityTotalsProjection().solve(problem))


def test_what_is_already_consistent_is_returned_unchanged():
    rng = np.random.default_rng(82)
    for _ in range(20):
        truth = random_truth(rng, random_tree(rng))
        measurement = measurement_of(truth.hierarchy, truth.counts, truth.totals)
        problem = Problem.m_h(measurement, totals="regions", entities=entity_totals(truth)).relaxed()
        result = EntityTotalsProjection().solve(problem)
        assert_optimal(problem, result)
        np.testing.assert_allclose(result.estimate.values, truth.counts, atol=1e-9)


def test_integers_are_relaxed_and_rounded():
    rng = np.random.default_rng(83)
    problem = random_problem(rng, spread=20, sizes=30)
    relaxed = EntityTotalsProjection().solve(problem)
    result = EntityTotalsProjection().solve(replace(problem, integer=True))
    assert result.status is Status.RELAXED
    assert "rounded" in result.reason
    assert result.certificate.violations["entities"] > 0
    assert result.certificate.bound >= relaxed.certificate.bound - 1e-6
    assert EntityTotalsProjection().solve(problem, time_limit=1e-9).status is Status.TIMED_OUT


def test_a_national_hierarchy_is_proved():
    from pgsr.datasets import census_like

    truth = census_like("states", *scale((100, 1_000_000), (1_000, 100_000_000)))
    noisy = Geometric(View.COUNTS, "1/2", totals="regions").measure(truth, Seeded("entities"))
    problem = Problem.m_h(noisy, totals="regions", entities=entity_totals(truth)).relaxed()
    assert_optimal(problem, EntityTotalsProjection().solve(problem))


def test_exact_entities():
    truth = random_truth(np.random.default_rng(84), random_tree(np.random.default_rng(84), max_regions=20))
    assert (entity_totals(truth) == truth.counts @ np.arange(truth.max_size + 1)).all()


def test_sensitivity_by_enumeration():
    """One entity more or less changes one region's number per level by 1 at most, an empty group none."""
    worst = 0
    for counts in np.ndindex(3, 3, 3, 3):
        here = entity_totals(CountOfCounts(TREE, [counts, (1, 1, 1, 1)]))
        neighbours = [np.add(counts, (1, 0, 0, 0))]
        neighbours += [
            np.add(counts, np.eye(4, dtype=int)[s + 1] - np.eye(4, dtype=int)[s]) for s in range(3) if counts[s]
        ]
        for other in neighbours:
            change = np.abs(entity_totals(CountOfCounts(TREE, [other, (1, 1, 1, 1)])) - here)
            assert change.tolist() in ([0, 0, 0], [1, 1, 0])
            worst = max(worst, int(change.max()))
    assert worst == 1


def test_noise_has_its_law():
    """A lone region's noise is double geometric of scale levels / epsilon; where nothing is near 0 it is all there."""
    lone = Hierarchy.from_parents(["all"], [-1])
    truth = CountOfCounts(lone, [[10_000, 10_000, 10_000]])
    noisy = Geometric(View.COUNTS, 1).measure(truth, Seeded(0))
    n = scale(2_000, 20_000)
    drawn = np.array([noisy_entities(truth, noisy, "1/2", Seeded("law", i))[0] for i in range(n)]) - 30_000
    p = np.exp(-0.5)
    assert abs(drawn.mean()) < 5 * np.sqrt(2 * p / (1 - p) ** 2 / n)
    assert np.abs(drawn).mean() == pytest.approx(2 * p / (1 - p**2), rel=0.1)
    assert (drawn == 0).mean() == pytest.approx((1 - p) / (1 + p), abs=5 / np.sqrt(n))


def test_the_whole_budget_is_spent_once():
    ledger, source = Ledger(1), Seeded(1)
    noisy = Geometric(View.COUNTS, "2/3").measure(TRUTH, source, ledger)
    noisy_entities(TRUTH, noisy, "1/3", source, ledger)
    assert ledger.left == 0
    assert sum(amount for amount, _ in ledger.spent) == Fraction(1)
    with pytest.raises(PgsrError, match="0 of 1 is left"):
        noisy_entities(TRUTH, noisy, "1/100", source, ledger)
    with pytest.raises(PgsrError, match="measure this very truth"):
        noisy_entities(CountOfCounts(TREE, [[1, 1], [1, 1]]), noisy, 1, source)


@pytest.mark.parametrize(
    ("unit", "relation"),
    [
        (Unit.GROUP, Relation.REPLACE),  # a household of 3 for one of none: 3 persons
        (Unit.entity_in_groups(2), Relation.ADD_REMOVE),
        (Unit.ENTITY, Relation.MOVE),  # one region has one less, another one more
    ],
)
def test_numbers_of_entities_are_refused_where_a_unit_changes_more_than_one(unit, relation):
    """The ledger would be charged for one entity, and the other values of this measurement protect more."""
    ledger = Ledger(1)
    noisy = Noise(View.COUNTS, PureEpsilon("2/3"), unit=unit, relation=relation).measure(TRUTH, Seeded(1), ledger)
    with pytest.raises(PgsrError, match=f"protects one {unit} under {relation}, and the noise here is for one entity"):
        noisy_entities(TRUTH, noisy, "1/3", Seeded(1), ledger)
    assert ledger.left == Fraction(1, 3)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("totals", ["root", "regions", "noisy"])
def test_noisy_entities_are_possible(totals):
    """Consistent, non-negative, within the public numbers of groups: the problem has an answer, also in integers."""
    rng = np.random.default_rng(85)
    clipped = 0
    for replicate in range(scale(40, 500)):
        tree = random_tree(rng, max_regions=9, n_levels=3)
        truth = random_truth(rng, tree, max_size=int(rng.integers(1, 4)), max_count=int(rng.integers(1, 4)))
        source = Seeded("possible", replicate)
        noisy = Geometric(View.COUNTS, 1, totals=totals).measure(truth, source)
        people = noisy_entities(truth, noisy, "1/2", source)
        assert people.min() >= 0
        assert (tree.sum_up(people[tree.leaves]) == people).all()
        problem = Problem.m_h(noisy, totals="root" if totals == "root" else "regions", entities=people)
        assert problem.contradiction is None
        result = Scipy().solve(problem)
        assert result.status is Status.OPTIMAL
        clipped += (people[tree.leaves] == truth.max_size * truth.totals[:1]).any()
        if totals != "noisy":  # nothing is lost where there is no noise
            assert (noisy_entities(truth, noisy, 10**8, source) == entity_totals(truth)).all()


@pytest.mark.parametrize("totals", ["root", "regions", "noisy"])
@pytest.mark.parametrize("secure", [False, True])
def test_noise_is_drawn_once(totals, secure):
    """Also where more entities are drawn than K G, so that post-processing runs again with another root."""
    truth = CountOfCounts(TREE, [[0, 0, 4], [0, 0, 5]])
    noisy = Geometric(View.COUNTS, 1, totals=totals).measure(truth, Seeded(0))
    at_most = 0
    for replicate in range(40):
        source = Counting(Secure() if secure else Seeded("once", replicate))
        people = noisy_entities(truth, noisy, "1/5", source)
        source.assert_once(StreamId("", "entities", len(path) - 1, path) for path in TREE.paths)
        at_most += (people[: len(noisy.totals)] == truth.max_size * noisy.totals).any()
    assert at_most > 0 or totals == "noisy"


def test_post_processing_sees_noisy_numbers_alone():
    """Nearest integers are a function of the noisy numbers, with whatever root total, and as near as any."""
    noisy = noisy_numbers(TRUTH, entity_totals(TRUTH), "entities", DoubleGeometric(Fraction(8)), Seeded("near"))
    before = noisy.copy()
    for root in (None, 0, 7, 40):
        found = nearest_consistent(TRUTH.hierarchy, noisy, root)
        assert (found == nearest_consistent(TRUTH.hierarchy, noisy, root)).all()
        leaves = np.stack(np.meshgrid(*[np.arange(41)] * 2), axis=-1).reshape(-1, 2)
        every = np.column_stack([leaves.sum(axis=1), leaves])
        every = every if root is None else every[every[:, 0] == root]
        distances = ((every - noisy) ** 2).sum(axis=1)
        assert ((found - noisy) ** 2).sum() == distances.min()
        assert root is None or found[0] == root
    assert (noisy == before).all()
