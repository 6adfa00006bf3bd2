"""Privacy budgets as exact fractions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from pgsr.errors import BudgetError

Number = int | str | Fraction | Decimal | float


@dataclass(frozen=True)
class Budget:
    """Epsilon per level of a hierarchy, root first. Levels compose: the total is their sum, exactly.

    Inside a level every region gets the level's epsilon, because one entity lies in one region of it (parallel
    composition). A level with epsilon 0 is not measured.

    Example:
        >>> Budget.split("1", 3)
        Budget(1/3 + 1/3 + 1/3 = 1)
        >>> Budget.split("0.1", 2, shares=("1/4", "3/4")).levels
        (Fraction(1, 40), Fraction(3, 40))
    """

    levels: tuple[Fraction, ...]

    @classmethod
    def split(cls, epsilon: Number, n_levels: int, shares: Sequence[Number] | None = None) -> "Budget":
        """`epsilon` over levels in equal parts, or by `shares` that add up to exactly 1.

        Raises:
            BudgetError: epsilon or a share is malformed, or the shares do not fit.
        """
        total = exact(epsilon)
        if shares is None:
            return cls((total / n_levels,) * n_levels)
        parts = tuple(exact(share, "share", zero=True) for share in shares)
        if len(parts) != n_levels:
            raise BudgetError(f"{len(parts)} shares for {n_levels} levels; give one share per level, root first")
        if sum(parts) != 1:
            raise BudgetError(f"the shares add up to {sum(parts)}, not 1; write them as fractions, e.g. '1/3'")
        return cls(tuple(total * part for part in parts))

    @property
    def total(self) -> Fraction:
        return sum(self.levels, Fraction(0))

    def __repr__(self) -> str:
        return f"Budget({' + '.join(map(str, self.levels))} = {self.total})"


@dataclass
class Ledger:
    """What may be spent on one data set, and what was. It is charged before any noise is drawn.

    Example:
        >>> ledger = Ledger("1")
        >>> ledger.charge(Fraction(3, 4), "first release")
        >>> ledger.left
        Fraction(1, 4)
    """

    epsilon: Number
    spent: list[tuple[Fraction, str]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.epsilon = exact(self.epsilon)

    @property
    def left(self) -> Fraction:
        return exact(self.epsilon) - sum((amount for amount, _ in self.spent), Fraction(0))

    def charge(self, amount: Fraction, what: str) -> None:
        """Spend `amount` on `what`.

        Raises:
            BudgetError: less than `amount` is left; nothing is spent then.
        """
        if amount > self.left:
            raise BudgetError(
                f"{what} would spend epsilon {amount}, and {self.left} of {self.epsilon} is left; lower its epsilon"
            )
        self.spent.append((amount, what))


def exact(value: Number, what: str = "epsilon", *, zero: bool = False) -> Fraction:
    """`value` as an exact fraction: int, str ('0.1', '1/3'), Fraction, Decimal, or a float through its shortest text.

    Raises:
        BudgetError: it is not a positive (with `zero`, non-negative) finite number, or absurdly small.

    Example:
        >>> exact(0.1)
        Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal | float):
        raise BudgetError(f"{what} is {value!r}; give a number or text such as '0.1' or '1/3'")
    try:
        number = Fraction(repr(float(value)) if isinstance(value, float) else value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise BudgetError(f"{what} is {value!r}, not a finite number; write '0.1' or '1/3'") from None
    if number < 0 or (number == 0 and not zero):
        raise BudgetError(f"{what} is {value}; it must be {'at least 0' if zero else 'greater than 0'}")
    if 0 < number < Fraction(1, 10**9):
        raise BudgetError(f"{what} is {value}, below 1e-9; noise that large drowns any count")
    return number
