"""The expressions and comparisons that a modeller writes, before they meet a hierarchy."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy  # which imports its submodules when they are used

from pgsr.data.hierarchy import Path
from pgsr.data.region_ids import region_id
from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.problems.conditions.arguments import (
    checked_factor,
    checked_numbers,
    checked_regions,
    checked_size,
    index_of,
    size_text,
)
from pgsr.problems.conditions.coefficients import (
    ProblemCells,
    Resolved,
    matched,
    require_products,
    rows_of,
    without_zeros,
)

if TYPE_CHECKING:
    import scipy.sparse


class Expression(ABC):
    """A linear expression over cells, with one entry for every selected cell or region, or one alone.

    `+` and `-` go entry by entry, and one entry alone is repeated as often as needed; `*` takes an integer; `.sum()`
    adds the entries up. Numbers may be one, a list with one per entry, or an array with a row per region and a column
    per size, where all these regions have as many sizes. A comparison by `==`, `<=` or `>=` is a `Condition`, again
    entry by entry.

    Example:
        >>> cells(region=("US", "GA"), size=1) >= 2 * cells(region=("US", "GA"), size=2)
        Condition(cells(US/GA, 1) >= 2 cells(US/GA, 2))
        >>> (cells(size=slice(0, 3)).sum() + 4 <= 10).name
        'sum(cells(every region, 0:3)) + 4 <= 10'
    """

    __array_ufunc__ = None  # an array on the left leaves the operation to the expression
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @property
    @abstractmethod
    def name(self) -> str:
        """The expression as a modeller would read it."""

    @abstractmethod
    def resolve(self, place: ProblemCells) -> Resolved:
        """Find the cells of this expression.

        Raises:
            ProblemError: a region, level or size is not there, or entries are of different numbers.
        """

    def sum(self) -> "Expression":
        """Add up all entries."""
        return _Sum(self)

    def __add__(self, other: Any) -> "Expression":
        return _Plus(self, 1, _expression(other))

    def __radd__(self, other: Any) -> "Expression":
        if isinstance(other, int) and not isinstance(other, bool) and other == 0:  # where Python's sum starts
            return self
        return _Plus(_expression(other), 1, self)

    def __sub__(self, other: Any) -> "Expression":
        return _Plus(self, -1, _expression(other))

    def __rsub__(self, other: Any) -> "Expression":
        return _Plus(_expression(other), -1, self)

    def __mul__(self, factor: Any) -> "Expression":
        return _Times(checked_factor(factor), self)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> NoReturn:
        raise ProblemError(f"{self.name} / ... is no integer expression; multiply the other side through instead")

    __floordiv__ = __truediv__

    def __neg__(self) -> "Expression":
        return _Times(-1, self)

    def __eq__(self, other: Any) -> "Condition":  # pyright: ignore[reportIncompatibleMethodOverride]
        return Condition(self, "==", _expression(other))

    def __le__(self, other: Any) -> "Condition":
        return Condition(self, "<=", _expression(other))

    def __ge__(self, other: Any) -> "Condition":
        return Condition(self, ">=", _expression(other))

    def __ne__(self, other: Any) -> NoReturn:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise ProblemError(f"{self.name} != ... leaves no convex set of points; state conditions by ==, <= or >=")

    def __lt__(self, other: Any) -> NoReturn:
        raise ProblemError(f"{self.name} < ... is no closed condition; write <=, for integers with one less")

    def __gt__(self, other: Any) -> NoReturn:
        raise ProblemError(f"{self.name} > ... is no closed condition; write >=, for integers with one more")

    def __or__(self, other: Any) -> NoReturn:
        raise ProblemError(
            f"{self.name} stands beside |, which binds before comparisons; for a choice between conditions write "
            "either(a, b), from pgsr.problems.conditions"
        )

    __ror__ = __and__ = __rand__ = __or__

    def __iter__(self) -> NoReturn:
        raise ProblemError(f"{self.name} has no entries before it meets a problem; for their sum write .sum()")

    def __bool__(self) -> NoReturn:
        raise ProblemError(f"{self.name} is an expression, neither true nor false; compare it by ==, <= or >=")

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison of two expressions, entry by entry, which `Problem.where` takes.

    Example:
        >>> condition = total(region=("US", "MI")) >= 1_000
        >>> condition.name
        'total(US/MI) >= 1,000'
    """

    left: Expression
    relation: str
    right: Expression

    @property
    def name(self) -> str:
        """The condition as a modeller would read it."""
        return f"{self.left.name} {self.relation} {self.right.name}"

    def __or__(self, other: Any) -> NoReturn:
        raise ProblemError(
            f"{self.name} | ... is no condition; for a choice write either(a, b), from pgsr.problems.conditions, with "
            "both conditions as they are"
        )

    def __and__(self, other: Any) -> NoReturn:
        raise ProblemError(f"{self.name} & ... is no condition; where(a, b) states both")

    def __bool__(self) -> NoReturn:
        raise ProblemError(
            f"{self.name} is a condition, neither true nor false; state 'a <= b <= c' as two conditions, and join "
            "conditions by commas, not by 'and'"
        )

    def __repr__(self) -> str:
        return f"Condition({self.name})"


def cells(
    region: Sequence[Any] | None = None, *, size: "int | slice | None" = None, level: int | None = None
) -> Expression:
    """Select cells, the unknowns of the problem: numbers of groups in M_H, cumulative counts in M_c.

    Args:
        region: its path of names from the root, `("US", "GA")`, or a list of paths; every region if None.
        size: one size, which all these regions have, or a slice of sizes as Python counts: `slice(0, 3)` is the sizes
            0, 1, 2, without 3; what lies beyond a region's K is cut off. Every size if None.
        level: the regions of one level, 0 the root's; not together with `region`.

    Returns:
        An expression with one entry per cell, region by region.

    Raises:
        ProblemError: an argument is of another kind, or negative.

    Example:
        >>> cells(region=("US", "GA"), size=3) == 412
        Condition(cells(US/GA, 3) == 412)
    """
    return _Selection("cells", *checked_regions(region, level), checked_size(size))


def groups(
    region: Sequence[Any] | None = None, *, size: "int | slice | None" = None, level: int | None = None
) -> Expression:
    """Select numbers of groups of a size, in either view: in cumulative counts, differences of two cells.

    Arguments and errors are those of `cells`.

    Example:
        >>> groups(level=0, size=slice(5, None)) <= 20
        Condition(groups(level 0, 5:) <= 20)
    """
    return _Selection("groups", *checked_regions(region, level), checked_size(size))


def total(region: Sequence[Any] | None = None, *, level: int | None = None) -> Expression:
    """Select numbers of groups of regions, over all sizes; one entry per region.

    Arguments and errors are those of `cells`; without any it is the total of every region, each by itself.

    Example:
        >>> total(region=("US", "MI")) >= 1_000
        Condition(total(US/MI) >= 1,000)
    """
    return _Selection("total", *checked_regions(region, level), None)


def entities(region: Sequence[Any] | None = None, *, level: int | None = None) -> Expression:
    """Select numbers of entities of regions, persons where groups are households; one entry per region.

    A group of size s counts s times, in either view; groups of more than K entities count K, as all sizes beyond K do,
    with the K of the region's own level. Where all levels have the same K, what holds at the lowest regions follows
    above them. Arguments and errors are those of `total`.

    Example:
        >>> entities(region=("US", "MI")) == 2_500
        Condition(entities(US/MI) == 2,500)
    """
    return _Selection("entities", *checked_regions(region, level), None)


@dataclass(frozen=True, eq=False, repr=False)
class _Selection(Expression):
    """The cells, groups, totals or entities of some regions and sizes."""

    kind: str
    regions: tuple[Path, ...] | None
    level: int | None
    size: "int | slice | None"

    @property
    def name(self) -> str:
        if self.regions is not None:
            where = ", ".join(map(region_id, self.regions))
            where = where if len(self.regions) == 1 else f"[{where}]"
        else:
            where = "every region" if self.level is None else f"level {self.level}"
        return f"{self.kind}({where})" if self.is_of_regions else f"{self.kind}({where}, {size_text(self.size)})"

    @property
    def is_of_regions(self) -> bool:
        """Whether it has one entry per region, over all sizes."""
        return self.kind in ("total", "entities")

    def resolve(self, place: ProblemCells) -> Resolved:
        tree, regions = place.hierarchy, self._regions(place)
        chosen, coefficients = self._of_a_region(place)
        # Of every entry, or term of a region's entry, its region and its size.
        region, size = np.repeat(regions, len(chosen)), np.tile(chosen, len(regions))
        data, one = np.tile(coefficients, len(regions)), np.ones(len(region), np.int64)
        cell, width = place.sizes.first_cell[region] + size, np.full(len(regions), len(chosen))
        matrix = rows_of(cell, data, width if self.is_of_regions else one, place)
        if self.kind == "groups" and place.view is View.CUMULATIVE:
            matrix = scipy.sparse.csr_array(matrix - rows_of(cell - (size > 0), one * (size > 0), one, place))
        written = cache(lambda r: region_id(tree.paths[r]))  # rows may be millions, regions are thousands

        def names(entries: np.ndarray) -> list[str]:
            if self.is_of_regions:
                return [f"{self.kind}({written(r)})" for r in regions[entries].tolist()]
            where = region[entries].tolist(), size[entries].tolist()
            return [f"{self.kind}({written(r)}, {s})" for r, s in zip(*where, strict=True)]

        n = len(matrix.indptr) - 1
        shape = (n, 1) if self.is_of_regions else (len(regions), len(chosen))
        return Resolved(without_zeros(matrix), np.zeros(n, np.int64), names, shape)

    def _of_a_region(self, place: ProblemCells) -> tuple[np.ndarray, np.ndarray]:
        """The sizes that are selected in every region, and what their cells count.

        With cumulative counts c, c[s] - c[s - 1] groups have size s. So sum over s of s (c[s] - c[s - 1]) = K c[K] less
        all cells before it.
        """
        sizes = np.arange(place.sizes.max_sizes[0] + 1)
        if not self.is_of_regions:
            chosen = self._sizes(place)
            return chosen, np.ones_like(chosen)
        coefficients = np.ones_like(sizes) if self.kind == "total" else sizes
        if place.view is View.CUMULATIVE:
            coefficients = coefficients - np.append(coefficients[1:], 0)
        used = np.flatnonzero(coefficients)
        return used, coefficients[used]

    def _regions(self, place: ProblemCells) -> np.ndarray:
        tree = place.hierarchy
        if self.regions is not None:
            return np.array([index_of(tree, path) for path in self.regions])
        if self.level is None:
            return np.arange(tree.n_regions)
        if self.level >= tree.n_levels:
            raise ProblemError(f"{self.name}: levels run 0..{tree.n_levels - 1}, 0 is the root's; give one of these")
        return np.arange(*tree.level(self.level).indices(tree.n_regions))

    def _sizes(self, place: ProblemCells) -> np.ndarray:
        largest = place.sizes.max_sizes[0]
        if isinstance(self.size, int) and self.size > largest:
            raise ProblemError(f"{self.name}: sizes run 0..{largest:,}; give one of these")
        if isinstance(self.size, int):
            return np.array([self.size])
        sizes = np.arange(largest + 1)[self.size if self.size is not None else slice(None)]
        if not len(sizes):
            raise ProblemError(
                f"{self.name} selects no size of 0..{largest:,}; a slice ends before its last number, so one "
                "size s is slice(s, s + 1)"
            )
        return sizes


@dataclass(frozen=True, eq=False, repr=False)
class _Number(Expression):
    """A number, one number per entry, or a table of numbers, row by row, of a shape."""

    values: np.ndarray
    shape: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return f"{int(self.values[0]):,}" if len(self.values) == 1 else f"{len(self.values):,} numbers"

    def resolve(self, place: ProblemCells) -> Resolved:
        nothing = scipy.sparse.csr_array((len(self.values), place.sizes.n_cells), dtype=np.int64)
        written = lambda entries: [f"{value:,}" for value in self.values[entries].tolist()]  # noqa: E731
        return Resolved(nothing, self.values, written, self.shape, self.shape is not None)


@dataclass(frozen=True, eq=False, repr=False)
class _Plus(Expression):
    """The sum or difference of two expressions."""

    left: Expression
    sign: int
    right: Expression

    @property
    def name(self) -> str:
        right = f"({self.right.name})" if self.sign < 0 and isinstance(self.right, _Plus) else self.right.name
        return f"{self.left.name} {_sign(self.sign)} {right}"

    def resolve(self, place: ProblemCells) -> Resolved:
        left, right = matched(self.left.resolve(place), self.right.resolve(place), self.name)
        matrix = left.matrix + right.matrix if self.sign > 0 else left.matrix - right.matrix
        added = self.sign * right.constant

        def names(entries: np.ndarray) -> list[str]:
            first = left.names(entries)
            if isinstance(self.right, _Number):
                pairs = zip(first, added[entries].tolist(), strict=True)
                return [f"{name} {_sign(number)} {abs(number):,}" for name, number in pairs]
            second = right.names(entries)
            if self.sign < 0 and isinstance(self.right, _Plus):
                second = [f"({name})" for name in second]
            return [f"{a} {_sign(self.sign)} {b}" for a, b in zip(first, second, strict=True)]

        shape = left.shape if right.shape in (None, left.shape) else right.shape if left.shape is None else None
        is_array = left.is_array or right.is_array
        return Resolved(without_zeros(scipy.sparse.csr_array(matrix)), left.constant + added, names, shape, is_array)


@dataclass(frozen=True, eq=False, repr=False)
class _Times(Expression):
    """An integer times an expression."""

    factor: int
    inner: Expression

    @property
    def name(self) -> str:
        return _times(self.factor, f"({self.inner.name})" if isinstance(self.inner, _Plus) else self.inner.name)

    def resolve(self, place: ProblemCells) -> Resolved:
        inner = self.inner.resolve(place)
        require_products(inner, self.factor)
        matrix = without_zeros(scipy.sparse.csr_array(inner.matrix * self.factor))

        def names(entries: np.ndarray) -> list[str]:
            brackets = isinstance(self.inner, _Plus)
            return [_times(self.factor, f"({name})" if brackets else name) for name in inner.names(entries)]

        return Resolved(matrix, inner.constant * self.factor, names, inner.shape, inner.is_array)


@dataclass(frozen=True, eq=False, repr=False)
class _Sum(Expression):
    """The sum of all entries."""

    inner: Expression

    @property
    def name(self) -> str:
        return f"sum({self.inner.name})"

    def resolve(self, place: ProblemCells) -> Resolved:
        inner = self.inner.resolve(place)
        require_products(inner, len(inner.constant))
        ones = scipy.sparse.csr_array(np.ones((1, len(inner.constant)), np.int64))
        matrix = without_zeros(scipy.sparse.csr_array(ones @ inner.matrix))
        return Resolved(matrix, inner.constant.sum(keepdims=True), lambda entries: [self.name] * len(entries))


def _expression(value: Any) -> Expression:
    """Make an expression of a number or several."""
    return value if isinstance(value, Expression) else _Number(*checked_numbers(value))


def _sign(number: int) -> str:
    return "+" if number >= 0 else "-"


def _times(factor: int, name: str) -> str:
    return f"-{name}" if factor == -1 else name if factor == 1 else f"{factor:,} {name}"
