"""The reader of rectangular extracts like those of IPUMS: one row per person, with household columns repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.synthesis.data.binning import Binning
from pgsr.synthesis.data.domain import Domain, Population
from pgsr.synthesis.data.linked_tables import LinkedTableError, load, numbered, read_population

if TYPE_CHECKING:
    from pgsr.synthesis.data.linked_tables import Table

RELATE: Mapping[str, str] = MappingProxyType({"1": "head", "2": "spouse", "3": "child"})
"""Codes of IPUMS USA's RELATE that have a role; 4 to 13 are other relatives and non-relatives."""


class Misfit(StrEnum):
    """A reason why a household is not in the domain; of several, the first is reported."""

    OTHER_RELATION = "a member whose relation has no role"
    TOO_MANY = "more members of a role than the domain allows"
    TOO_FEW = "fewer members of a role than the domain needs"


@dataclass(frozen=True)
class Extract:
    """The population that was read, and the households that were left out.

    Attributes:
        population: the households that fit the domain.
        left_out: numbers of households and of their persons by reason; both 0 where nothing was left out.
    """

    population: Population
    left_out: Mapping[Misfit, tuple[int, int]]


def read_ipums(
    extract: "Table",
    domain: Domain,
    *,
    bins: Sequence[Binning] = (),
    leave_out: bool = False,
) -> Extract:
    """Read households and persons of a rectangular extract with columns SERIAL, PERNUM and, for roles, RELATE.

    Args:
        extract: data frame, path of a Parquet or CSV file, or source of `pgsr.tables`;
            columns are called like the attributes of the domain.
        domain: of one role (RELATE is then not looked at), or of head, spouse and child.
        bins: of numeric columns, by their names; other columns hold the values of their attribute.
        leave_out: leave out households that do not fit the domain, and report how many. Whose household is left out
            depends on the data: do it before the analysis of privacy, as construction of a benchmark.

    Raises:
        SynthesisError: a binned value is no number or outside its bins.
        TableError: a column is missing; SERIAL and PERNUM repeat; a household column differs between members; a
            household does not fit and `leave_out` is False; or what `read_population` refuses.

    Source: IPUMS USA, variables SERIAL, PERNUM, RELATE; Liu & Wu 2022, section 6 for heads, spouses and children.
    """
    import pandas as pd

    with_roles = len(domain.roles) > 1
    of_homes = [a.name for a in domain.group]
    columns = ["SERIAL", "PERNUM", *(["RELATE"] if with_roles else []), *of_homes]
    columns += [a.name for a in domain.individual]
    frame = load(extract, "extract", columns)
    frame = frame.assign(**{b.name: b.labels(frame[b.name].to_numpy(object)) for b in bins})
    frame = pd.DataFrame({column: _texts(frame[column]) for column in columns}, dtype=object)
    for column in columns[:3] if with_roles else columns[:2]:
        _refuse(pd.isna(frame[column].to_numpy(object)), f"no {column}")
    _refuse(frame.duplicated(["SERIAL", "PERNUM"]).to_numpy(bool), "the SERIAL and PERNUM of an earlier row")

    home_of = pd.factorize(frame["SERIAL"])[0]  # in the order of their first rows
    first = np.unique(home_of, return_index=True)[1]
    for column in of_homes:
        value = pd.factorize(frame[column])[0]
        _refuse(value != value[first[home_of]], f"another {column} than the first row of the same SERIAL")
    role_of = _roles(frame["RELATE"].to_numpy(object), domain) if with_roles else np.zeros(len(frame), np.int64)
    misfit = _misfits(domain, home_of, role_of, len(first))
    left_out = {why: (int((misfit == why).sum()), int((misfit[home_of] == why).sum())) for why in Misfit}
    if (misfit != "").any() and not leave_out:
        raise LinkedTableError(
            "extract: some households do not fit the domain; choose another domain, or leave them out with "
            "leave_out=True, before any analysis of privacy, which tells why in `left_out`"
        )
    kept = misfit == ""
    names = np.array([role.name for role in domain.roles], object)
    persons = frame.assign(role=names[role_of]).take(np.flatnonzero(kept[home_of]))
    return Extract(read_population(frame.take(first[kept]), persons, domain, household_key="SERIAL"), left_out)


def _refuse(wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        raise LinkedTableError(f"extract: some rows have {what}; correct the extract")


def _texts(column: Any) -> np.ndarray:
    """Turn every value into text, and a missing one into None."""
    number, distinct = numbered(column)
    return np.array([*distinct, None], object)[number]


def _roles(codes: np.ndarray, domain: Domain) -> np.ndarray:
    """Find the numbers of roles; -1 for a relation that has none."""
    numbers = {role.name: number for number, role in enumerate(domain.roles)}
    unknown = set(RELATE.values()) - numbers.keys()
    if unknown:
        raise LinkedTableError(f"roles: {min(unknown)} is no role of the domain, which has {', '.join(numbers)}")
    # 1, 1.0, "1" and "01" are one code.
    texts = [code.lstrip("0") or "0" for code in codes]
    return np.array([numbers[RELATE[text]] if text in RELATE else -1 for text in texts], np.int64)


def _misfits(domain: Domain, home_of: np.ndarray, role_of: np.ndarray, n_homes: int) -> np.ndarray:
    """Find the reason why each household does not fit; "" if it does."""
    misfit = np.full(n_homes, "", object)
    for number, role in enumerate(domain.roles):
        of_role = np.bincount(home_of[role_of == number], minlength=n_homes)
        misfit[(of_role < role.least) & (misfit == "")] = Misfit.TOO_FEW
        misfit[of_role > role.most] = Misfit.TOO_MANY
    misfit[home_of[role_of < 0]] = Misfit.OTHER_RELATION
    return misfit
