"""The amounts of privacy: pure epsilon, epsilon with delta, and rho, in exact fractions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pgsr.errors import BudgetError
from pgsr.privacy.accounting.zcdp import exact_delta, exact_small
from pgsr.privacy.budget import Number


class Loss(ABC):
    """An amount of privacy in one currency, at least 0: a budget, a charge, or what a mechanism costs.

    It is one of `PureEpsilon`, `Approximate` and `Rho`.

    Attributes:
        currency: the name of the currency.
        parts: the triple (epsilon, delta, rho), with 0 for what the amount has not.

    Example:
        >>> Loss.parse("epsilon 1, delta 1e-8")
        Approximate(epsilon 1, delta 1/100000000)
        >>> Loss.parse(Rho("1/3").spelled), Loss.of(Rho("1/3").texts())
        (Rho(rho 1/3), Rho(rho 1/3))
    """

    currency: ClassVar[str]

    @property
    @abstractmethod
    def parts(self) -> tuple[Fraction, Fraction, Fraction]: ...

    @staticmethod
    def of(texts: Mapping[str, str]) -> "Loss":
        """Read the amount that `texts` wrote.

        Raises:
            BudgetError: it is no amount of any currency.
        """
        if not all(isinstance(text, str) for text in texts.values()):
            number = next(f"{name}: {text!r}" for name, text in texts.items() if not isinstance(text, str))
            raise BudgetError(f"an amount of privacy is written as text; put {number} into quotes, such as '1/3'")
        match dict(texts):
            case {"epsilon": epsilon, "delta": delta, **rest} if not rest:
                return epsilon_delta(epsilon, delta)
            case {"epsilon": epsilon, **rest} if not rest:
                return PureEpsilon(epsilon)
            case {"rho": rho, **rest} if not rest:
                return Rho(rho)
        raise BudgetError("an amount of privacy is epsilon, epsilon with delta, or rho; give one of them")

    @staticmethod
    def parse(text: str) -> "Loss":
        """Read the amount that `spelled` wrote, such as 'epsilon 1', 'epsilon 1, delta 1e-8' or 'rho 1/2'.

        Raises:
            BudgetError: it is no amount of any currency.
        """
        words = [part.split() for part in text.split(",")]
        if not all(len(pair) == 2 for pair in words) or len({name for name, *_ in words}) < len(words):
            raise BudgetError(
                f"{text!r} is no amount of privacy; write it like 'epsilon 1', 'epsilon 1, delta 1e-8' or 'rho 1/2'"
            )
        return Loss.of(dict(words))

    @property
    def positive(self) -> bool:
        """True if the loss is an amount that can be spent."""
        epsilon, _, rho = self.parts
        return bool(epsilon or rho)

    def texts(self) -> dict[str, str]:
        """Write exact texts by name, as a ledger keeps them."""
        return {name: str(value) for name, value in vars(self).items()}

    @property
    def spelled(self) -> str:
        """The exact amount as one text, which `parse` reads."""
        return ", ".join(f"{name} {text}" for name, text in self.texts().items())

    def __str__(self) -> str:
        return ", ".join(f"{name} {_short(text)}" for name, text in self.texts().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


@dataclass(frozen=True, repr=False)
class PureEpsilon(Loss):
    """An amount of pure differential privacy, P(S) <= e^epsilon Q(S) for every set S of outputs.

    Raises:
        BudgetError: epsilon is malformed, negative, or out of range.

    Example:
        >>> PureEpsilon("0.1")
        PureEpsilon(epsilon 1/10)
    """

    currency = "epsilon"
    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))

    @property
    def parts(self) -> tuple[Fraction, Fraction, Fraction]:
        return self.epsilon, Fraction(0), Fraction(0)


@dataclass(frozen=True, repr=False)
class Approximate(Loss):
    """An amount of approximate differential privacy, P(S) <= e^epsilon Q(S) + delta for every set S of outputs.

    Raises:
        BudgetError: epsilon is malformed, negative or out of range; or delta is not strictly between 0 and 1.

    Example:
        >>> Approximate(1, "1e-8")
        Approximate(epsilon 1, delta 1/100000000)
    """

    currency = "epsilon with delta"
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))
        object.__setattr__(self, "delta", _probability(delta))

    @property
    def parts(self) -> tuple[Fraction, Fraction, Fraction]:
        return self.epsilon, self.delta, Fraction(0)


@dataclass(frozen=True, repr=False)
class Rho(Loss):
    """An amount of zero-concentrated differential privacy (zCDP).

    The Renyi divergence D_a(P || Q) is at most a rho for every order a > 1.

    Raises:
        BudgetError: rho is malformed, negative, or out of range.

    Example:
        >>> Rho("1/3").parts
        (Fraction(0, 1), Fraction(0, 1), Fraction(1, 3))

    Source: Bun & Steinke 2016, definition 1.1.
    """

    currency = "rho"
    rho: Fraction

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", _amount(rho, "rho"))

    @property
    def parts(self) -> tuple[Fraction, Fraction, Fraction]:
        return Fraction(0), Fraction(0), self.rho


def epsilon_delta(epsilon: Number, delta: Number) -> PureEpsilon | Approximate:
    """Make the amount of this epsilon and delta; it is pure where delta is 0.

    Example:
        >>> epsilon_delta(1, 0), epsilon_delta(1, "1/9")
        (PureEpsilon(epsilon 1), Approximate(epsilon 1, delta 1/9))
    """
    pure = not isinstance(delta, bool) and delta in (0, "0")
    return PureEpsilon(epsilon) if pure else Approximate(epsilon, delta)


def _amount(value: Number, name: str) -> Fraction:
    if isinstance(value, Fraction) and value >= 0:
        return value  # a sum or a difference may be smaller than anything that a user may write
    return Fraction(0) if not isinstance(value, bool) and value in (0, "0") else exact_small(value, name)


def _probability(value: Number) -> Fraction:
    return value if isinstance(value, Fraction) and 0 < value < 1 else exact_delta(value)


def _short(text: str) -> str:
    """Round fractions of very many digits for people to read; the ledger keeps them whole."""
    return text if len(text) <= 24 else f"{float(Fraction(text)):.9g} (rounded)"
