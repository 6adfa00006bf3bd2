"""Toy problems, one per kind: three regions and four sizes, to import and compile with before clocks start."""

from dataclasses import replace

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.split_view import Split
from pgsr.data.views import AnyView, View
from pgsr.noise import Geometric
from pgsr.noise.measurement import Measurement
from pgsr.noise.split_by_root import ViewRule
from pgsr.privacy.random import Seeded
from pgsr.problems.conditions import cells, either, total, zero_or_at_least
from pgsr.problems.conditions.coefficients import ProblemCells
from pgsr.problems.conditions.matrices import Conditions, state
from pgsr.problems.problem import Problem


def toy_of(target: Measurement | Problem) -> Measurement | Problem:
    """The same question about two leaves and what is above them; about one region where the target has one level.

    Example:
        >>> toy_of(Problem.m_h(measurements()[0])).target.shape
        (3, 4)
    """
    levels = target.hierarchy.n_levels
    truth, max_sizes = _truth(levels), None if target.sizes.equal else _sizes(levels)
    if isinstance(target, Measurement):
        view = _toy_view(target.views, levels)
        return Geometric(view, levels, totals=target.public, max_sizes=max_sizes).measure(truth, Seeded("toy"))
    known, stated = target.groups, target.conditions
    toy = Geometric(target.view, levels, totals="regions", max_sizes=max_sizes).measure(truth, Seeded("toy"))
    return replace(
        target,
        sizes=toy.sizes,
        cells=toy.cells,
        groups=None if known is None else toy.totals[: 1 if len(known) == 1 else None],
        weights=None,
        noise=None if target.noise is None else toy.noise,
        conditions=None if stated is None else _toy_conditions(stated, ProblemCells(toy.sizes, target.view)),
    )


def measurements() -> list[Measurement]:
    """A measurement of every view with every region's total public, and those that the root's alone allows."""
    asked = [(view, "regions") for view in View] + [(View.COUNTS, "root"), (View.CUMULATIVE, "root")]
    return [Geometric(view, 1, totals=totals).measure(_truth(2), Seeded("toy")) for view, totals in asked]


def problems() -> list[Problem]:
    """Every problem that a constructor of `Problem` states, some with a condition besides, and its relaxation."""
    counts, cumulative, ranked = measurements()[:3]
    found = [
        Problem.naive(counts),
        Problem.mean_consistency(counts),
    ]
    for totals in ("root", "regions"):
        found += [
            Problem.m_h(counts, totals=totals),
            *(Problem.m_c(cumulative, totals=totals, norm=norm) for norm in (2, 1)),
        ]
    for norm in (1, 2):
        found += [Problem.isotonic(cumulative, norm=norm), Problem.isotonic(ranked, norm=norm)]
    known = cells(level=1, size=1) <= 9
    found += [problem.where(known) for problem in (Problem.m_h(counts), Problem.m_c(cumulative))]
    found += [Problem.isotonic(cumulative).where(known), Problem.m_h(counts).where(total(level=1) == 3)]
    chosen = zero_or_at_least(cells(level=1, size=1), 2)
    found += [problem.where(chosen) for problem in (Problem.m_h(counts), Problem.m_c(cumulative))]
    return [*found, *(problem.relaxed() for problem in found if problem.integer)]


def _toy_view(views: tuple[AnyView, ...], levels: int) -> ViewRule | tuple[ViewRule, ...]:
    """Choose views of the toy of which each is one of the target's; a threshold is within the toy's sizes."""
    within = tuple(Split(1) if view.mixed else view for view in views)
    if len(views) == 1:
        return within[0]
    if len(views) == levels:
        return within
    split = next((view for view in within if view.mixed), None)
    leaves = min(levels, 2)
    return split or (View.CUMULATIVE,) * (levels - 1) + (View.RANKED,) * leaves


def _toy_conditions(target: Conditions, place: ProblemCells) -> Conditions:
    """Conditions of the lowest regions that hold anyway: bounds, a total or a choice, as the target has."""
    lowest = place.hierarchy.n_levels - 1
    bounds = [cells(level=lowest, size=1) >= 0, cells(level=lowest, size=1) <= 9] if target.n_bounds else []
    rows = [total(level=lowest) == 3] if len(target.row_lower) else []
    choices = []
    if target.choices is not None:
        choices = [cells(level=lowest) <= 9, either(total(level=lowest) >= 1, total(level=lowest) == 0)]
    return state([*bounds, *rows, *choices], place)


def _sizes(levels: int) -> tuple[int, ...]:
    """Sizes that differ by level: all at the root, "2 or more" below."""
    return (3, *(2 for _ in range(levels - 1)))


def _truth(levels: int) -> CountOfCounts:
    paths = [(*(f"level {level}" for level in range(levels - 1)), f"leaf {i}") for i in range(2 if levels > 1 else 1)]
    return CountOfCounts(Hierarchy.from_paths(paths), np.array([[0, 2, 0, 1], [0, 1, 1, 1]])[: len(paths)])
