"""Problems with conditions: every solver against exhaustive search, bounds, proofs and contradictions."""

from dataclasses import replace

import numpy as np
import pytest
from condition_checks import (
    KINDS,
    best_integer,
    best_real,
    feasible_points,
    random_conditions,
    random_problems,
    satisfying,
)
from instances import rng_of, scale

from pgsr import Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.certificates import Multipliers, certify
from pgsr.certificates.certificate import IGNORING, MULTIPLIERS, violations
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data import Estimate
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, Scip, Scipy
from pgsr.models.adapter import Run, SolverModel
from pgsr.models.formulate import formulate
from pgsr.models.judge import SolverAnswer, SolverClaim, judged
from pgsr.models.program import ProgramKind
from pgsr.noise import Totals
from pgsr.problems.conditions import cells, groups, total

INTEGER = (Gurobi(), Scip(), MathOpt("GSCIP"), MathOpt("HIGHS"), CpSat(), Scipy())
GA, MI = ("US", "GA"), ("US", "MI")
TREE = Hierarchy.from_paths([GA, MI])
COUNTS = Problem.of([[1, 5, 2, 2], [1, 2, 0, 2], [0, 2, 1, 1]], TREE, groups=10, label="M_H")


def conditioned(rng, kind, n):
    """Problems of a kind with one to three random conditions, these as dense rows, and the free problem."""
    for problem, point in random_problems(rng, kind, n):
        written, dense = random_conditions(rng, problem, point, int(rng.integers(1, 4)))
        yield (problem.where(*written), dense, problem)


def test_a_branch_of_one_point_is_a_bound_if_it_satisfies_the_rows_and_empty_if_not():
    """The proof cuts at the relaxation's first cell, 2/3, and (1, 2) breaks the row at a cost of 10."""
    alone = Hierarchy.from_parents(["US"], [-1])
    problem = Problem.of([[-2, 3]], alone).where(
        2 * cells(size=1) <= 3 * cells(size=0), cells(size=0) <= 1, cells(size=1) <= 2
    )
    for method in INTEGER:
        result = method.solve(problem)
        assert result.status is Status.OPTIMAL, (method, result)
        assert result.certificate.objective == 13


@pytest.mark.parametrize("view", [View.COUNTS, View.CUMULATIVE])
def test_rows_of_every_relation_are_priced(view, monkeypatch):
    monkeypatch.setattr("pgsr.models.judge._with_bound_of_program", lambda program, answer, certificate: certificate)
    y = COUNTS.target if view is View.COUNTS else COUNTS.target.cumsum(axis=1)
    problem = Problem.of(y, TREE, view, groups=10, label="M").relaxed()
    few = groups(GA, size=1) + groups(GA, size=3)
    for condition in (few <= 1, few >= 8, few == 7, -few >= -1, -few <= -8):
        free, result = Cvxpy("CLARABEL").solve(problem), Cvxpy("CLARABEL").solve(problem.where(condition))
        assert result.status is Status.OPTIMAL, condition
        assert result.certificate.objective > free.certificate.objective + 1, "the row matters"
        assert result.certificate.bound == pytest.approx(result.certificate.objective, rel=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_wild_prices_give_a_bound(kind):
    """Whatever the multipliers of rows and bounds, no point that satisfies all conditions is below."""
    rng = rng_of(3)
    seen = 0
    for problem, dense, free in conditioned(rng, kind, scale(10, 200)):
        best = best_integer(problem, satisfying(feasible_points(free, 4), dense))
        if best is None:
            continue
        tree, shape = problem.hierarchy, problem.target.shape
        n_totals = {None: 0, Totals.ROOT: 1, Totals.REGIONS: tree.n_regions}[problem.totals]
        for spread in (0.3, 3.0, 100.0):
            prices = Multipliers(
                rng.normal(0, spread, (tree.n_inner, shape[1])),
                rng.normal(0, spread, n_totals),
                rng.normal(0, spread, len(problem.conditions.names)),
                rng.normal(0, spread, problem.n_unknowns),
            )
            freer = replace(problem, nonnegative=False), replace(problem, monotone=False)
            for stated in (problem, problem.relaxed(), *freer):
                bound = lagrangian_bound(stated, prices)
                seen += np.isfinite(bound)
                assert bound <= best, (problem.conditions.stated, spread)
    assert seen > 0


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_contradiction_is_one_and_bounds_alone_hide_none(kind):
    rng = rng_of(4)
    found = 0
    for problem, point in random_problems(rng, kind, scale(30, 500)):
        written, dense = random_conditions(rng, problem, point + rng.integers(-2, 3, point.shape), 3)
        if not written:
            continue
        stated = problem.where(*written)
        points = satisfying(feasible_points(problem, 5), dense)
        if stated.contradiction is not None:
            assert not len(points), (stated.contradiction, stated.conditions.stated)
            found += 1
        elif stated.contradiction_is_complete and problem.totals is not None:
            if not len(points):  # leaves above 5 may be needed
                points = satisfying(feasible_points(problem, problem.root_total), dense)
            assert len(points), stated.conditions.stated
    assert found > 0


def test_equations_that_a_point_satisfies_are_no_contradiction_in_real_numbers():
    """Ends of intervals are fractions there; rounded to the nearest, they contradicted a fifth of these systems."""
    for seed in range(scale(12, 1_000)):
        rng = rng_of(seed)
        leaves = rng.integers(0, 3, (2, 3))
        point = np.concatenate([leaves.sum(axis=0, keepdims=True), leaves])
        written = []
        for _ in range(6):
            (i, j), (a, b) = rng.choice(9, 2, replace=False), rng.choice([-7, -5, -3, -2, 2, 3, 5, 7], 2).tolist()
            left = a * cells(TREE.paths[i // 3], size=i % 3) + b * cells(TREE.paths[j // 3], size=j % 3)
            written.append(left == a * int(point.flat[i]) + b * int(point.flat[j]))
        asked = Problem.of(point, TREE, groups=int(point[0].sum())).where(*written)
        assert asked.contradiction is None
        assert asked.relaxed().contradiction is None, asked.conditions.text


def test_a_contradiction_names_what_was_written():
    clash = COUNTS.where(cells(GA, size=1) >= 4, cells(("US",), size=1) <= 3)
    assert "cells(US, 1) would have to be at least 4 and at most 3" in clash.contradiction
    assert "cells(US/GA, 1) >= 4; cells(US, 1) <= 3" in clash.contradiction
    for method in (Cvxpy("CLARABEL"), CpSat()):
        assert method.solve(clash).status is Status.INFEASIBLE
        assert method.solve(clash).reason == clash.contradiction
    crowded = COUNTS.where(cells(level=1, size=slice(1, 3)) >= 3)
    assert "the cells of US would add up to at least 12, not to its 10 groups" in crowded.contradiction
    many = COUNTS.where(total(GA) >= 6, total(MI) >= 5)
    assert "total(US/GA) would have to be at least 6 and at most 5" in many.contradiction
    assert "by total(US/GA) >= 6; total(US/MI) >= 5; the public 10 groups of US" in many.contradiction
    assert Cvxpy("CLARABEL").solve(many.relaxed()).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            [total(("US",)) == 41],
            "total(US) == 41 cannot hold: its left side is 1 short at best, by the public 40 groups of US",
        ),
        (
            [total(GA) >= 41],
            "total(US/GA) would have to be at least 41 and at most 40, "
            "by total(US/GA) >= 41; the public 40 groups of US",
        ),
        (
            [cells(size=1) <= 9, total(GA) >= 31, total(MI) >= 10],
            "at least 31 and at most 30, by total(US/GA) >= 31; total(US/MI) >= 10; cells(every region, 1) <= 9",
        ),
        ([total(level=1) == 19], "by total(level 1) == 19; the public 40 groups of US"),
        ([3 * total(GA) - total(MI) >= 121], "total(US/GA) would have to be at least 41"),
        ([cells(("US",), size=1) <= 30, cells(GA, size=1) >= 1_234_567],
         "at least 1,234,567 and at most 30, by"),
    ],
)  # fmt: skip
def test_stated_totals_meet_the_public_ones_and_each_other(written, said):
    problem = Problem.of([[1, 5, 20, 14], [1, 2, 10, 7], [0, 3, 10, 7]], TREE, groups=40, label="M_H")
    assert said in problem.where(*written).contradiction
    regions = Problem.of(problem.target, TREE, groups=np.array([40, 20, 20]), totals="regions")
    assert regions.where(total(GA) == 21).contradiction.endswith("by the public totals of regions")


@pytest.mark.parametrize("integer", [True, False])
def test_intervals_of_numbers_beyond_exact_floats_hold_the_point(integer):
    """H(k) = 1,001^k: from the sixth power on no float is the point, and an interval of one float would miss it."""
    powers = [1001**k for k in range(7)]
    free = Problem.of(np.zeros((1, len(powers)), int), Hierarchy.from_paths([("US",)]))
    chain = [cells(size=k + 1) - 1001 * cells(size=k) == 0 for k in range(len(powers) - 1)]
    problem = (free if integer else free.relaxed()).where(cells(size=0) == 1, *chain)
    assert problem.contradiction is None
    low, high = (part.tolist() for part in problem.intervals)
    assert all(a <= power <= b for a, power, b in zip(low, powers, high, strict=True)), "Python compares these exactly"
    assert low[:3] == high[:3] == powers[:3], "what is exact is found"


def test_a_weighted_sum_in_integers_cancels_cells_without_bounds():
    """H(0) <= H(1) and 2 H(0) >= 3 H(1) + 1 leave no H(1) >= 0; without a total nothing bounds them from above."""
    problem = Problem.of(COUNTS.target.cumsum(axis=1), TREE, View.CUMULATIVE).where(
        2 * cells(("US",), size=0) - 3 * cells(("US",), size=1) >= 1
    )
    for asked in (problem, problem.relaxed()):
        assert asked.contradiction is None, "propagation does not end"
        result = Cvxpy("CLARABEL").solve(asked)
        assert result.status is Status.INFEASIBLE, result


def test_the_weighted_sum_names_the_conditions_that_it_weighs():
    """Of three rows and a bound two are at odds, and what is public with them; the others are not named."""
    x = [cells(GA, size=size) for size in range(4)]
    problem = COUNTS.where(x[0] + x[1] >= 6, cells(MI, size=2) <= 9, x[0] + x[2] <= 9, total(MI) >= 5)
    result = judged("X", problem, formulate(problem), SolverAnswer(SolverClaim.INFEASIBLE))
    assert result.status is Status.INFEASIBLE
    named = "cells(US/GA, 0) + cells(US/GA, 1) >= 6; total(US/MI) >= 5"
    assert result.reason.endswith(f"contradicts itself; of the stated ones it weighs {named}")
    bounds = COUNTS.where(cells(GA, size=1) >= 6, cells(MI, size=2) + cells(MI, size=1) >= 5)
    said = judged("X", bounds, formulate(bounds), SolverAnswer(SolverClaim.INFEASIBLE)).reason
    assert said.endswith("weighs cells(US/MI, 2) + cells(US/MI, 1) >= 5; cells(US/GA, 1) >= 6")


def test_claims_of_infeasibility_are_checked():
    """Proved by a weighted sum, refuted by a point, and never believed where our own test is complete."""

    def verdict(problem):
        return judged("X", problem, formulate(problem), SolverAnswer(SolverClaim.INFEASIBLE))

    contradictory = COUNTS.where(total(GA) >= 6, total(MI) >= 5)
    assert verdict(contradictory).status is Status.INFEASIBLE
    assert "recomputed" in verdict(contradictory).reason
    possible = COUNTS.where(total(GA) >= 6)
    assert verdict(possible).status is Status.FAILED
    assert "but there is one" in verdict(possible).reason
    assert verdict(COUNTS.where(cells(size=0) == 0)).status is Status.FAILED
    odd = COUNTS.where(2 * cells(GA, size=1) - 4 * cells(GA, size=2) == 3)
    assert verdict(odd).status is Status.INFEASIBLE, "no integers do, but real numbers"
    assert "a contradiction in every case" in verdict(odd).reason
    assert verdict(odd.relaxed()).status is Status.FAILED


@pytest.mark.parametrize("norm", [1, 2])
def test_far_points_without_totals_or_signs(norm):
    """The box that integers are searched in holds optima that conditions drive far from the noise."""
    free = replace(Problem.of(COUNTS.target, TREE, norm=norm), nonnegative=False)
    far = free.where(cells(GA, size=1) - cells(MI, size=1) == 5_000, cells(("US",), size=2).sum() <= -300)
    rows = np.zeros((2, 3, 4), np.int64)
    rows[0, 1, 1], rows[0, 2, 1], rows[1, 0, 2] = 1, -1, 1
    best = best_real(far, [(rows[0], "==", 5_000), (rows[1], "<=", -300)])
    objectives = {method.solve(far).certificate.objective for method in (Scip(), CpSat(), Scipy())}
    assert len(objectives) == 1
    assert best - 1e-3 <= objectives.pop() <= best + 3 * norm


def test_a_bound_without_prices_says_that_it_ignores_conditions():
    naive = replace(COUNTS, consistent=False, totals=Totals.REGIONS, groups=np.array([10, 5, 5]))
    free = certify(naive, Estimate(TREE, View.COUNTS, naive.target))
    stated = naive.where(cells(("US",), size=1) <= 3, cells(("US",), size=2) >= cells(("US",), size=3))
    estimate = Estimate(TREE, View.COUNTS, np.array([[2, 3, 3, 2], [1, 2, 0, 2], [1, 2, 1, 1]]))
    certificate = certify(stated, estimate)
    assert certificate.bound_by == IGNORING
    assert certificate.bound <= certificate.objective
    assert not certificate.optimal
    assert free.bound_by == MULTIPLIERS
    assert violations(stated, estimate)["conditions"] == 0
    worse = Estimate(TREE, View.COUNTS, np.array([[0, 7, 1, 2], [1, 2, 0, 2], [1, 2, 1, 1]]))
    assert violations(stated, worse)["conditions"] == 2
    assert violations(stated.relaxed(), Estimate(TREE, View.COUNTS, worse.values + 0.5))["conditions"] == 2


def test_no_exact_proof_passes_over_conditions():
    """The free optimum violates nothing but the condition, and is not called optimal."""
    best = TreeProjection().solve(COUNTS).estimate
    stated = COUNTS.where(cells(GA, size=2) >= int(best.values[1, 2]) + 1)
    assert certify(COUNTS, best).optimal
    certificate = certify(stated, best)
    assert not certificate.optimal
    assert certificate.violations["conditions"] == 1
    loose = COUNTS.where(total() <= 1_000)
    assert not certify(loose, best).optimal, "feasible and optimal, but nobody proves it"
    bounded = COUNTS.where(cells() <= 1_000)
    assert certify(bounded, best).optimal, "the exchange test knows bounds of cells"


class Careless(SolverModel):
    """A solver that answers as if nothing were stated."""

    takes = frozenset({ProgramKind.MIQP})

    def __repr__(self):
        return "Careless()"

    def unavailable(self):
        return None

    def run(self, program, time_limit):
        del program, time_limit
        z = TreeProjection().solve(COUNTS).estimate.values.ravel() - COUNTS.target.ravel()
        return Run(SolverAnswer(SolverClaim.OPTIMAL, "", z.astype(float), bound=0.0), 0.0, 0.0)


def test_an_answer_that_breaks_conditions_is_none():
    assert Careless().solve(COUNTS).status is Status.OPTIMAL
    assert Careless().solve(COUNTS.where(cells(GA, size=2) == 4)).status is Status.FAILED
