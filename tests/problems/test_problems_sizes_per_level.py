"""Problems whose levels have sizes of their own, without conditions: proofs, files, native models, what is refused."""

import numpy as np
import pytest
from condition_checks import best_integer
from held_programs import of_file, of_program
from instances import rng_of, scale
from level_points import SHAPES, allowed, points_of, problem_of

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import Isotonic, TreeProjection
from pgsr.certificates import certify
from pgsr.certificates.certificate import POTENTIALS, violations
from pgsr.certificates.potentials import is_potential_optimal
from pgsr.data import Estimate
from pgsr.errors import CountError, MethodError
from pgsr.estimators import BottomUp, NoConsistency, Posterior, TwoStage
from pgsr.methods import Mechanism, metrics
from pgsr.methods.gate import GatedMethod
from pgsr.models import CpSat, Cvxpy, Direct, Gurobi, MathOpt, Scip, Scipy
from pgsr.noise import Geometric
from pgsr.own_methods import METHODS
from pgsr.privacy import Seeded
from pgsr.problems.programs import named
from pgsr.problems.programs.rows import program_of

TREES = {name: SHAPES[name] for name in SHAPES if name not in ("root alone", "as many sizes everywhere")}
TOTALS = (None, "root", "regions")
TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])


@pytest.mark.few(3)
@pytest.mark.parametrize("totals", TOTALS)
@pytest.mark.parametrize("name", TREES)
def test_flow_potentials_prove_the_best_point_and_no_other(name, totals):
    points, rng = points_of(name), rng_of(7)
    proved = refuted = 0
    for seed in range(scale(3, 20)):
        problem = problem_of(name, View.COUNTS, totals, seed)
        free = allowed(problem, points)
        w = problem.w[problem.sizes.region_of_cell]
        cost = (w * (free - problem.cells) ** 2).sum(axis=1)
        for place in (*np.argsort(cost)[:4], *rng.integers(0, len(free), 4)):
            estimate = Estimate(problem.hierarchy, View.COUNTS, problem.sizes.shaped(free[place]))
            certificate = certify(problem, estimate)
            assert certificate.objective == cost[place]
            assert certificate.optimal == is_potential_optimal(problem, estimate) == (cost[place] == cost.min())
            proved, refuted = proved + certificate.optimal, refuted + (not certificate.optimal)
            if certificate.optimal:
                assert certificate.bound_by == POTENTIALS
    assert proved
    assert refuted


KINDS = [(name, totals, norm) for name in TREES for totals in TOTALS for norm in (1, 2)]
INTEGER = (Gurobi(), Scip(), MathOpt("GSCIP"), MathOpt("HIGHS"), CpSat(), Scipy(), Direct("HIGHS"))
REAL = (Direct("CLARABEL"), Gurobi(), Direct("PIQP"), MathOpt("PDLP"), Scipy())
OWN = tuple(entry.method for entry in METHODS if isinstance(entry.method, GatedMethod))


@pytest.mark.few(4)
@pytest.mark.parametrize(("name", "totals", "norm"), KINDS)
def test_a_program_has_exactly_the_points_that_add_up(name, totals, norm):
    """Its rows and bounds hold at an integer vector of small numbers if and only if the vector is one of the points."""
    every = points_of(name)
    for seed in range(scale(2, 10)):
        problem, rng = problem_of(name, View.COUNTS, totals, seed, norm), rng_of(seed)
        points, program = allowed(problem, every), program_of(problem)
        near = every[rng.integers(0, len(every), 300)] + (rng.random((300, problem.n_unknowns)) < 0.1)
        tried, known = np.concatenate([points[:60], near]), {point.tobytes() for point in points}
        for x in tried[tried.max(axis=1) <= SHAPES[name][1]]:  # larger values are not among the points that are listed
            z = x - problem.cells
            holds = bool((program.matrix @ z == program.right).all() and (program.lower <= z).all())
            broken = violations(problem, Estimate(problem.hierarchy, View.COUNTS, problem.sizes.shaped(x)))
            assert holds == (x.tobytes() in known) == (not any(broken.values())), (x, broken)


@pytest.mark.slow
@pytest.mark.few(3)
@pytest.mark.parametrize(("name", "totals", "norm"), KINDS)
def test_methods_find_the_best_of_all_points_or_say_no(name, totals, norm):
    for seed in range(scale(3, 8)):
        problem = problem_of(name, View.COUNTS, totals, seed, norm)
        best = best_integer(problem, allowed(problem, points_of(name)))
        for method in (*INTEGER, *OWN):
            reason = method.supports(problem)
            if reason is not None:
                assert method not in INTEGER, (method, reason)
                assert method.solve(problem).status is Status.UNSUPPORTED
                continue
            result = method.solve(problem)
            assert result.status is Status.OPTIMAL, (method, result)
            assert result.certificate.objective == result.certificate.bound == best, method


@pytest.mark.parametrize("norm", [1, 2])
def test_native_models_state_the_same_rows(norm):
    """By name, and with the same optimum; values from elsewhere are judged, in the shapes that a message names."""
    problem = problem_of("rows, columns and more rows", View.COUNTS, "root", 1, norm)
    wanted = set(named(problem, "full").rows.texts())
    for method in (Gurobi(), Cvxpy("CLARABEL"), MathOpt("GSCIP"), Scip(), CpSat()):
        model = method.model(problem)
        result, direct = model.solve(problem), method.solve(problem)
        assert result.status is direct.status
        assert result.certificate.objective == direct.certificate.objective
        if isinstance(method, Gurobi):
            assert {row.ConstrName for row in model.native.getConstrs()} == wanted
            if norm == 2:
                values = list(TreeProjection().solve(problem).estimate.tables)
                assert model.judge(values).status is Status.OPTIMAL
                with pytest.raises(MethodError, match="as one array per level, the root's first, of the shapes"):
                    model.judge(values[::-1])


@pytest.mark.parametrize("ending", [".mps", ".lp", ".npz"])
def test_files_hold_sizes_per_level(ending, tmp_path):
    problem = problem_of("three levels, three kinds", View.COUNTS, "regions", 2)
    problem.write(tmp_path / f"p{ending}")
    assert of_file(tmp_path / f"p{ending}") == of_program(named(problem))
    if ending == ".npz":
        again = Problem.read(tmp_path / f"p{ending}")
        assert again.sizes.max_sizes == problem.sizes.max_sizes
        assert all(np.array_equal(a, b) for a, b in zip(again.tables, problem.tables, strict=True))


def test_names_of_folded_sums_are_those_of_the_sizes_below():
    problem = Problem.of(([[0, 3, 2]], [[1, 1], [0, 3]]), TREE, groups=5, label="M_H")
    assert named(problem).rows.texts() == ["consistency[US,0]", "consistency[US,1]", "total[US]"]
    assert named(problem).variables.texts()[:4] == ["x[US,0]", "x[US,1]", "x[US,2]", "x[US/GA,0]"]
    assert named(problem).matrix.toarray()[1].tolist() == [0, 1, 1, 0, -1, 0, -1]


def test_tables_of_one_size_are_a_matrix():
    problem = Problem.of(([[0, 3]], [[1, 1], [0, 3]]), TREE, groups=5)
    assert problem.sizes.equal
    assert problem.target.tolist() == [[0, 3], [1, 1], [0, 3]]
    estimate = Estimate(TREE, View.COUNTS, (np.array([[1, 4]]), np.array([[1, 1], [0, 3]])))
    assert estimate.values.shape == (3, 2)
    truth = CountOfCounts(TREE, [[0, 9, 4], [0, 5, 3]], "demo")
    assert Geometric(View.COUNTS, 1, max_sizes=(1, 1)).measure(truth, Seeded("a")).matrix.shape == (3, 2)


def test_estimates_with_sizes_per_level_show_what_they_are():
    problem = Problem.of(([[0, 3, 2]], [[1, 1], [0, 3]]), TREE, groups=5, label="M_H")
    estimate = TreeProjection().solve(problem).estimate
    assert repr(estimate) == f"Estimate(View.COUNTS, {TREE!r}, sizes 0..2 / 0..1, integer)"
    assert estimate.row(1).tolist() == estimate.tables[1][0].tolist()
    assert "0..2 / 0..1" in problem._repr_html_()
    assert problem.sizes.folded(estimate.tables[0], 0, View.COUNTS).tolist() == [
        estimate.tables[1].sum(axis=0).tolist()
    ]
    counts = estimate.counts()
    assert counts.max_sizes == (2, 1)
    assert all((ours == theirs).all() for ours, theirs in zip(counts.tables, estimate.tables, strict=True))
    with pytest.raises(CountError, match="levels have sizes of their own here"):
        _ = counts.counts


def test_a_noise_step_measures_sizes_per_level_and_all_that_follows_takes_them():
    """From counts to errors: measured, stated, solved, compared with the truth folded to the same sizes."""
    tree = Hierarchy.from_paths([("US", "GA", "a"), ("US", "GA", "b"), ("US", "MI", "c")])
    truth = CountOfCounts(tree, [[0, 9, 4, 2, 1], [0, 5, 3, 0, 2], [1, 7, 2, 2, 0]], "demo")
    noise = Geometric(View.COUNTS, 6, totals="root", max_sizes=(4, 2, 1))
    noisy = noise.measure(truth, Seeded("a"))
    assert repr(noisy).endswith("sizes 0..4 / 0..2 / 0..1, epsilon=6)")
    assert [table.shape for table in noisy.tables] == [(1, 5), (2, 3), (3, 2)]
    again = Geometric(View.COUNTS, 6, totals="root").measure(truth.folded((4, 2, 1)), Seeded("a"))
    assert all(np.array_equal(a, b) for a, b in zip(noisy.tables, again.tables, strict=True))
    for problem in (Problem.m_h, Problem.mean_consistency):
        assert problem(noisy).sizes.max_sizes == (4, 2, 1)
    result = Mechanism(noise, TreeProjection()).release(truth, Seeded("a"))
    assert result.status is Status.OPTIMAL
    assert metrics.l1(truth, result.estimate).shape == (6,)
    exact = Estimate(tree, View.COUNTS, truth.folded((4, 2, 1)).tables)
    assert metrics.l1(truth, exact).tolist() == [0] * 6
    cumulative = Geometric(View.CUMULATIVE, 6, max_sizes=(4, 2, 1)).measure(truth, Seeded("a"))
    for post in (TwoStage(), Posterior(), BottomUp(), NoConsistency()):
        assert post.supports(cumulative).startswith("this post-process takes one largest size for all levels"), post
    assert Isotonic().supports(Problem.isotonic(cumulative)) is None
