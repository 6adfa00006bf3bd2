"""The time of every solver against the size of the same problems; timeouts are points, too."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pgsr import Geometric, Measurement, Problem, Seeded, View, compare
from pgsr.comparison.comparing import ANSWERED, template_of_arms
from pgsr.datasets import census_like
from pgsr.figures.drawing import new_figure
from pgsr.machine.isolation import Template
from pgsr.methods.method import Method, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#56B4E9", "v"),
    ("#E69F00", "P"),
    ("#000000", "X"),
    ("#999999", "*"),
)


@dataclass(frozen=True)
class SolverTimes:
    """The values that fix what is timed: `state` makes the problem from noisy counts of a nation with 51 regions.

    Attributes:
        state: e.g. `Problem.m_h`.
        view: what is measured.
        max_sizes: K, one problem each.
        epsilon: total.
        time_limit: seconds per solver and problem.
    """

    state: Callable[[Measurement], Problem]
    view: View
    max_sizes: Sequence[int] = (4, 9, 19, 39)
    epsilon: str = "1"
    time_limit: float = 5.0

    def run(self, methods: Iterable[Method], progress: bool = True) -> pd.DataFrame:
        """Time all methods: unknowns, status, seconds (the limit where it was reached) and reason, a row per size."""
        methods, records = list(methods), []
        given_up: set[str] = set()
        for problem, template in self._problems():
            left = [method for method in methods if repr(method) not in given_up]
            table = compare(problem, left, self.time_limit, progress=progress, template=template) if left else None
            for row in table.rows if table else ():
                # SCIP and its like answer at the limit without a proof; that is a timeout of the question asked here.
                late = row.status in (Status.TIMED_OUT, Status.FEASIBLE)
                records.append(
                    {
                        "method": row.method,
                        "problem": problem.label,
                        "unknowns": problem.n_unknowns,
                        "status": row.status.name,
                        "seconds": self.time_limit if late else row.result.seconds.total,
                        "reason": row.reason,
                    }
                )
                if late:
                    given_up.add(row.method)  # larger ones would take longer
        return pd.DataFrame(records)

    def _problems(self) -> Iterator[tuple[Problem, Template]]:
        """State the problems, from small to large, each with the process that starts all methods."""
        with template_of_arms() as template:
            for max_size in self.max_sizes:
                truth = census_like(regions="divisions", max_size=max_size, groups=1_000_000)
                yield self.state(Geometric(self.view, self.epsilon).measure(truth, Seeded("solver times"))), template

    def plot(self, frame: pd.DataFrame) -> "Figure":
        """Draw seconds against unknowns, both on log scales; open marks at the limit are timeouts."""
        figure = new_figure(9, 4.8)
        axes = figure.subplots()
        answered = {status.name for status in ANSWERED} - {Status.FEASIBLE.name}
        late = {Status.TIMED_OUT.name, Status.FEASIBLE.name}
        for place, (method, rows) in enumerate(frame.groupby("method", sort=False)):
            colour, marker = _LOOKS[place % len(_LOOKS)]
            style = "-" if place < len(_LOOKS) else "--"
            status = list(rows["status"])
            shown = np.array([name in answered | late for name in status])
            proved = np.array([name in answered for name in status])[shown]
            x, y = np.asarray(rows["unknowns"])[shown], np.asarray(rows["seconds"])[shown]
            axes.plot(x, y, style, color=colour, linewidth=1)
            axes.plot(x[proved], y[proved], marker, color=colour)
            axes.plot(x[~proved], y[~proved], marker, color=colour, markerfacecolor="white")
            rest = sorted(set(status) - answered - late)
            label = f"{method}" + (f" ({', '.join(rest).lower().replace('_', ' ')})" if rest else "")
            axes.plot([], [], marker + style, color=colour, linewidth=1, label=label)
        axes.axhline(self.time_limit, color="#555555", linewidth=0.8, linestyle=":")
        axes.annotate("time limit (open marks: no proved answer)", (0.01, self.time_limit), (0, 4), fontsize="small",
                      xycoords=("axes fraction", "data"), textcoords="offset points", color="#555555")  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="unknowns (regions x sizes), log scale")
        axes.set_ylabel("time to formulate, solve and round (s), log scale")
        axes.grid(color="#e5e5e5")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
        axes.set_title(f"{frame.problem.iloc[0]}, epsilon = {self.epsilon}", loc="left", fontsize="medium")
        return figure
