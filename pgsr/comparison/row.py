"""One arm of a comparison."""

from dataclasses import dataclass, field

from pgsr.methods.method import Result, Status


@dataclass(frozen=True, eq=False)
class Row:
    """One arm of a comparison.

    Attributes:
        method: label of the method.
        problem: label of the problem or view it worked on; objectives compare only within one problem.
        result: its result; failures are results too.
        peak_bytes: most memory its process held while it solved; 0 if unknown.
        errors: per kind ("l1", "emd", "cumulative_l1", "total_error") one number per level, root first; empty without
            a truth or an estimate. "l1" and "total_error" are sums of magnitudes over a level's regions, the others
            means; "emd" is there only if every region's total is right, and so is "times_bound", the EMD over the lower
            bound of any release, if the comparison was given an epsilon.
        baseline_bytes: what the process held before, with its imports, its compiled code and a toy problem solved.
    """

    method: str
    problem: str
    result: Result
    peak_bytes: int
    errors: dict[str, list[float]] = field(default_factory=dict)
    baseline_bytes: int = 0

    @property
    def status(self) -> Status:
        return self.result.status

    @property
    def reason(self) -> str:
        return self.result.reason

    @property
    def solve_bytes(self) -> int | None:
        """The memory that the solve took beyond the baseline; None if unknown."""
        return max(0, self.peak_bytes - self.baseline_bytes) if self.peak_bytes else None
