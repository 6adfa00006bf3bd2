"""M_H where every level of regions has sizes of its own, from single ones at the top to a few classes at the bottom.

The derivation is docs/sizes_per_level.md. Files: `problem` states it; `selection` chooses cells and makes them arcs,
`parts` asks a part of the hierarchy, `joined` makes one network of all, `solving_parts` repeats that until no cell is
left to add; `projection` is the method in memory, where there is one part, `streaming` that of parts on disk or on a
cluster. `certificate` is the judge, which knows nothing of all this. `mechanism` puts noise and post-processing
together; `isotonic_tree_projection` is M_c^dp, whose second step this is.
"""

from pgsr.algorithms.m_h_levels.certificate import LevelCertificate, LevelPrices, certified
from pgsr.algorithms.m_h_levels.isotonic_tree_projection import LevelIsotonicTreeProjection
from pgsr.algorithms.m_h_levels.mechanism import LevelMechanism
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.projection import LevelResult, LevelTreeProjection
from pgsr.algorithms.m_h_levels.streaming import StreamedLevelResult, StreamedLevelTreeProjection, measure

__all__ = [
    "LevelCertificate",
    "LevelIsotonicTreeProjection",
    "LevelMechanism",
    "LevelPrices",
    "LevelProblem",
    "LevelResult",
    "LevelTreeProjection",
    "StreamedLevelResult",
    "StreamedLevelTreeProjection",
    "certified",
    "measure",
]
