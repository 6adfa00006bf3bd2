"""The data sets of the experiments after Fioretto and Van Hentenryck 2019. The paper's own cannot be had."""

from experiments.experiment import DataSet
from pgsr.datasets import census2000, census_like, flights, kuo_taxi, taxi_like
from pgsr.datasets.taxi_like import GROUPS

CENSUS_GROUPS = 117_630_445

CENSUS = DataSet(
    "Census, generated",
    lambda: census_like(regions="counties", max_size=1_000, groups=CENSUS_GROUPS),
    levels=(1, 51, 3_143),
    max_size=1_000,
    groups=CENSUS_GROUPS,
    real=False,
    note="census_like: nation / 51 states / 3,143 counties, the paper's number of groups and N = 1,000",
)

TAXI = DataSet(
    "Taxi 2014, generated",
    taxi_like,
    levels=(1, 6, 263),
    max_size=GROUPS,
    groups=GROUPS,
    real=False,
    note="taxi_like: New York / 6 boroughs / 263 zones, the paper's numbers of groups and pickups, N = 13,282",
)

KUO_TAXI = DataSet(
    "Taxi 2013, real",
    lambda: kuo_taxi(max_size=5_000),
    levels=(1, 2, 28),
    max_size=5_000,
    groups=360_872,
    real=True,
    note="kuo_taxi: Manhattan / 2 halves / 28 neighbourhoods, 2013, K = 5,000",
)

CENSUS_SMALL = DataSet(
    "Census, generated, 51 leaves",
    lambda: census_like(regions="divisions", max_size=50, groups=100_000),
    levels=(1, 9, 51),
    max_size=50,
    groups=100_000,
    real=False,
    note="census_like: nation / 9 divisions / 51 states, K = 50",
)

TAXI_SMALL = DataSet(
    "Taxi 2014, generated, K = 200",
    lambda: taxi_like(max_size=200),
    levels=(1, 6, 263),
    max_size=200,
    groups=GROUPS,
    real=False,
    note="taxi_like with larger sizes counted as 200",
)

FRESH_CENSUS = DataSet(
    "Census, generated anew",
    lambda: census_like(regions="counties", max_size=1_000, groups=CENSUS_GROUPS, seed=2026),
    levels=(1, 51, 3_143),
    max_size=1_000,
    groups=CENSUS_GROUPS,
    real=False,
    note="census_like with a seed that nothing else uses, N = 1,000",
)

FRESH_CENSUS_REDUCED = DataSet(
    "Census, generated anew, K = 100",
    lambda: census_like(regions="counties", max_size=100, groups=CENSUS_GROUPS, seed=2026),
    levels=(1, 51, 3_143),
    max_size=100,
    groups=CENSUS_GROUPS,
    real=False,
    note="the same with larger sizes counted as 100",
)

CENSUS_2000 = DataSet(
    "Census 2000, real",
    census2000,
    levels=(1, 51, 3_141),
    max_size=7,
    groups=105_480_101,
    real=True,
    note="census2000: nation / 51 states / 3,141 counties, sizes 1 to 7 or more",
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
