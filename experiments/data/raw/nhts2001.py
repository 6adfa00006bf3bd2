"""The National Household Travel Survey of 2001: from the public files of households and persons to ours.

Kept are the households with a weight for households whose members all answered, and their persons: this is the
selection of the package VE2001NHTS of VisionEval, whose numbers of households and persons ours are. Answers that were
refused, not known, not ascertained or not asked, which the survey codes by numbers below 0, become missing.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.files import DataFile
from pgsr.experiments.data.nhts2001 import DIVISIONS, HOMES, HOUSEHOLDS, INCOMES, KEY, PERSONS, SIZE
from pgsr.experiments.data.raw.files import member, write_parquet
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd

HOUSEHOLD_FILE, PERSON_FILE, WEIGHT = "hhpub.csv", "perpub.csv", "EXPFLLHH"

DIVISION = dict(enumerate(DIVISIONS, start=1))
"""Census divisions by code."""

INCOME = {code: INCOMES[(code - 1) // 4 if code < 17 else code - 13] for code in range(1, 19)}
"""Classes of income by the code of HHINCTTL: 1 to 16 are steps of 5,000 dollars, 17 up to 100,000, 18 above."""

_SINGLE, _ATTACHED, _DUPLEX, _MULTI, _MOBILE, _DORM, OTHER_HOME = HOMES
HOME = {1: _SINGLE, 2: _DUPLEX, 3: _ATTACHED, 4: _MULTI, 5: _MOBILE, 6: _DORM}
"""Kinds of homes by code; any other code is `OTHER_HOME`."""


def households(raw: Sequence[Path], folder: Path) -> Path:
    """Write nhts2001_households.parquet from HHPUB.csv and PERPUB.csv; a household's size is its number of persons.

    Args:
        raw: folders, zip archives or files that hold both.
        folder: where to write.

    Raises:
        DataError: a file is absent, or lacks a column.
    """
    homes, people = _kept(raw)
    found = _answers(homes, ("Msasize", "Urban", "Urbrur", "Lif_cyc", "Hhvehcnt"))
    found["Census_d"] = homes["CENSUS_D"].map(DIVISION.get)
    found["IncGrp"] = homes["HHINCTTL"].map(INCOME.get)
    found["Hometype"] = homes["HOMETYPE"].map(lambda code: HOME.get(code, OTHER_HOME if code > 0 else None))
    found[SIZE] = people["HOUSEID"].value_counts().reindex(homes["HOUSEID"], fill_value=0).to_numpy()
    return _written(found, folder, HOUSEHOLDS)


def persons(raw: Sequence[Path], folder: Path) -> Path:
    """Write nhts2001_persons.parquet; arguments as of `households`."""
    people = _kept(raw)[1]
    found = _answers(people, [name for name in PERSONS.whole if name not in ("Worker", "Driver")])
    for name in ("Worker", "Driver"):
        answer = people[name.upper()]
        found[name] = (answer == 1).astype("Int64").mask(~(answer >= 0))
    return _written(found, folder, PERSONS)


def _kept(raw: Sequence[Path]) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Read the households with a weight, and their persons, in upper case as the survey names its columns."""
    homes = _read(raw, HOUSEHOLD_FILE, ["CENSUS_D", "HHINCTTL", "HOMETYPE", WEIGHT, *_raw_names(HOUSEHOLDS.whole)])
    people = _read(raw, PERSON_FILE, _raw_names(PERSONS.whole))
    homes = homes.take(np.flatnonzero(homes[WEIGHT].notna())).reset_index(drop=True)
    kept = np.flatnonzero(people["HOUSEID"].isin(list(homes["HOUSEID"])))
    return homes, people.take(kept).reset_index(drop=True)


def _raw_names(columns: Sequence[str]) -> list[str]:
    return [column.upper() for column in columns if column != SIZE]


def _read(raw: Sequence[Path], file: str, columns: Sequence[str]) -> "pd.DataFrame":
    """Read columns as numbers, and HOUSEID as text of 9 digits."""
    with extra("release"):
        import pandas as pd

    content = member(raw, file)
    try:
        frame = pd.read_csv(BytesIO(content), dtype={"HOUSEID": str}, usecols=["HOUSEID", *columns], low_memory=False)
        frame[list(columns)] = frame[list(columns)].apply(pd.to_numeric)
    except ValueError as fault:
        raise DataError(f"{file} is not the public file of 2001 in CSV ({fault}); download it again") from fault
    frame["HOUSEID"] = frame["HOUSEID"].str.zfill(9)
    return frame


def _answers(frame: "pd.DataFrame", names: Sequence[str]) -> dict[str, Any]:
    """Take these columns under our names, with what was not answered missing, and the key of the household."""
    answers = {name: frame[name.upper()] for name in names}
    return {KEY: frame["HOUSEID"]} | {name: a.where(a >= 0).astype("Int64") for name, a in answers.items()}


def _written(found: dict[str, Any], folder: Path, data: DataFile) -> Path:
    with extra("release"):
        import pandas as pd

    return write_parquet(pd.DataFrame({name: found[name] for name in data.columns}), folder / data.file)
