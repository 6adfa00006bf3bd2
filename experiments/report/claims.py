"""The summary of verdicts by claim and cause: what is found over all places, how often it holds, and the effects."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

from pgsr.experiments.engine.effects import Effect, ratio_words
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict, family

COUNTED = tuple(str(finding) for finding in TestOutcome)
EFFECTS = ("smallest ratio", "median", "largest", "needed")
"""Heads of the columns, of counts and of effects."""


@dataclass
class ClaimSummary:
    """What the verdicts on one claim found, with one cause, over all data sets, budgets and levels."""

    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def findings(self) -> Counter[TestOutcome]:
        return Counter(verdict.finding for verdict in self.verdicts)

    @property
    def effects(self) -> list[Effect]:
        return [each.judgement.effect for each in self.verdicts if each.judgement.effect is not None]

    @property
    def found(self) -> TestOutcome:
        """The one word for all places (`engine.verdicts.family`)."""
        return family(verdict.judgement for verdict in self.verdicts).finding

    @property
    def words(self) -> str:
        """The word, with the number of places where it holds, of those where it was judged."""
        judged = len(self.verdicts) - self.findings[TestOutcome.NOT_JUDGED]
        return f"{self.found} ({self.findings[TestOutcome.HOLDS]} of {judged})" if judged > 1 else str(self.found)

    @property
    def counts(self) -> list[str]:
        return [f"{self.findings[finding]:,}" if self.findings[finding] else "" for finding in TestOutcome]

    @property
    def ratios(self) -> list[str]:
        """The cells of `EFFECTS`; empty where nothing is compared."""
        if not self.effects:
            return [""] * len(EFFECTS)
        found = [effect.ratio for effect in self.effects]
        needed = " or ".join(dict.fromkeys(effect.needed for effect in self.effects))
        return [*(ratio_words(each) for each in (min(found), median(found), max(found))), needed]

    @property
    def ratio_words(self) -> str:
        """The smallest and the largest ratio, their median, and what is needed if it is not above 1."""
        if not self.effects:
            return ""
        low, middle, high, needed = self.ratios
        ends = " to ".join(dict.fromkeys((low, high)))
        words = f"{ends}, median {middle}" if len(self.effects) > 2 else ends
        return words if needed == "above 1" else f"{words}; {needed.replace('above 1 or ', '')} needed"


def by_claim(
    verdicts: Iterable[Verdict], about: Callable[[Verdict], str] = lambda verdict: str(verdict.cause)
) -> dict[tuple[str, str], ClaimSummary]:
    """Sum up verdicts by claim and by what they say something about, their cause; claims in order of appearance."""
    found: dict[str, dict[str, ClaimSummary]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.claim, {}).setdefault(about(verdict), ClaimSummary()).verdicts.append(verdict)
    return {(claim, cause): summary for claim, of in found.items() for cause, summary in of.items()}
