"""The laws of noise: what a draw is distributed as, and exact samplers of it.

- `law`: what every law of noise can say of itself, and how it is drawn;
- `double_geometric`, `discrete_gaussian`: the two laws;
- `inversion`: the exact sampler of both, from certified thresholds in integers;
- `per_level`: the law that the noise of a level has, given the sensitivity of what is measured;
- `spelling`: laws as texts for manifests, and back.
"""

from pgsr.privacy.laws.discrete_gaussian import LARGEST_DEVIATION, DiscreteGaussian
from pgsr.privacy.laws.double_geometric import LARGEST_SCALE, DoubleGeometric
from pgsr.privacy.laws.law import Law
from pgsr.privacy.laws.per_level import GaussianNoise, GeometricNoise, NoiseFamily, Sensitive
from pgsr.privacy.laws.spelling import law_of

__all__ = [
    "LARGEST_DEVIATION",
    "LARGEST_SCALE",
    "DiscreteGaussian",
    "DoubleGeometric",
    "GaussianNoise",
    "GeometricNoise",
    "Law",
    "NoiseFamily",
    "Sensitive",
    "law_of",
]
