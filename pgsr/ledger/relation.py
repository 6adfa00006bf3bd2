"""The relations of neighbouring data sets, and the cost of a charge for one relation under another."""

from enum import StrEnum

from pgsr.ledger.errors import LedgerError


class Relation(StrEnum):
    """A relation of neighbouring data sets; rows are of the private table, groups and regions are public.

    ADD_REMOVE: one has one row more.
    ADD_REMOVE_OR_EMPTY_GROUP: one has one row more, or one empty group more; of releases with noisy totals.
    REPLACE: one row has other values.
    MOVE: one row is removed and another inserted, in the same group or elsewhere.
    """

    ADD_REMOVE = "add_remove"
    ADD_REMOVE_OR_EMPTY_GROUP = "add_remove_or_empty_group"
    REPLACE = "replace"
    MOVE = "move"


class Unit(StrEnum):
    """The unit whose presence or values are hidden.

    ENTITY: one row of the table of entities or persons; whoever has five rows is hidden five times less well.
    GROUP: a group (household, taxi) with all its rows.
    """

    ENTITY = "entity"
    GROUP = "group"


IN_WORDS = {
    Relation.ADD_REMOVE: "one row more or less",
    Relation.ADD_REMOVE_OR_EMPTY_GROUP: "one row, or one empty group, more or less",
    Relation.REPLACE: "other values in one row",
    Relation.MOVE: "one row removed and another inserted",
}

_STEPS = {
    Relation.ADD_REMOVE: {Relation.ADD_REMOVE: 1, Relation.ADD_REMOVE_OR_EMPTY_GROUP: 1},
    Relation.ADD_REMOVE_OR_EMPTY_GROUP: {Relation.ADD_REMOVE_OR_EMPTY_GROUP: 1},
    Relation.REPLACE: {
        Relation.REPLACE: 1,
        Relation.MOVE: 1,
        Relation.ADD_REMOVE: 2,
        Relation.ADD_REMOVE_OR_EMPTY_GROUP: 2,
    },
    Relation.MOVE: {Relation.MOVE: 1, Relation.ADD_REMOVE: 2, Relation.ADD_REMOVE_OR_EMPTY_GROUP: 2},
}
"""Ledger's relation -> charge's relation -> steps."""


def steps(charged: Relation, under: Relation) -> int:
    """Count how many steps of the charge's relation lead from any data set to any neighbour under the ledger's.

    A row is replaced or moved by removing one and inserting another, two steps. No number of replacements changes how
    many rows there are, so what protects replacements alone says nothing of a row more.

    Raises:
        LedgerError: no number of steps does.

    Example:
        >>> steps(Relation.ADD_REMOVE, under=Relation.REPLACE)
        2

    Shown by `tests/test_ledger_adding.py::test_steps_by_enumeration`.
    """
    found = _STEPS[under].get(charged)
    if found is None:
        raise LedgerError(
            f"a charge that protects {charged} ({IN_WORDS[charged]}) cannot be counted in a ledger of {under} "
            f"({IN_WORDS[under]}); ask for {under}, or keep a ledger of its own"
        )
    return found
