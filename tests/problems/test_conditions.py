"""Conditions as values: what a modeller writes, and the bounds and rows that it means."""

import numpy as np
import pytest

from pgsr import Hierarchy, Problem, View
from pgsr.problems.conditions import cells, entities, groups, total
from pgsr.problems.conditions.matrices import UNBOUNDED

TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
COUNTS = Problem.of([[1, 5, 2, 2], [1, 2, 0, 2], [0, 2, 1, 1]], TREE, groups=10, label="M_H")
CUMULATIVE = Problem.of([[1, 5, 7, 9], [1, 2, 4, 5], [0, 3, 3, 5]], TREE, View.CUMULATIVE, groups=10, label="M_c")


def test_slices_are_those_of_python() -> None:
    for size in (slice(0, 3), slice(1, None), slice(None, 2), slice(0, 99), slice(0, None, 2), slice(2, 3), None):
        bounded = COUNTS.where(cells(("US",), size=size) <= 9).conditions.bounded
        assert np.flatnonzero(bounded[:4]).tolist() == list(range(4))[size or slice(None)]


def test_a_modeller_states_bounds_and_rows() -> None:
    problem = COUNTS.where(
        cells(size=slice(0, 1)) == 0,
        cells(region=("US", "GA"), size=3) == 4,
        total(region=("US", "MI")) >= 3,
        cells(region=("US", "GA"), size=1) >= cells(region=("US", "GA"), size=2),
    )
    stated = problem.conditions
    assert problem.label == "M_H with 4 conditions"
    assert stated.lower[::4].tolist() == stated.upper[::4].tolist() == [0, 0, 0]
    assert (stated.lower[7], stated.upper[7]) == (4, 4)
    assert stated.n_bounds == 4
    assert (stated.lower[~stated.bounded] == -UNBOUNDED).all()
    assert (stated.upper[~stated.bounded] == UNBOUNDED).all()
    assert stated.rows.toarray().tolist() == [[0] * 8 + [1] * 4, [0] * 5 + [1, -1] + [0] * 5]
    assert stated.row_lower.tolist() == [3, 0]
    assert stated.row_upper.tolist() == [UNBOUNDED, UNBOUNDED]
    assert stated.names == ("total(US/MI) >= 3", "cells(US/GA, 1) >= cells(US/GA, 2)")
    assert stated.stated[1] == "cells(US/GA, 3) == 4"
    assert stated.stated[stated.sources[0, 7]] == "cells(US/GA, 3) == 4"


def test_numbers_of_entities_weigh_each_size_by_itself() -> None:
    for problem in (COUNTS, CUMULATIVE):
        stated = problem.where(entities() >= 0, entities(level=0) == 9).conditions
        counts = np.array([[4, 1, 0, 2], [1, 0, 5, 0], [3, 1, 2, 6]])
        x = counts if problem.view is View.COUNTS else counts.cumsum(axis=1)
        assert (stated.rows @ x.ravel()).tolist() == [7, 10, 23, 7]
        assert stated.stated == ("entities(every region) >= 0", "entities(level 0) == 9")
        assert stated.names[1:3] == ("entities(US/GA) >= 0", "entities(US/MI) >= 0")


def test_where_adds_up_and_relaxed_keeps() -> None:
    problem = COUNTS.where(cells(size=1) <= 7).where(cells(region=("US",), size=1) >= 2, cells(level=0, size=1) <= 5)
    assert problem.label == "M_H with 3 conditions"
    assert (problem.conditions.lower[1], problem.conditions.upper[1::4].tolist()) == (2, [5, 7, 7])
    relaxed = problem.relaxed()
    assert relaxed.conditions is problem.conditions
    assert relaxed.where(total(level=0) == 10).label == "M_H with 4 conditions^r"
    assert COUNTS.conditions is None


def test_groups_are_differences_of_cumulative_cells() -> None:
    stated = CUMULATIVE.where(groups(region=("US",)) >= 1, total(region=("US", "MI")) == 5).conditions
    assert stated.rows.toarray()[:, :4].tolist() == [[-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]]
    assert stated.lower[0] == 1  # of size 0 both are the same
    assert (stated.lower[-1], stated.upper[-1]) == (5, 5)


def test_arithmetic_of_expressions() -> None:
    x, y = cells(region=("US",), size=1), cells(region=("US", "GA"), size=slice(1, 3))
    stated = COUNTS.where(2 * x - y + 1 <= np.array([3, 4]), sum([x, x]) - (y - x).sum() == 0).conditions
    dense = stated.rows.toarray()
    assert dense[0].tolist() == [0, 2, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0]
    assert stated.row_upper[:2].tolist() == [2, 3]
    assert dense[2].tolist() == [0, 4, 0, 0, 0, -1, -1, 0, 0, 0, 0, 0]
    assert stated.names[0] == "2 cells(US, 1) - cells(US/GA, 1) + 1 <= 3"


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_a_published_table_is_stated_as_an_array(kind) -> None:
    """A row per region and a column per size, the same as its entries one after another."""
    table = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], kind)
    assert COUNTS.where(cells(level=1) == table.astype(object)).conditions.lower[8:].tolist() == [5, 6, 7, 8]
    stated = COUNTS.where(cells(level=1) == table).conditions
    assert stated.lower[4:].tolist() == stated.upper[4:].tolist() == table.ravel().tolist()
    twice = COUNTS.where(2 * cells(level=1, size=slice(1, 3)) + table[:, 1:3] <= 20).conditions
    assert twice.row_upper.tolist() == [18, 17, 14, 13]
    assert twice.names[3] == "2 cells(US/MI, 2) + 7 <= 20"
    assert COUNTS.where(cells(level=1) == table.ravel()).conditions.lower[-1] == 8
    assert COUNTS.where(total(level=1) >= table[:, :1]).conditions.row_lower.tolist() == [1, 5]
    across = cells(("US",), size=slice(0, 2)) <= cells([("US", "GA"), ("US", "MI")], size=1)  # entry by entry
    assert len(COUNTS.where(across).conditions.names) == 2
    assert COUNTS.where(cells() <= COUNTS.target).conditions.upper.tolist() == COUNTS.cells.tolist()
