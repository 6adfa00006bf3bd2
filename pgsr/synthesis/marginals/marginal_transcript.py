"""The record that leaves the curator of whole marginals: noisy counts in order, public facts, and the privacy paid."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pgsr.synthesis.data.domain import Domain, SynthesisError
from pgsr.synthesis.marginals.marginal_curator import MeasuredMarginal
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.queries.transcript import Privacy


@dataclass(frozen=True, eq=False)
class MarginalTranscript:
    """The record of all that post-processing may see; `whole_marginals.replay` makes the distribution of it again.

    Attributes:
        households: public.
        measured: in order.
        rounds: how many marginals each round measured, those of one attribute first.

    Raises:
        SynthesisError: a measurement of other cells than its marginal has, or rounds that do not add up.
    """

    households: PublicHouseholds
    measured: tuple[MeasuredMarginal, ...]
    rounds: tuple[int, ...]
    privacy: Privacy

    def __post_init__(self) -> None:
        if sum(self.rounds) != len(self.measured) or any(n < 1 for n in self.rounds):
            raise SynthesisError(f"rounds of {self.rounds} measurements do not add up to {len(self.measured)}")
        for m in self.measured:
            if m.noisy.shape != (m.marginal.cells(self.domain),):
                raise SynthesisError(f"{m.marginal} has {m.marginal.cells(self.domain)} cells, and not {len(m.noisy)}")
            if m.variance <= 0 or m.rho <= 0:
                raise SynthesisError("a measurement has no noise, or cost nothing")

    @property
    def domain(self) -> Domain:
        return self.households.domain

    @property
    def n_groups(self) -> int:
        return self.households.n_groups

    @property
    def by_round(self) -> list[tuple[MeasuredMarginal, ...]]:
        """The measurements of every round."""
        ends = np.cumsum([0, *self.rounds]).tolist()
        return [self.measured[start:stop] for start, stop in pairwise(ends)]

    def __repr__(self) -> str:
        return f"MarginalTranscript({len(self.measured):,} marginals, privacy: {self.privacy.claim})"
