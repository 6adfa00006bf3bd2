"""The summary of verdicts by claim and cause: how often it holds, how large the effects are, and what it needs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from pgsr.experiments.engine.causes import Cause
from pgsr.experiments.engine.effects import Effect, ratio_words
from pgsr.experiments.engine.verdicts import TestOutcome, Verdict

COUNTED = tuple(str(finding) for finding in TestOutcome)
EFFECTS = ("smallest ratio", "median", "largest", "needed")
"""Heads of the columns, of counts and of effects."""


@dataclass
class ClaimSummary:
    """What the verdicts on one claim found, with one cause, over all data sets, budgets and levels.

    Attributes:
        findings: how many of each.
        effects: of those that compare two errors, or one with a printed number.
    """

    findings: Counter[TestOutcome] = field(default_factory=Counter)
    effects: list[Effect] = field(default_factory=list)

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


def by_claim(verdicts: Iterable[Verdict]) -> dict[tuple[str, Cause], ClaimSummary]:
    """Sum up verdicts by claim and cause, in order of appearance."""
    found: dict[tuple[str, Cause], ClaimSummary] = {}
    for verdict in verdicts:
        summary = found.setdefault((verdict.claim, verdict.cause), ClaimSummary())
        summary.findings[verdict.finding] += 1
        if verdict.judgement.effect is not None:
            summary.effects.append(verdict.judgement.effect)
    return found
