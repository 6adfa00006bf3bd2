"""M_H where every level of regions has sizes of its own, from single ones at the top to a few classes at the bottom.

The derivation is docs/sizes_per_level.md. Files: `problem` states it, `vertices` makes it a network, `projection` is
the method, `certificate` the judge, which knows nothing of the method.
"""

from pgsr.algorithms.m_h_levels.certificate import LevelCertificate, LevelPrices, certified
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.projection import LevelResult, LevelTreeProjection

__all__ = ["LevelCertificate", "LevelPrices", "LevelProblem", "LevelResult", "LevelTreeProjection", "certified"]
