"""Specialised exact algorithms. None of them needs a solver."""

from pgsr.algorithms.isotonic import isotonic_l2
from pgsr.algorithms.isotonic_tree_projection import IsotonicTreeProjection
from pgsr.algorithms.tree_projection import TreeProjection

__all__ = ["IsotonicTreeProjection", "TreeProjection", "isotonic_l2"]
