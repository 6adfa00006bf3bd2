"""The sum of charges: counted under the ledger's relation, and added up in its currency."""

from collections.abc import Sequence
from fractions import Fraction

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss, epsilon_delta
from pgsr.privacy.accounting.noise_rho import rho_of_pure
from pgsr.privacy.accounting.zcdp import SMALLEST as SMALLEST_DELTA
from pgsr.privacy.accounting.zcdp import epsilon_of, rho_of
from pgsr.privacy.budget import SMALLEST
from pgsr.privacy.neighbours import IN_WORDS, Relation
from pgsr.release.ledger.charge import LedgerError


def counted(loss: Loss, charged: Relation, under: Relation) -> Loss:
    """Convert a charge to the relation of the ledger (group privacy).

    If any neighbours under the ledger's relation are k steps of the charge's apart, pure epsilon counts as k epsilon
    and rho as k^2 rho.

    Raises:
        LedgerError: no number of steps leads there; or it takes several, and the charge has a delta.

    Example:
        >>> counted(PureEpsilon(1), Relation.ADD_REMOVE, under=Relation.REPLACE)
        PureEpsilon(epsilon 2)
        >>> counted(Rho("1/8"), Relation.ADD_REMOVE, under=Relation.MOVE)
        Rho(rho 1/2)

    Source: Dwork & Roth 2014, theorem 2.2 (epsilon); Bun & Steinke 2016, proposition 1.9 (rho).

    Shown by `test_ledger_adding.py::test_group_privacy_by_enumeration`.
    """
    k = steps(charged, under)
    if k == 1:
        return loss
    if isinstance(loss, Approximate):
        raise LedgerError(
            f"a charge of epsilon with delta under {charged} is not counted in a ledger of {under}, where its delta "
            "would grow with e^epsilon; charge rho or pure epsilon, or keep a ledger of its own"
        )
    epsilon, _, rho = loss.parts
    return Rho(k**2 * rho) if isinstance(loss, Rho) else PureEpsilon(k * epsilon)


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


def fits(total: Loss, losses: Sequence[Loss]) -> bool:
    """Say whether mechanisms with these losses, run on the same data, are together within `total`.

    - A total of pure epsilon: sum of epsilon (Dwork & Roth 2014, theorem 3.14).
    - A total of rho: sum of rho (Bun & Steinke 2016, lemma 1.7), pure epsilon counting as rho =
      epsilon tanh(epsilon / 2), rounded up (`rho_of_pure`).
    - A total of epsilon and delta: sums of epsilon and of delta (Dwork & Roth 2014, theorem 3.16). All rho are added
      first and converted once, into what the other charges leave of epsilon and delta: epsilon' = rho + 2 sqrt(rho
      ln(1/delta')) (Bun & Steinke 2016, proposition 1.3), rounded to the safe side by `rho_of`.

    The amounts may depend on what earlier mechanisms answered where the total is pure (Rogers et al. 2016) or rho
    (Feldman & Zrnic 2021). Where rho is converted beside other charges, decide the amounts beforehand.

    Raises:
        LedgerError: a loss cannot be counted in the currency of the total at all.

    Example:
        >>> fits(PureEpsilon(1), [PureEpsilon("1/3")] * 3), fits(PureEpsilon(1), [PureEpsilon("1/3")] * 4)
        (True, False)
        >>> fits(Rho(1), [PureEpsilon(1), Rho("1/2")])
        True

    Shown by `test_ledger_adding.py`.
    """
    epsilon, delta, rho = _sums(total, losses)
    most_epsilon, most_delta, most_rho = total.parts
    if not isinstance(total, Approximate):
        return epsilon <= most_epsilon and rho <= most_rho
    left, rest = most_epsilon - epsilon, most_delta - delta
    if not rho:
        return left >= 0 and rest >= 0
    return left >= SMALLEST and rest >= SMALLEST_DELTA and rho <= rho_of(left, rest)


def spent(total: Loss, losses: Sequence[Loss]) -> Loss:
    """Add up the losses in the currency of the total, for people to read; `fits` decides.

    Where rho is converted into epsilon, that is at the delta that the other charges leave, and rounded up.

    Raises:
        LedgerError: a loss cannot be counted in that currency.
    """
    epsilon, delta, rho = _sums(total, losses)
    if isinstance(total, Rho):
        return Rho(rho)
    rest = total.parts[1] - delta
    if rho and rest < SMALLEST_DELTA:
        return total
    epsilon += epsilon_of(rho, rest) if rho else 0
    return epsilon_delta(epsilon, delta)


def _sums(total: Loss, losses: Sequence[Loss]) -> tuple[Fraction, Fraction, Fraction]:
    """Add up epsilon, delta and rho, as the currency of the total takes them."""
    epsilon = delta = rho = Fraction(0)
    for loss in losses:
        _require_currency(total, loss)
        e, d, r = loss.parts
        if isinstance(total, Rho):
            rho += r + (rho_of_pure(e) if e else 0)
        else:
            epsilon, delta, rho = epsilon + e, delta + d, rho + r
    return epsilon, delta, rho


def _require_currency(total: Loss, loss: Loss) -> None:
    if isinstance(total, PureEpsilon) and not isinstance(loss, PureEpsilon):
        raise LedgerError(
            f"a charge of {loss.currency} cannot be counted in a ledger of epsilon alone, which leaves no chance of "
            "anything worse; keep a ledger with a delta, `pgsr ledger init ... --total EPSILON --delta DELTA`"
        )
    if isinstance(total, Rho) and isinstance(loss, Approximate):
        raise LedgerError(
            "a charge of epsilon with delta cannot be counted in a ledger of rho, which bounds what a delta leaves "
            "open; charge rho or pure epsilon, or keep a ledger of its own"
        )


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
