"""Errors that callers of the library meet are about what is wrong, say what to do, and name no person's row."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View, reconcile
from pgsr.algorithms import CumulativeIntegers, TreeProjection
from pgsr.comparison import overlay
from pgsr.comparison.side_by_side import compare
from pgsr.data.rounding import largest_remainder
from pgsr.methods import metrics
from pgsr.models import Gurobi, QpSolvers
from pgsr.models.__main__ import main as table_of_solvers
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.problems.programs.program import ProgramKind
from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
from pgsr.synthesis.data.domain import Role

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
TRUTH = CountOfCounts(TREE, [[0, 2, 1], [0, 1, 1]])
OTHER = CountOfCounts(TREE, [[0, 2], [0, 1]])
LEAVES = Geometric(View.COUNTS, 1, ("0", "1")).measure(TRUTH, Seeded("leaves"))
RANKED = Geometric(View.RANKED, 1).measure(TRUTH, Seeded("ranked"))
DOMAIN = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], 3)
PEOPLE = Population(DOMAIN, np.array([[0], [1]]), np.array([[0], [1]]), np.array([0, 1]), np.array([0, 0]))
VALUES = [[1, 9], [0, 5], [-1, 4]]
ONE = Workload(DOMAIN, (Marginal(Level.INDIVIDUAL, (), (0,)),))


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "scale": (lambda: DoubleGeometric(Fraction(0)), "noise scale 0 is not positive; give a fraction above 0"),
    "variance": (lambda: DiscreteGaussian(Fraction(-1)), "noise variance -1 is not positive; give a fraction above 0"),
    "matrix": (lambda: RANKED.matrix, "not a matrix; take .rows"),
    "drawing": (
        lambda: overlay(noisy=LEAVES, region=("US",)),
        "US was not measured, so there is nothing to draw; name a region of a measured level, or give a truth or what",
    ),
    "metrics": (
        lambda: metrics.l1(TRUTH, OTHER),
        "are of different regions or sizes; give the truth that was measured and an estimate from it",
    ),
    "compare": (
        lambda: compare(Problem.m_h(LEAVES), [TreeProjection()], truth=OTHER, progress=False),
        "the truth has other regions or sizes than .*; give the truth that was measured",
    ),
    "table of solvers": (
        lambda: table_of_solvers(["gurobi"]),
        "'gurobi' is unknown; this command takes no arguments and lists all solvers",
    ),
    "a truth for a measurement": (
        lambda: Problem.m_h(TRUTH),
        "the measurement of M_H is of type CountOfCounts; give what pgsr.measure returns",
    ),
    "a count": (
        lambda: CountOfCounts(TREE, [[10**19, 1], [0, 1]]),
        r"size 0 is 1e\+19: larger than 2\^62; no count may",
    ),
    "a cell": (
        lambda: Problem.of([[-(10**19), 9], *VALUES[1:]], TREE, groups=10),
        r"no count may be larger than 2\^62",
    ),
    "groups": (
        lambda: Problem.of(VALUES, TREE, groups=10**19),
        "a number of groups is 10000000000000000000; give numbers up",
    ),
    "prices of no answer": (
        lambda: CumulativeIntegers().solve(Problem.of(VALUES, TREE, groups=10)).duals,
        "does not solve this problem: CumulativeIntegers works on cumulative counts",
    ),
    "roles": (
        lambda: replace(DOMAIN, roles=(Role("person", 1, 3), Role("person", 0, 3))),
        r"roles \['person', 'person'\] repeat a name; rename one",
    ),
    "relation": (
        lambda: Marginal(Level.RELATION, (), (0,)),
        "a relationship query names its relation, and no other query does; give relation=... where the level is",
    ),
    "attribute twice": (
        lambda: Marginal(Level.INDIVIDUAL, (), (0, 0)),
        r"a query uses an attribute once, and \(0, 0\) names one twice; leave the second out",
    ),
    "attribute": (
        lambda: Workload(DOMAIN, (Marginal(Level.INDIVIDUAL, (), (4,)),)),
        "that the domain does not have; group attributes have the numbers 0 to 1, those of persons 0 to 0",
    ),
    "query": (lambda: ONE.locate(2), "query 2 of a workload of 2; give a number from 0 to 1"),
    "columns": (
        lambda: replace(PEOPLE, groups=np.zeros((2, 2), int)),
        "one column per attribute of the domain; give groups 1 and persons 1",
    ),
    "group": (
        lambda: replace(PEOPLE, group_of=np.array([0, 7])),
        "a person belongs to a group that is not there; group_of numbers the rows of groups from 0 up",
    ),
    "role": (
        lambda: replace(PEOPLE, role_of=np.array([0, 7])),
        "a person has a role that the domain does not know; role_of numbers its 1 roles from 0 up",
    ),
    "order": (
        lambda: replace(PEOPLE, group_of=np.array([1, 0])),
        "persons are not sorted by group, and by role within it; sort persons, group_of and role_of alike",
    ),
}


def test_a_total_out_of_reach_names_the_totals_within() -> None:
    with pytest.raises(ValueError, match="cannot be rounded to the total 5; give a total from 1 to 4"):
        largest_remainder(np.array([1.6, 0.7, 0.7]), 5)


@pytest.mark.parametrize("name", CASES)
def test_an_error_says_what_to_do(name: str) -> None:
    call, words = CASES[name]
    with pytest.raises(PgsrError, match=words) as refused:
        call()
    assert "is about is" not in str(refused.value)


def test_kinds_of_programs_have_their_articles() -> None:
    assert [kind.with_article.split()[0] for kind in ProgramKind] == ["a", "a", "an", "an"]
    problem = Problem.of(VALUES, TREE, groups=10, norm=1)
    assert "is an integer linear program (MILP)" in (QpSolvers("proxqp").supports(problem) or "")
    assert Gurobi().supports(problem) is None


def states(v=(9, 4, 4), sizes=None, f=None, **options):
    """Reconcile values of a nation and two states, and of these at a second size if there are sizes."""
    table = {"n": ["US"] * len(v), "s": [None, "GA", "MI"] * (len(v) // 3), "v": v}
    table |= {} if sizes is None else {"k": sizes}
    options |= {} if sizes is None else {"size": "k"}
    return reconcile({**table, "f": f or [0] * len(v)}, ["n", "s"], "v", fixed="f" if f else None, **options)


TWO, UP = [1, 1, 1, 2, 2, 2], [3, 2, 1, 4, 2, 2]
ORDER, LAW, LABELS = {"v": UP, "monotone": True}, {"noise": "geometric"}, pd.Series([9, 4, 4], index=[7, 8, 9])
TIMES, KINDS = pd.to_datetime(["2020-01-01"] * 3 + ["2021-01-01"] * 3), pd.Categorical([*"aaabbb"], ordered=True)
HEAVY = {"v": UP, "sizes": TWO, "base": 2, "weights": [1e9, 1e9, 1e9, 1, 1, 1e-9]}
APART = {"v": UP, "sizes": TWO, "integer": False}
ADVICE: dict[str, list[dict]] = {
    "ask for integer=False": [{"v": [0.4, 0.2, 0.2]}, {"integer": False}],
    "round them, or ask": [ORDER | {"v": [3.5, *UP[1:]], "sizes": TWO}, {"v": UP}, {"integer": False}],
    "give one weight per region": [ORDER | {"sizes": TWO, "weights": [1, 1, 1, 2, 1, 1]}, {"weights": [1, 2, 3] * 2}],
    "a value at every size": [ORDER | {"v": [3, None, *UP[2:]], "sizes": TWO}, {"v": UP}],
    "give numbers, times or an": [ORDER | {"sizes": [*"aaabbb"]}, *({"sizes": each} for each in (TWO, TIMES, KINDS))],
    "integer=False, without base= and noise=": [HEAVY, {"base": None, "integer": False}],
    "hold one by fixed=": [HEAVY, {"f": [1, 1, 0] * 2, "v": [8, 4, 4] * 2}],
    "or give weights nearer to each other": [HEAVY, {"weights": [1, 1, 1, 1, 1, 2]}],
    "; give weights nearer": [APART | {"weights": [1e300, *[1] * 4, 1e-300]}, {"weights": [1e90, *[1] * 4, 1e-90]}],
    "give values": [{"v": np.full(3, np.nan)}, {"v": [9, 4, 4]}],
    "leave out totals, where= and": [{"base": 5, "totals": 9}, {"totals": None}],
    "base=1.5; give a whole number from 2 up": [{"base": 1.5}, {"base": 2}],
    "zero_restricted=True belongs to base=": [{"zero_restricted": True}, {"base": 5}],
    "leave it out of fixed=": [{"base": 5, "f": [1, 0, 0]}, {"f": None}],
    "or leave noise= out": [LAW | {"scale": 1, "integer": False}, {"noise": None, "scale": None}],
    "give noise='laplace' or": [LAW | {"v": [9.5, 4, 4], "scale": 1}, {"noise": "laplace"}, {"noise": "gaussian"}],
    "give scales above 0": [LAW | {"scale": [0, 1, 1]}, {"scale": [1, 1, 1], "f": [1, 0, 0]}],
    "correct a fixed cell": [{"f": [1, 1, 1]}, {"v": [8, 4, 4]}],
    "scale all to between": [{"v": [1e308, 1, 1], "integer": False}, {"v": [1e100, 1, 1]}],
    "give whole numbers up to 2^50": [{"totals": 8.5}, {"totals": 8}],
    "give that of the table, or .to_numpy()": [{"v": LABELS, "weights": LABELS[:2]}, {"weights": LABELS.to_numpy()}],
}


@pytest.mark.parametrize("words", ADVICE)
def test_the_advice_of_a_refusal_works(words: str) -> None:
    asked, *advised = ADVICE[words]
    with pytest.raises(PgsrError, match=re.escape(words)):
        states(**asked)
    for changed in advised:
        states(**(asked | changed))
