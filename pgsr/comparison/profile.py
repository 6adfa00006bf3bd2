"""Performance profiles (Dolan and Moré 2002): the share of problems that a solver proves, by how far behind it is."""

from math import log10
from statistics import fmean

from pgsr.comparison.items import Item, Stroke, Words, slug
from pgsr.comparison.runs import ProblemRows

TALL = 270.0
"""Pixels from no problem to all."""

DASHES = {"CP-SAT": "6 3", "PDLP": "2 2.5", "flow": "9 3 2 3"}
"""One family has four solvers, so one colour."""

FEWEST = 3
"""Problems below which a share says nothing."""


def profiles(problems: list[ProblemRows]) -> tuple[int, dict[tuple[str, str], list[float]]]:
    """Compute every solver's ratios to the fastest proof, over the problems that two solvers or more were asked.

    Returns:
        how many problems these are; and by solver and family the ratios where it has a proof, by its fastest interface,
        the most proofs first.
    """
    asked = [problem for problem in problems if problem.proved and len({run.solver.name for run in problem.runs}) > 1]
    found: dict[tuple[str, str], list[float]] = {}
    for problem in asked:
        best: dict[tuple[str, str], float] = {}
        for run in problem.proved:
            best.setdefault((run.solver.name, run.solver.family), run.seconds)
        for solver, seconds in best.items():
            found.setdefault(solver, []).append(max(1.0, seconds / max(problem.proved[0].seconds, 1e-9)))
    order = sorted(found, key=lambda solver: (-len(found[solver]), fmean(map(log10, found[solver])), solver))
    return len(asked), {solver: sorted(found[solver]) for solver in order}


def profile(problems: list[ProblemRows]) -> list[Item]:
    """Draw the profiles with the solvers' names at the right; nothing for too few problems."""
    n, rows = profiles(problems)
    if n < FEWEST:
        return []
    end = log10(max(ratios[-1] for ratios in rows.values()) * 1.15)
    ticks = [float(digit * 10**power) for power in range(6) for digit in (1, 2, 5) if digit * 10**power <= 10**end]
    if len(ticks) > 6:
        ticks = [tick for tick in ticks if log10(tick).is_integer()] if end > 2 else ticks[::2]
    items: list[Item] = []
    for tick in ticks:
        x = 100 * log10(tick) / end
        items += [Stroke("grid", [(x, 0), (x, TALL)]), Words(x, TALL + 16, f"{tick:,.0f}", "tick", "middle")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = TALL * (1 - share)
        items += [Stroke("grid", [(0, y), (100, y)]), Words(0, y + 4, f"{100 * share:.0f} %", "tick", "end", -6)]
    for (solver, family), ratios in reversed(rows.items()):
        points = [(0.0, TALL * (1 - ratios.count(1.0) / n))]
        for done, ratio in enumerate(ratios, 1):
            if ratio > 1:
                x = 100 * log10(ratio) / end
                points += [(x, points[-1][1]), (x, TALL * (1 - done / n))]
        items.append(Stroke(f"curve {slug(family)}", [*points, (100.0, points[-1][1])], DASHES.get(solver, "")))
    places = _apart([TALL * (1 - len(ratios) / n) for ratios in rows.values()], 17)
    for ((solver, family), ratios), y in zip(rows.items(), places, strict=True):
        tried = sum(any(run.solver.name == solver for run in problem.runs) for problem in problems)
        said = f"{solver}: proved {len(ratios)} of {n}; it was tried on {tried}"
        items.append(Words(100, y + 4, f"{solver} {len(ratios)}/{n}", f"end {slug(family)}", "start", 8, said))
    return items


def _apart(wanted: list[float], gap: float) -> list[float]:
    """Move labels, the highest first, down to this gap, and up again where they would leave the picture."""
    places, least = list(wanted), TALL
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + gap)
    for k in reversed(range(len(places))):
        places[k] = min(places[k], least)
        least = places[k] - gap
    return places
