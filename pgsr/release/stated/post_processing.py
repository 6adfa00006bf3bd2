"""The post-processing of every mechanism of a release: what makes its counts of the noisy values."""

from dataclasses import replace
from typing import Any

from pgsr import own_methods
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.isotonic.regression import Optimum
from pgsr.estimators import Merge
from pgsr.methods.method import Method, PostProcess
from pgsr.release.stated.kinds import Kind


def post_of(kind: Kind, merge: Merge, norm: int, intervals: bool, by_level: bool = False) -> Method | PostProcess:
    """Choose the method or post-process of a mechanism.

    Args:
        kind: the mechanism.
        merge, norm: how `KUO` merges two sizes, and the norm of isotonic fits.
        intervals: whether intervals are published, which a posterior keeps several numbers per cell for.
        by_level: whether levels have sizes of their own, where `KUO` takes the middle of all best fits.

    Example:
        >>> post_of(Kind.POSTERIOR, Merge.WEIGHTED, 1, intervals=False)
        Posterior(intervals=False)
    """
    options: dict[str, Any] = {"intervals": intervals} if kind is Kind.POSTERIOR else {}
    if "norm" in kind.options:
        options["fit"] = IsotonicFit(cumulative_norm=norm)
    if "merge" in kind.options:
        options["merge"] = merge
    if by_level and kind is Kind.KUO:
        options = {"fit": IsotonicFit(optimum=Optimum.MIDPOINT)}
    method: Any = next(entry.method for entry in own_methods.METHODS if entry.release == kind)
    return replace(method, **options)
