"""The instances of PGSR-LIB, declared: which problem on which data, at which size and budget, with which seed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pgsr import CountOfCounts, Problem, View
from pgsr.errors import ArgumentError
from pgsr.experiments.lib.data import truth_of, values_of
from pgsr.noise import Geometric
from pgsr.noise.measurement import Measurement
from pgsr.privacy import Seeded
from pgsr.problems.conditions import entities

COUNTS, STEPS, SIZES = View.COUNTS, View.CUMULATIVE, View.RANKED

FAMILIES: dict[str, tuple[View, Callable[..., Problem]]] = {
    "naive": (COUNTS, Problem.naive),
    "hc-l1": (STEPS, lambda noisy: Problem.isotonic(noisy, norm=1)),
    "hc-l2": (STEPS, Problem.isotonic),
    "hg-l1": (SIZES, lambda noisy: Problem.isotonic(noisy, norm=1)),
    "hg-l2": (SIZES, Problem.isotonic),
    "mean": (COUNTS, Problem.mean_consistency),
    "mh": (COUNTS, Problem.m_h),
    "mh-regions": (COUNTS, lambda noisy: Problem.m_h(noisy, totals="regions")),
    "mc": (STEPS, Problem.m_c),
    "mc-regions": (STEPS, lambda noisy: Problem.m_c(noisy, totals="regions")),
    "mc-l1": (STEPS, lambda noisy: Problem.m_c(noisy, norm=1)),
}
"""The problems of the papers by the names of the instances; entities, which need the truth, are `mh-entities`."""

LARGEST_BY_DEFAULT = 1_000_000


@dataclass(frozen=True)
class Instance:
    """One instance: everything that its files follow from.

    Attributes:
        family: a key of `FAMILIES`, or "mh-entities".
        data: what is counted; `pgsr.experiments.lib.data` has them.
        size: the number of unknowns, roughly, as a power of ten: 3 to 7.
        integer: whether unknowns are integers.
        epsilon: total, as text, so that it is exact; "" where the data are values already.
        leaves_only: whether the whole budget goes to the leaves, so that upper regions have no weight.
        seed: of the noise, or of the values.
    """

    family: str
    data: str
    size: int
    integer: bool = True
    epsilon: str = "1"
    leaves_only: bool = False
    seed: int = 1

    @property
    def name(self) -> str:
        """The name of its folder: mh-census-1e4-eps1, mc-relaxed-taxi-1e3-eps0.1."""
        kind = "" if self.integer else "-relaxed"
        budget = f"-eps{self.epsilon}" if self.epsilon else ""
        return f"{self.family}{kind}-{self.data}-1e{self.size}{budget}{'-leaves' if self.leaves_only else ''}"

    @property
    def unknowns(self) -> int:
        """The number of unknowns, roughly."""
        return 10**self.size

    def problem(self) -> Problem:
        """Make the problem; the same on every machine that has the same data.

        Raises:
            DataError: the data are not there; the message says how to get them.
        """
        view, state = FAMILIES["mh" if self.family == "mh-entities" else self.family]
        if not self.epsilon:
            problem = values_of(self.data, self.family, self.size, self.seed)
            return problem if self.integer else problem.relaxed()
        truth = truth_of(self.data, self.size, view)
        levels = truth.hierarchy.n_levels
        shares = (*(0 for _ in range(levels - 1)), 1) if self.leaves_only else None
        noisy = Geometric(view, Fraction(self.epsilon), shares).measure(truth, Seeded(f"pgsr-lib {self.seed}"))
        problem = _with_entities(noisy, truth) if self.family == "mh-entities" else state(noisy)
        return problem if self.integer else problem.relaxed()


def find(name: str) -> Instance:
    """Find an instance by its name.

    Raises:
        ArgumentError: there is none.
    """
    for instance in INSTANCES:
        if instance.name == name:
            return instance
    raise ArgumentError(f"instance {name!r} is unknown; python -m pgsr.experiments lib list shows them all")


def _with_entities(noisy: Measurement, truth: CountOfCounts) -> Problem:
    """State the numbers of groups of all regions, and those of entities of the lowest, from which all others follow."""
    people = truth.counts[truth.hierarchy.leaves] @ np.arange(truth.max_size + 1)
    lowest = truth.hierarchy.n_levels - 1
    problem = Problem.m_h(noisy, totals="regions").where(entities(level=lowest) == people)
    return replace(problem, label="M_H with entities")


def _declared() -> Iterator[Instance]:
    both = (True, False)
    for size in (3, 4, 5, 6):
        for family in ("naive", "hc-l1", "hc-l2", "mh", "mh-regions", "mc", "mc-regions"):
            yield from (Instance(family, "census", size, integer) for integer in both)
    for size in (3, 4, 5):
        yield Instance("mc-l1", "census", size, integer=False)
        yield Instance("mh-entities", "census", size, integer=False)
        yield from (Instance("mh", "taxi", size, integer) for integer in both)
        yield Instance("hg-l2", "taxi-groups", size)
    yield Instance("mean", "census", 4, integer=False)
    yield from (Instance("mc-l1", "census", 3), Instance("mc-l1", "flights", 3), Instance("hg-l1", "taxi-groups", 4))
    for family in ("mc", "hc-l2"):
        yield from (Instance(family, "taxi", 4, integer) for integer in both)
    for family in ("mh", "mc", "naive"):  # two levels: a network, so integers have a proof
        yield from (Instance(family, "flights", 3, integer) for integer in both)
    yield from (Instance("mh", "taxi-like", 5), Instance("mc", "taxi-like", 5, integer=False))
    for epsilon in ("0.1", "0.001"):
        for family in ("mh", "mh-regions", "mc"):
            yield from (Instance(family, "census", 4, integer, epsilon) for integer in both)
    yield from (Instance("mh", "census", 4, integer, "10") for integer in both)
    for family in ("mh", "mc"):
        yield from (Instance(family, "census", 4, integer, leaves_only=True) for integer in both)
    for data in ("ties", "deep"):
        for size in (3, 5):
            yield from (Instance("mh", data, size, integer, "") for integer in both)
        yield from (Instance("mc", data, 3, integer, "") for integer in both)
        yield Instance("hc-l2", data, 4, True, "")
    yield from (Instance("mh", "census", 7, integer) for integer in both)
    yield from (Instance(family, "census", 7) for family in ("naive", "hc-l1", "hc-l2"))


INSTANCES: tuple[Instance, ...] = tuple(_declared())
"""All instances. Names are for ever: what an instance is does not change without a new seed in its name."""
