"""The National Household Travel Survey of 2001: households and their members, as a population to synthesise."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.files import DataFile, Total
from pgsr.machine.extras import extra
from pgsr.synthesis.data.domain import COUNT, Attribute, Domain, Population, SynthesisError
from pgsr.synthesis.data.linked_tables import Binning, load, read_population

if TYPE_CHECKING:
    import pandas as pd

KEY, SIZE = "Houseid", "n_person_records"

HOUSEHOLDS = DataFile(
    "nhts2001_households.parquet",
    text=(KEY, "Census_d", "IncGrp", "Hometype"),
    whole=(SIZE, "Msasize", "Urban", "Urbrur", "Lif_cyc", "Hhvehcnt"),
    may_miss=("IncGrp", "Hometype", "Lif_cyc"),
    totals=(Total("households", 60_521), Total("persons", 144_884, of=(SIZE,))),
    content="b207b2f902247410188c562563c729167ac893077dbe88d8eff6279a0b9eb489",
)
PERSONS = DataFile(
    "nhts2001_persons.parquet",
    text=(KEY,),
    whole=("R_age", "R_sex", "Worker", "Driver", "Usepubtr", "Nwalktrp"),
    may_miss=("R_age", "R_sex", "Worker", "Driver", "Usepubtr", "Nwalktrp"),
    totals=(Total("persons", 144_884), Total("households", 60_521, distinct=KEY)),
    content="fa4756ac413acc8cc463c28131ba2b430f0b15cb0cdc36f776ed328c9a7715bf",
)
MISSING = "missing"
"""The value of what a household or person did not report, or was not asked."""

MAX_SIZE, REDUCED_MAX_SIZE = 14, 3


def nhts2001(folder: str | os.PathLike[str] | None = None, *, reduced: bool = False) -> Population:
    """Read households and the members who have a record: 60,521 households, 144,884 persons, M = 14.

    The size of a household is the number of its records, which in some differs from the size it reported. What is
    missing is a value of its own. The attributes, of households then of persons, with their numbers of values:

    - in full: division 9, msa size 6, urban 4, income 7, home 8, life cycle 11, vehicles 5; age 9, sex 3, worker 3,
      driver 3, transit 3, walks 5.
    - `reduced`: area 2, vehicles 2; age 4, sex 3, worker 3, and M = 3: 36,552 kinds of households when the order of
      members does not count, few enough to list. The 12,195 households of 4 to 14 members are left out, as
      construction of a benchmark: a release could not do that without paying for it.

    Args:
        folder: holds nhts2001_households.parquet and nhts2001_persons.parquet; by default the folder that PGSR_DATA
            names.
        reduced: merge categories and leave out large households.

    Raises:
        DataError: no such folder or file, or a file with other columns or values.

    Source: U.S. Department of Transportation, 2001 National Household Travel Survey (public domain).
    """
    paths = HOUSEHOLDS.path(folder), PERSONS.path(folder)
    try:
        homes = load(paths[0], "households", HOUSEHOLDS.columns)
        people = load(paths[1], "persons", PERSONS.columns)
        if reduced:
            small = homes[SIZE].to_numpy() <= REDUCED_MAX_SIZE
            homes = homes.take(np.flatnonzero(small))
            people = people.take(np.flatnonzero(people[KEY].isin(list(homes[KEY]))))
        households, of_group = _reduced_households(homes) if reduced else _full_households(homes)
        persons, individual = _reduced_persons(people) if reduced else _full_persons(people)
        households |= {KEY: homes[KEY].to_numpy(object), COUNT: homes[SIZE].to_numpy(np.int64)}
        persons |= {KEY: people[KEY].to_numpy(object)}
        domain = Domain.plain(of_group, individual, REDUCED_MAX_SIZE if reduced else MAX_SIZE)
        return read_population(_frame(households), _frame(persons), domain, household_key=KEY)
    except SynthesisError as fault:
        raise DataError(f"{paths[0].name} or {paths[1].name} is not the file expected: {fault}") from fault


_SEX = {1: "male", 2: "female"}
_YES_OR_NO = {1: "yes", 0: "no"}
DIVISIONS = (
    "New England",
    "Middle Atlantic",
    "East North Central",
    "West North Central",
    "South Atlantic",
    "East South Central",
    "West South Central",
    "Mountain",
    "Pacific",
)
INCOMES = ("0to20K", "20Kto40K", "40Kto60K", "60Kto80K", "80Kto100K", "100KPlus")
HOMES = ("Single Family", "Attached", "Duplex", "Multi-family", "Mobile Home", "Dorm", "Other")

Columns = dict[str, np.ndarray]


def _full_households(homes: "pd.DataFrame") -> tuple[Columns, list[Attribute]]:
    vehicles = Binning("vehicles", (0, 1, 2, 3, 4))
    columns = {
        "division": _recoded(homes, "Census_d"),
        "msa size": _recoded(homes, "Msasize"),
        "urban": _recoded(homes, "Urban"),
        "income": _recoded(homes, "IncGrp"),
        "home": _recoded(homes, "Hometype"),
        "life cycle": _recoded(homes, "Lif_cyc"),
        "vehicles": vehicles.labels(homes["Hhvehcnt"].to_numpy(object)),
    }
    return columns, [
        Attribute("division", DIVISIONS),
        Attribute("msa size", tuple(range(1, 7))),
        Attribute("urban", tuple(range(1, 5))),
        Attribute("income", (*INCOMES, MISSING)),
        Attribute("home", (*HOMES, MISSING)),
        Attribute("life cycle", (*range(1, 11), MISSING)),
        vehicles.attribute,
    ]


def _full_persons(people: "pd.DataFrame") -> tuple[Columns, list[Attribute]]:
    age = Binning("age", (0, 5, 15, 20, 30, 45, 55, 65), missing=MISSING)
    walks = Binning("walks", (0, 1, 4, 8), missing=MISSING)
    columns = {
        "age": age.labels(people["R_age"].to_numpy(object)),
        "sex": _recoded(people, "R_sex", _SEX),
        "worker": _recoded(people, "Worker", _YES_OR_NO),
        "driver": _recoded(people, "Driver", _YES_OR_NO),
        "transit": _recoded(people, "Usepubtr", {1: "yes", 2: "no"}),
        "walks": walks.labels(people["Nwalktrp"].to_numpy(object)),
    }
    yes_or_no = [Attribute(name, ("yes", "no", MISSING)) for name in ("worker", "driver", "transit")]
    return columns, [age.attribute, Attribute("sex", ("female", "male", MISSING)), *yes_or_no, walks.attribute]


def _reduced_households(homes: "pd.DataFrame") -> tuple[Columns, list[Attribute]]:
    vehicles = Binning("vehicles", (0, 2))
    columns = {
        "area": _recoded(homes, "Urbrur", {1: "urban", 2: "rural"}),
        "vehicles": vehicles.labels(homes["Hhvehcnt"].to_numpy(object)),
    }
    return columns, [Attribute("area", ("urban", "rural")), vehicles.attribute]


def _reduced_persons(people: "pd.DataFrame") -> tuple[Columns, list[Attribute]]:
    age = Binning("age", (0, 18, 65), missing=MISSING)
    columns = {
        "age": age.labels(people["R_age"].to_numpy(object)),
        "sex": _recoded(people, "R_sex", _SEX),
        "worker": _recoded(people, "Worker", _YES_OR_NO),
    }
    three = [Attribute("sex", ("female", "male", MISSING)), Attribute("worker", ("yes", "no", MISSING))]
    return columns, [age.attribute, *three]


def _recoded(frame: "pd.DataFrame", column: str, names: Mapping[int, str] = MappingProxyType({})) -> np.ndarray:
    """Replace codes by names, missing ones by MISSING; a code without a name stays, for the reader to refuse."""
    with extra("release"):
        import pandas as pd

    number, distinct = pd.factorize(frame[column])
    return np.array([*(names.get(value, value) for value in distinct), MISSING], object)[number]


def _frame(columns: Columns) -> "pd.DataFrame":
    with extra("release"):
        import pandas as pd

    return pd.DataFrame(columns)
