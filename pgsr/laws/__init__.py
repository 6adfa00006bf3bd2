"""The laws of noise: what a draw is distributed as, and exact samplers of it.

- `law`: what every law of noise can say of itself, and how it is drawn;
- `double_geometric`, `discrete_gaussian`: the two laws;
- `inversion`: the exact sampler of both, from certified thresholds in integers;
- `per_level`: the law that the noise of a level has, given the sensitivity of what is measured;
- `spelling`: laws as texts for manifests, and back.
"""

from pgsr.laws.discrete_gaussian import LARGEST_DEVIATION, DiscreteGaussian
from pgsr.laws.double_geometric import LARGEST_SCALE, DoubleGeometric
from pgsr.laws.law import Law
from pgsr.laws.per_level import GaussianNoise, GeometricNoise, NoiseFamily, Sensitive
from pgsr.laws.spelling import law_of

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
