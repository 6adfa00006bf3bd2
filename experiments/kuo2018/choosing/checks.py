"""The refusals of a choice among mechanisms, made before it spends anything."""

from collections.abc import Sequence

from pgsr.data.counts import CountOfCounts
from pgsr.errors import MethodError, ProblemError
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Method, PostProcess
from pgsr.privacy.neighbours import ONE_ENTITY, Unit
from pgsr.privacy.random import Source


def checked_candidates(candidates: Sequence[Mechanism]) -> tuple[Mechanism, ...]:
    """Check the candidates, and return them as a tuple.

    Raises:
        MethodError: there is none, or one is no `Mechanism`.
    """
    if not isinstance(candidates, Sequence) or not candidates:
        raise MethodError(f"candidates={candidates!r}; give a sequence of at least one Mechanism")
    for candidate in candidates:
        if not isinstance(candidate, Mechanism) or not isinstance(candidate.post, Method | PostProcess):
            raise MethodError(f"candidate {candidate!r} cannot be run; give Mechanism(noise, method or post-process)")
    return tuple(candidates)


def refuse_early(candidates: Sequence[Mechanism], truth: CountOfCounts, source: Source) -> None:
    """Raise the error of any candidate that would refuse before drawing noise; nothing is drawn or charged.

    Raises:
        PgsrError: as `Mechanism.check`, naming the candidate.
    """
    if truth.max_quantity > 1 or truth.private_groups:
        raise ProblemError(
            "scores and statistics are proved for entities of quantity 1 and a public table of groups; choose by "
            "public facts (expected_errors)"
        )
    for candidate in candidates:
        unit, relation = candidate.noise.unit, candidate.noise.relation
        if unit != Unit.ENTITY or relation not in ONE_ENTITY:
            raise ProblemError(
                f"candidate {label(candidate)} protects one {unit} under {relation}, and scores and statistics are "
                "proved for one entity more or less; choose by public facts (expected_errors)"
            )
        try:
            candidate.check(truth, source)
        except ProblemError as error:
            raise ProblemError(f"candidate {label(candidate)} cannot run: {error}") from None


def label(candidate: Mechanism) -> str:
    """Describe a candidate in words, without its epsilon."""
    return f"{candidate.post!r} on {candidate.noise.label}"
