"""Show how far a command is: a bar with the stages and their times on a terminal, plain lines elsewhere."""

from types import TracebackType

from pgsr.machine.extras import extra
from pgsr.machine.progress import told

with extra("release"):
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
    from rich.text import Text

DRAWING = "drawing from the posterior"
"""The stage of the intervals of a posterior, as it is told."""


class Stages:
    """The stages of a command, shown as they begin; for the argument `say` of `publish` and `forecast`.

    On a terminal every stage is a line with a bar and its time; the stage that fails keeps no tick. Elsewhere (in a
    file, a log) it is a line of text without a time, because how long a release takes depends on the data. Texts that
    are no stage (`STAGES`) are printed in full.

    Example:
        >>> with Stages(Console(width=80)) as stages:
        ...     stages("reading the tables")
        ...     stages("charging the ledger")
        reading the tables
        charging the ledger
    """

    STAGES = (
        *("reading the tables", "charging the ledger", "drawing noise", "post-processing", "writing", "checking"),
        *("reading the public tables", "drawing noise and post-processing, again and again", DRAWING),
    )
    """The stages of `publish`, `check`, `forecast` and `pgsr intervals`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            SpinnerColumn(finished_text="[green]✓[/green]"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.elapsed:,.1f} s", style="progress.elapsed"),
            _Left(),
            console=console,
            disable=not console.is_terminal,
        )
        self._stage: TaskID | None = None
        self._told = told(self.advance)

    def __enter__(self) -> "Stages":
        self._told.__enter__()
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end()
        elif self._stage is not None:
            self._bar.stop_task(self._stage)
        self._bar.stop()
        self._told.__exit__(kind, error, trace)

    def __call__(self, text: str) -> None:
        """Begin a stage, which ends the one before; or tell something else."""
        if text not in self.STAGES or not self._console.is_terminal:
            self._console.print(escape(text), style="dim", highlight=False, soft_wrap=True)
            return
        self._end()
        self._stage = self._bar.add_task(text, total=None)

    def advance(self, done: int, total: int | None) -> None:
        """Tell how many pieces of the stage are done; nothing is shown where there is no bar."""
        if self._stage is not None:
            self._bar.update(self._stage, completed=done, total=total)

    def _end(self) -> None:
        if self._stage is not None:
            self._bar.update(self._stage, completed=1, total=1)
            self._bar.stop_task(self._stage)
            self._stage = None


class _Left(ProgressColumn):
    """The column with an estimate of the time left, where it is known how many parts there are and some are done."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = None if task.finished or not task.completed else task.time_remaining
        if left is None:
            return Text("")
        minutes, seconds = divmod(int(left), 60)
        return Text(f"about {f'{minutes} min {seconds:02}' if minutes else seconds} s left", style="progress.remaining")
