"""A table of inputs on which neighbouring projects, or an earlier version of this one, gave a wrong or no answer.

Whoever finds such an input adds it: where it comes from, in words; a call; and what the call has to give, or the words
of the error which it has to raise. The table only grows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
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


TABLES: tuple[Case, ...] = ()
"""Sizes, totals, weights and values of `reconcile`."""


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

SOLVERS: tuple[Case, ...] = ()
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
