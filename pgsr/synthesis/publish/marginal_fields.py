"""The fields of a synthesis' transcript that tell of measured marginals, and their way back."""

from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.privacy.neighbours import Unit
from pgsr.privacy.random import Secure, Seeded
from pgsr.synthesis.data.domain import Domain, SynthesisError
from pgsr.synthesis.marginals.marginal_curator import MarginalTranscript, MeasuredMarginal, variance_of
from pgsr.synthesis.marginals.marginal_sensitivity import marginal_sensitivity
from pgsr.synthesis.marginals.public_households import PublicHouseholds
from pgsr.synthesis.marginals.whole_marginals import WholeMarginals
from pgsr.synthesis.publish.folder import facts_of
from pgsr.synthesis.queries.sensitivity import Neighbours
from pgsr.synthesis.queries.transcript import AdaptiveBudget, Privacy
from pgsr.synthesis.queries.workload import Level, Marginal


def derived_fields(transcript: MarginalTranscript, neighbours: Neighbours, unit: Unit) -> dict[str, Any]:
    """Compute the fields of a transcript that follow from a fit's public facts, domain, marginals and budget."""
    households = transcript.households
    return {
        **facts_of(transcript.privacy, transcript.domain, neighbours, unit),
        "rounds": list(transcript.rounds),
        "households": households.n_groups,
        "persons": households.n_persons if households.with_sizes else None,
        "measured": [_told(transcript.domain, m, neighbours, unit) for m in transcript.measured],
    }


def describe(domain: Domain, marginal: Marginal) -> str:
    """Describe a marginal in words.

    Example:
        >>> from pgsr.synthesis import Attribute
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> for marginal in (Marginal(Level.INDIVIDUAL, (0, 1), (0,)), Marginal(Level.GROUP, (), (0,))):
        ...     describe(domain, marginal)
        'persons by sex, area, COUNT'
        'households with a member by sex'
    """
    group = [domain.group[g].name if g < domain.count else "COUNT" for g in marginal.group]
    own = [domain.individual[i].name for i in marginal.individual]
    if marginal.level is Level.GROUP:
        return f"households {'with a member ' if own else ''}by {', '.join([*own, *group])}"
    theirs = [domain.individual[i].name for i in marginal.relative]
    relative = f" and of a {marginal.relation} by {', '.join(theirs)}" if marginal.relation else ""
    return f"persons by {', '.join([*own, *group])}{relative}"


def read_back(
    fields: dict[str, Any], households: PublicHouseholds, method: WholeMarginals, budget: AdaptiveBudget, secure: bool
) -> MarginalTranscript:
    """Make the transcript that the fields tell of; compare its `derived_fields` with them.

    Raises:
        SynthesisError: marginals that the method does not measure, noise of another variance than was paid for, rounds
            of other numbers, or a rho that is not spent exactly.
    """
    domain, neighbours, unit = households.domain, Neighbours(fields["relation"]), Unit.parse(fields["unit"])
    single, candidates = method.marginals(domain, neighbours)
    measured = tuple(_measured(told) for told in fields["measured"])
    rounds = fields["rounds"]
    if not isinstance(rounds, list) or not all(type(n) is int for n in rounds):
        raise SynthesisError("rounds of the transcript are no list of whole numbers")
    if not rounds or rounds[0] != len(single) or tuple(m.marginal for m in measured[: len(single)]) != single:
        raise SynthesisError("the marginals of one attribute are not measured first, each once")
    if not {m.marginal for m in measured[len(single) :]} <= set(candidates):
        raise SynthesisError("a marginal was measured that the method does not select")
    for m in measured:
        squared = marginal_sensitivity(domain, m.marginal, neighbours, unit).squared
        if m.variance != variance_of(squared, m.rho):
            raise SynthesisError(f"the noise of {describe(domain, m.marginal)} has another variance than was paid for")
    spent = sum(m.rho for m in measured[: len(single)])
    spent += sum(m.rho / (1 - Fraction(method.selection)) for m in measured[len(single) :])
    if spent != budget.rho:
        raise SynthesisError("selections and measurements do not spend rho exactly")
    privacy = Privacy.of(budget, neighbours, Secure() if secure else Seeded("none"), unit)
    return MarginalTranscript(households, measured, tuple(rounds), privacy)


def _told(domain: Domain, m: MeasuredMarginal, neighbours: Neighbours, unit: Unit) -> dict[str, Any]:
    return {
        "marginal": describe(domain, m.marginal),
        "level": str(m.marginal.level),
        "group": list(m.marginal.group),
        "individual": list(m.marginal.individual),
        "relation": None if m.marginal.relation is None else str(m.marginal.relation),
        "relative": list(m.marginal.relative),
        "squared_sensitivity": marginal_sensitivity(domain, m.marginal, neighbours, unit).squared,
        "rho": str(m.rho),
        "variance": str(m.variance),
        "noisy": m.noisy.tolist(),
    }


def _measured(told: dict[str, Any]) -> MeasuredMarginal:
    names = ("level", "group", "individual", "relation", "relative")
    if not isinstance(told, dict) or not {*names, "rho", "variance", "noisy"} <= set(told):
        raise SynthesisError("an entry of measured is not told as a marginal is")
    if not all(type(n) is int for n in told["noisy"]):
        raise SynthesisError("noisy counts are no whole numbers")
    marginal = Marginal(**{name: told[name] for name in names})
    noisy = np.array(told["noisy"], np.int64)
    return MeasuredMarginal(marginal, Fraction(told["rho"]), Fraction(told["variance"]), noisy)
