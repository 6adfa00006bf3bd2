"""The cost of a charge that protects one relation of neighbouring data sets, under another."""

from pgsr.privacy.neighbours import IN_WORDS, Relation
from pgsr.release.ledger.errors import LedgerError

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

    Shown by `test_ledger_adding.py::test_steps_by_enumeration`.
    """
    found = _STEPS[under].get(charged)
    if found is None:
        raise LedgerError(
            f"the ledger counts what it costs to hide {IN_WORDS[under]} (relation {under}), and this charge hides "
            f"{IN_WORDS[charged]} alone (relation {charged}), so its cost cannot be counted there; ask for {under}, "
            f"or keep a ledger of its own, made with `pgsr ledger init ... --relation {charged}`"
        )
    return found
