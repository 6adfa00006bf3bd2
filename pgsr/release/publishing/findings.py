"""What a check finds: a sentence for everything that was looked at."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The ways in which a check ends.

    It is skipped where an earlier one left nothing to look at, and open where the folder does not suffice to decide it.
    """

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    OPEN = "open"


@dataclass(frozen=True)
class Finding:
    """A check: its name, how it ended, and a sentence."""

    name: str
    outcome: Outcome
    sentence: str

    @property
    def passed(self) -> bool:
        """Tell whether nothing speaks against the folder: the check passed, or the folder cannot decide it."""
        return self.outcome in (Outcome.PASSED, Outcome.OPEN)


@dataclass(frozen=True)
class Report:
    """The checks of a folder, or by `selftest` of an installation, in order."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)

    def __repr__(self) -> str:
        return "\n".join(f"{f.outcome:<8} {f.name:<15} {f.sentence}" for f in self.findings)
