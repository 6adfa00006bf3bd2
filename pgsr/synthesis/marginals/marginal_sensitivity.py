"""The sensitivities of whole marginals: by how much one row can change the vector of all counts of a marginal."""

from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from pgsr.privacy.neighbours import Unit
from pgsr.synthesis.data.domain import Domain, Neighbours, SynthesisError, chosen
from pgsr.synthesis.queries.workload import PAIRS, Level, Marginal


@dataclass(frozen=True)
class MarginalSensitivity:
    """The largest change of the vector of a marginal's counts between neighbours.

    Attributes:
        squared: of the sum of squared changes over all cells, which discrete Gaussian noise pays for.
        absolute: of the sum of absolute changes, which the score of a selection pays for.
    """

    squared: int
    absolute: int


def marginal_sensitivity(
    domain: Domain, marginal: Marginal, neighbours: Neighbours, unit: Unit = Unit.ENTITY
) -> MarginalSensitivity:
    """Compute the sensitivity of all counts of one marginal together, whose cells need not be disjoint.

    Let f(x) >= 0 be the vector that a group x adds to the counts without their condition on COUNT; counts are sums of
    it over groups. A further member never makes an entry of f smaller. Two vectors u, v >= 0 have
    |u - v|^2 <= |u|^2 + |v|^2, and |u + v|^2 <= (|u| + |v|)^2. Two numbers bound f in each of both norms:

    - step: of what one member adds to f. At group and individual level it is one entry by 1. For a relation, the member
      adds 1 to an entry per distinct relative that it has (R of them, at most one per cell of relatives), and everyone
      whose relative it is (Q of them) adds at most 1 for it; the latter may fall into one entry. So at most R + Q in
      absolute values, and (Q + 1)^2 + R - 1 squared (Q^2 where R = 0).
    - whole(c): of f itself for groups of c members. A group counts 1 per distinct cell of its members, at most
      min(c, cells); persons count c, all in one entry at worst (c^2); for relations, U units, of which each of the n
      members who have relatives gives at most one to an entry, so U n squared.

    A replaced or moved member takes a vector away and adds one, which is 2 step in both norms (squared ones add up,
    because both are >= 0). An added or removed member changes f by one step. With COUNT, a group that grows or shrinks
    leaves its entries for those of another size, whole(c - 1) + whole(c); a move does so to two groups, and where both
    enter, or both leave, the same size, their vectors can fall together, which makes 4 whole(c) of the squared norm.

    | squared, absolute             | REPLACE | ADD_REMOVE                 | MOVE                             |
    |-------------------------------|---------|----------------------------|----------------------------------|
    | groups with a member who      | 2, 2    | 1, 1                       | 2, 2                             |
    | persons who                   | 2, 2    | 1, 1                       | 2, 2                             |
    | groups by COUNT               | 0, 0    | 2, 2                       | 6, 4                             |
    | persons who, by COUNT         | 2, 2    | M^2 + (M - 1)^2, 2 M - 1   | 6 (M - 1)^2 + 2 (M > 3), 4 M - 2 |
    | persons with a spouse who     | 8, 4    | 4, 2                       | 8, 4                             |

    All are attained, if cells are enough, but the squared ones of relations, where 6 is the true maximum for spouses.
    Without a condition on members or their number nothing changes between neighbours: the sensitivity is 0, and the
    marginal is public.

    Groups as units, `Unit.GROUP`, under REPLACE: all members of one group are replaced, while its attributes and its
    size stay. Its vector f is exchanged for another one of the same size, 2 max_c whole(c) in both norms; at group
    level entries are 0 or 1, so no more than min(2 M, cells) of them differ:

    | squared, absolute             | REPLACE, Unit.GROUP                |
    |-------------------------------|------------------------------------|
    | groups with a member who      | min(2 M, cells), min(2 M, cells)   |
    | persons who                   | 2 M^2, 2 M                         |
    | persons with a spouse who     | 8, 4                               |

    Raises:
        SynthesisError: a group as a unit that may be added, removed or moved, or a unit in several groups.

    Source: the enumeration of all neighbours of small populations in `tests/test_synthesis_marginal_sensitivity.py`.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> of_women = Marginal(Level.INDIVIDUAL, (0,), (0,))
        >>> [marginal_sensitivity(domain, of_women, n).squared for n in Neighbours]
        [2, 1, 2]
        >>> marginal_sensitivity(domain, Marginal(Level.GROUP, (0,)), Neighbours.REPLACE)
        MarginalSensitivity(squared=0, absolute=0)
    """
    neighbours = chosen(Neighbours, neighbours, "neighbours")
    require_unit(unit, neighbours)
    if unit.is_group:
        return _of_replaced_groups(domain, marginal)
    step = _step(domain, marginal)
    once = neighbours is Neighbours.ADD_REMOVE
    by_size = domain.count in marginal.group and neighbours is not Neighbours.REPLACE
    if not by_size:
        if not _on_members(marginal) and (marginal.level is Level.GROUP or neighbours is Neighbours.REPLACE):
            return MarginalSensitivity(0, 0)
        return step if once else MarginalSensitivity(2 * step.squared, 2 * step.absolute)
    whole = _wholes(domain, marginal)
    pairs = list(pairwise(whole))
    if once:
        return _largest([(a.squared + b.squared, a.absolute + b.absolute) for a, b in pairs])
    found = [(2 * step.squared, 2 * step.absolute)] if _on_members(marginal) else []
    for shrinks, grows in product(range(len(pairs)), repeat=2):
        changes: dict[tuple[int, int], int] = {}
        for size, sign in ((shrinks + 1, -1), (shrinks, 1), (grows, -1), (grows + 1, 1)):
            changes[size, sign] = changes.get((size, sign), 0) + 1
        squared = sum(times**2 * whole[size].squared for (size, _), times in changes.items())
        found.append((squared, sum(times * whole[size].absolute for (size, _), times in changes.items())))
    return _largest(found)


def require_unit(unit: Unit, neighbours: Neighbours) -> None:
    """Raise `SynthesisError` unless whole marginals can hide this unit under these neighbours."""
    if unit.is_group and neighbours is not Neighbours.REPLACE:
        raise SynthesisError(
            f"unit = 'group' under neighbours = '{neighbours}' would hide which households there are, and "
            "whole-marginals publishes that; write neighbours = 'replace', which hides all members of a household"
        )
    if not unit.is_group and unit != Unit.ENTITY:
        raise SynthesisError(f"a person lives in one household, so unit = '{unit}' is none of theirs; write 'entity'")


def _of_replaced_groups(domain: Domain, marginal: Marginal) -> MarginalSensitivity:
    """Bound the change where all members of one group are replaced."""
    if not _on_members(marginal):
        return MarginalSensitivity(0, 0)
    if marginal.level is Level.GROUP:
        cells = prod(len(domain.individual[i]) for i in marginal.individual)
        return MarginalSensitivity(*(min(2 * domain.max_size, cells),) * 2)
    whole = _largest([(w.squared, w.absolute) for w in _wholes(domain, marginal)])
    return MarginalSensitivity(2 * whole.squared, 2 * whole.absolute)


def _largest(found: list[tuple[int, int]]) -> MarginalSensitivity:
    """Take the largest of both norms; where the domain has one size only, no group can change its size."""
    return MarginalSensitivity(max((s for s, _ in found), default=0), max((a for _, a in found), default=0))


def _on_members(marginal: Marginal) -> bool:
    return bool(marginal.individual) or marginal.level is Level.RELATION


def _step(domain: Domain, marginal: Marginal) -> MarginalSensitivity:
    """Bound what one member adds to the entries of its group."""
    if marginal.level is not Level.RELATION:
        return MarginalSensitivity(1, 1)
    squared = absolute = 0
    for numbers in _compositions(domain):
        for role, number in enumerate(numbers):
            if number:
                theirs, ours = _relatives(domain, marginal, numbers, role), _dependants(domain, marginal, numbers, role)
                absolute = max(absolute, theirs + ours)
                squared = max(squared, (ours + 1) ** 2 + theirs - 1 if theirs else ours**2)
    return MarginalSensitivity(squared, absolute)


def _wholes(domain: Domain, marginal: Marginal) -> list[MarginalSensitivity]:
    """Bound the vector of a group, per size that the domain allows."""
    of_size: dict[int, tuple[int, int]] = dict.fromkeys(domain.sizes, (0, 0))
    for numbers in _compositions(domain):
        size = sum(numbers)
        if marginal.level is Level.GROUP:
            entries = 1
            for attribute in marginal.individual:
                entries *= len(domain.individual[attribute])
            here = (min(size, entries),) * 2 if marginal.individual else (1, 1)
        elif marginal.level is Level.INDIVIDUAL:
            here = size**2, size
        else:
            units = [_relatives(domain, marginal, numbers, role) for role in range(len(numbers))]
            total = sum(n * u for n, u in zip(numbers, units, strict=True))
            here = total * sum(n for n, u in zip(numbers, units, strict=True) if u), total
        of_size[size] = max(of_size[size][0], here[0]), max(of_size[size][1], here[1])
    return [MarginalSensitivity(*of_size[size]) for size in domain.sizes]


def _relatives(domain: Domain, marginal: Marginal, numbers: tuple[int, ...], role: int) -> int:
    """Count the cells of relatives that a member of this role can have: R."""
    cells = 1
    for attribute in marginal.relative:
        cells *= len(domain.individual[attribute])
    names, related = [r.name for r in domain.roles], PAIRS[marginal.relation] if marginal.relation else ()
    return min(cells, sum(n for other, n in enumerate(numbers) if (names[role], names[other]) in related))


def _dependants(domain: Domain, marginal: Marginal, numbers: tuple[int, ...], role: int) -> int:
    """Count the members whose relative a member of this role is: Q."""
    names, related = [r.name for r in domain.roles], PAIRS[marginal.relation] if marginal.relation else ()
    return sum(n for other, n in enumerate(numbers) if (names[other], names[role]) in related)


def _compositions(domain: Domain) -> list[tuple[int, ...]]:
    return list(product(*(range(role.least, role.most + 1) for role in domain.roles)))
