"""Public facts that a release uses: counts of groups that are known beforehand, exactly or within bounds.

A fact costs nothing, since it is public: it stands in the configuration, and nobody may read it off the private table.
Released counts satisfy all facts. Those whom a wrong fact describes are told wrong counts, so a check compares facts
with the noisy values (`pgsr.release.checks.fact_tests`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.algorithms.nearest_within_bounds import nearest_within_bounds
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import path_of_id
from pgsr.data.sizes import Sizes
from pgsr.data.views import View
from pgsr.errors import HierarchyError, ProblemError
from pgsr.problems.conditions import groups, total
from pgsr.problems.conditions.expressions import Condition
from pgsr.problems.conditions.resolved import ProblemCells
from pgsr.problems.conditions.stated import state
from pgsr.problems.problem import Problem
from pgsr.release.publishing.errors import ConfigError

RELATIONS = {"equal": "==", "at_least": ">=", "at_most": "<="}
"""The keys of a fact that hold its number, and what they say."""

LARGEST = 2**50
"""The largest number of a fact, as `pgsr.problems.conditions` has it."""

_WORDS = {"equal": "exactly", "at_least": "at least", "at_most": "at most"}


@dataclass(frozen=True)
class Fact:
    """A public fact about the groups of one region, or of each of several.

    Attributes:
        relation: a key of `RELATIONS`.
        number: of groups, from 0 up.
        region: id of one region, such as "US/GA"; None for several.
        level: name of the level whose regions each have it; None with `region`, or for every region.
        sizes: the first and the last size of the groups that are meant; None for all groups of the region.
        source: where it is known from, in words.

    Raises:
        ConfigError: it says nothing, or what no release can keep.

    Example:
        >>> print(Fact("equal", 412, region="US/GA", sizes=(2, 2), source="published 2024"))
        US/GA: exactly 412 groups of size 2 (published 2024)
    """

    relation: str
    number: int
    region: str | None = None
    level: str | None = None
    sizes: tuple[int, int] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ConfigError(f"a fact has one of the keys {', '.join(RELATIONS)}, and {self.relation!r} is none")
        if type(self.number) is not int or not 0 <= self.number <= LARGEST:
            raise ConfigError(f"{self.relation} is {self.number!r}; write a public whole number from 0 up to 2^50")
        if self.relation == "at_least" and self.number == 0:
            raise ConfigError("at_least = 0 says nothing, for no count is negative; leave the fact out")
        if self.region is not None and self.level is not None:
            raise ConfigError("a fact has the key region or the key level, not both; leave one out")
        for name in ("region", "level", "source"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not (value.isprintable())):
                raise ConfigError(f"{name} is {value!r}; write plain text")
        if self.sizes is not None:
            self._check_sizes(self.sizes)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Fact":
        """Read a fact from the keys of a configuration or a manifest: region, level, size or sizes, source, a number.

        Example:
            >>> Fact.of({"level": "county", "sizes": [51, 100], "equal": 0}).sizes
            (51, 100)
        """
        given = [name for name in RELATIONS if name in fields]
        if len(given) != 1:
            raise ConfigError("a fact has one of the keys equal, at_least and at_most; write one")
        if "size" in fields and "sizes" in fields:
            raise ConfigError("a fact has the key size or the key sizes, not both; leave one out")
        sizes = fields.get("sizes", [fields["size"]] * 2 if "size" in fields else None)
        if sizes is not None and (not isinstance(sizes, list | tuple) or len(sizes) != 2):
            raise ConfigError("sizes of a fact are the first and the last one, such as sizes = [51, 100]")
        both = None if sizes is None else (sizes[0], sizes[1])
        places = {name: fields.get(name) for name in ("region", "level")}
        return cls(given[0], fields[given[0]], **places, sizes=both, source=fields.get("source", ""))

    @property
    def fields(self) -> dict[str, Any]:
        """The keys and values that `of` reads."""
        found: dict[str, Any] = {name: getattr(self, name) for name in ("region", "level") if getattr(self, name)}
        if self.sizes is not None:
            first, last = self.sizes
            found |= {"size": first} if first == last else {"sizes": [first, last]}
        return found | {self.relation: self.number} | ({"source": self.source} if self.source else {})

    @property
    def nothing(self) -> bool:
        """Whether the fact says that there are no such groups."""
        return self.number == 0

    def condition(self, names: Sequence[str], min_size: int) -> Condition:
        """State the fact over counts by excess over `min_size`.

        Args:
            names: of the levels, root first.
            min_size: as in `Terms`.

        Raises:
            ConfigError: the level is none of these, or the region's id is none.
        """
        place: dict[str, Any] = {}
        if self.level is not None:
            if self.level not in names:
                raise ConfigError(
                    f"level = {self.level!r} is none of {', '.join(map(repr, names))}; write one of these"
                )
            place["level"] = list(names).index(self.level)
        if self.region is not None:
            try:
                place["region"] = path_of_id(self.region)
            except HierarchyError as error:
                raise ConfigError(str(error)) from None
        if self.sizes is None:
            side = total(**place)
        else:
            first, last = (size - min_size for size in self.sizes)
            side = groups(**place, size=slice(first, last + 1))
        made = {"equal": side == self.number, "at_least": side >= self.number, "at_most": side <= self.number}
        return made[self.relation]

    def __str__(self) -> str:
        where = self.region or (f"every region of level {self.level}" if self.level else "every region")
        if self.nothing:
            many = "no groups"
        else:
            many = f"{_WORDS[self.relation]} {self.number:,} group{'' if self.number == 1 else 's'}"
        return f"{where}: {many}{self._of_sizes}" + (f" ({self.source})" if self.source else "")

    @property
    def _of_sizes(self) -> str:
        if self.sizes is None:
            return " in all"
        first, last = self.sizes
        return f" of size {first:,}" if first == last else f" of sizes {first:,} to {last:,}"

    def _check_sizes(self, sizes: tuple[int, int]) -> None:
        if any(type(size) is not int or size < 0 for size in sizes):
            raise ConfigError(f"sizes of a fact are {list(sizes)}; write whole numbers from 0 up")
        first, last = sizes
        if first > last:
            raise ConfigError(f"sizes = [{first}, {last}] has no size in it; write the smaller one first")
        if first < last and not (self.nothing and self.relation in ("equal", "at_most")):
            raise ConfigError(
                f"{self.relation} = {self.number} is about the sum over the sizes {first} to {last}, which no "
                "mechanism keeps; write equal = 0, or a fact for each size"
            )


def conditions_of(facts: Sequence[Fact], names: Sequence[str], min_size: int) -> list[Condition]:
    """State facts over counts by excess; the error of one says its number."""
    found = []
    for number, fact in enumerate(facts, 1):
        try:
            found.append(fact.condition(names, min_size))
        except ConfigError as error:
            raise ConfigError(f"[[facts]] number {number}: {error}") from None
    return found


def fact_bounds(
    facts: Sequence[Fact], names: Sequence[str], min_size: int, tree: Hierarchy, n_sizes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find what facts say of every count by excess: the least, 0 or more, and the most, `UNBOUNDED` if there is none.

    Returns:
        two arrays of int64, shape (regions, n_sizes). Facts about all groups of a region bound no single count.

    Example:
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> low, high = fact_bounds([Fact("equal", 4, region="US/GA", sizes=(2, 2))], ("nation", "state"), 1, tree, 3)
        >>> low.tolist(), bool(high[1, 1] == 4)
        ([[0, 0, 0], [0, 4, 0], [0, 0, 0]], True)
    """
    place = ProblemCells(Sizes.alike(tree, n_sizes - 1), View.COUNTS)
    stated = state(conditions_of([fact for fact in facts if fact.sizes is not None], names, min_size), place)
    return np.maximum(stated.lower, 0).reshape(-1, n_sizes), stated.upper.reshape(-1, n_sizes)


def require_possible(
    facts: Sequence[Fact], names: Sequence[str], min_size: int, tree: Hierarchy, n_sizes: int, totals: np.ndarray
) -> None:
    """Raise `ConfigError` unless some counts satisfy all facts and have these public totals.

    Args:
        facts, names, min_size, tree, n_sizes: as in `fact_bounds`.
        totals: public numbers of groups: of every region, shape (regions,), or of the root alone, shape (1,).
    """
    # By size, which sentences name, and not by excess.
    empty = np.zeros((tree.n_regions, n_sizes + min_size), np.int64)
    blank = Problem.of(empty, tree, groups=totals, label="the release")
    if min_size:
        blank = blank.where(groups(size=slice(0, min_size)) == 0)
    for number, condition in enumerate(conditions_of(facts, names, 0), 1):
        try:
            blank = blank.where(condition)
        except ProblemError as error:
            raise ConfigError(f"[[facts]] number {number}: {error}") from None
    reason = blank.contradiction
    if reason is not None:
        raise ConfigError(f"the facts contradict each other, or public numbers of groups: {reason}; correct them")
    if len(totals) == 1:
        return  # the search above finds every contradiction then
    lower, upper = fact_bounds(facts, names, min_size, tree, n_sizes)
    start = tree.sum_up(np.repeat(totals[tree.leaves, None] // n_sizes, n_sizes, axis=1))
    try:
        nearest_within_bounds(tree, start, lower, upper, totals, start_at_y=False)
    except ProblemError:
        raise ConfigError(
            "the facts contradict each other, or public numbers of groups: no counts satisfy all of them; correct them"
        ) from None


def within(counts: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Tell which counts are within their bounds; shape of the arguments, bool."""
    return (lower <= counts) & (counts <= upper)
