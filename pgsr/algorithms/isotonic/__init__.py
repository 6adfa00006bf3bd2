"""Isotonic."""

from pgsr.algorithms.isotonic.fit import IsotonicFit
from pgsr.algorithms.isotonic.method import Isotonic
from pgsr.algorithms.isotonic.regression import Optimum, isotonic_l1, isotonic_l2, isotonic_l2_means, isotonic_l2_runs

__all__ = [
    "Isotonic",
    "IsotonicFit",
    "Optimum",
    "isotonic_l1",
    "isotonic_l2",
    "isotonic_l2_means",
    "isotonic_l2_runs",
]
