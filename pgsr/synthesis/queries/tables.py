"""The tables of a mixture of K product distributions, and what one product says about the members of a group.

The code below uses operators only, so the tables may be arrays of NumPy or of torch, with gradients or without.
Components come last everywhere, which makes a product of conditions a product of contiguous rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from pgsr.synthesis.data.domain import Domain
from pgsr.synthesis.queries.workload import Level, Relative, relatives

Array = Any
"""An array of NumPy or of torch."""

Curve = list[Array | None]
"""One entry per number of members 0, 1, ...; None where it cannot be. Summed over sizes, it is a list of one entry."""


@dataclass(frozen=True, eq=False)
class ComponentTables:
    """The probabilities of K components.

    Attributes:
        domain: public.
        group: shape (sum |G_i| + 1, K); values of the attributes one after the other, and a row of ones.
        slots: shape (sum |I_j| + 1, M, K), likewise; the row of ones stands for "no condition".
        sizes: per role, shape (most + 1, K), zero below `least`.
    """

    domain: Domain
    group: Array
    slots: Array
    sizes: tuple[Array, ...]

    @property
    def n_components(self) -> int:
        return self.group.shape[1]


def starts(lengths: Iterable[int]) -> list[int]:
    """Compute the first row of every attribute, and the row of ones.

    Example:
        >>> starts([2, 3])
        [0, 2, 5]
    """
    return list(accumulate(lengths, initial=0))


def joined(tables: Sequence[Array]) -> Array:
    """Concatenate arrays of one kind; one alone stays as it is."""
    if len(tables) == 1:
        return tables[0]
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    import torch

    return torch.cat(list(tables))


@dataclass(frozen=True, eq=False)
class Members:
    """The factors of all roles for one set of conditions on a member.

    The conditions are p[c, j, k], for condition c, slot j and component k.

    Attributes:
        sizes: P(n members).
        own: P(n members) times the expected number of them who satisfy the conditions.
        none: P(n members and none satisfies the conditions).
    """

    sizes: list[Curve]
    own: list[Curve]
    none: list[Curve]

    @classmethod
    def of(
        cls, tables: ComponentTables, p: Array | None, *, by_size: bool, own: bool = True, none: bool = True
    ) -> "Members":
        """Compute the factors asked for, per size or summed over sizes; `p` None stands for no condition."""
        domain = tables.domain
        of_size, of_own, of_none = [], [], []
        columns = None if p is None else list(p.swapaxes(0, 1))
        for number, (role, table) in enumerate(zip(domain.roles, tables.sizes, strict=True)):
            mass = list(table)
            here = None if columns is None else [columns[j] for j in domain.slots(number)]
            of_size.append(_size_curve(mass, role.least, by_size))
            if own:
                of_own.append(_own_curve(mass, role.least, here, by_size))
            if none and here is not None:
                of_none.append(_none_curve(mass, role.least, here, by_size))
        return cls(of_size, of_own, of_none)


def _size_curve(mass: list[Array], least: int, by_size: bool) -> Curve:
    return [*([None] * least), *mass[least:]] if by_size else [_sum(mass[least:])]


def _own_curve(mass: list[Array], least: int, p: list[Array] | None, by_size: bool) -> Curve:
    if by_size:
        expected = range(len(mass)) if p is None else [0 * p[0], *accumulate(p)]
        return [None if m < least else mass[m] * x for m, x in enumerate(expected)]
    at_least = list(accumulate(reversed(mass[1:])))[::-1]
    return [_sum(at_least) if p is None else _sum(tail * x for tail, x in zip(at_least, p, strict=True))]


def _none_curve(mass: list[Array], least: int, p: list[Array], by_size: bool) -> Curve:
    if by_size:
        products = accumulate((1 - x for x in p), mul, initial=1 - 0 * p[0])
        return [None if m < least else mass[m] * x for m, x in enumerate(products)]
    nobody: Array = mass[-1]  # Horner: of those with at least m members, P(nobody from slot m + 1 on)
    for m in range(len(p) - 1, -1, -1):
        nobody = nobody - p[m] * nobody
        if m >= least:
            nobody = nobody + mass[m]
    return [nobody]


def persons_factor(
    domain: Domain, level: Level, relation: Relative | None, own: Members, relative: Members | None
) -> Curve:
    """Compute the factor that members contribute in one component, by size of the group or summed over sizes.

    With role sizes independent inside a component, sizes of groups are convolutions of sizes of roles:
    GROUP: P(size) - P(size, no member matches), or P(size) where nothing is asked of members.
    INDIVIDUAL: expected number of matching members, times P(size).
    RELATION: the same for members with at least one matching relative.

    Source: Liu & Wu 2022, sections 5 and 6. Against the enumeration of all groups:
    `test_synthesis_mixture.py::test_answers_are_those_of_all_groups_weighted_by_their_chance`.
    """
    roles = range(len(domain.roles))
    if level is Level.GROUP:
        anyone = _convolved(own.sizes)
        return _minus(anyone, _convolved(own.none)) if own.none else anyone
    total: Curve = []
    for role in roles:
        members = _convolved([own.own[r] if r == role else own.sizes[r] for r in roles])
        if relation is None:
            total = _plus(total, members)
            continue
        assert relative is not None
        related = set(np.flatnonzero(relatives(domain, relation)[role]).tolist())
        if related:
            alone = [own.own[r] if r == role else (relative.none if r in related else own.sizes)[r] for r in roles]
            total = _plus(total, _minus(members, _convolved(alone)))
    return total


def expected_size(tables: ComponentTables) -> Array:
    """Compute the expected number of members of a group, added over components."""
    return _sum(m * mass for table in tables.sizes for m, mass in enumerate(list(table)) if m).sum()


def _convolved(curves: Sequence[Curve]) -> Curve:
    total = curves[0]
    for curve in curves[1:]:
        out: Curve = [None] * (len(total) + len(curve) - 1)
        for i, x in enumerate(total):
            for j, y in enumerate(curve):
                if x is not None and y is not None:
                    here = out[i + j]
                    out[i + j] = x * y if here is None else here + x * y
        total = out
    return total


def _plus(a: Curve, b: Curve) -> Curve:
    return [y if x is None else (x if y is None else x + y) for x, y in zip(a or [None] * len(b), b, strict=True)]


def _minus(a: Curve, b: Curve) -> Curve:
    return [x if y is None else x - y for x, y in zip(a, b, strict=True)]


def _sum(terms: Iterable[Array]) -> Array:
    total = None
    for term in terms:
        total = term if total is None else total + term
    return total
