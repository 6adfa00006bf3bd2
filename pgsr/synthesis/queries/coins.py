"""The exact coins of the exponential mechanism, tossed with random bytes and without floating point.

An event of probability exp(-gamma) for a rational gamma is decided by comparing a uniform number with an integer
enclosure of exp(-gamma), bit by bit until they part. Times depend on what is drawn, so they are not for publication.
"""

from fractions import Fraction
from functools import partial

from pgsr.errors import BudgetError
from pgsr.privacy.enclosure import exp_minus
from pgsr.privacy.laws.inversion import Uniform
from pgsr.privacy.random import ByteStream


class Coins:
    """A source of exact draws, made of a stream of random bytes.

    Example:
        >>> coins = Coins(ByteStream(bytes(32)))
        >>> [coins.survives(Fraction(1, 2)) for _ in range(4)]
        [False, False, True, False]
    """

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream

    def survives(self, gamma: Fraction, first: int = 0, n_bits: int = 0) -> bool:
        """Draw True with probability exp(-gamma), from a uniform number whose first `n_bits` bits may be given."""
        if gamma < 0:
            raise BudgetError(f"an event of probability exp({-gamma}) does not exist; gamma is at least 0")
        return gamma == 0 or Uniform(first, self.stream, n_bits).below(partial(exp_minus, gamma))
