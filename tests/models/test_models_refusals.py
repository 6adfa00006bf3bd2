"""Arguments of solver models that are refused, each in a sentence."""

import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.estimators import Matching
from pgsr.models import CpSat, Cvxpy, Gurobi, MathOpt, QpSolvers, Scipy, Squares, TransportFlow
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

M_H = Problem.of([[0, 3, 2], [1, 2, -1], [0, 2, 1]], Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), groups=5)


def ranked():
    return Problem.isotonic(
        Geometric(View.RANKED, 1).measure(CountOfCounts(M_H.hierarchy, [[0, 2], [0, 1]]), Seeded(0))
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Cvxpy("CLARBEL"), "CLARABEL"),
        (lambda: MathOpt("CP_SAT"), "GSCIP"),
        (lambda: QpSolvers("quadpro"), "quadprog"),
        (lambda: QpSolvers("proxqp", options=None), "mapping"),
        (lambda: Gurobi(threads=-5), "threads"),
        (lambda: Gurobi(threads="a"), "threads"),
        (lambda: CpSat(threads=0), "threads"),
        (lambda: CpSat(threads=True), "threads"),
        (lambda: Cvxpy("GLOP", tolerance=1e-6), "use MathOpt"),
        (lambda: Cvxpy("GLOP", options={"use_preprocessing": False}), "give other options to MathOpt"),
        (lambda: Scipy(squares=Squares.QUADRATIC), "leave squares= out"),
        (lambda: Gurobi(squares="window"), r"Squares.WINDOW or Squares.QUADRATIC"),
        (lambda: Matching(matcher=TransportFlow), r"write TransportFlow\(\.\.\.\)"),
        (lambda: Matching(matcher="flow"), r"give SortedMatching\(\)"),
        (lambda: Gurobi().model(ranked()), "ranked sizes"),
        (lambda: MathOpt("HIGHS").model(M_H), "GSCIP"),
        (lambda: Cvxpy("GLOP").model(M_H), "CLARABEL"),
        (lambda: CpSat().model(M_H.relaxed()), "takes MILP"),
        (lambda: Gurobi().model("M_H"), "problem"),
    ],
)
def test_what_is_none_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(PgsrError, match=sentence):
        call()
