"""Conditions where levels have sizes of their own: what they mean, who solves them, and what is proved of answers."""

from dataclasses import replace

import numpy as np
import pytest
from condition_checks import best_integer, best_real, chosen, random_conditions, satisfying, within
from instances import scale
from level_points import SHAPES, allowed, in_view, points_of, problem_of

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View, certify
from pgsr.algorithms import ChoiceTree, CumulativeProjection, Isotonic, TreeProjection
from pgsr.certificates import Multipliers
from pgsr.certificates.certificate import MULTIPLIERS, POTENTIALS, violations
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.certificates.potentials import has_potentials
from pgsr.data import Estimate
from pgsr.errors import ProblemError
from pgsr.experiments.lib import verify
from pgsr.methods.gate import GatedMethod
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, Scip, Scipy
from pgsr.noise import Geometric, Totals
from pgsr.own_methods import METHODS
from pgsr.privacy import Seeded
from pgsr.problems.conditions import cells, either, entities, groups, total, zero_or_at_least
from pgsr.problems.programs import named, read_program
from pgsr.problems.programs.rows import program_of

NAMES = [name for name in SHAPES if name not in ("root alone", "as many sizes everywhere")]
VIEWS = (View.COUNTS, View.CUMULATIVE)
KINDS = [
    pytest.param(name, view, totals, norm, id=f"{name}, {view.value}, {totals}, norm {norm}")
    for name in NAMES
    for view in VIEWS
    for totals in (None, "root", "regions")
    for norm in (1, 2)
]
INTEGER = (Gurobi(), Scip(), MathOpt("GSCIP"), MathOpt("HIGHS"), CpSat(), Scipy(), Cvxpy("HIGHS"))
REAL = (Cvxpy("CLARABEL"), Gurobi(), Cvxpy("PIQP"), MathOpt("PDLP"), Scipy())
OWN = tuple(entry.method for entry in METHODS if isinstance(entry.method, GatedMethod))
TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
COUNTS = Problem.of(([[1, 5, 2, 2]], [[1, 4], [0, 4]]), TREE, groups=10, label="M_H")
CUMULATIVE = Problem.of(([[1, 5, 7, 9]], [[1, 5], [0, 5]]), TREE, View.CUMULATIVE, groups=10, label="M_c")


def conditioned(name, view, totals, norm, seed, choosing=False):
    """A small problem with random conditions and leaves as far as points are listed; all points that satisfy it.

    Seed 0 states nothing.
    """
    problem, rng = problem_of(name, view, totals, seed, norm), np.random.default_rng([seed, 5])
    points = allowed(problem, in_view(SHAPES[name][0], points_of(name), view))
    if not seed:
        return problem, [], points
    near = points[np.abs(points - problem.cells).sum(axis=1).argmin()]
    written, dense = random_conditions(rng, problem, near, int(rng.integers(1, 4)))
    written.append(groups(level=problem.hierarchy.n_levels - 1) <= SHAPES[name][1])
    for place in problem.sizes.cells_of(problem.hierarchy.n_levels - 1).tolist():
        row = np.zeros(problem.n_unknowns, np.int64)
        row[place] = 1
        if view is View.CUMULATIVE and problem.sizes.size_of_cell[place]:
            row[place - 1] = -1
        dense.append((row, "<=", SHAPES[name][1]))
    stated, points = problem.where(*written), satisfying(points, dense)
    choice = chosen(rng, problem, near) if choosing else None
    if choice is not None:
        bounded = stated if totals is not None else stated.where(cells(level=0) <= 99)
        stated, points = bounded.where(choice[0]), within(points, choice[1])
    return stated, dense, points


def text_of(problem):
    return "" if problem.conditions is None else problem.conditions.text


def test_expressions_name_the_cells_of_each_region():
    """Cells lie region by region: four of the nation, two of each state, whose last one stands for all larger sizes."""

    def rows(problem, *conditions):
        stated = problem.where(*conditions).conditions
        return stated.rows.toarray().tolist()

    assert (
        COUNTS.where(cells(size=1) == 3).conditions.bounded.tolist()
        == [False, True, False, False]
        + [
            False,
            True,
        ]
        * 2
    )
    assert np.flatnonzero(COUNTS.where(cells(size=slice(1, 3)) == 3).conditions.bounded).tolist() == [1, 2, 5, 7]
    assert rows(COUNTS, total() >= 1) == [
        [1, 1, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 1],
    ]
    assert rows(COUNTS, 2 * entities() >= 2)[:2] == [[0, 2, 4, 6, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2, 0, 0]]
    assert rows(CUMULATIVE, entities(level=0) >= 1) == [[-1, -1, -1, 3, 0, 0, 0, 0]]
    assert rows(CUMULATIVE, groups(size=slice(1, None)) <= 8) == [
        [-1, 1, 0, 0, 0, 0, 0, 0],
        [0, -1, 1, 0, 0, 0, 0, 0],
        [0, 0, -1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, -1, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, -1, 1],
    ]
    stated = CUMULATIVE.where(total() >= [9, 4, 4], groups(("US", "MI"), size=0) <= 2).conditions
    assert np.flatnonzero(stated.bounded).tolist() == [3, 5, 6, 7]
    stated = COUNTS.where(cells() <= list(range(8)), cells(level=1) >= np.array([[0, 1], [2, 3]])).conditions
    assert stated.upper.tolist() == list(range(8))
    assert stated.lower[4:].tolist() == [0, 1, 2, 3]
    assert COUNTS.where(cells(("US",), size=3) >= 2 * cells(("US", "GA"), size=1)).conditions.names == (
        "cells(US, 3) >= 2 cells(US/GA, 1)",
    )


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda: cells(size=2) == 1, "cells(every region, 2): sizes run 0..1 at level 1; give one of these"),
        (lambda: groups(level=1, size=slice(2, 9)) == 1, "groups(level 1, 2:9) selects no size of 0..1 at level 1"),
        (lambda: cells() == np.ones((2, 4), int), "8 x 1 entries on the left and 2 x 4 on the right"),
        (lambda: cells(level=0) == cells(level=1, size=0), "4 entries on the left and 2 on the right"),
    ],
)
def test_a_size_that_a_region_has_not_is_refused(write, words):
    with pytest.raises(ProblemError) as error:
        COUNTS.where(write())
    assert words in str(error.value)


def test_conditions_are_of_one_problem():
    stated = COUNTS.where(cells(size=0) <= 1).conditions
    other = Problem.of(([[1, 5, 2]], [[1, 4], [0, 4]]), TREE, groups=10, label="M_H")
    with pytest.raises(ProblemError, match="conditions are of other regions or sizes than M_H"):
        replace(other, conditions=stated)
    assert replace(COUNTS, conditions=stated).conditions is stated


@pytest.mark.drawn(6)
@pytest.mark.parametrize(("name", "view", "totals", "norm"), KINDS)
def test_a_program_has_exactly_the_points_that_satisfy_everything(name, view, totals, norm):
    """Its rows and bounds hold at an integer vector of small numbers if and only if the vector is one of the points."""
    for seed in range(scale(2, 10)):
        problem, _, points = conditioned(name, view, totals, norm, seed)
        rng, every = np.random.default_rng(seed), in_view(SHAPES[name][0], points_of(name), view)
        own = allowed(problem, every)
        near = every[rng.integers(0, len(every), 300)] + (rng.random((300, problem.n_unknowns)) < 0.1)
        tried = np.concatenate([own[rng.integers(0, len(own), 60 * (len(own) > 0))], near])
        known, program = {point.tobytes() for point in points}, program_of(problem)
        for x in tried[tried.max(axis=1) <= SHAPES[name][1]]:  # larger values are not among the points that are listed
            z = x - problem.cells
            holds = bool(
                (program.matrix @ z == program.right).all()
                and (program.order @ z <= program.order_right).all()
                and ((program.lower <= z) & (z <= program.upper)).all()
            )
            broken = violations(problem, Estimate(problem.hierarchy, view, problem.sizes.shaped(x)))
            assert holds == (x.tobytes() in known) == (not any(broken.values())), (x, broken, text_of(problem))


@pytest.mark.slow
@pytest.mark.drawn(4)
@pytest.mark.parametrize(("name", "view", "totals", "norm"), KINDS)
def test_methods_find_the_best_of_all_points_or_say_no(name, view, totals, norm):
    """Own methods among them: none passes over what was stated."""
    for seed in range(scale(3, 8)):
        problem, _, points = conditioned(name, view, totals, norm, seed, choosing=seed % 2 == 1)
        best = best_integer(problem, points)
        for method in (*INTEGER, *OWN):
            reason = method.supports(problem)
            if reason is not None:
                assert method not in INTEGER, (method, reason)
                assert "pgsr.models" in reason or method.supports(replace(problem, conditions=None)) is not None
                assert method.solve(problem).status is Status.UNSUPPORTED
                continue
            result = method.solve(problem)
            if best is None:
                unproved = result.status is Status.FAILED and "of which we have no proof" in result.reason
                assert result.status is Status.INFEASIBLE or unproved, (method, result, text_of(problem))
                continue
            assert result.status is Status.OPTIMAL, (method, result, text_of(problem))
            assert result.certificate.objective == result.certificate.bound == best, (method, text_of(problem))


@pytest.mark.slow
@pytest.mark.drawn(4)
@pytest.mark.parametrize(("name", "view", "totals", "norm"), KINDS)
def test_relaxations_are_proved_by_prices(name, view, totals, norm, monkeypatch):
    """Without the program's own bound to fall back on, and with the optimum of a plain model."""
    monkeypatch.setattr("pgsr.models.judge._with_bound_of_program", lambda program, answer, certificate: certificate)
    for seed in range(scale(3, 8)):
        stated, dense, _ = conditioned(name, view, totals, norm, seed)
        problem = stated.relaxed()
        best = best_real(problem, dense)
        for method in (*REAL, CumulativeProjection()):
            if method.supports(problem) is not None:
                continue
            result = method.solve(problem)
            if best is None:
                unsure = result.status in (Status.FAILED, Status.TIMED_OUT) and method in REAL[:4]
                assert result.status is Status.INFEASIBLE or unsure, (method, result, text_of(problem))
                continue
            assert result.status is Status.OPTIMAL, (method, result, text_of(problem))
            assert result.certificate.objective == pytest.approx(best, rel=1e-5, abs=1e-5)
            assert result.certificate.bound_by == MULTIPLIERS
            assert result.certificate.gap < 1e-6


@pytest.mark.drawn(6)
@pytest.mark.parametrize(("name", "view", "totals", "norm"), KINDS)
def test_wild_prices_give_a_bound(name, view, totals, norm):
    rng, finite = np.random.default_rng(3), 0
    for seed in range(scale(4, 30)):
        problem, _, points = conditioned(name, view, totals, norm, seed)
        best, tree, sizes = best_integer(problem, points), problem.hierarchy, problem.sizes
        n = {None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals]
        rows = np.diff(tree.level_start)
        for spread in (0.0, 0.3, 5.0) if best is not None else ():
            prices = Multipliers(
                tuple(rng.normal(0, spread, (rows[i], k + 1)) for i, k in enumerate(sizes.max_sizes[1:])),
                rng.normal(0, spread, n),
                *(
                    ()
                    if problem.conditions is None
                    else (
                        rng.normal(0, spread, len(problem.conditions.names)),
                        rng.normal(0, spread, problem.n_unknowns),
                    )
                ),
            )
            freer = replace(problem, nonnegative=False), replace(problem, monotone=False)
            for stated in (problem, problem.relaxed(), *freer):
                bound = lagrangian_bound(stated, prices)
                finite += np.isfinite(bound)
                assert bound <= best, (text_of(problem), spread)
    assert finite > 0


@pytest.mark.drawn(6)
@pytest.mark.parametrize(("name", "view", "totals", "norm"), KINDS[::2])
def test_propagation_loses_no_point(name, view, totals, norm):
    """What it calls contradictory has no point, and its intervals hold every point."""
    found, rng = 0, np.random.default_rng(4)
    every = in_view(SHAPES[name][0], points_of(name), view)
    for seed in range(scale(30, 200)):
        problem = problem_of(name, view, totals, seed, norm)
        points = allowed(problem, every)
        near = points[rng.integers(len(points))] + rng.integers(-3, 4, problem.n_unknowns)
        written, dense = random_conditions(rng, problem, near, 5)
        if not written:
            continue
        stated, kept = problem.where(*written), satisfying(points, dense)
        low, high = stated.intervals
        assert ((low <= kept) & (kept <= high)).all(), stated.conditions.text
        if stated.contradiction is not None:
            assert not len(kept), (stated.contradiction, stated.conditions.text)
            found += 1
        assert not stated.contradiction_is_complete
    assert found > 0


def test_a_contradiction_between_classes_that_are_folded_names_what_was_written():
    """Two classes of the nation are one of its states'; so is the last cumulative count of each."""
    clash = COUNTS.where(cells(("US",), size=slice(1, 4)) <= 1, cells(("US", "MI"), size=1) >= 4)
    said = "cells(US, 1) would have to be at least 2 and at most 1, by cells(US, 1:4) <= 1; cells(US/MI, 1) >= 4"
    assert clash.contradiction == said
    above = COUNTS.where(cells(("US",), size=slice(2, 4)) >= 3, cells(level=1, size=1) <= 2)
    assert "cells(US, 1) would have to be at least 0 and at most -2, by" in above.contradiction
    beyond = CUMULATIVE.where(cells(("US",), size=1) >= 8, total(level=1) == 3)
    assert "cells(US, 3) would have to be at least 10 and at most 6, by" in beyond.contradiction
    for problem in (clash, above, beyond):
        assert MathOpt("HIGHS").solve(problem).status is Status.INFEASIBLE


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", NAMES)
def test_potentials_prove_the_best_point_with_fixed_totals_and_no_other(name):
    proved = refuted = 0
    for seed in range(scale(6, 40)):
        free, rng = problem_of(name, View.COUNTS, (None, "root")[seed % 2], seed), np.random.default_rng(seed)
        points = allowed(free, points_of(name))
        region = int(rng.integers(free.hierarchy.n_regions))
        sums = np.add.reduceat(points, free.sizes.first_cell[:-1], axis=1)[:, region]
        sums = sums[sums <= SHAPES[name][1]]  # no cell of a leaf is larger in a point that is listed
        problem = free.where(2 * total(free.hierarchy.paths[region]) == 2 * int(sums[rng.integers(len(sums))]))
        points = satisfying(
            points, [(problem.conditions.rows.toarray()[0], "==", int(problem.conditions.row_lower[0]))]
        )
        assert has_potentials(problem)
        cost = (free.cell_weights * (points - free.cells) ** 2).sum(axis=1)
        for place in (*np.argsort(cost)[:4], *rng.integers(0, len(points), 4)):
            estimate = Estimate(free.hierarchy, View.COUNTS, free.sizes.shaped(points[place]))
            certificate = certify(problem, estimate)
            assert certificate.optimal == (cost[place] == cost.min())
            proved, refuted = proved + certificate.optimal, refuted + (not certificate.optimal)
            if certificate.optimal:
                assert certificate.bound_by == POTENTIALS
    assert proved
    assert refuted
    assert not has_potentials(COUNTS.where(cells(size=0) <= 1)), "bounds are no part of that network"


@pytest.mark.parametrize("totals", [None, "regions"])
@pytest.mark.parametrize("norm", [1, 2])
def test_regions_alone_are_fitted_within_their_bounds(totals, norm):
    statuses, farther = set(), 0
    for seed in range(scale(8, 40)):
        free = replace(problem_of("three levels, three kinds", View.CUMULATIVE, totals, seed, norm), consistent=False)
        problem = free.where(cells(level=0, size=1) >= 2, cells(level=1, size=0) <= 1, cells(level=2) <= 3)
        ours, theirs = Isotonic().solve(problem), Gurobi().solve(problem)
        statuses.add(ours.status)
        assert ours.status is theirs.status
        if ours.status is Status.OPTIMAL:
            assert ours.certificate.objective == theirs.certificate.objective
            farther += ours.certificate.objective > Isotonic().solve(free).certificate.objective
    assert farther
    assert statuses == {Status.OPTIMAL, *([Status.INFEASIBLE] if totals else [])}


def test_own_methods_name_a_solver_model():
    bounds, choices = COUNTS.where(cells(size=0) <= 1), COUNTS.where(zero_or_at_least(cells(level=1), 2))
    said = {
        TreeProjection(): ("TreeProjection knows no conditions by where, such as cells(every region, 0) <= 1", bounds),
        CumulativeProjection(): (
            "this method takes no conditions where levels have sizes of their own, such as cells(every region, 0) <= 1",
            replace(CUMULATIVE, totals=Totals.REGIONS, groups=np.array([10, 5, 5])).where(cells(size=0) <= 1),
        ),
        ChoiceTree(): ("this method takes one largest size for all levels", choices),
    }
    for method, (words, problem) in said.items():
        reason = method.supports(problem)
        assert reason.startswith(words), reason
        assert "take a solver model" in reason
        assert "pgsr.models" in reason
    assert "ChoiceTree" not in TreeProjection().supports(choices)


@pytest.mark.slow
@pytest.mark.drawn(2)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("norm", [1, 2])
def test_native_models_and_files_have_the_same_rows(view, norm, tmp_path):
    problem, _, points = conditioned("rows, columns and more rows", view, "root", norm, 2)
    best, wanted = best_integer(problem, points), named(problem, "full")
    for method in (Gurobi(), Cvxpy("CLARABEL"), MathOpt("GSCIP"), MathOpt("HIGHS"), Scip(), CpSat()):
        if method.supports(problem) is None and (norm == 1 or method != MathOpt("HIGHS")):
            model = method.model(problem)
            result = model.solve(problem)
            assert result.certificate.violations["conditions"] == 0 or result.status is Status.RELAXED
            assert result.status is Status.RELAXED or result.certificate.objective == best
            assert "stated" in str(model)
    for ending in (".mps", ".lp", ".npz"):
        problem.write(tmp_path / f"p{ending}", names="full")
        read = read_program(tmp_path / f"p{ending}")
        assert read.rows.texts() == wanted.rows.texts()
        assert (read.matrix != wanted.matrix).nnz == 0
        assert (read.lower == wanted.lower).all()
        assert (read.upper == wanted.upper).all()
        assert (read.row_lower == wanted.row_lower).all()
    again, stated = Problem.read(tmp_path / "p.npz"), problem.conditions
    for part in ("lower", "upper", "row_lower", "row_upper", "sources"):
        assert np.array_equal(getattr(again.conditions, part), getattr(stated, part))
    assert again.conditions.stated == stated.stated
    assert Scip().solve(again).certificate.objective == best


def test_pgsr_lib_verifies_conditions(tmp_path):
    """From the arrays of the file alone: the best point, a point that breaks a row, and bounds by any prices."""
    problem, _, points = conditioned("rows, columns and more rows", View.COUNTS, "root", 2, 2)
    problem.write(tmp_path / "problem.npz")
    program, best = verify.ProblemArrays(tmp_path / "problem.npz"), best_integer(problem, points)
    x = points[(problem.cell_weights * (points - problem.cells) ** 2).sum(axis=1).argmin()].astype(object)
    assert verify.check_solution(program, x, 1) == best
    every = allowed(problem, points_of("rows, columns and more rows"))
    outside = next(x for x in every if not (points == x).all(axis=1).any())
    with pytest.raises(verify.Refused):
        verify.check_solution(program, outside.astype(object), 1)
    rng, rows = np.random.default_rng(1), named(problem)
    for unit in (1, 3):
        prices = rng.integers(-5, 6, program.m)
        prices[((prices > 0) & np.isinf(rows.row_lower)) | ((prices < 0) & np.isinf(rows.row_upper))] = 0
        assert verify.check_bound(program, prices.astype(object), unit) <= best


def test_alternatives_are_of_each_region():
    problem = COUNTS.where(either(total(level=1) == 0, total(level=1) >= 6))
    result = Scip().solve(problem)
    assert result.status is Status.OPTIMAL
    assert sorted(table.sum() for table in result.estimate.tables[1]) == [0, 10]


@pytest.mark.slow
@pytest.mark.drawn(1)
@pytest.mark.parametrize(("view", "norm"), [(View.COUNTS, 2), (View.CUMULATIVE, 2), (View.CUMULATIVE, 1)])
def test_solvers_agree_on_a_medium_tree(view, norm):
    """A published class, minima and maxima, of 25 regions with sizes 0..12, 0..6 and 0..2; then a choice that costs."""
    tree = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(4) for j in range(5)])
    truth = CountOfCounts(tree, np.random.default_rng(0).integers(0, 200, (20, 13)))
    noisy = Geometric(view, epsilon=1, max_sizes=(12, 6, 2)).measure(truth, Seeded("m"))
    problem = (Problem.m_h(noisy) if view is View.COUNTS else Problem.m_c(noisy, norm)).where(
        groups(level=1, size=3) == truth.folded((12, 6, 2)).tables[1][:, 3],
        total(level=2) >= 300,
        groups(level=0, size=slice(8, None)).sum() <= 9_000,
        groups(level=2, size=0) <= 180,
        entities(level=2) >= 100,
    )
    chosen_first = problem.where(zero_or_at_least(groups(("US", "s0"), size=1), 615))
    objectives = []
    for stated in (problem, chosen_first):
        results = [method.solve(stated) for method in (MathOpt("GSCIP"), MathOpt("HIGHS"))]
        assert {result.status for result in results} == {Status.OPTIMAL}
        assert len({result.certificate.objective for result in results}) == 1
        objectives.append(results[0].certificate.objective)
    assert objectives[0] <= objectives[1]
    relaxed = Cvxpy("CLARABEL").solve(problem.relaxed())
    assert relaxed.status is Status.OPTIMAL
    assert relaxed.certificate.gap < 1e-6
    assert relaxed.certificate.objective <= objectives[0] * (1 + 1e-9)
