"""M_c."""

from pgsr.algorithms.m_c.emd_projection import EmdProjection
from pgsr.algorithms.m_c.projection import CumulativeProjection

__all__ = ["CumulativeProjection", "EmdProjection"]
