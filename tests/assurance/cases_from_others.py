"""A table of inputs on which neighbouring projects, or an earlier version of this one, gave a wrong or no answer.

Whoever finds such an input adds it: where it comes from, in words; a call; and what the call has to give, or the words
of the error which it has to raise. The table only grows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import pgsr
from pgsr.tables import Entities, Groups, Levels, count_groups


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


def table_of(**columns: Any) -> Any:
    """A noisy table of a nation and its regions, made consistent."""
    n = len(columns["s"])
    columns = {"n": ["US"] * n, "v": [9, *[4] * (n - 1)], **columns}
    return pgsr.reconcile(columns, ["n", "s"], "v", size="k" if "k" in columns else None)


def named(**columns: Any) -> tuple[list[str], list[str]]:
    done = table_of(**columns)
    return done.cells.region.tolist(), done.notes


def read(regions: Any, sizes: Any = None, **options: Any) -> tuple[list[str], str]:
    """The regions that `read` finds, and what it says about their names."""
    rows = {"s": regions, "k": [1] * len(regions) if sizes is None else sizes}
    truth = pgsr.read(rows, ["s"], size="k", max_size=2, **options)
    return [path[-1] for path in truth.hierarchy.paths], truth.about.partition("sizes by k")[2].lstrip(", ")


def counted(nations: list[str], groups: list[str]) -> tuple[Any, str]:
    """The regions and the note where names of nations and ids of groups are spelled like this in tables."""
    homes = pd.DataFrame({"group": ["g", "h"], "nation": nations, "state": ["GA", "e\u0301"]})
    people, places = Entities(pd.DataFrame({"group": groups}), None), ("nation", "state")
    truth = count_groups(people, Groups(homes, region=places), Levels(homes, places), max_size=2)
    return truth.hierarchy.paths[1:], truth.about


def chain(n: int) -> tuple[str, int]:
    """A chain of regions with a leaf below each: how it ends, and how many sums are off."""
    ids = [f"r{i}" for i in range(n)]
    rows = {"id": [*ids, *map("leaf {}".format, ids)], "up": [None, *ids[:-1], *ids], "v": [*range(2 * n)]}
    done = pgsr.reconcile(rows, {"id": "up"}, "v")
    return done.status.name, sum(level.sums_off_after for level in done.levels)


DAYS = np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]")
ACUTE = ["\u00e9", "e\u0301"]
ONE_ACUTE = r"'e\u0301' and '\xe9' are one name"
LOOK = "look alike and are several names; if they are one, correct them"
SEVERAL = "{} regions have several rows, such as 2 of {!r}; they count as measurements of one number; "
SEVERAL += "delete repetitions, and if they are of several sizes or kinds, name the column of these by size="

NAMES: tuple[Case, ...] = (
    *(
        Case(f"{kind} as values", lambda v=values: table_of(s=["a", "b"], v=v), words=f"'v' holds {kind}, no numbers")
        for kind, values in (
            ("datetime", DAYS),
            ("timedelta", DAYS - DAYS[0]),
            ("boolean", np.array([True, False])),
            ("boolean and number", [True, 2]),
        )
    ),
    Case("a truth among kinds", lambda: table_of(s=["a", "b"], k=[1, True]), words="mixes kinds of values, boolean"),
    Case("days as kinds", lambda: table_of(s=["a", "b"], k=pd.Series(DAYS)).found.sizes, ("2020-01-01", "2020-01-02")),
    Case("durations as sizes", lambda: table_of(s=["a", "b"], k=DAYS - DAYS[0]), words="'k' has names and holds dur"),
    Case("truths as sizes of groups", lambda: read(["a", "b"], np.array([True, False])), words="'k' holds boolean, no"),
    Case("days as sizes of groups", lambda: read(["a", "b"], DAYS), words="'k' holds datetime, no numbers"),
    Case("days as regions", lambda: read(DAYS), (["(all)", "2020-01-01", "2020-01-02"], "")),
    Case("no day", lambda: named(s=np.array(["NaT", "2020-01-01"], DAYS.dtype)), (["US", "US/2020-01-01"], [])),
    Case("noon as a region", lambda: read([datetime(2020, 1, 1, 12)]), (["2020-01-01T12:00"], "")),
    Case("ids that are large floats", lambda: read([2.0**53, 5.0]), words="real numbers that may be rounded"),
    Case("NFC and NFD", lambda: named(s=[None, *ACUTE]), (["US", "US/é"], [SEVERAL.format(1, "US/é"), ONE_ACUTE])),
    Case("NFC and NFD in `read`", lambda: read([*ACUTE, "a "]), (["(all)", "a", "é"], ONE_ACUTE)),
    Case("a blank before a name", lambda: named(s=[None, "N E", " N E"])[1][1:], ["' N E' and 'N E' are one name"]),
    Case("blanks without a width", lambda: named(n=["US", "US ", "\u00a0US\u200b"], s=[None, "GA", "MI"]),
         (["US", "US/GA", "US/MI"], [r"'US' and 'US ' and '\xa0US\u200b' are one name"])),
    Case("capitals alone", lambda: named(s=[None, "GA", "Ga"])[1], [f"'GA' and 'Ga' {LOOK}"]),
    Case("a Cyrillic letter", lambda: named(s=[None, "GA", "G\u0410"])[1], [rf"'GA' and 'G\u0410' {LOOK}"]),
    Case("a forgotten `size=`", lambda: named(s=[None, None, "GA", "GA"])[1], [SEVERAL.format(2, "US")]),
    Case("a tree with blanks", lambda: read(["GA\xa0"], hierarchy=pgsr.Hierarchy.from_paths([[" GA"]])), (["GA"], "")),
    Case("blanks in tables", lambda: counted(["US", "US "], ["g", "h\u200b"]),
         ((("US", "GA"), ("US", "é")), "'US' and 'US ' are one name")),
    Case("a country under each county",
         lambda: pgsr.read({"a": [*"ab"], "b": [*"cc"], "k": [1, 1]}, ["a", "b"], size="k", max_size=2).about,
         "a row per group, regions by a (2) and b (2), sizes by k"),
    Case("a chain with a leaf below each region", lambda: chain(60), ("OPTIMAL", 0)),
)  # fmt: skip
"""Names of regions, kinds of numbers, times, trees and what travels."""


def _written(make: Callable[[Any], np.ndarray]) -> Callable[[], None]:
    """Make a call that writes to an array of a solved problem of noisy counts."""
    truth = pgsr.CountOfCounts(pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")]), [[0, 3], [1, 6]])

    def write() -> None:
        noisy = pgsr.measure(truth, "counts", epsilon=1, seed="d")
        make(noisy)[...] = -7

    return write


SOLVERS: tuple[Case, ...] = (
    Case(
        "an earlier version solved another problem under the old proof, once noisy values were written to",
        _written(lambda noisy: noisy.matrix),
        words="read-only",
    ),
    Case(
        "an earlier version showed numbers that somebody wrote beside OPTIMAL, no violations",
        _written(lambda noisy: pgsr.solve(pgsr.Problem.m_h(noisy)).estimate.values),
        words="read-only",
    ),
)
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
