"""The privacy budget of a mechanism, in exact fractions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from pgsr.checks import plain
from pgsr.errors import BudgetError

Number = int | str | Fraction | Decimal | float

SMALLEST = Fraction(1, 10**9)
LARGEST = Fraction(10**9)
"""Limits of one epsilon: beyond them the noise drowns any count, or is never anything but zero."""

MOST_LEVELS = 10_000
"""Most levels a budget is split over."""


@dataclass(frozen=True)
class Budget:
    """A budget of one epsilon per level of a hierarchy, root first. Levels compose: the total is exactly their sum.

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
        """Split `epsilon` over levels in equal parts, or by `shares` that add up to exactly 1.

        Raises:
            BudgetError: epsilon or a share is malformed, or the shares do not fit.
        """
        total = exact(epsilon)
        n_levels = plain(n_levels)
        if isinstance(n_levels, bool) or not isinstance(n_levels, int) or not 1 <= n_levels <= MOST_LEVELS:
            raise BudgetError(f"a budget over {_shown(n_levels)} levels; a hierarchy has 1 to {MOST_LEVELS:,}")
        if shares is None:
            return cls((total / n_levels,) * n_levels)
        if isinstance(shares, str | bytes) or not hasattr(shares, "__getitem__") or not getattr(shares, "shape", (1,)):
            raise BudgetError(f"shares is {_shown(shares)}; give a sequence with one share per level, root first")
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


def recommended_split(n_levels: int) -> tuple[Fraction, ...]:
    """Give the split of epsilon over n levels to start from, root first: n parts for the leaves, one for each other.

    On real and made data no split of epsilon is within a tenth of the best at every level: errors of leaves fall nearly
    like one over their share, those of a root like the root of one over it. This one is nowhere far from the best split
    without more than half for the root (docs/study/choose_a_mechanism.md); `pgsr.noise.shares_by_root` chooses others.

    Example:
        >>> [", ".join(map(str, recommended_split(n))) for n in (1, 2, 3, 4)]
        ['1', '1/3, 2/3', '1/5, 1/5, 3/5', '1/7, 1/7, 1/7, 4/7']
    """
    part = Fraction(1, 2 * n_levels - 1)
    return (*(part,) * (n_levels - 1), n_levels * part)


def exact(value: Number, what: str = "epsilon", *, zero: bool = False) -> Fraction:
    """Read an int, str ('0.1', '1/3'), Fraction, Decimal or float (through its shortest text) as an exact fraction.

    Raises:
        BudgetError: it is not a positive (with `zero`, non-negative) finite number, or absurdly small.

    Example:
        >>> exact(0.1)
        Fraction(1, 10)
    """
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction | Decimal | float):
        raise BudgetError(f"{what} is {value!r}; give a number or text such as '0.1' or '1/3'")
    try:
        number = fraction_of(value)
    except (ArithmeticError, ValueError):
        raise BudgetError(f"{what} is {_shown(value)}, not a finite number; write '0.1' or '1/3'") from None
    if number < 0 or (number == 0 and not zero):
        raise BudgetError(f"{what} is {_shown(value)}; it must be {'at least 0' if zero else 'greater than 0'}")
    if 0 < number < SMALLEST:
        raise BudgetError(f"{what} is {_shown(value)}, below 1e-9; noise that large drowns any count")
    if number > LARGEST:
        raise BudgetError(f"{what} is {_shown(value)}, above {LARGEST}; no noise is left to protect anything")
    return number


def fraction_of(value: Number) -> Fraction:
    """Read a number, or its text in the digits 0 to 9, as an exact fraction.

    Sizes beyond 10^200, or below 10^-200, count as these.

    Raises:
        ArithmeticError, ValueError: it is not a finite number.

    Example:
        >>> fraction_of(0.1), fraction_of("1e999999999") == 10**200
        (Fraction(1, 10), True)
    """
    if isinstance(value, int | Fraction):
        return Fraction(value)
    text = repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, str) and _AMOUNT.fullmatch(text) is None:
        raise ValueError("no amount in plain digits")
    if "/" in text:
        return Fraction(text)
    decimal = Decimal(text)
    if decimal and decimal.is_finite() and abs(decimal.adjusted()) > 200:
        # Far outside every limit; Fraction would write out all digits.
        decimal = Decimal((decimal.as_tuple().sign, (1,), 200 if decimal.adjusted() > 0 else -200))
    return Fraction(decimal)


_AMOUNT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?[0-9]+/[0-9]+")
"""The text of a number in the digits 0 to 9; Python reads others, and signs between digits, that people may not."""


def _shown(value: object) -> str:
    try:
        text = str(value) if isinstance(value, Fraction | Decimal) else repr(value).strip("'")
    except ValueError:  # Python prints no integers beyond 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 40 else f"{text[:40]}..."
