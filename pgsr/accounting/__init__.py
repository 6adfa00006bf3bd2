"""The accounting of privacy: amounts in three currencies, and conversions that are rounded to the safe side."""

from pgsr.accounting.loss import Approximate, Loss, PureEpsilon, Rho, epsilon_delta
from pgsr.accounting.zcdp import Conversion, epsilon_of, rho_of

__all__ = ["Approximate", "Conversion", "Loss", "PureEpsilon", "Rho", "epsilon_delta", "epsilon_of", "rho_of"]
