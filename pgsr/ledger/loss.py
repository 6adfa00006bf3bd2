"""An amount of privacy: epsilon, epsilon with delta, or rho, in exact fractions."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from pgsr.budget import Number
from pgsr.ledger.errors import LedgerError
from pgsr.zcdp import exact_small


class Currency(StrEnum):
    """The currency that an amount is counted in.

    EPSILON: pure differential privacy, P(S) <= e^epsilon P'(S). EPSILON_DELTA: approximate, P(S) <= e^epsilon P'(S) +
    delta. RHO: zero-concentrated (zCDP), the Renyi divergence of every order alpha > 1 is at most alpha rho.
    """

    EPSILON = "epsilon"
    EPSILON_DELTA = "epsilon with delta"
    RHO = "rho"


@dataclass(frozen=True)
class Loss:
    """An amount of privacy in one currency, at least 0.

    Args:
        epsilon: of pure or, with a positive delta, approximate differential privacy.
        delta: below 1; needs epsilon.
        rho: of zCDP, instead of epsilon.

    Raises:
        LedgerError: epsilon and rho are both given, or none; delta without epsilon, or 1 and more.
        BudgetError: a number is malformed.

    Example:
        >>> Loss(epsilon="0.1")
        Loss(epsilon 1/10)
        >>> Loss(epsilon=1, delta="1e-8").currency
        <Currency.EPSILON_DELTA: 'epsilon with delta'>
        >>> Loss.of(Loss(rho="1/3").texts())
        Loss(rho 1/3)
    """

    epsilon: Number | None = None
    delta: Number = Fraction(0)
    rho: Number | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise LedgerError("an amount of privacy is epsilon, epsilon with delta, or rho; give one of them")
        for name in ("epsilon", "delta", "rho"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _amount(value, name))
        if self.delta and self.rho is not None:
            raise LedgerError("delta goes with epsilon, and rho has none; leave delta out")
        if _fraction(self.delta) >= 1:
            raise LedgerError("delta is 1 or more, which protects nothing; give a small probability such as '1e-8'")

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "Loss":
        """Read the amount that `texts` wrote."""
        if not all(isinstance(text, str) for text in texts.values()):
            raise LedgerError("an amount of privacy is written as text, such as '1/3'")
        return cls(**texts)

    @property
    def currency(self) -> Currency:
        if self.rho is not None:
            return Currency.RHO
        return Currency.EPSILON_DELTA if self.delta else Currency.EPSILON

    @property
    def parts(self) -> tuple[Fraction, Fraction, Fraction]:
        """The triple (epsilon, delta, rho), with 0 for what the amount has not."""
        return _fraction(self.epsilon), _fraction(self.delta), _fraction(self.rho)

    @property
    def positive(self) -> bool:
        """True if it is an amount that can be spent."""
        return bool(self.epsilon or self.rho)

    def texts(self) -> dict[str, str]:
        """Write exact texts by name, as a ledger keeps them."""
        values = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return {name: str(value) for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        return ", ".join(f"{name} {_short(text)}" for name, text in self.texts().items())

    def __repr__(self) -> str:
        return f"Loss({self})"


def _amount(value: Number, name: str) -> Fraction:
    if isinstance(value, Fraction) and value >= 0:
        return value  # a sum or a difference may be smaller than anything that a user may write
    return Fraction(0) if not isinstance(value, bool) and value in (0, "0") else exact_small(value, name)


def _fraction(value: Number | None) -> Fraction:
    return Fraction(value or 0)


def _short(text: str) -> str:
    """Round fractions of very many digits for people to read; the ledger keeps them whole."""
    return text if len(text) <= 24 else f"{float(Fraction(text)):.9g} (rounded)"
