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
BELOW = ["n", "s"]
TREE = pgsr.Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = pgsr.CountOfCounts(TREE, [[0, 2, 1], [0, 1, 1]])
NOISY = pgsr.measure(TRUTH, "counts", epsilon=1, seed="d")
INDEXED = pd.DataFrame(STATES, index=[5, 6, 7])
VARIANCE = pd.Series({7: 1.0, 6: 4.0, 5: 100.0})


def states(table: Any = STATES, of: Any = BELOW, value: str = "v", **options: Any) -> list[float]:
    """The answer of `reconcile`, to three places."""
    return np.round(np.asarray(pgsr.reconcile(table, of, value, **options).table["reconciled"], float), 3).tolist()


def ordered(sizes: Any, values: Any = (30, 20, 10), **options: Any) -> tuple[list[int], float]:
    """The answer for one region whose numbers do not fall with the size, and how far it is from the values."""
    table = {"n": ["US"] * len(sizes), "k": sizes, "v": values}
    done = pgsr.reconcile(table, ["n"], "v", size="k", monotone=True, **options)
    return done.table["reconciled"].tolist(), done.objective


def mean(level: int) -> str:
    """What intervals of the mean show of the root, or of a state without groups."""
    truth = pgsr.CountOfCounts(TREE, [[0, 90, 40, 60], [0, 0, 0, 0]])
    released = pgsr.estimate(pgsr.measure(truth, "cumulative", epsilon=100, seed="d"), "matching").intervals("mean")
    return f"{released.statistic}, {[f'{side[level]:.3g}' for side in (released.lower, released.upper)]}"


TABLES: tuple[Case, ...] = (
    *(
        Case(f"sizes {list(sizes)} in the order of rows", lambda sizes=sizes: ordered(sizes), ([30, 20, 10], 0))
        for sizes in (
            *([-1, -2, -3], [300_000, 200_000, 100_000], ["3.0", "2.0", "1.0"], [" 3", " 2", " 1"], ["+3", "+2", "+1"]),
            *(["4+", "3", "2"], [2**70, 2**60, 0], pd.to_datetime(["2020-10-01", "2020-09-01", "2019-12-01"])),
            pd.Categorical(["many", "few", "none"], ["none", "few", "many"], ordered=True),
        )
    ),
    Case(
        "names in the order of rows", lambda: ordered(["hi", "mid", "lo"]), words="names without an order, such as 'hi'"
    ),
    *(
        Case(f"totals={given!r}", lambda given=given: states(totals=given), words=f"totals= has {given!r}; give whole")
        for given in (100.9, True, "100", float("nan"))
    ),
    Case("a mean of sizes cut at K", lambda: mean(0), "mean, sizes above 3 as 3, ['1.84', '1.84']"),
    Case("a mean without groups", lambda: mean(2), "mean, sizes above 3 as 3, ['nan', 'nan']"),
    Case(
        "small counts as multiples",
        lambda: states({"n": ["US"] * 5, "s": [None, *"abcd"], "v": [2, 1, 1, 0, 0]}, base=5),
        [0] * 5,
    ),
    Case("an empty value", lambda: ordered([*range(5)], [0, 5, None, 3, 10]), ([0, 4, 4, 4, 10], 2)),
    Case("no weight", lambda: ordered([*range(5)], [0, 5, 9, 3, 10], weights=[1, 1, 0, 1, 1]), ([0, 4, 4, 4, 10], 2)),
    Case("an empty value first", lambda: ordered([*range(3)], [None, 5, 3]), ([4, 4, 4], 2)),
    Case(
        "variances by position",
        lambda: states(INDEXED, variance=VARIANCE, integer=False),
        [8.095, 4.076, 4.019],
    ),
    Case("scales by position", lambda: states(INDEXED, noise="gaussian", scale=VARIANCE**0.5), [8, 4, 4]),
    Case(
        "weights of another index",
        lambda: states(INDEXED, weights=pd.Series([1, 2, 3])),
        words="the weight has another index than the table",
    ),
    Case(
        "columns of different indexes",
        lambda: states({**STATES, "v": VARIANCE, "s": pd.Series(STATES["s"], [5, 6, 7])}),
        words="has another order; give a pd.DataFrame",
    ),
    Case(
        "a frame of counts in another order",
        lambda: pgsr.CountOfCounts(TREE, pd.DataFrame([[0, 2, 1], [0, 1, 1]], index=["MI", "GA"])),
        words="arrays are taken by place; order it, give .to_numpy()",
    ),
    *(
        Case(f"values {v}", lambda v=v: states({**STATES, "v": [v] * 3}, integer=False), words="scale all to between")
        for v in (5e-324, 1e308)
    ),
    Case("bytes as names", lambda: states({**STATES, "s": [None, b"\xff", b"MI"]}), words="in bytes that are no UTF-8"),
    Case("a Series as table", lambda: states(VARIANCE.groupby(level=0).size()), words="reset_index() makes one of it"),
    Case("seconds beyond 64 bits", lambda: states(time_limit=10**400), words="give seconds above 0 up to 1e9"),
    *(
        Case(f"{name}={number!r}", lambda said={name: number, **others}: states(**said)[0] > 0, True)
        for name, number, others in (
            *(
                ("base", np.int64(5), {}),
                ("time_limit", np.float32(9), {}),
                ("level", np.float32(0.5), {"variance": 1}),
            ),
            *((name, np.int64(9), {"noise": "geometric", "scale": 1}) for name in ("draws", "seed")),
        )
    ),
    *(
        Case(
            f"epsilon={given!r}",
            lambda given=given: sum(pgsr.measure(TRUTH, "counts", epsilon=given, seed=np.int64(1)).epsilon),
            right,
        )
        for given, right in ((np.float32(0.1), Fraction(1, 10)), (np.int64(1), 1))
    ),
    Case(
        "integers as names of columns", lambda: states(pd.DataFrame([["US", 1]]), [0], 1), words="its columns are 0, 1"
    ),
    Case(
        "a method without a name here",
        lambda: pgsr.solve(pgsr.Problem.m_h(NOISY), "cplex"),
        words="slope_greedy and 33 more; `python -m pgsr.models` lists solvers",
    ),
    Case(
        "a weight infinitely larger",
        lambda: states(
            {"n": ["US"] * 4, "s": [None, "GA", "MI", None], "k": [1, 1, 1, 2], "v": [10, 4, 4, 1]},
            size="k",
            weights=[1e300, 1e300, 1e300, 1e-300],
        ),
        words="row 0 ('US' at size 1) has more than 1e308 times the weight of row 3",
    ),
    Case(
        "a weight beside itself",
        lambda: states({**STATES, "v": [2, 1e13, 3]}, weights=[1e30, 1e-30, 1e30]),
        words="row 0 ('US') has 1e+60 times the weight of row 1 ('US/GA')",
    ),
    Case(
        "code 1 beside code 01",
        lambda: states({"id": ["01", "02"], "up": [None, 1], "v": [1, 1]}, {"id": "up"}),
        words="('01' is there)",
    ),
)
"""Sizes, totals, weights and values of `reconcile`, statistics, and sentences."""

NAMES: tuple[Case, ...] = ()
"""Names of regions, kinds of numbers, times, trees and what travels."""

SOLVERS: tuple[Case, ...] = ()
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
