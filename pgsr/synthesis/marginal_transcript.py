"""The record that leaves the curator of whole marginals: noisy counts in order, public facts, and the privacy paid."""

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from pgsr.synthesis import archive
from pgsr.synthesis.domain import Domain, SynthesisError
from pgsr.synthesis.marginal_curator import MeasuredMarginal
from pgsr.synthesis.public_households import PublicHouseholds
from pgsr.synthesis.queries import Marginal
from pgsr.synthesis.transcript import Privacy, privacy_of


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

    def save(self, path: str | PathLike[str]) -> None:
        """Write one file (see `pgsr.synthesis.archive`). The method's settings and seed are not part of it."""
        privacy = {
            name: str(value) if isinstance(value, Fraction) else value for name, value in asdict(self.privacy).items()
        }
        more = {
            "with_sizes": self.households.with_sizes,
            "rounds": list(self.rounds),
            "measured": [
                {"marginal": asdict(m.marginal), "rho": str(m.rho), "variance": str(m.variance)} for m in self.measured
            ],
            "privacy": privacy,
        }
        noisy = {f"noisy_{number}": m.noisy for number, m in enumerate(self.measured)}
        arrays = {"kinds": self.households.kinds, "numbers": self.households.numbers, **noisy}
        archive.write(path, FORMAT, self.domain, arrays, json.loads(json.dumps(more, default=int)))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "MarginalTranscript":
        """Read what `save` wrote. The file is not signed, so the privacy it states is not verified.

        Raises:
            SynthesisError: the file holds something else.
        """
        domain, arrays, more = archive.read_all(path, FORMAT)
        with archive.refusing(path, FORMAT):
            households = PublicHouseholds(domain, more["with_sizes"], arrays["kinds"], arrays["numbers"])
            measured = tuple(
                measured_of(told, arrays[f"noisy_{number}"]) for number, told in enumerate(more["measured"])
            )
            return cls(households, measured, tuple(more["rounds"]), privacy_of(more["privacy"]))

    def __repr__(self) -> str:
        return f"MarginalTranscript({len(self.measured):,} marginals, privacy: {self.privacy.claim})"


def measured_of(told: dict[str, Any], noisy: np.ndarray) -> MeasuredMarginal:
    """Make a measurement of what is told of it and its noisy counts."""
    return MeasuredMarginal(Marginal(**told["marginal"]), Fraction(told["rho"]), Fraction(told["variance"]), noisy)


FORMAT = "pgsr transcript of marginals 1"
