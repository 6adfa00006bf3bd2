"""The American Community Survey of 2019, New York, from an extract of IPUMS USA, as a population to synthesise."""

import os
from enum import StrEnum

from pgsr.datasets.parameters import one_of
from pgsr.errors import DataError
from pgsr.experiments.data.files import DataFile
from pgsr.experiments.data.ipums import Extract, read_ipums
from pgsr.synthesis.data.binning import Binning
from pgsr.synthesis.data.domain import Attribute, Domain, SynthesisError

FILE = DataFile(
    "ipums_acs2019_ny.csv",
    whole=("SERIAL", "PERNUM", "RELATE", "OWNERSHP", "HHINCOME", "AGE", "SEX", "RACE", "MARST", "EDUC", "EMPSTAT"),
)


class Reading(StrEnum):
    """A reading of the extract, after the three data sets of Liu and Wu 2022.

    FULL: households of up to 10 members. REDUCED: fewer and coarser attributes, up to 3 members, so that all kinds of
    households can be listed. RELATED: a head, perhaps a spouse, and up to 4 children.
    """

    FULL = "full"
    REDUCED = "reduced"
    RELATED = "related"


def acs2019(kind: Reading | str = Reading.FULL, folder: str | os.PathLike[str] | None = None) -> Extract:
    """Read households and persons of New York in 2019 from a rectangular extract of IPUMS USA.

    The paper does not print its attributes or sizes, so these are ours. Households that do not fit are left out, as
    construction of a benchmark: a release could not do that without paying for it.

    - full: tenure (OWNERSHP) 3, income (HHINCOME, in bins) 7; age 9, SEX 2, RACE 9, MARST 6, EDUC 12, EMPSTAT 4.
    - reduced: tenure 3, income 3; age 4, SEX 2, EMPSTAT 4; M = 3.
    - related: as in full, without RACE; M = 6.

    Args:
        kind: which of the three.
        folder: holds ipums_acs2019_ny.csv, a row per person with the columns SERIAL, PERNUM, RELATE, OWNERSHP,
            HHINCOME, AGE, SEX, RACE, MARST, EDUC and EMPSTAT in general codes; by default the folder that PGSR_DATA
            names.

    Returns:
        The population, and how many households were left out, and why.

    Raises:
        DataError: no such folder or file, or a file with other columns or codes.

    Source: IPUMS USA, University of Minnesota, its codes of these variables; the sample ACS 2019 is to be asked for
    there, and may not be passed on.
    """
    kind, path = one_of("kind", kind, tuple(Reading)), FILE.path(folder)
    reduced = kind is Reading.REDUCED
    income = Binning("HHINCOME", _LOW_INCOMES if reduced else _INCOMES)
    age = Binning("AGE", _FEW_AGES if reduced else _AGES, last=_OLDEST)
    names = {Reading.FULL: ("SEX", "RACE", "MARST", "EDUC", "EMPSTAT"), Reading.REDUCED: ("SEX", "EMPSTAT"),
             Reading.RELATED: ("SEX", "MARST", "EDUC", "EMPSTAT")}[kind]  # fmt: skip
    homes = [Attribute("OWNERSHP", tuple(range(3))), income.attribute]
    people = [age.attribute, *(Attribute(name, tuple(_CODES[name])) for name in names)]
    if kind is Reading.RELATED:
        domain = Domain.household(homes, people, max_children=4)
    else:
        domain = Domain.plain(homes, people, max_size=3 if reduced else 10)
    try:
        return read_ipums(path, domain, bins=[income, age], leave_out=True)
    except SynthesisError as fault:
        raise DataError(f"{path} is not the extract expected: {fault}") from fault


_CODES = {"SEX": range(1, 3), "RACE": range(1, 10), "MARST": range(1, 7), "EDUC": range(12), "EMPSTAT": range(4)}
"""General codes of IPUMS USA, those for "not applicable" included."""

_NO_INCOME = 9_999_999
"""HHINCOME of group quarters, which have none; it has a bin of its own, the last."""

_LOWEST = -1_000_000
"""Below any loss that the survey codes."""

_INCOMES = (_LOWEST, 1, 25_000, 50_000, 100_000, 200_000, _NO_INCOME)
_LOW_INCOMES = (_LOWEST, 50_000, _NO_INCOME)
_AGES, _FEW_AGES, _OLDEST = (0, 5, 15, 20, 30, 45, 55, 65, 80), (0, 18, 40, 65), 135
