"""What an unequal split of the budget over levels gains and costs, in the variances of least squares on the tree."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.privacy.accounting.shares import consistent_variances
from pgsr.release.stated.kinds import Kind, MeasuredView
from pgsr.release.stated.plan import Plan
from pgsr.release.stated.terms import Terms


def split_reasons(terms: Terms, tree: Hierarchy, names: Sequence[str]) -> str:
    """Say what a split with a share of 0, below half or above twice an equal one does to the levels; "" without one.

    The deviations are those of `pgsr.privacy.accounting.shares.consistent_variances`, beside those of equal shares.
    Nothing is said of `bottom_up`, which has one split, nor of split views, whose cells do not add up.

    Example:
        >>> tree = Hierarchy.from_paths([("US", str(state)) for state in range(50)])
        >>> print(split_reasons(Terms("demo", 5, "1", "kuo", shares=("1/12", "11/12")), tree, ("nation", "state")))
        Its split: nation gets 1/12, less than half of an equal share. In least squares on this tree the standard \
deviation of a measured cell's noise is nation 9.18 (2.8 with equal shares), state 1.54 (2.8 with \
equal shares).
    """
    plan = Plan.of(terms, tree.regions_per_level)
    shares = [level.share for level in plan.levels]
    unusual = [f"{name} gets {_said(share, tree.n_levels)}" for name, share in zip(names, shares, strict=True)]
    unusual = [text for text, share in zip(unusual, shares, strict=True) if _is_unusual(share, tree.n_levels)]
    if not unusual or terms.kind is Kind.BOTTOM_UP or terms.view is MeasuredView.SPLIT:
        return ""
    own = _deviations(plan, tree)
    alike = replace(terms, shares=(Fraction(1, tree.n_levels),) * tree.n_levels)
    equal = _deviations(Plan.of(alike, tree.regions_per_level), tree)
    both = zip(names, own, equal, shares, strict=True)
    by_level = ", ".join(
        f"{name} {here:,.3g} ({there:,.3g} with equal shares)" + ("" if share else ", by the other levels alone")
        for name, here, there, share in both
    )
    return (
        f"Its split: {', '.join(unusual)}. In least squares on this tree the standard deviation of a measured cell's "
        f"noise is {by_level}."
    )


def _is_unusual(share: Fraction, n_levels: int) -> bool:
    return not Fraction(1, 2) <= share * n_levels <= 2


def _said(share: Fraction, n_levels: int) -> str:
    if not share:
        return "no share"
    return f"{share}, {'less than half of' if share * n_levels < 1 else 'more than twice'} an equal share"


def _deviations(plan: Plan, tree: Hierarchy) -> np.ndarray:
    """The root of the mean variance of every level, root first."""
    laws = [level.law for level in plan.levels]
    return np.sqrt(consistent_variances(tree, [np.inf if law is None else float(law.variance_bound) for law in laws]))
