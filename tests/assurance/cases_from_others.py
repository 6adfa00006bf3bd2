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

COMPOSED, APART = "\u00e9", "e\u0301"


def regions(nations: list[str], states: list[Any], **columns: Any) -> tuple[list[str], list[str]]:
    """The regions that a noisy table has by its names, and the notes about it."""
    table = {"nation": nations, "state": states, "n": [9, *[4] * (len(states) - 1)], **columns}
    done = pgsr.reconcile(table, ["nation", "state"], "n")
    return done.cells.region.tolist(), done.notes


def read_regions(states: Any, **options: Any) -> tuple[list[str], str]:
    """The names of states that `read` finds, and what it says about names."""
    truth = pgsr.read({"state": states, "size": [1] * len(states)}, ["state"], size="size", max_size=2, **options)
    return [path[-1] for path in truth.hierarchy.paths], truth.about.partition("sizes by size")[2].lstrip(", ")


def counted_regions(nations: list[str], groups: list[str]) -> tuple[list[str], str]:
    """The counts of one group per state where names of nations and of groups are spelled like this, and the note."""
    homes = pd.DataFrame({"group": ["g", "h"], "nation": nations, "state": ["GA", APART]})
    people = pd.DataFrame({"group": groups})
    levels = Levels(homes, ("nation", "state"))
    truth = count_groups(Entities(people, None), Groups(homes, region=("nation", "state")), levels, max_size=2)
    return ["/".join(path) for path in truth.hierarchy.paths], truth.about


def values_of(values: Any) -> Any:
    return pgsr.reconcile({"n": ["US", "US"], "k": [1, 2], "v": values}, ["n"], "v", size="k").answer.tolist()


def sizes_of(sizes: Any) -> Any:
    return pgsr.reconcile({"n": ["US", "US"], "k": sizes, "v": [1, 2]}, ["n"], "v", size="k").found.sizes


DAYS = np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]")
US = ["US"] * 4
SEVERAL = "1 regions have several rows, such as 2 of 'US/{}'; they count as measurements of one number; delete "
SEVERAL += "repetitions, and if they are of several sizes or kinds, name the column of these by size="

NAMES: tuple[Case, ...] = (
    Case("reading times as values", lambda: values_of(DAYS), words="'v' holds datetime, no numbers"),
    Case("reading times of pandas as values", lambda: values_of(pd.Series(DAYS)), words="holds datetime, no numbers"),
    Case("reading durations as values", lambda: values_of(DAYS - DAYS[0]), words="'v' holds timedelta, no numbers"),
    Case("reading truths as values", lambda: values_of(np.array([True, False])), words="holds boolean, no numbers"),
    Case("a truth among values", lambda: values_of([True, 2]), words="holds boolean and number, no numbers"),
    Case("a truth among names", lambda: sizes_of([1, True]), words="mixes kinds of values, boolean and number"),
    Case("times as kinds", lambda: sizes_of(DAYS), right=("2020-01-01", "2020-01-02")),
    Case("durations as sizes", lambda: sizes_of(DAYS - DAYS[0]), words="'k' has names and holds durations; give text"),
    Case(
        "truths as sizes of groups",
        lambda: pgsr.read({"n": ["US"], "k": np.array([True])}, ["n"], size="k", max_size=2),
        words="'k' holds boolean, no numbers",
    ),
    Case("times as sizes of groups", lambda: pgsr.read({"n": US, "k": np.repeat(DAYS, 2)}, ["n"], size="k", max_size=2),
         words="'k' holds datetime, no numbers"),
    Case("days as regions", lambda: read_regions(DAYS), right=(["(all)", "2020-01-01", "2020-01-02"], "")),
    Case("noon as a region", lambda: read_regions([datetime(2020, 1, 1, 12)]), right=(["2020-01-01T12:00"], "")),
    Case("ids that are large floats", lambda: read_regions([2.0**53, 5.0]), words="real numbers that may be rounded"),
    Case("NFC and NFD", lambda: regions(US[:3], [None, COMPOSED, APART]),
         right=(["US", "US/é"], [SEVERAL.format("é"), r"'e\u0301' and '\xe9' are one name"])),
    Case("a blank at the beginning", lambda: regions(US[:3], [None, "N E", " N E"]),
         right=(["US", "US/N E"], [SEVERAL.format("N E"), "' N E' and 'N E' are one name"])),
    Case("blanks without a width", lambda: regions(["US", "US ", "\u00a0US\u200b"], [None, "GA", "MI"]),
         right=(["US", "US/GA", "US/MI"], [r"'US' and 'US ' and '\xa0US\u200b' are one name"])),
    Case("capitals alone", lambda: regions(US[:3], [None, "GA", "Ga"])[1],
         right=["'GA' and 'Ga' look alike and are several names; if they are one, correct them"]),
    Case("a Cyrillic letter", lambda: regions(US[:3], [None, "GA", "G\u0410"])[1],
         right=[r"'GA' and 'G\u0410' look alike and are several names; if they are one, correct them"]),
    Case("a repeated row", lambda: regions(US, [None, "GA", "MI", "MI"])[1], right=[SEVERAL.format("MI")]),
    Case("NFC and NFD in `read`", lambda: read_regions([COMPOSED, APART, "a "]),
         right=(["(all)", "a", "é"], r"'e\u0301' and '\xe9' are one name")),
    Case("a given tree with blanks", lambda: read_regions(["GA\u00a0"], hierarchy=pgsr.Hierarchy.from_paths([[" GA"]])),
         right=(["GA"], "")),
    Case("blanks in tables", lambda: counted_regions(["US", "US "], ["g", "h\u200b"]),
         right=(["US", "US/GA", "US/é"], "'US' and 'US ' are one name")),
    Case("blanks in a group's id", lambda: counted_regions(US[:2], ["g", "g "]), right=(["US", "US/GA", "US/é"], "")),
    Case("a country under each county",
         lambda: pgsr.read({"county": [*"ab"], "country": US[:2], "k": [1, 1]}, ["county", "country"], size="k",
                           max_size=2).about,
         right="a row per group, regions by county (2) and country (2), sizes by k"),
)  # fmt: skip
"""Names of regions, kinds of numbers, times, trees and what travels."""

SOLVERS: tuple[Case, ...] = ()
"""Arrays, interruptions, packages, limits, releases."""

CASES = TABLES + NAMES + SOLVERS
