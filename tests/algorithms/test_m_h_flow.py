"""M_H with other sizes on every level, against all feasible points, against solvers, and against M_H as it is."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from instances import rng_of, scale
from level_points import SHAPES

from pgsr import Hierarchy, Problem, Status
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.m_h_flow.part import UNKNOWN, FlowPart, PartPrices
from pgsr.algorithms.m_h_flow.solution import solve
from pgsr.errors import ProblemError
from pgsr.nation.judge import PartOutcome, judged, price_of_the_total


@dataclass(frozen=True, eq=False)
class Stated:
    """What the flow is given: a part, and the public total of its root."""

    part: FlowPart
    total: int | None = None

    @classmethod
    def of(cls, tree, tables, total=None, known=None, weights=None) -> "Stated":
        """State it with public totals of all regions, `UNKNOWN` where there is none, or of the leaves alone."""
        if known is not None and len(known) < tree.n_regions:
            known = np.concatenate([np.full(tree.n_inner, UNKNOWN), known])
        return cls(FlowPart.of(tree, tuple(tables), weights, known), total)

    @property
    def problem(self) -> Problem:
        """The same problem, where the public totals are the root's or those of all leaves."""
        tree, leaves = self.part.hierarchy, self.part.known[self.part.hierarchy.leaves]
        assert (leaves == UNKNOWN).all() or (leaves != UNKNOWN).all()
        groups = self.total if (leaves == UNKNOWN).all() else tree.sum_up(leaves)
        return Problem.of(self.part.tables, tree, groups=groups, weights=self.part.w, label="M_H")


@dataclass(frozen=True, eq=False)
class Found:
    """The flow's integers and prices, and what the judge of parts says of them."""

    tables: tuple[np.ndarray, ...]
    prices: PartPrices
    outcome: PartOutcome


def solved(stated: Stated) -> Found:
    tables, prices = solve(stated.part, stated.total)
    return Found(tables, prices, certified(stated, tables, prices))


def certified(stated: Stated, tables, prices: PartPrices) -> PartOutcome:
    found = judged(stated.part, tables, prices, stated.total)
    return replace(found, proved=found.proved and price_of_the_total(prices, stated.total))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SHAPES)
def test_equals_brute_force(name):
    shape, largest = SHAPES[name]
    points = shape.points(largest)
    tree, generator = shape.tree, rng_of(11, len(name))
    region_of_cell = np.repeat(np.arange(tree.n_regions), [shape.max_sizes[i] + 1 for i in tree.level_of])
    sums = np.stack([points[:, region_of_cell == region].sum(axis=1) for region in range(tree.n_regions)], axis=1)
    root_sum = sums[:, 0]
    small = np.flatnonzero(root_sum <= 5)
    squares = (points**2).astype(float)
    checked = 0
    for trial in range(scale(48, 1_200)):
        y = generator.integers(-3, 4, shape.n_cells)
        w = generator.integers(1, 4, tree.n_regions) if trial % 2 else np.ones(tree.n_regions, np.int64)
        cell_w = w[region_of_cell]
        cost = squares @ cell_w - points @ (2.0 * cell_w * y) + cell_w @ y**2
        total = totals = None
        if trial % 4 == 1:
            total = int(generator.integers(0, 5))
            cost[root_sum != total] = np.inf
        elif trial % 4 == 3:  # of any regions, as one of the points has them
            held = sums[generator.choice(small)]
            totals = np.where(generator.random(tree.n_regions) < 0.4, held, UNKNOWN)
            known = totals != UNKNOWN
            cost[(sums[:, known] != totals[known]).any(axis=1)] = np.inf
        elif trial % 4 == 2:
            totals = generator.integers(0, 3, tree.n_regions - tree.n_inner)
            for leaf in range(tree.n_inner, tree.n_regions):
                cost[points[:, region_of_cell == leaf].sum(axis=1) != totals[leaf - tree.n_inner]] = np.inf
        stated = Stated.of(tree, shape.split(y), total, totals, w)
        result = solved(stated)
        assert result.outcome.optimal, result.outcome
        if trial % 4 != 3:
            method = TreeProjection().solve(stated.problem)
            assert method.status is Status.OPTIMAL
            assert method.certificate.objective == result.outcome.objective
        # An optimum with room above each leaf's cell: as costs are convex, no better point lies beyond the search.
        inside = result.tables[-1].max() < largest
        checked += inside
        assert result.outcome.objective == cost.min() or (not inside and result.outcome.objective < cost.min())
    assert checked > scale(40, 1_150)


def random_problem(seed: int, fan: tuple[int, ...], max_sizes: tuple[int, ...], kind: str, spread_of_y: int = 20):
    """Noise around small counts on a tree whose regions of one level have about equally many children."""
    generator = rng_of(12, seed)
    parents, level = [-1], [0]
    for children in fan:
        below = []
        for region in level:
            for _ in range(int(generator.integers(1, 2 * children))):
                below.append(len(parents))
                parents.append(region)
        level = below
    tree = Hierarchy.from_parents([f"r{i}" for i in range(len(parents))], parents)
    rows = np.diff(tree.level_start)
    tables = tuple(
        generator.integers(-spread_of_y, spread_of_y, (n, k + 1)) for n, k in zip(rows, max_sizes, strict=True)
    )
    total = 7 * int(rows[-1]) if kind == "root" else None
    totals = generator.integers(0, 15, rows[-1]) if kind in ("leaves", "some regions") else None
    if kind == "some regions":
        held = np.concatenate([np.zeros(tree.n_inner, np.int64), totals])
        for region in range(tree.n_inner - 1, -1, -1):
            held[region] = held[list(tree.children(region))].sum()
        totals = np.where(generator.random(tree.n_regions) < 0.3, held, UNKNOWN)
    weights = generator.integers(1, 5, tree.n_regions) if seed % 2 else None
    return Stated.of(tree, tables, total, totals, weights)


KINDS = ("none", "root", "leaves", "some regions")


def rows_of(stated: Stated) -> tuple[np.ndarray, np.ndarray]:
    """Every condition as a row over all cells, by the definition, and right-hand sides."""
    tree, sizes = stated.part.hierarchy, stated.part.max_sizes
    first = np.concatenate([[0], np.cumsum([sizes[level] + 1 for level in tree.level_of])])
    rows, right = [], []
    for region in range(tree.n_inner):
        k, below = sizes[tree.level_of[region]], sizes[tree.level_of[region] + 1]
        for s in range(below + 1):
            row = np.zeros(first[-1])
            row[first[region] + s : first[region] + (s + 1 if s < below else k + 1)] = 1
            row[[first[child] + s for child in tree.children(region)]] = -1
            rows.append(row)
            right.append(0)
    known = {0: stated.total} if stated.total is not None else {}
    known |= {region: total for region, total in enumerate(stated.part.known.tolist()) if total != UNKNOWN}
    for region, total in known.items():
        row = np.zeros(first[-1])
        row[first[region] : first[region + 1]] = 1
        rows.append(row)
        right.append(total)
    return np.array(rows).reshape(-1, first[-1]), np.array(right)


def cells_of(stated: Stated) -> tuple[np.ndarray, np.ndarray]:
    """Noisy counts and weights of all cells."""
    part = stated.part
    y = np.concatenate([table.ravel() for table in part.tables])
    return y, np.repeat(part.w, [part.max_sizes[level] + 1 for level in part.hierarchy.level_of])


def test_the_judge_of_parts_refutes_what_is_not_optimal():
    """Unit exchanges, broken conditions and broken prices: of each the judge says so."""
    generator, refuted = rng_of(14), 0
    for seed in range(24):
        stated = random_problem(seed, (2, 2), (4, 3, 1), KINDS[seed % 4], spread_of_y=4)
        result = solved(stated)
        rows, right = rows_of(stated)
        cells = np.concatenate([table.ravel() for table in result.tables])
        assert (rows @ cells == right).all()
        moved = cells + generator.integers(-1, 2, len(cells)) * (generator.random(len(cells)) < 0.3)
        judgement = certified(stated, as_tables(stated, moved), result.prices)
        broken = int(np.count_nonzero(rows @ moved - right))
        assert sum(judgement.violations.values()) == broken + int((moved < 0).sum())
        y, w = cells_of(stated)
        assert judgement.objective == int(w @ (moved - y) ** 2)
        best = judgement.objective == result.outcome.objective
        assert judgement.optimal == (not broken and moved.min() >= 0 and best)
        inner = tuple(part + generator.integers(-9, 10, part.shape) for part in result.prices.inner)
        refuted += not certified(stated, result.tables, replace(result.prices, inner=inner)).optimal
    assert refuted > 18


def test_prices_of_totals_that_nobody_stated_prove_nothing():
    stated = random_problem(0, (2,), (2, 1), "none")
    result = solved(stated)
    assert result.outcome.optimal
    assert not certified(stated, result.tables, replace(result.prices, top=result.prices.top + 2)).optimal
    assert not certified(stated, result.tables, replace(result.prices, leaves=result.prices.leaves + 2)).optimal


def test_prices_of_one_total_are_one():
    """A leaf may not have a price of its own where the total of a region around it is public, and not its own."""
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    tables = np.array([[3, 1]]), np.array([[4, -2], [0, 1]])
    stated = Stated.of(tree, tables, known=np.array([9, UNKNOWN, UNKNOWN]))
    result = solved(stated)
    assert result.outcome.optimal
    assert result.prices.leaves[0] == result.prices.leaves[1] != 0
    leaves = result.prices.leaves + np.array([0, 1])
    assert not certified(stated, result.tables, replace(result.prices, leaves=leaves)).optimal


def as_tables(stated: Stated, cells: np.ndarray) -> tuple[np.ndarray, ...]:
    shapes = [table.shape for table in stated.part.tables]
    parts = np.split(cells, np.cumsum([n * k for n, k in shapes])[:-1])
    return tuple(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True))


@pytest.mark.parametrize(
    ("build", "status", "says"),
    [
        (lambda t: stated_of(t, totals=-1), Status.INFEASIBLE, "negative public total"),
        (lambda t: stated_of(t, totals=[3, 4, -1]), Status.INFEASIBLE, "negative public total"),
        (lambda t: stated_of(t, totals=[5, 2, 2]), Status.INFEASIBLE, "US is 5, those of the regions below .* to 4"),
        (lambda t: stated_of(t, weights=[1, 2**51, 1]), None, r"weights exceed .*; scale them down"),
        (lambda t: stated_of(t, weights=[1, 2**31, 1]), Status.TOO_LARGE, "scale the weights down"),
        (lambda t: stated_of(t, totals=2**50), Status.TOO_LARGE, r"levels exceed 2\^50; give smaller counts$"),
        (lambda t: crowded(), Status.TOO_LARGE, r"2\^62 over the regions of a level; give smaller counts"),
    ],
)
def test_what_has_no_answer_or_is_too_large_is_told(build, status, says):
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    if status is None:
        with pytest.raises(ProblemError, match=says):
            build(tree)
        return
    result = TreeProjection().solve(build(tree))
    assert result.status is status
    assert re.search(says, result.reason), result.reason


def stated_of(tree: Hierarchy, totals=None, weights=None) -> Problem:
    """A problem with sizes per level of ones."""
    tables = tuple(np.ones((n, k), int) for n, k in zip(np.diff(tree.level_start), (3, 2, 2), strict=False))
    return Problem.of(tables, tree, groups=totals, weights=None if weights is None else np.array(weights))


def crowded() -> Problem:
    """20,000 children with two counts of 2^48 each, which add up to 2^63.3."""
    tree = Hierarchy.from_parents(["US", *(f"c{i}" for i in range(20_000))], [-1] + [0] * 20_000)
    return Problem.of((np.ones((1, 3), int), np.full((20_000, 2), 2**48)), tree)
