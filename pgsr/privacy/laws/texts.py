"""Laws as texts: `law.spelling` is the one way, `law_of` the other."""

import re
from collections.abc import Mapping
from fractions import Fraction

from pgsr.errors import BudgetError
from pgsr.privacy.laws.discrete_gaussian import DiscreteGaussian
from pgsr.privacy.laws.double_geometric import DoubleGeometric
from pgsr.privacy.laws.law import Law

_LAWS = {"double_geometric": ("scale", DoubleGeometric), "discrete_gaussian": ("sigma_squared", DiscreteGaussian)}
_LONGEST = 4_000
_FRACTION = re.compile(r"(0|[1-9][0-9]*)(/[1-9][0-9]*)?")


def law_of(spelling: object) -> Law:
    """Read a law from its spelling, and refuse everything that no law is spelled as.

    Raises:
        BudgetError: this spells no law, or a law whose noise is too large to be drawn.

    Example:
        >>> law_of({"law": "discrete_gaussian", "sigma_squared": "5/2"})
        DiscreteGaussian(sigma_squared=Fraction(5, 2))
        >>> law_of(law_of({"law": "double_geometric", "scale": "2"}).spelling)
        DoubleGeometric(scale=Fraction(2, 1))
    """
    name = spelling.get("law") if isinstance(spelling, Mapping) else None
    if not isinstance(spelling, Mapping) or not isinstance(name, str) or name not in _LAWS:
        raise BudgetError('a law of noise is spelled {"law": ...} with "double_geometric" or "discrete_gaussian"')
    parameter, kind = _LAWS[name]
    text = spelling.get(parameter)
    if set(spelling) != {"law", parameter} or not isinstance(text, str):
        raise BudgetError(f'the law "{name}" is spelled with "law" and "{parameter}" alone, both texts')
    if len(text) > _LONGEST or not _FRACTION.fullmatch(text) or str(Fraction(text)) != text:
        raise BudgetError(f'"{parameter}" of the law "{name}" is a fraction in lowest terms, as "5" or "5/2"')
    return kind(Fraction(text))
