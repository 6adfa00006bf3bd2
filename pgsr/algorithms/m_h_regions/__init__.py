"""M_H regions."""

from pgsr.algorithms.m_h_regions.entities_projection import EntityTotalsProjection
from pgsr.algorithms.m_h_regions.projection import RegionTotalsProjection

__all__ = ["EntityTotalsProjection", "RegionTotalsProjection"]
