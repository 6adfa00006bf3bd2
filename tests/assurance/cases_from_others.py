"""A table of inputs on which neighbouring projects, or an earlier version of this one, gave a wrong or no answer.

Whoever finds such an input adds it: where it comes from, in words; a call; and what the call has to give, or the words
of the error which it has to raise. The table only grows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import pgsr


@dataclass(frozen=True)
class Case:
    """One input: its source in words, a call that answers it, and the right answer."""

    source: str
    answer: Callable[[], Any]
    right: Any = None
    words: str | None = None
    """Words of the sentence that refuses the input, where a refusal is right."""


STATES = {"n": ["US"] * 3, "s": [None, "GA", "MI"], "v": [10, 4, 4]}
TREE = pgsr.Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = pgsr.CountOfCounts(TREE, [[0, 90, 40, 60], [0, 0, 0, 0]])
INDEXED, VARIANCE = pd.DataFrame(STATES, index=[5, 6, 7]), pd.Series({7: 1.0, 6: 4.0, 5: 100.0})
FIVE, FILLED = [*range(5)], ([0, 4, 4, 4, 10], 2)
LAW = {"noise": "geometric", "scale": 1}


def states(table: Any = STATES, of: Any = ("n", "s"), value: str = "v", **options: Any) -> list[float]:
    """The answer of `reconcile`, to three places."""
    return np.round(np.asarray(pgsr.reconcile(table, of, value, **options).table["reconciled"], float), 3).tolist()


def ordered(sizes: Any, values: Any = (30, 20, 10), **options: Any) -> tuple[list[int], float]:
    """The answer for one region whose numbers do not fall with the size, and how far it is from the values."""
    table = {"n": ["US"] * len(sizes), "k": sizes, "v": values}
    done = pgsr.reconcile(table, ["n"], "v", size="k", monotone=True, **options)
    return done.table["reconciled"].tolist(), done.objective


def measured(epsilon: Any = 100, **options: Any) -> Any:
    return pgsr.measure(TRUTH, "cumulative", epsilon=epsilon, **{"seed": "d"} | options)


def mean() -> str:
    """The statistic, and its interval in a state without groups."""
    found = pgsr.estimate(measured(), "matching").intervals("mean")
    return f"{found.statistic}: {found.lower[2]} to {found.upper[2]}"


ORDERED = (
    *([-1, -2, -3], [300_000, 200_000, 100_000], ["3.0", "2.0", "1.0"], [" 3", " 2", " 1"], ["+3", "+2", "+1"]),
    *(["4+", "3", "2"], [2**70, 2**60, 0], pd.to_datetime(["2020-10-01", "2020-09-01", "2019-12-01"])),
    pd.Categorical(["many", "few", "none"], ["none", "few", "many"], ordered=True),
)
RIGHT: dict[str, tuple[Callable[[], Any], Any]] = {
    **{f"sizes {list(k)} in the order of rows": (lambda k=k: ordered(k), ([30, 20, 10], 0)) for k in ORDERED},
    "the mean of no groups, and of sizes cut at K": (mean, "mean, sizes above 3 as 3: nan to nan"),
    "small counts as multiples": (lambda: states({"n": ["US"] * 3, "s": STATES["s"], "v": [2, 1, 1]}, base=5), [0] * 3),
    "an empty value": (lambda: ordered(FIVE, [0, 5, None, 3, 10]), FILLED),
    "an empty value first": (lambda: ordered(FIVE[:3], [None, 5, 3]), ([4, 4, 4], 2)),
    "no weight": (lambda: ordered(FIVE, [0, 5, 9, 3, 10], weights=[1, 1, 0, 1, 1]), FILLED),
    "variances by place": (lambda: states(INDEXED, variance=VARIANCE, integer=False), [8.095, 4.076, 4.019]),
    "weights by place": (lambda: states(INDEXED, weights=1 / VARIANCE, integer=False), [8.095, 4.076, 4.019]),
    "scales by place": (lambda: states(INDEXED, noise="gaussian", scale=VARIANCE**0.5), [8, 4, 4]),
    "np.int64 as base": (lambda: states(base=np.int64(5)), [10, 5, 5]),
    "np.float32 as time_limit": (lambda: states(time_limit=np.float32(9)), [9, 5, 4]),
    "np.int64 as draws and seed": (lambda: states(draws=np.int64(9), seed=np.int64(3), **LAW), [9, 5, 4]),
    "np.float32 as epsilon": (lambda: sum(measured(np.float32(0.1)).epsilon), Fraction(1, 10)),
    "np.int64 as epsilon and seed": (lambda: sum(measured(np.int64(1), seed=np.int64(1)).epsilon), 1),
}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "names in the order of rows": (lambda: ordered(["hi", "mid", "lo"]), "names without an order, such as 'hi'"),
    **{f"totals={n!r}": (lambda n=n: states(totals=n), f"totals= has {n!r}; give whole") for n in (100.9, True, "100")},
    "weights of another index": (lambda: states(INDEXED, weights=pd.Series([1, 2, 3])), "the weight has another index"),
    "columns of other indexes": (lambda: states(dict(INDEXED, v=VARIANCE)), "has another order; give a pd.DataFrame"),
    "counts of another index": (
        lambda: pgsr.CountOfCounts(TREE, INDEXED[["v"]]),
        "arrays are taken by place",
    ),
    "values 5e-324": (lambda: states({**STATES, "v": [5e-324] * 3}, integer=False), "'v', 4.94066e-324; scale all"),
    "values 1e308": (lambda: states({**STATES, "v": [1e308] * 3}), "the largest 'v', 1e+308; scale all to"),
    "bytes as names": (lambda: states({**STATES, "s": [None, b"\xff", b"MI"]}), "bytes that are no UTF-8; decode it"),
    "a Series as table": (lambda: states(VARIANCE.groupby(level=0).size()), "reset_index() makes one of it"),
    "time_limit=10**400": (lambda: states(time_limit=10**400), "give seconds above 0 up to 1e9"),
    "integers as columns": (
        lambda: states(pd.DataFrame([["US", 1]]), [0], 1),
        "columns are 0, 1, and names are text",
    ),
    "another method": (lambda: pgsr.solve(pgsr.Problem.m_c(measured()), "cplex"), "more; `python -m pgsr.models`"),
    "a region above itself": (lambda: pgsr.Hierarchy.from_parents(["US", "GA"], [-1, 1]), "give the region above it"),
    "a weight beside itself": (
        lambda: states({**STATES, "v": [2, 1e13, 3]}, weights=[1e30, 1e-30, 1e30]),
        "row 0 ('US') has 1e+60 times the weight of row 1 ('US/GA')",
    ),
    "a weight infinitely larger": (
        lambda: states({**STATES, "v": [2, 1e13, 3]}, weights=[1e300, 1e-300, 1e300]),
        "row 0 ('US') has more than 1e308 times the weight of row 1",
    ),
    "code 1 beside 01": (
        lambda: states({"id": ["01", "02"], "up": [None, 1], "v": [1, 1]}, {"id": "up"}),
        "which no row has in 'id' ('01' is there)",
    ),
}
TABLES: tuple[Case, ...] = (
    *(Case(source, answer, right) for source, (answer, right) in RIGHT.items()),
    *(Case(source, answer, words=words) for source, (answer, words) in REFUSED.items()),
)
"""Sizes, totals, weights and values of `reconcile`, statistics, labels and sentences."""

NAMES: tuple[Case, ...] = ()
"""Names of regions, kinds of numbers, times, trees and what travels."""

SOLVERS: tuple[Case, ...] = ()
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
