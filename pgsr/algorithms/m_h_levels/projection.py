"""The proved integer optimum of M_H with other sizes on every level."""

from dataclasses import dataclass

from pgsr.algorithms.m_h_levels.certificate import LevelCertificate, LevelPrices, certified
from pgsr.algorithms.m_h_levels.parts import begin
from pgsr.algorithms.m_h_levels.problem import LevelProblem
from pgsr.algorithms.m_h_levels.solving_parts import solve_parts
from pgsr.checks import require_kind
from pgsr.data.counts_by_level import CountsByLevel
from pgsr.data.views import View
from pgsr.methods.gate import NO_LIMIT, Deadline
from pgsr.methods.method import Status
from pgsr.noise.measurement_by_level import MeasurementByLevel


@dataclass(frozen=True, eq=False)
class LevelResult:
    """The answer to a `LevelProblem`.

    Attributes:
        counts: the integers.
        prices: they prove the integers optimal.
        certificate: recomputed from problem, counts and prices alone.
        seconds: wall time without compilation.
    """

    counts: CountsByLevel
    prices: LevelPrices
    certificate: LevelCertificate
    seconds: float

    @property
    def optimal(self) -> bool:
        return self.certificate.optimal

    @property
    def status(self) -> Status:
        """How the solve ended: proved optimal, in exact integers, or else feasible."""
        return Status.OPTIMAL if self.optimal else Status.FEASIBLE


@dataclass(frozen=True)
class LevelTreeProjection:
    """Projects noisy counts with other sizes on every level onto consistent non-negative integers.

    The problem, see `LevelProblem`, is a flow of quadratic cost: every cell is an arc between the sum that it is a part
    of and the sum that it is made of. Newton's method finds its prices without integrality, shortest paths make it
    whole: `pgsr.engines.quadratic_flow`. Where all levels have the same sizes it is the M_H of `TreeProjection`, which
    is much faster then.

    Memory: about 150 bytes per cell. Complexity: some ten steps of Newton's method of some ten passes over all cells,
    then a search in the neighbourhood of every unit that rounding left over.

    Example:
        >>> import numpy as np
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> noisy = CountsByLevel(tree, (np.array([[9, 1, -1, 5]]), np.array([[4, 2], [-4, 0]])))
        >>> result = LevelTreeProjection().solve(LevelProblem(noisy, total=9))
        >>> result.optimal, [table.tolist() for table in result.counts.tables]
        (True, [[[6, 0, 0, 3]], [[6, 3], [0, 0]]])

    Extends: M_H of Fioretto and Van Hentenryck 2019, section 5, to sizes per level. Shown equal to exhaustive search by
    `tests/test_m_h_levels.py::test_equals_brute_force`.
    """

    def supports(self, measurement: MeasurementByLevel) -> str | None:
        """Give the reason why this measurement cannot be used, or None."""
        if measurement.view is not View.COUNTS:
            return f"M_H needs View.COUNTS, this measurement is of {measurement.view!r}"
        return None

    def stated(self, measurement: MeasurementByLevel) -> LevelProblem:
        """State the problem of a measurement whose proved optimum the answer is: M_H of the noisy counts."""
        return LevelProblem.of(measurement)

    def apply(self, measurement: MeasurementByLevel) -> LevelResult:
        """Solve the problem of a measurement.

        Raises:
            ProblemError: the measurement is not of counts.
        """
        return self.solve(self.stated(measurement))

    def solve(self, problem: LevelProblem, deadline: Deadline = NO_LIMIT) -> LevelResult:
        """Solve a problem; every problem that can be stated has an answer.

        Raises:
            Stopped: the deadline passed between two rounds of the network.
        """
        require_kind(problem, LevelProblem, "problem", "give LevelProblem(CountsByLevel(...))")
        clock = Deadline()
        held = _Held(problem)
        solve_parts(held, [None], [begin(held, None)], None, problem.total, map, deadline)
        assert held.counts is not None
        assert held.prices is not None
        certificate = certified(problem, held.counts, held.prices)
        return LevelResult(held.counts, held.prices, certificate, clock.spent)


@dataclass(eq=False)
class _Held:
    """A problem in memory, which is its only part."""

    problem: LevelProblem
    counts: CountsByLevel | None = None
    prices: LevelPrices | None = None

    def read(self, key: object) -> LevelProblem:
        return self.problem

    def write(self, key: object, counts: CountsByLevel, prices: LevelPrices) -> None:
        self.counts, self.prices = counts, prices
