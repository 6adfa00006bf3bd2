"""The sensitivity of a measured vector: how far it differs between neighbouring data sets, by unit and relation."""

from dataclasses import dataclass

from pgsr.checks import require_kind
from pgsr.data.views import AnyView
from pgsr.errors import ProblemError
from pgsr.privacy.neighbours import Relation, Unit


@dataclass(frozen=True)
class Sensitivity:
    """The largest changes of a vector between neighbouring data sets.

    A change is the list of absolute changes of the vector's cells, largest first, without zeros: (2, 1, 1) is a change
    by 2 in one cell and by 1 in two others. One change x is at most another y if, for every n, the n largest entries
    of x add up to no more than those of y (weak majorisation). A sum over cells of an increasing convex function of a
    cell's change is then at most as large at x as at y. Such sums are the L1 norm, the squared L2 norm, and the Renyi
    divergence of double-geometric noise from itself moved by k: its exponential is A exp(u k) + B exp(-v k) with
    A, B >= 0, so the divergence is convex in k.

    Attributes:
        changes: such that every possible change is at most one of them.

    Example:
        >>> found = Sensitivity(((2, 1, 1),))
        >>> found.l1, found.l2_squared, found.largest
        (4, 6, 2)
    """

    changes: tuple[tuple[int, ...], ...]

    @property
    def l1(self) -> int:
        """The largest L1 norm: what pure epsilon with double-geometric noise is made for."""
        return max(sum(change) for change in self.changes)

    @property
    def l2_squared(self) -> int:
        """The largest squared L2 norm: what zCDP with Gaussian noise is made for."""
        return max(sum(x * x for x in change) for change in self.changes)

    @property
    def largest(self) -> int:
        """The largest change of a single cell."""
        return max(max(change, default=0) for change in self.changes)

    def __repr__(self) -> str:
        return f"Sensitivity(l1={self.l1:,}, l2_squared={self.l2_squared:,}, largest={self.largest:,})"


def sensitivity_of(
    view: AnyView, unit: Unit, *, max_quantity: int = 1, max_size: int, relation: Relation = Relation.ADD_REMOVE
) -> Sensitivity:
    """Find how far the vectors of all regions of one level, taken together, differ between neighbouring data sets.

    With K = max_size, m the groups of an entity and M the smaller of max_quantity and K, all changes are at most

    | unit | relation | counts | cumulative | ranked | split at T, 0 < T < K |
    |---|---|---|---|---|---|
    | entity in m groups | add_remove (or_empty_group) | (m, m) | M times m | m times M | min(m, M) times max(m, M) |
    | entity in m groups | move | (2m, m, m) | 2 M times m | 2 m times M | 2 min(m, M) times max(m, M) |
    | group | add_remove (or_empty_group) | (1) | K times 1 | (K) | (K - T, T times 1) |
    | group | replace | (1, 1) | K times 1 | (K) | (K - T, T times 1) |
    | group | move | (1, 1) | 2 (K + 1) times 1 | (K, K) | (K - T, K - T, 2 T times 1) |

    The comments in the function derive them.

    Args:
        view: the vector of each region.
        unit: of privacy.
        max_quantity: public bound on what one entity adds to the size of one group; not used where groups are hidden.
        max_size: K, a public whole number. With K = 0 nothing but numbers of groups is there; K = 1 is assumed then.
        relation: of neighbouring data sets.

    Raises:
        ProblemError: entities are hidden under Relation.REPLACE, or a number is no size.

    Example:
        >>> from pgsr.data.views import View
        >>> sensitivity_of(View.COUNTS, Unit.entity_in_groups(3), max_size=20)
        Sensitivity(l1=6, l2_squared=18, largest=3)
        >>> sensitivity_of(View.COUNTS, Unit.GROUP, max_size=20, relation=Relation.REPLACE)
        Sensitivity(l1=2, l2_squared=2, largest=1)

    Shown by `test_privacy_sensitivity.py::test_every_neighbour_of_small_worlds`; all but moved counts at K = 1
    are reached.
    """
    require_kind(view, AnyView, "view", "give View.COUNTS, View.CUMULATIVE, View.RANKED or Split(5)")
    require_kind(unit, Unit, "unit", "give Unit.ENTITY, Unit.entity_in_groups(5) or Unit.GROUP")
    for name, value, least in (("max_quantity", max_quantity, 1), ("max_size", max_size, 0)):
        if type(value) is not int or value < least:
            raise ProblemError(f"{name}={value!r}; give a public whole number from {least} up")
    relation, cells = Relation(relation), max(max_size, 1)
    view = view.on(cells)
    moved = relation is Relation.MOVE
    # A group of size s has the cells 0 .. s - 1 of cumulative counts, measured from above where numbers of groups are
    # not public, and moves the smaller ones one rank down: ranks change with one sign, by s in all, in a region with
    # one group all in one rank. T columns of a split view are cumulative counts, the rest are sizes of at most K - T.
    # A move with only the root's number public changes all K + 1 cumulative counts of two regions.
    if unit.groups is None:
        return Sensitivity((view.change_by_group(cells, moved, relation is Relation.REPLACE),))
    _refuse_replaced_entities(relation)
    # An entity that joins adds at most M to the size of each of its m groups.
    # - Counts: m groups leave a cell and enter a higher one; on a move m go down besides. One cell can have 2m of these
    #   4m steps, from below and above. Two cells have 3m at most, as groups that go back from one to the other cancel.
    # - Cumulative counts: a group leaves at most M cells by one each, perhaps the same for all m; a move doubles it.
    # - Ranked sizes: entries that grow by 0 to M grow so when they are sorted, too, by m M in all, squared m M^2.
    # - Split view: a column changes by at most m, a part of a row by at most M, and each of the m M boxes (2 m M on a
    #   move) lies in one cell, so n changes add up to at most n max(m, M). Columns that are added up may have them all.
    return Sensitivity((view.change_by_entity(unit.groups, min(max_quantity, cells), moved),))


def sensitivity_of_totals(unit: Unit, relation: Relation) -> Sensitivity:
    """Find how far the numbers of groups of all regions of one level, taken together, differ between neighbours.

    A group, or an empty group, that is added or removed changes one of them by one; a group that moves changes two, and
    not the root's. Entities leave them as they are where a public table lists the groups. Where it is private, an
    entity in m groups may be all that m groups have, and these may be listed for its sake alone: it changes them by m.
    Where nothing changes, the numbers may be public.

    Raises:
        ProblemError: entities are hidden under Relation.REPLACE.

    Example:
        >>> sensitivity_of_totals(Unit.GROUP, Relation.MOVE)
        Sensitivity(l1=2, l2_squared=2, largest=1)
        >>> sensitivity_of_totals(Unit.entity_in_groups(5), Relation.ADD_REMOVE_OR_EMPTY_GROUP)
        Sensitivity(l1=5, l2_squared=25, largest=5)
    """
    relation = Relation(relation)
    if unit.groups is not None:
        _refuse_replaced_entities(relation)
        return Sensitivity(((unit.groups,) if relation is Relation.ADD_REMOVE_OR_EMPTY_GROUP else (),))
    return Sensitivity((_CHANGES_OF_TOTALS[relation],))


def require_totals(totals: str, unit: Unit, relation: Relation) -> None:
    """Raise `ProblemError` if public numbers of groups would tell what the unit and the relation hide.

    Args:
        totals: whose number of groups is public: "regions", "root" or, with "noisy", nobody's.
        unit: of privacy.
        relation: of neighbouring data sets.

    Example:
        >>> require_totals("regions", Unit.GROUP, Relation.REPLACE)
        >>> require_totals("root", Unit.GROUP, Relation.ADD_REMOVE)
        Traceback (most recent call last):
        pgsr.errors.ProblemError: under add_remove of a group the root's number of groups changes, so it cannot be
            public; pay for it with totals = "noisy", or protect replaced groups with relation = "replace"
    """
    relation = Relation(relation)
    change = sensitivity_of_totals(unit, relation).l1
    root_changes = change and relation is not Relation.MOVE
    if totals == "noisy" or not change or (totals == "root" and not root_changes):
        return
    whose = "the root's" if totals == "root" else "every region's"
    remedy = ', or protect replaced groups with relation = "replace"' if unit.is_group else ""
    what = "a group" if unit.is_group else "an entity"
    raise ProblemError(
        f"under {relation} of {what} {whose} number of groups changes, so it cannot be public; pay for it with "
        f'totals = "noisy"{remedy}'
    )


_CHANGES_OF_TOTALS = {
    Relation.ADD_REMOVE: (1,),
    Relation.ADD_REMOVE_OR_EMPTY_GROUP: (1,),
    Relation.REPLACE: (),
    Relation.MOVE: (1, 1),
}
"""Of a group."""


def _refuse_replaced_entities(relation: Relation) -> None:
    if relation is Relation.REPLACE:
        raise ProblemError(
            "other values of an entity that stays in its group are no change of the group's size; protect its presence "
            'with relation = "add_remove", or its move to other groups with relation = "move"'
        )
