"""The noise of measurements: whole counts plus exact noise of `pgsr.privacy.laws.DiscreteGaussian`."""

from fractions import Fraction

import numpy as np

from pgsr.errors import BudgetError
from pgsr.privacy.laws import DiscreteGaussian
from pgsr.privacy.laws.discrete_gaussian import LARGEST_DEVIATION
from pgsr.privacy.random import ByteStream


def noise_of(variance: Fraction) -> DiscreteGaussian:
    """Make the law of the noise with this parameter sigma^2; call it before the ledger is charged.

    Raises:
        BudgetError: the variance is not positive, or larger than the law supports.

    Example:
        >>> noise_of(Fraction(25, 2))
        DiscreteGaussian(sigma_squared=Fraction(25, 2))
    """
    if variance > LARGEST_DEVIATION**2:
        raise BudgetError(
            f"a count would get noise of standard deviation {float(variance) ** 0.5:.3g}, and the largest supported is "
            f"{LARGEST_DEVIATION:,}; raise epsilon, or measure less"
        )
    return DiscreteGaussian(variance)


def with_noise(counts: np.ndarray, law: DiscreteGaussian, stream: ByteStream) -> np.ndarray:
    """Add an independent draw to every count. Counts of sensitivity s cost s^2 / (2 sigma^2) in zCDP.

    Returns:
        int64, of the same shape; numbers may be below 0.

    Example:
        >>> with_noise(np.array([100, 0]), noise_of(Fraction(25)), ByteStream(bytes(32)))
        array([110,   0])
    """
    noisy = np.array(counts, np.int64)
    law.add_to(noisy, stream)
    return noisy
