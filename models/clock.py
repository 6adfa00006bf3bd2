"""The seconds of a solve by part, and what one call of a solver comes to."""

from dataclasses import dataclass

from pgsr.methods.gate import Deadline
from pgsr.methods.method import Seconds
from pgsr.models.judge import SolverAnswer


@dataclass(frozen=True, eq=False)
class Run:
    """The outcome of one call of a solver: its answer, and the seconds of handing the program over and of solving."""

    answer: SolverAnswer
    formulate: float
    solve: float


class Clock:
    """The seconds spent by part so far, and the seconds left for a solver."""

    def __init__(self, deadline: Deadline, seconds: Seconds) -> None:
        self.deadline, self.seconds = deadline, seconds
        self.form, self.programs = "", 0

    def handed(self, form: str, n_columns: int, integers: bool) -> None:
        """Note the form of the program that a solver gets now, which is the last one's in the end."""
        self.programs += 1
        kind = " declared integers" if integers else ""
        more = f", {self.programs} programs" if self.programs > 1 else ""
        self.form = f"{form}, {n_columns:,} columns{kind}{more}"

    def add(self, run: Run) -> None:
        self.seconds = Seconds(self.seconds.formulate + run.formulate, self.seconds.solve + run.solve)

    @property
    def left(self) -> float | None:
        """The seconds left, 0.01 at least, because solvers read 0 as no limit."""
        left = self.deadline.left
        return None if left is None else max(0.01, left)

    @property
    def expired(self) -> bool:
        return self.deadline.passed
