"""The accounting of privacy: amounts in three currencies, what noise costs in each, and the choice of noise.

- `loss`: the amounts `PureEpsilon`, `Approximate` and `Rho`, each of which may be a budget, a charge or a cost;
- `zcdp`: conversions between rho and (epsilon, delta) that hold for every mechanism;
- `noise_rho`: the exact rho of both laws of noise, and the largest epsilon of a rho;
- `loss_distribution`: the exact distribution of a privacy loss, and its delta;
- `loss_of_noise`: that of independent noise on cells, from the laws and what changes;
- `composition`: the total of the noise of several levels, in every currency;
- `odometer`: the total of charges of which an amount is all that is known;
- `law_choice`: the law of every level by exact variances, at a stated total;
- `shares`: a starting point for the shares of levels.

All bounds are computed in integers and rounded to the safe side.
"""

from pgsr.privacy.accounting.law_choice import best_noise
from pgsr.privacy.accounting.loss import Approximate, PureEpsilon, Rho

__all__ = ["Approximate", "PureEpsilon", "Rho", "best_noise"]
