"""The two linked tables of a population, households and persons: read with every row checked, and written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pgsr import errors
from pgsr.synthesis.data.domain import COUNT, Attribute, Domain, Population, SynthesisError

if TYPE_CHECKING:
    import pandas as pd

    from pgsr.tables.source import Source

    Table = pd.DataFrame | str | os.PathLike[str] | Source


class LinkedTableError(SynthesisError, errors.TableError):
    """An error in a table of households or persons. No message tells a value of the table or counts its rows."""


def read_population(
    households: "Table",
    persons: "Table",
    domain: Domain,
    *,
    household_key: str = "household",
) -> Population:
    """Read the population of two tables whose columns are named after the attributes of the domain.

    Values are compared as text, so that 1, 1.0 and "1" are one value (in CSV files, which hold text, "1.0" is another).
    Other columns are left alone, except that a column COUNT of households is compared with the number of members. Every
    row is taken; what does not fit is refused. How a file is read never depends on its rows.

    Args:
        households, persons: data frames, paths of Parquet or CSV files, or sources of `pgsr.tables` (`Csv` for another
            dialect).
        domain: its attributes name the columns.
        household_key: the column of both tables that links them. The column `role` of persons has the name of the role;
            it is not looked at if the domain has one role only.

    Returns:
        Groups in the order of households, members by role and then in the order of persons.

    Raises:
        TableError: a file that cannot be read, a missing column; a key that is missing or repeated; a missing value or
            one outside the domain; an unknown role; a person without household; a household with more or fewer members
            than the domain allows, of a role or at all, or than its COUNT says.

    Cost: O(N log N) time.

    Example:
        >>> import pandas as pd
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=2)
        >>> homes = pd.DataFrame({"household": ["a", "b"], "area": ["rural", "urban"]})
        >>> people = pd.DataFrame({"household": ["b", "a", "b"], "sex": ["f", "m", "m"]})
        >>> population = read_population(homes, people, domain)
        >>> population.persons.ravel(), population.group_of
        (array([1, 0, 1]), array([0, 1, 1]))
    """
    roles = Attribute("role", tuple(r.name for r in domain.roles))
    with_role = [roles] if len(domain.roles) > 1 else []
    homes = load(households, "households", [household_key, *(a.name for a in domain.group)])
    people = load(persons, "persons", [household_key, *(a.name for a in (*with_role, *domain.individual))])
    codes = [codes_of(homes, a, "households") for a in domain.group]
    own = [codes_of(people, a, "persons") for a in domain.individual]
    role_of = codes_of(people, roles, "persons") if with_role else np.zeros(len(people), np.int64)
    group_of = _link(homes, people, household_key)
    _check_members(domain, group_of, role_of, homes)
    order = np.lexsort((role_of, group_of))
    return Population(
        domain,
        np.column_stack([np.zeros((len(homes), 0), np.int64), *codes]),
        np.column_stack(own)[order],
        group_of[order],
        role_of[order],
    )


def to_tables(population: Population) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Make the tables of households and persons.

    Households have the columns household (their key), attributes and COUNT; persons have household, person (their
    number in it from 1), role and attributes.

    `read_population` reads them back as the same population.

    Raises:
        TableError: an attribute has the name of one of these columns.
    """
    import pandas as pd

    domain = population.domain
    for attribute in (*domain.group, *domain.individual):
        if attribute.name in ("household", "person", "role"):
            raise LinkedTableError(
                f"{attribute.name} is an attribute and a column that links the tables; rename the column"
            )
    keys = np.arange(population.n_groups)
    homes: dict[str, np.ndarray] = {"household": keys}
    for column, attribute in enumerate(domain.group):
        homes[attribute.name] = _values(attribute)[population.groups[:, column]]
    homes[COUNT] = population.sizes
    people: dict[str, np.ndarray] = {"household": keys[population.group_of]}
    people["person"] = 1 + np.arange(population.n_persons) - population.first[population.group_of]
    people["role"] = np.array([r.name for r in domain.roles], object)[population.role_of]
    for column, attribute in enumerate(domain.individual):
        people[attribute.name] = _values(attribute)[population.persons[:, column]]
    return pd.DataFrame(homes), pd.DataFrame(people)


def load(table: "Table", name: str, columns: Sequence[str]) -> "pd.DataFrame":
    """Return a data frame as it is, or read these columns (and COUNT, if it is there) from a source.

    Entries of CSV files are text, and only an empty one is missing unless the source says so: "NA" may be a value.

    Raises:
        TableError: the source cannot be read, or a column is missing.
    """
    import pandas as pd

    from pgsr.tables.frames import read_frame
    from pgsr.tables.source import source

    if not isinstance(table, pd.DataFrame):
        try:
            return read_frame(source(table), name, columns, [COUNT])
        except (errors.TableError, errors.ArgumentError) as fault:
            raise LinkedTableError(str(fault) if str(fault).startswith(name) else f"{name}: {fault}") from None
    missing = [column for column in columns if list(table.columns).count(column) != 1]
    if missing:
        raise LinkedTableError(
            f"{name}: column {missing[0]} is needed once; there are {', '.join(map(str, table.columns))}"
        )
    return table


def codes_of(frame: "pd.DataFrame", attribute: Attribute, name: str) -> np.ndarray:
    """Find the codes of the column that is named after the attribute.

    Raises:
        TableError: a missing value, or one outside the domain.
    """
    column = f"{name}: column {attribute.name}"
    lookup = {text_of(value): code for code, value in enumerate(attribute.values)}
    if len(lookup) < len(attribute):
        raise LinkedTableError(f"{column}: two values of {attribute.values} are the same text; rename one")
    number, distinct = numbered(frame[attribute.name])
    if (number < 0).any():
        raise LinkedTableError(
            f"{column} has rows without a value; give the attribute a value that stands for missing and fill it in"
        )
    codes = np.array([lookup.get(value, -1) for value in distinct], np.int64)[number]
    if (codes < 0).any():
        raise LinkedTableError(
            f"{column} has values outside its domain; the domain has {', '.join(map(str, attribute.values))}: mend the "
            "table, or add values"
        )
    return codes


def numbered(column: Any) -> tuple[np.ndarray, list[str]]:
    """Number the distinct texts of a column of a data frame: the texts, and the number of every value, -1 if missing.

    The text of a value does not depend on other rows. In a column of objects, pandas would take True, 1 and 1.0 for one
    value, namely the first of them.
    """
    import pandas as pd

    if column.dtype != object:
        number, distinct = pd.factorize(column)
        return number, [text_of(value) for value in distinct]
    missing = pd.isna(column.to_numpy(object))
    texts = [None if none else text_of(value) for none, value in zip(missing, column, strict=True)]
    number, distinct = pd.factorize(np.array(texts, object))
    return number, list(distinct)


def text_of(value: object) -> str:
    """Write a value as text, so that a whole number reads the same from integers, floats and text."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _link(homes: "pd.DataFrame", people: "pd.DataFrame", key: str) -> np.ndarray:
    """Find, for every person, the row of the household it belongs to."""
    import pandas as pd

    keys = []
    for name, frame in (("households", homes), ("persons", people)):
        number, distinct = numbered(frame[key])
        if (number < 0).any():
            raise LinkedTableError(f"{name}: key {key} is missing in some rows; give every row its key")
        keys.append(pd.Series(np.array(distinct, object)[number], dtype=object))
    if keys[0].duplicated().any():
        raise LinkedTableError(
            f"households: some rows repeat a key {key}; give every household one row and its own key"
        )
    group_of = pd.Index(keys[0]).get_indexer(pd.Index(keys[1]))
    if (group_of < 0).any():
        raise LinkedTableError(
            f"persons: some rows have a key {key} that no household has; add the households or mend the keys"
        )
    return group_of.astype(np.int64)


def _check_members(domain: Domain, group_of: np.ndarray, role_of: np.ndarray, homes: "pd.DataFrame") -> None:
    sizes = np.bincount(group_of, minlength=len(homes))
    _refuse(sizes == 0 if domain.min_size else sizes < 0, "no members at all")
    _refuse(sizes > domain.max_size, f"more members than M = {domain.max_size}")
    for number, role in enumerate(domain.roles):
        of_role = np.bincount(group_of[role_of == number], minlength=len(homes))
        _refuse(of_role < role.least, f"fewer than {role.least} members of role {role.name}")
        _refuse(of_role > role.most, f"more than {role.most} members of role {role.name}")
    if COUNT in homes.columns:
        stated = [text_of(value) for value in homes[COUNT]]
        differ = np.array([text != str(size) for text, size in zip(stated, sizes, strict=True)], bool)
        _refuse(differ, f"another number of members than its column {COUNT} says")


def _refuse(wrong: np.ndarray, what: str) -> None:
    if wrong.any():
        raise LinkedTableError(f"households: some have {what}; correct the tables or choose another domain")


def _values(attribute: Attribute) -> np.ndarray:
    if all(isinstance(value, int) for value in attribute.values):
        return np.array(attribute.values, np.int64)
    return np.array([str(value) for value in attribute.values], object)


@dataclass(frozen=True)
class Binning:
    """A division of numbers into bins; bin i holds the values x with lower[i] <= x < lower[i + 1].

    Args:
        name: of the column and of the attribute.
        lower: whole numbers, increasing. Labels are those of whole numbers: "5-14"; the last bin is open: "65+".
        missing: label of missing values, which then come last; without it they are refused.

    Example:
        >>> ages = Binning("age", (0, 5, 15, 65), missing="unknown")
        >>> ages.attribute.values
        ('0-4', '5-14', '15-64', '65+', 'unknown')
        >>> ages.codes([4, 5, 70, None])
        array([0, 1, 3, 4])
    """

    name: str
    lower: tuple[int, ...]
    missing: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", tuple(int(bound) for bound in self.lower))
        if not self.lower or any(b <= a for a, b in pairwise(self.lower)):
            raise SynthesisError(f"bins of {self.name} start at {self.lower}; give increasing bounds, at least one")

    @property
    def attribute(self) -> Attribute:
        ends = [*(bound - 1 for bound in self.lower[1:]), None]
        labels = [_label(start, end) for start, end in zip(self.lower, ends, strict=True)]
        return Attribute(self.name, (*labels, *(() if self.missing is None else (self.missing,))))

    def codes(self, values: ArrayLike) -> np.ndarray:
        """Find the code of every value, the number of its bin.

        Raises:
            SynthesisError: a value is no number, is missing without a label for it, or lies outside the bins.
        """
        numbers = self._numbers(values)
        absent = np.isnan(numbers)
        if absent.any() and self.missing is None:
            raise SynthesisError(f"{self.name} is missing in some rows; give missing='...'")
        if (numbers < self.lower[0]).any():
            raise SynthesisError(f"{self.name} is below its bins in some rows; widen the bins, or mend the table")
        return np.where(absent, len(self.lower), np.searchsorted(self.lower, numbers, side="right") - 1)

    def labels(self, values: ArrayLike) -> np.ndarray:
        """Find the label of every value, as a column to put into a table."""
        return np.array(self.attribute.values, object)[self.codes(values)]

    def _numbers(self, values: ArrayLike) -> np.ndarray:
        import pandas as pd

        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            return values.astype(np.float64)
        column = np.asarray(values, object)
        column = np.where(pd.isna(column), np.nan, column)
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError):
            raise SynthesisError(f"{self.name} holds something that is no number; mend the table") from None


def _label(start: int, end: int | None) -> str:
    if end is None:
        return f"{start}+"
    if start == end:
        return str(start)
    return f"{start}-{end}" if start >= 0 else f"{start} to {end}"
