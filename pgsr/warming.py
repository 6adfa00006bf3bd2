"""Everything compiled beforehand: every method and every other compiled loop, run on toys."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from pgsr import estimators, own_methods
from pgsr.bounds import lower_bound
from pgsr.certificates import Multipliers
from pgsr.certificates.lagrangian import lagrangian_bound
from pgsr.data.views import View
from pgsr.machine.compilation import compilation
from pgsr.methods import toys
from pgsr.methods.catalogue import Use
from pgsr.methods.method import Method, PostProcess
from pgsr.privacy.laws.discrete_gaussian import WIDEST_TABLE, DiscreteGaussian
from pgsr.privacy.random import Seeded, StreamId

Step = tuple[str, Callable[[], object]]
"""What is compiled, and a function that has it compiled where it is not yet."""

Warmed = tuple[str, float]
"""What is compiled now, and the seconds that it took; those that took none were compiled before."""


def warmed() -> list[Method | PostProcess]:
    """List the methods of this package that may compile something."""
    return [entry.method for entry in own_methods.METHODS if Use.WARM_UP in entry.uses]


def warm_up(methods: Iterable[Method | PostProcess] | None = None) -> Iterator[Warmed]:
    """Run methods on toys of all kinds that they solve, so that no later solve compiles.

    Without arguments all methods are, and the noise, the reader of CSV files and `pgsr.synthesis`. Numba
    keeps the code on disk, so this has to be done once per machine and version.

    Yields:
        (name, seconds spent compiling), each once it is done.

    Example:
        >>> from pgsr.algorithms import TreeProjection
        >>> [name for name, seconds in warm_up([TreeProjection()])]
        ['TreeProjection()']
    """
    for name, run in steps() if methods is None else _of_methods(methods):
        with compilation() as spent:
            run()
        yield name, spent.seconds


def steps() -> list[Step]:
    """List all that compiles something. Two processes, one from each end, take little more than half the time."""
    return [
        ("noise", _draw_noise),
        *_of_methods(warmed()),
        ("certificates", _bound_toys),
        ("draws of the posterior", _draw),
        ("lower bounds", lambda: lower_bound([1, 1], 1)),
        ("moves of groups", _move_groups),
        ("sizes per level", solve_levels),
        ("flows of many units", _send_many_units),
        ("CSV files", _read_a_table),
        ("draws of noisy tables", _draw_tables),
        ("answers of synthesis", _answer_queries),
    ]


def _of_methods(methods: Iterable[Method | PostProcess]) -> list[Step]:
    return [(repr(method), partial(_solve_toys, method)) for method in methods]


def _draw_noise() -> None:
    """Measure toys, whose noise is double geometric, and draw Gaussian noise that is wide enough for strips."""
    toys.measurements()
    law = DiscreteGaussian(Fraction(4 * WIDEST_TABLE**2))
    law.add_to(np.zeros(8, np.int64), Seeded("warm up").stream(StreamId("toy", "noise", 0, ("toy",))))


def _solve_toys(method: Method | PostProcess) -> None:
    if isinstance(method, Method):
        for problem in toys.problems():
            if method.supports(problem) is None:
                method.solve(problem)
        return
    supports = getattr(method, "supports", lambda measurement: None)
    for measurement in toys.measurements():
        if supports(measurement) is None:
            method.apply(measurement)


def _bound_toys() -> None:
    """Bound what no method here solves: absolute values over regions that add up."""
    for problem in toys.problems():
        if problem.view is View.CUMULATIVE and problem.consistent:
            n_totals = 0 if problem.stated_totals is None else len(problem.stated_totals)
            prices = np.zeros((problem.hierarchy.n_inner, problem.max_size + 1))
            lagrangian_bound(problem, Multipliers(prices, np.zeros(n_totals)))


def _draw() -> None:
    """Draw from the posterior of a toy."""
    for measurement in toys.measurements():
        if estimators.Posterior().supports(measurement) is None:
            list(estimators.Posterior().draws(measurement, 1))


def solve_levels() -> None:
    """Solve a toy whose levels have sizes of their own."""
    from pgsr.algorithms.m_h_flow.part import FlowPart
    from pgsr.algorithms.m_h_flow.solution import solve
    from pgsr.data.hierarchy import Hierarchy
    from pgsr.data.sizes import Sizes
    from pgsr.noise.measurement import Measurement, Totals
    from pgsr.privacy.laws.per_level import GeometricNoise

    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    for kind in (np.int64, np.int32):  # what arrays hold, and what files do
        solve(FlowPart.of(tree, (np.array([[9, 1, -1, 5]], kind), np.array([[4, 2], [-4, 0]], kind))), 9)
    noise, sizes = (GeometricNoise(Fraction(1)),) * 2, Sizes(tree, (3, 1))
    totals = np.array([9, 2, 7])
    noisy = Measurement(
        sizes, (View.CUMULATIVE,), np.array([9, 1, -1, 9, 4, 2, -4, 7]), noise, Totals.REGIONS, totals, False
    )
    estimators.Matching().apply(noisy)


def _move_groups() -> None:
    """List the moves of groups of a toy, which good integers of cumulative counts have no need of."""
    from pgsr.algorithms import CumulativeIntegers
    from pgsr.algorithms.m_c.dual import SquaresDual
    from pgsr.algorithms.m_c.moves import GroupMoves

    problem = next(p for p in toys.problems() if p.integer and CumulativeIntegers().supports(p) is None)
    dual = SquaresDual(problem.relaxed())
    zeros = np.zeros(dual.shape, np.int64)
    GroupMoves(dual, (np.zeros(dual.y.shape, np.int64), zeros), zeros.astype(float), 1.0, None)


def _send_many_units() -> None:
    """Send 100 units along a path of 200 vertices: too far for short searches, too many to go one by one."""
    from pgsr.engines.quadratic_flow.integers import cheapest_flow
    from pgsr.engines.quadratic_flow.network import FlowNetwork

    n = 200
    none, supply = np.zeros(n - 1, int), np.append(np.zeros(n - 1, int), 100)
    path = FlowNetwork.of(np.arange(1, n), np.arange(n - 1), none, none + 1, none, n, supply)
    cheapest_flow(path, start=np.zeros(n))


def _read_a_table() -> None:
    from pgsr.tables import Csv
    from pgsr.tables.csv_files import column_names

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "toy.csv"
        file.write_text("group,region\n1,GA\n")
        column_names(Csv(str(file)))


def _draw_tables() -> None:
    """Draw tables that add up, given noisy values."""
    from pgsr import reconcile

    noisy = {"nation": ["US"] * 3, "state": [None, "GA", "MI"], "n": [5.0, 2.0, 2.0]}
    _ = reconcile(noisy, ["nation", "state"], "n", noise="geometric", scale=1.0, draws=2).draws


def _answer_queries() -> None:
    from pgsr.synthesis import Attribute, Domain, Level, Marginal, Population, Workload
    from pgsr.synthesis.queries.answers import answers

    domain = Domain.plain([], [Attribute("sex", ("f", "m"))], max_size=2)
    homes, members = np.empty((2, 0), int), np.array([[0], [0], [1]])
    population = Population(domain, homes, members, np.array([0, 0, 1]), np.zeros(3, int))
    answers(population, Workload(domain, (Marginal(Level.GROUP, (), (0,)),)), np.ones(2))
