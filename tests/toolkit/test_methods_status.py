"""The status of a result and its certificate: what is proved is called proved."""

from dataclasses import replace

import numpy as np
import pytest

from pgsr import Hierarchy, Problem, Result, Status
from pgsr.algorithms import TreeProjection
from pgsr.certificates import Certificate
from pgsr.methods.method import PROVED

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
SOLVED = TreeProjection().solve(Problem.of(np.array([[1, 9], [0, 5], [-1, 4]]), TREE, groups=10))
assert SOLVED.certificate is not None
KNOWN, BOUND = SOLVED.certificate, 2


@pytest.mark.parametrize("status", [Status.FEASIBLE, Status.RELAXED])
@pytest.mark.parametrize("reason", ["", "the ascent stopped"])
def test_an_answer_that_its_certificate_proves_is_optimal(status, reason):
    found = Result(status, reason, SOLVED.answer, KNOWN)
    assert found.status is Status.OPTIMAL
    assert found.reason == (f"{reason}; {PROVED}" if reason else "")
    assert replace(found, certificate=KNOWN) is not found
    assert replace(found, certificate=KNOWN).reason == found.reason


@pytest.mark.parametrize(
    "certificate",
    [
        replace(KNOWN, bound=BOUND - 1),
        replace(KNOWN, bound=None),
        replace(KNOWN, violations={"consistency": 1}),
        Certificate("release", None, None, "", {}),
    ],
)
def test_any_other_answer_is_what_its_method_says(certificate):
    assert not certificate.optimal
    assert Result(Status.FEASIBLE, "", SOLVED.answer, certificate).status is Status.FEASIBLE


def test_without_an_answer_or_after_a_failure_nothing_is_optimal():
    assert Result(Status.FEASIBLE, "", None, KNOWN).status is Status.FEASIBLE
    assert Result(Status.FAILED, "refused", None, KNOWN, refused=SOLVED.answer).status is Status.FAILED


@pytest.mark.parametrize("off", [1, 3, 1_000])
def test_a_gap_is_0_only_where_objective_and_bound_are_equal(off):
    """A bound in floats beside an integer that no float holds."""
    objective = 2**60 + off
    near = Certificate("p", objective, float(2**60), "Lagrangian bound", {})
    assert float(objective) == 2.0**60 or off == 1_000
    assert near.gap is not None
    assert near.gap > 0
    assert not near.optimal
    assert Certificate("p", objective, objective, "Lagrangian bound", {}).gap == 0


def test_gaps_of_bounds_that_are_no_numbers_are_told():
    assert Certificate("p", 1.0, -np.inf, "", {}).gap == np.inf
