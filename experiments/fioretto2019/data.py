"""The data sets of the experiments after Fioretto and Van Hentenryck 2019, whose own data is not available."""

from dataclasses import replace
from functools import partial

from pgsr.datasets import taxi_like
from pgsr.datasets.taxi_like import GROUPS, PICKUPS
from pgsr.experiments.data.census2000 import census2000
from pgsr.experiments.data.packages import flights
from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.causes import cause_on as engine_cause_on
from pgsr.experiments.engine.data import generated_census, real_taxi
from pgsr.experiments.engine.experiment import DataSet
from pgsr.experiments.engine.papers import StandsFor

CENSUS_GROUPS = 117_630_445

TAXI_OF_THE_PAPER = StandsFor(
    "Taxi",
    "the data were not published; 3,973 leaves are printed for 263 zones, N = 13,282 equals the number of groups, and "
    "a taxi works in many zones: sizes and places are generated, only totals are the paper's",
)
CENSUS_OF_THE_PAPER = StandsFor(
    "Census",
    "made by the paper's recipe, whose draws were not published, from households of 2000 scaled to the paper's number "
    "of groups; Puerto Rico is missing, and 7,592 leaves are printed for 3,143 counties",
    by_recipe=True,
)
"""The paper's data sets, and why no printed number can be expected to come out on ours."""

CENSUS = replace(
    generated_census(
        "Census by the recipe, generated",
        "counties",
        1_000,
        CENSUS_GROUPS,
        "census_like, recipe of the paper: nation / 51 states / 3,143 counties, its number of groups, N = 1,000, 50 "
        "outliers in the nation",
        tail="fioretto",
    ),
    stands_for=CENSUS_OF_THE_PAPER,
)

CENSUS_CALIBRATED = generated_census(
    "Census, generated",
    "counties",
    1_000,
    CENSUS_GROUPS,
    "census_like with group quarters, 925 sizes where the paper's recipe gives 78; nation / 51 states / 3,143 counties",
)

CENSUS_SMALL = generated_census(
    "Census, generated, 51 leaves", "divisions", 50, 100_000, "census_like: nation / 9 divisions / 51 states, K = 50"
)

FRESH_CENSUS = generated_census(
    "Census, generated anew",
    "counties",
    1_000,
    CENSUS_GROUPS,
    "census_like with a seed that nothing else uses, N = 1,000",
    seed=2026,
)

FRESH_CENSUS_REDUCED = generated_census(
    "Census, generated anew, K = 100",
    "counties",
    100,
    CENSUS_GROUPS,
    "the same with larger sizes counted as 100",
    seed=2026,
)

TAXI = DataSet(
    "Taxi 2014, generated",
    taxi_like,
    levels=(1, 6, 263),
    max_size=GROUPS,
    groups=GROUPS,
    real=False,
    note="taxi_like: New York / 6 boroughs / 263 zones, the paper's numbers of groups and pickups, N = 13,282",
    smallest_size=1,
    stands_for=TAXI_OF_THE_PAPER,
)

PAIRS = 100 * GROUPS
"""Pairs of a taxi and a zone, if every taxi works in 100 of the 263 zones: assumed."""

TAXI_DENSE = replace(
    TAXI,
    name="Taxi 2014 in pairs, generated",
    load=partial(taxi_like, groups=PAIRS, pickups=PICKUPS),
    groups=PAIRS,
    note="taxi_like: as many pickups in 100 times as many groups, pairs of a taxi and a zone, so that errors stay far "
    "below the largest possible",
)

TAXI_SMALL = replace(
    TAXI,
    name="Taxi 2014, generated, K = 200",
    load=partial(taxi_like, max_size=200),
    max_size=200,
    note="taxi_like with larger sizes counted as 200",
    stands_for=None,
)

KUO_TAXI = real_taxi("Taxi 2013, real", 5_000, "kuo_taxi: Manhattan / 2 halves / 28 neighbourhoods, 2013, K = 5,000")

CENSUS_2000 = DataSet(
    "Census 2000, real",
    census2000,
    levels=(1, 51, 3_141),
    max_size=7,
    groups=105_480_101,
    real=True,
    note="census2000: nation / 51 states / 3,141 counties, sizes 1 to 7 or more",
    smallest_size=1,
)

FLIGHTS = DataSet(
    "Flights 2013, real",
    flights,
    levels=(1, 3),
    max_size=1_000,
    groups=7_941,
    real=True,
    note="flights: aircraft by departures at three airports, K = 1,000",
)

_BY_NAME = {data.name: data for data in list(globals().values()) if isinstance(data, DataSet)}


def cause_on(name: str, declared: Cause = Cause.CLAIM) -> Cause:
    """Find the cause of a verdict on the data set of this name.

    Example:
        >>> str(cause_on(TAXI.name)), str(cause_on(CENSUS.name)), str(cause_on(KUO_TAXI.name))
        ('stand-in data', "paper's claim", "paper's claim")
    """
    return engine_cause_on(_BY_NAME[name].stands_for if name in _BY_NAME else None, declared)


def groups_of(name: str) -> int:
    """Look up the number of groups of the data set of this name.

    Example:
        >>> groups_of(KUO_TAXI.name)
        360872
    """
    return _BY_NAME[name].groups


PAPER_NAMES = {data.name: data.stands_for.name for data in (TAXI, CENSUS) if data.stands_for is not None}
"""The paper's name of the data that one of ours stands for, by our name."""

OTHER_DATA = {of.name: of.why_other for of in (TAXI_OF_THE_PAPER, CENSUS_OF_THE_PAPER)}
"""Why printed numbers are of other data, by the paper's name."""
