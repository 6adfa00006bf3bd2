"""The post-processing of every mechanism of a release: what makes its counts of the noisy values."""

from dataclasses import replace
from typing import Any

from pgsr import own_methods
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.isotonic.regression import Optimum
from pgsr.methods.method import Method, PostProcess
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.terms import Terms


def post_of(terms: Terms) -> Method | PostProcess:
    """Choose the method or post-process of the mechanism.

    Where levels have sizes of their own, `KUO` takes the middle of all best fits.

    Example:
        >>> post_of(Terms("demo", 5, "1", "posterior"))
        Posterior()
    """
    options: dict[str, Any] = {}
    if terms.kind is Kind.KUO and terms.max_sizes is not None:
        options["fit"] = IsotonicFit(optimum=Optimum.MIDPOINT)
    method: Any = next(entry.method for entry in own_methods.METHODS if entry.release == terms.kind)
    return replace(method, **options)
