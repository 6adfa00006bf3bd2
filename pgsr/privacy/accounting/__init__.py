"""The accounting of privacy: amounts in three currencies, what noise costs in each, and the choice of noise.

- `loss`: the amounts `PureEpsilon`, `Approximate` and `Rho`, each of which may be a budget, a charge or a cost;
- `zcdp`: conversions between rho and (epsilon, delta) that hold for every mechanism;
- `noise_rho`: the exact rho of both laws of noise, and the largest epsilon of a rho;
- `loss_distribution`: the exact distribution of a privacy loss, and its delta;
- `loss_of_noise`: that of independent noise on cells, from the laws and what changes;
- `composing`: the total of the noise of several levels, in every currency;
- `odometer`: the total of charges of which an amount is all that is known;
- `choosing`: the law of every level by exact variances, at a stated total;
- `shares`: a starting point for the shares of levels.

All bounds are computed in integers and rounded to the safe side.
"""

from pgsr.privacy.accounting.choosing import Laws, best_noise, variance_of
from pgsr.privacy.accounting.composing import Composition, composed
from pgsr.privacy.accounting.loss import Approximate, Loss, PureEpsilon, Rho, epsilon_delta
from pgsr.privacy.accounting.noise_rho import geometric_of_rho, rho_of_law, rho_of_noise, rho_of_pure
from pgsr.privacy.accounting.odometer import Odometer
from pgsr.privacy.accounting.shares import starting_shares
from pgsr.privacy.accounting.zcdp import Conversion, epsilon_of, rho_of

__all__ = [
    "Approximate",
    "Composition",
    "Conversion",
    "Laws",
    "Loss",
    "Odometer",
    "PureEpsilon",
    "Rho",
    "best_noise",
    "composed",
    "epsilon_delta",
    "epsilon_of",
    "geometric_of_rho",
    "rho_of",
    "rho_of_law",
    "rho_of_noise",
    "rho_of_pure",
    "starting_shares",
    "variance_of",
]
