"""Noise of whole levels at once: every block of cells gets it, and a nation in parts has the law of each level.

Each function raises AssertionError where that does not hold; `test_assurance_mutants` runs them on seeded bugs, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from exact_law import loss, steps

import pgsr.noise.tables
from pgsr import CountOfCounts, Hierarchy, View
from pgsr.machine.partitions import Engine
from pgsr.nation import measure
from pgsr.nation.layout import KINDS, UPPER
from pgsr.noise import Geometric, Noise
from pgsr.noise.measurement import Measurement
from pgsr.noise.step import NoiseStep
from pgsr.privacy import Rho, Seeded
from pgsr.privacy.accounting.memory_ledger import Ledger
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law
from pgsr.privacy.random import StreamId

TREE = Hierarchy.from_paths([("US", f"s{i % 4}", f"s{i % 4}c{i}") for i in range(24)])
SHARES = ("1/8", "1/2", "3/8")
SIZES = (9, 6, 4)


def every_block_gets_noise() -> None:
    """Each cell of a level is its value plus the next draw of the level's stream, however many blocks it takes."""
    truth = CountOfCounts(TREE, np.arange(24 * 10).reshape(24, 10) % 4, "blocks").folded(SIZES)
    for view in KINDS:
        for noise, laws in (
            (Geometric(view, "1", SHARES), [_geometric(view, share) for share in SHARES]),
            (Noise(view, Rho("1"), SHARES, laws="gaussian"), [_gaussian(view, share) for share in SHARES]),
        ):
            for cells in (1, 7, 64, 10**9):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(pgsr.noise.tables, "BLOCK_CELLS", cells)
                    found = noise.measure(truth, Seeded("blocks"))
                    assert isinstance(found, Measurement)
                _require_drawn(found.tables, truth, laws, view, 0)


def a_nation_in_parts_has_the_law_of_each_level() -> None:
    """Three parts on four levels whose shares are all different: equal ones would have equal laws.

    Every table is its exact values plus the draws of its own level's law, and one person in another group changes what
    gets noise by exactly what is charged.
    """
    shares = ("1/16", "3/16", "1/4", "1/2")
    ours, theirs = Parts.of([[0, 2, 1, 0, 3], [1, 0, 0, 2, 2]]), Parts.of([[0, 1, 2, 0, 3], [1, 0, 0, 2, 2]])
    for view in KINDS:
        noise, ledger, kept = Geometric(view, "1", shares), Ledger(1), Kept()
        measure(ours, kept, noise, Seeded("parts"), Engine(map), ledger)
        assert ledger.left == 0, f"{ledger.left} of 1 is left"
        laws = [_geometric(view, share) for share in shares]
        _require_drawn([kept.read(UPPER, f"{KINDS[view]}-{level}") for level in (0, 1)], ours.above(), laws, view, 0)
        for key in ours.keys:
            tables = [kept.read(key, f"{KINDS[view]}-{level}") for level in (2, 3)]
            _require_drawn(tables, ours.part(key), laws, view, 2)

        def noised(truth: Parts, noise: NoiseStep = noise) -> object:
            return measure(truth, Kept(), noise, Seeded("parts"), Engine(map))

        lost = loss(steps(lambda: noised(ours)), steps(lambda: noised(theirs)))
        assert lost == 1, f"a group of another size loses {lost} where 1 is charged"


@dataclass(frozen=True)
class Parts:
    """A small nation in parts: US, two regions, and three states with two counties each.

    Attributes:
        counts: of the states, from their roots down.
    """

    counts: tuple[CountOfCounts, ...]
    name: str = "parts"
    keys: tuple[str, ...] = ("a", "b", "c")
    upper: Hierarchy = field(
        default_factory=lambda: Hierarchy.from_paths([("US", "East", "a"), ("US", "East", "b"), ("US", "West", "c")])
    )
    max_sizes: tuple[int, ...] = (4, 4, 4, 4)

    @classmethod
    def of(cls, first: list[list[int]]) -> "Parts":
        """Make a nation from the counts of the counties of the first state; all others are the same in each."""
        leaves = [first, [[1, 0, 0, 0, 1], [0, 0, 5, 0, 0]], [[0, 0, 0, 0, 0], [7, 1, 0, 1, 0]]]
        trees = [Hierarchy.from_paths([(key, f"{key}0"), (key, f"{key}1")]) for key in "abc"]
        return cls(tuple(CountOfCounts(*pair, "parts").folded((4, 4)) for pair in zip(trees, leaves, strict=True)))

    def tree(self, key: str) -> Hierarchy:
        return self.part(key).hierarchy

    def part(self, key: str) -> CountOfCounts:
        return self.counts[self.keys.index(key)]

    def above(self) -> CountOfCounts:
        """The counts down to the roots of the states."""
        return CountOfCounts(self.upper, np.vstack([part.tables[0] for part in self.counts]), "parts").folded((4, 4, 4))


@dataclass
class Kept:
    """Tables of parts in memory."""

    tables: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)

    def has(self, key: str, name: str) -> bool:
        return (key, name) in self.tables

    def read(self, key: str, name: str) -> np.ndarray:
        return self.tables[key, name]

    def write(self, key: str, name: str, table: np.ndarray) -> None:
        self.tables[key, name] = np.array(table)


def _require_drawn(
    found: Sequence[np.ndarray], truth: CountOfCounts, laws: Sequence[Law], view: View, first: int
) -> None:
    """Raise AssertionError unless tables are exact values plus the draws of the streams of their levels."""
    source = Seeded(truth.name)
    for level, (noisy, exact) in enumerate(zip(found, truth.tables[: len(found)], strict=True), first):
        expected = exact.astype(np.int64) if view is View.COUNTS else np.cumsum(exact, axis=1, dtype=np.int64)
        drawn = np.zeros(expected.size, np.int64)
        laws[level].add_to(drawn, source.stream(StreamId(truth.name, view.value, level, truth.hierarchy.paths[0])))
        wrong = int((noisy.ravel() != expected.ravel() + drawn).sum())
        assert not wrong, f"{wrong} of {noisy.size} cells of level {level} are not their value plus a draw of its law"


def _geometric(view: View, share: str) -> Law:
    return DoubleGeometric(view.sensitivity / Fraction(share))


def _gaussian(view: View, share: str) -> Law:
    return DiscreteGaussian(view.sensitivity / (2 * Fraction(share)))
