"""M_H."""

from pgsr.algorithms.m_h.projection import TreeProjection
from pgsr.algorithms.m_h.streaming import CountFile, SizeBlocks, StreamedResult, StreamedTreeProjection

__all__ = ["CountFile", "SizeBlocks", "StreamedResult", "StreamedTreeProjection", "TreeProjection"]
