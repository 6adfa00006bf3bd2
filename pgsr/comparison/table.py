"""The rows of a comparison as data frame and text; `pgsr.comparison.page` and `pgsr.comparison.figure` draw them."""

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgsr.comparison.figure import figure
from pgsr.comparison.page import fragment
from pgsr.comparison.runs import MethodRow
from pgsr.comparison.solvers import solver_of
from pgsr.comparison.tables import COMPILED, columns
from pgsr.machine.extras import extra
from pgsr.methods.method import ANSWERED, Result, Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows of a comparison, as text, data frame, HTML or figure; `pgsr.compare` makes it.

    Attributes:
        rows: one per arm, with its result.
        title: what was compared.
        time_limit: seconds per arm; None if there was no limit.
    """

    rows: list[Row]
    title: str
    time_limit: float | None = None

    def to_frame(self) -> "pd.DataFrame":
        """Make a data frame with one row per arm, numbers as numbers: seconds, megabytes, groups and entities.

        `objective_exact` is the objective as text, because integers beyond 2^53 do not fit a float column.
        """
        with extra("release"):
            import pandas as pd

        return pd.DataFrame([_record(row) | {"time_limit_s": self.time_limit} for row in self.rows])

    def plot(self) -> "Figure":
        """Draw the time by method, and the error by level if a truth was given."""
        return figure(self.to_frame().assign(part=self.title))

    def __repr__(self) -> str:
        lines = [textwrap.fill(note, 120, subsequent_indent="  ") for note in notes(self)]
        return "\n\n".join([self.title, words_frame(self).to_string(index=False), *lines])

    def _repr_html_(self) -> str:
        return fragment(self.to_frame().assign(part=self.title))


def words_frame(table: Comparison) -> "pd.DataFrame":
    """Tabulate the answer of every arm and its errors by level, as text for people."""
    with extra("release"):
        import pandas as pd

    runs = [MethodRow(row) for row in table.to_frame().to_dict("records")]  # pyright: ignore[reportArgumentType]
    names = {"method": [run.method for run in runs], "problem": [run.text("problem") for run in runs]}
    names |= {"status": [run.status for run in runs], "breaks": [run.broken for run in runs]}
    return pd.DataFrame(names | {head: [words for _, words in cells] for head, cells in columns(runs).items()})


def notes(table: Comparison) -> list[str]:
    """The reasons of arms that have one, and how to read objectives, memory and errors."""
    lines = [f"{row.method}: {row.reason}" for row in table.rows if row.reason]
    late = sum(row.status is Status.TIMED_OUT or "time limit" in row.reason for row in table.rows)
    lines += [f"{late} reached the time limit; a higher one (--time-limit, time_limit=) gives more"] if late else []
    below = dict.fromkeys(row.method for row in table.rows if _is_below_bound(row))
    if below:
        lines.append(f"{BELOW_BOUND} ({', '.join(below)})")
    lines += [COMPILING] * any(row.result.seconds.compile >= COMPILED for row in table.rows)
    lines += [MEMORY] * any(row.solve_bytes is not None for row in table.rows)
    lines += [READING] * any(row.errors for row in table.rows)
    return lines + [TIMES_BOUND] * any("times_bound" in row.errors for row in table.rows)


BELOW_BOUND = (
    "objective below bound: no point that satisfies all conditions exactly is below the bound. An answer that violates "
    "some, or satisfies them to our tolerance only (1e-6 of the noise), can be, so it is no better for it"
)

COMPILING = "compile: before the clock started, once per machine; `pgsr warmup` does it beforehand"

MEMORY = "memory: beyond what a process holds once it has imported the arm's packages and solved a toy"

READING = (
    "EMD: entities to add or remove to reach the truth, mean over the regions of a level; where totals differ from the "
    "true ones it is not defined, and 'cum. L1', the same sum, is shown. Not private."
)

TIMES_BOUND = (
    "times the bound: the EMD over what no release of this epsilon can be below on the mean over data near the truth, "
    "though a level gets all of epsilon (docs/derivations/bounds.md); at the truth itself less is possible."
)


def _record(row: Row) -> dict[str, object]:
    facts = row.result.facts()
    reason = facts.pop("reason")
    answer, version = row.result.answer, solver_of(row.method, row.problem).version
    names = answer.hierarchy.level_names if answer is not None else None
    record = {"method": row.method, **facts, "problem": row.problem, "version": version}
    record |= {
        "memory_mb": None if row.solve_bytes is None else row.solve_bytes / 1e6,
        "baseline_mb": row.baseline_bytes / 1e6 if row.baseline_bytes else None,
        "reason": reason,
        "levels": " / ".join(names) if names else None,
    }
    for kind, values in row.errors.items():
        record |= {f"{kind}_level{level}": value for level, value in enumerate(values)}
    return record


def _is_below_bound(row: Row) -> bool:
    certificate = row.result.certificate
    if certificate is None or certificate.objective is None or certificate.bound is None:
        return False
    return row.status in ANSWERED and certificate.objective < certificate.bound
