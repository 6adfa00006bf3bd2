"""What leaves the curator: noisy answers in the order they were taken, public facts, and the privacy that was paid."""

from dataclasses import dataclass
from fractions import Fraction

from pgsr.synthesis.domain import Domain
from pgsr.synthesis.queries import Workload
from pgsr.synthesis.sensitivity import Neighbours
from pgsr.synthesis.zcdp import Conversion

IN_WORDS = {
    Neighbours.REPLACE: "one person's attribute values differ; groups, group attributes and all sizes are public",
    Neighbours.ADD_REMOVE: "one person more or less; groups and group attributes are public",
    Neighbours.MOVE: "one person is removed and another inserted elsewhere; groups and group attributes are public",
}


@dataclass(frozen=True)
class Measured:
    """A query of the workload and its noisy answer, a share in [0, 1]."""

    query: int
    value: float


@dataclass(frozen=True)
class Privacy:
    """What a fit guarantees. All numbers are exact.

    Example:
        >>> rho = Fraction("0.0132")
        >>> privacy = Privacy(Fraction(1), Fraction("1e-8"), rho, 50, Fraction(1, 2), Conversion.CLOSED, "...", False)
        >>> privacy.claim
        'none (seeded)'
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    rounds: int
    alpha: Fraction
    conversion: Conversion
    neighbours: str
    secure: bool

    @property
    def claim(self) -> str:
        """The guarantee in words; noise that can be repeated guarantees nothing."""
        if not self.secure:
            return "none (seeded)"
        return f"({self.epsilon}, {self.delta})-differential privacy, neighbours: {self.neighbours}"


@dataclass(frozen=True, eq=False)
class Transcript:
    """Everything that post-processing may see; `pgsr.synthesis.replay` makes the distribution of it again.

    Attributes:
        n_groups: N_G, public.
        n_persons: N_I, public; the denominator of shares of individuals.
        measured: one per round.
    """

    workload: Workload
    n_groups: int
    n_persons: int
    measured: tuple[Measured, ...]
    privacy: Privacy

    @property
    def domain(self) -> Domain:
        return self.workload.domain
