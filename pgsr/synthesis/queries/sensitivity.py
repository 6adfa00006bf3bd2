"""The sensitivities of queries: by how much one row can change the answers, for each relation of neighbours."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from pgsr.checks import member_of
from pgsr.synthesis.data.domain import Domain, Neighbours, SynthesisError, require_whole
from pgsr.synthesis.queries.workload import Level, Marginal, Workload, relatives


def sensitivity(
    workload: Workload, n_groups: int, n_persons: int, neighbours: Neighbours = Neighbours.REPLACE
) -> Fraction:
    """Compute Delta, the largest change of any answer of the workload between neighbours.

    Answers are counts over public denominators: N_G at group level, N_I otherwise. Where a person is added or removed,
    N_I is a public constant near the number of persons, not that number.

    Raises:
        SynthesisError: a denominator is not a whole number from 1 up.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> sensitivity(Workload.k_way(domain, 1), n_groups=100, n_persons=250)
        Fraction(1, 100)
    """
    require_whole(n_groups=n_groups, n_persons=n_persons)
    neighbours = member_of(Neighbours, neighbours, "neighbours", SynthesisError)
    of = {level: int(n_groups if level is Level.GROUP else n_persons) for level in Level}
    return max(Fraction(change_of_count(workload.domain, m, neighbours), of[m.level]) for m in workload.marginals)


def change_of_count(domain: Domain, marginal: Marginal, neighbours: Neighbours) -> int:
    """Compute the largest change of the count of every query of a marginal between neighbours.

    Without COUNT a changed member changes a query by at most `reach`, what one member can add: for a relation, 1 for
    the member and 1 for everyone whose relative it is. With COUNT, a group that grows to size c enters with all it has,
    most(c), and one that shrinks leaves; a move does both, and both can be at size c if c is inner, neither the
    smallest nor the largest size:

    | level                | without COUNT       | COUNT, ADD_REMOVE  | COUNT, MOVE                                  |
    |----------------------|---------------------|--------------------|----------------------------------------------|
    | any                  | reach               | max_c most(c)      | max(max_c most(c), 2 max_{inner c} most(c))  |
    | group                | 1                   | 1                  | 2 (1 if there is no inner size)              |
    | individual           | 1                   | M                  | 2 (M - 1) (M if there is no inner size)      |
    | relation spouse      | 2                   | 2                  | 4                                            |
    | relation child       | 2                   | 2                  | 4 (2 if M_C = 1)                             |
    | relation parent      | M_C                 | M_C                | 2 M_C                                        |

    REPLACE changes no size: its column is "without COUNT". A number is attained if the marginal has conditions on the
    member and the relative whose attributes have two values; otherwise it is an upper bound.

    Source: Liu & Wu 2022, sections 3 and 6 and table 2 for the definitions; the numbers are derived here and compared
    with the enumeration of all neighbours in `test_synthesis_sensitivity.py`.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> [change_of_count(domain, Marginal(Level.INDIVIDUAL, (0,), (0,)), n) for n in Neighbours]  # COUNT and sex
        [1, 4, 6]
    """
    if neighbours is Neighbours.REPLACE or domain.count not in marginal.group:
        return _reach(domain, marginal)
    most = dict.fromkeys(domain.sizes, 0)
    for numbers in _compositions(domain):
        most[sum(numbers)] = max(most[sum(numbers)], _most(domain, marginal, numbers))
    inner = [most[size] for size in domain.sizes[1:-1]]
    return max(*most.values(), 2 * max(inner, default=0) if neighbours is Neighbours.MOVE else 0)


def _most(domain: Domain, marginal: Marginal, numbers: tuple[int, ...]) -> int:
    """Compute the largest count that a group with so many members of each role can contribute."""
    if marginal.level is Level.GROUP:
        return 1
    if marginal.level is Level.INDIVIDUAL:
        return sum(numbers)
    has_one = relatives(domain, marginal.relation) @ np.array(numbers) > 0
    return int(has_one @ np.array(numbers))


def _reach(domain: Domain, marginal: Marginal) -> int:
    if marginal.level is not Level.RELATION:
        return 1
    related, reach = relatives(domain, marginal.relation), 0
    for numbers in _compositions(domain):
        there = np.array(numbers)
        own, depend = related @ there > 0, there @ related
        reach = max(reach, int((own + depend)[there > 0].max(initial=0)))
    return reach


def _compositions(domain: Domain) -> Iterator[tuple[int, ...]]:
    """Yield all numbers of members per role that a group can have."""
    return product(*(range(role.least, role.most + 1) for role in domain.roles))
