"""The choice of a view for every region by public facts: ranked sizes where groups are few, else cumulative counts.

Hc and Hg of a region are one staircase from (0, 0) to (K, G), read by columns (K + 1 cells, heights up to G) or by rows
(G cells, heights up to K), and both get noise of the same scale sigma = 1 / epsilon. The mean absolute error of the
nearest non-decreasing vector to n noisy cells whose heights rise by V in all is about (sigma^2 V / n)^(1/3) per cell,
so the earth mover's distance, which is the area between two staircases, is about

    Hc:  sigma^(2/3) K^(2/3) G^(1/3),        Hg:  sigma^(2/3) G^(2/3) K^(1/3),        Hg / Hc = (G / K)^(1/3),

where sizes are spread over all of 0..K, whatever epsilon is. Where they lie in a part of 0..K alone, the other cells of
Hc are near 0 or G, where the fit is cut off, and cost little: the length of that part takes the place of K. Sizes would
tell it, and they are private; G and K are public. On stand-ins (households, taxi pick-ups, flights, and drawn sizes,
even and skewed; K from 100 to 10,000, epsilon from 1/10 to 3) the best rule of the form

    Hg if G <= kappa K^a epsilon^b, else Hc

has a = 1, b = 0 and kappa about 1/3: its errors are 5 % above those of the better view in the geometric mean over data
sets and regions, where those of Hc alone are 74 % above and those of Hg alone 47 %.
`tests/test_noise_by_groups.py` holds the rule to a bound on such stand-ins.

Extends: the views of Kuo et al. 2018, section 4, to a choice by region.

Source of the rate: Zhang 2002, Risk bounds in isotonic regression.
"""

from dataclasses import dataclass
from fractions import Fraction

from pgsr.data.views import View
from pgsr.errors import ProblemError
from pgsr.privacy.budget import Number, exact


@dataclass(frozen=True)
class ByGroups:
    """The rule that measures ranked sizes of regions with few groups, and cumulative counts of the others.

        view of region r  =  RANKED if G[r] <= threshold K, else CUMULATIVE.

    G[r] is the region's public number of groups, or its noisy one where that is what is public, and K the largest size.
    Neighbouring data sets agree in both, so the choice costs no privacy; both views have sensitivity 1.

    Args:
        threshold: exact, above 0; the default is explained in this module.

    Raises:
        ProblemError: the threshold is no number above 0.

    Example:
        >>> rule = ByGroups()
        >>> rule.ranked_up_to(1_000)
        333
        >>> rule.view(groups=20, max_size=1_000), rule.view(groups=5_000, max_size=1_000)
        (View.RANKED, View.CUMULATIVE)
    """

    threshold: Number = Fraction(1, 3)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "threshold", exact(self.threshold, "threshold"))
        except ValueError:
            raise ProblemError(
                f"ByGroups(threshold={self.threshold!r}): give the threshold as a number above 0, such as '1/3'"
            ) from None

    def ranked_up_to(self, max_size: int) -> int:
        """Compute the largest number of groups at which a region is measured by ranked sizes."""
        return int(exact(self.threshold) * max_size)

    def view(self, groups: int, max_size: int) -> View:
        """Choose the view of a region with this number of groups."""
        return View.RANKED if groups <= self.ranked_up_to(max_size) else View.CUMULATIVE

    def __repr__(self) -> str:
        return "ByGroups()" if self == ByGroups() else f"ByGroups({str(self.threshold)!r})"
