"""The laws of noise: what a draw is distributed as, and exact samplers of it.

- `law`: what every law of noise can say of itself, and how it is drawn;
- `double_geometric`, `discrete_gaussian`: the two laws;
- `inversion`: the exact sampler of both, from certified thresholds in integers;
- `per_level`: the law that the noise of a level has, given the sensitivity of what is measured;
- `texts`: laws as texts for manifests, and back.
"""

from pgsr.privacy.laws.discrete_gaussian import DiscreteGaussian
from pgsr.privacy.laws.double_geometric import DoubleGeometric
from pgsr.privacy.laws.law import Law
from pgsr.privacy.laws.per_level import GeometricNoise

__all__ = ["DiscreteGaussian", "DoubleGeometric", "GeometricNoise", "Law"]
