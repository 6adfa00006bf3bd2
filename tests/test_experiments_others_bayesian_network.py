"""Bayesian networks of factors against the joint table of all columns, and the rows drawn from them."""

from itertools import combinations, permutations

import numpy as np
import pytest

from pgsr.experiments.others.bayesian_network import BayesianNetwork, _systematic

LENGTHS = (2, 3, 2, 3, 2)
FACTORS = {
    "chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "circle": [(1, 0), (1, 2), (2, 3), (4, 3), (4, 0)],
    "triples": [(2, 0, 1), (3, 2, 0), (0, 4), (0,)],
    "apart": [(1, 0), (4, 3), (2,)],
    "everything": [(4, 0, 3, 1, 2)],
}


def joint_and_network(of: list[tuple[int, ...]]) -> tuple[np.ndarray, BayesianNetwork]:
    """Make a random distribution with these factors, as one table and as a network."""
    rng, joint, factors = np.random.default_rng(len(of)), np.ones(LENGTHS), []
    for columns in of:
        factor = rng.uniform(0.1, 1, [LENGTHS[c] for c in columns])
        factors.append((columns, np.log(factor) - 800))  # exp alone would be 0
        sorted_axes = factor.transpose(np.argsort(columns))
        joint = joint * sorted_axes.reshape([n if c in columns else 1 for c, n in enumerate(LENGTHS)])
    joint /= joint.sum()
    return joint, BayesianNetwork.of_factors(factors, rng.permutation(5).tolist())


def summed(joint: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    return np.einsum(joint, list(range(joint.ndim)), list(columns))


@pytest.mark.parametrize("factors", FACTORS.values(), ids=FACTORS)
def test_marginals_are_those_of_the_joint_table(factors: list[tuple[int, ...]]) -> None:
    joint, network = joint_and_network(factors)
    asked = [c for k in range(1, 4) for c in combinations(range(5), k)]
    asked += [*permutations((4, 0, 2)), (0, 1, 2, 3, 4)]
    for columns in asked:
        assert network.marginal(columns) == pytest.approx(summed(joint, columns), rel=1e-9), columns


@pytest.mark.parametrize("factors", FACTORS.values(), ids=FACTORS)
def test_rows_are_drawn_as_often_as_the_table_says(factors: list[tuple[int, ...]]) -> None:
    joint, network = joint_and_network(factors)
    rows = network.draw(40_000, np.random.default_rng(1))
    found = np.zeros(LENGTHS)
    np.add.at(found, tuple(rows.T), 1 / len(rows))
    assert np.abs(found - joint).max() < 0.004  # 4 standard deviations of independent draws would be 0.01 at most
    first = network.conditionals[0]
    assert np.abs(np.bincount(rows[:, first.column]) - 40_000 * first.table).max() <= 1


def test_a_value_given_others_comes_as_often_as_it_should() -> None:
    """Up to one, among all rows that are alike in the columns given, however few rows those are."""
    _, network = joint_and_network(FACTORS["triples"])
    for n in (1, 7, 300):
        rows = network.draw(n, np.random.default_rng(n))
        for one in network.conditionals:
            for given in np.ndindex(one.table.shape[:-1]):
                alike = (rows[:, one.given] == given).all(1)
                found = np.bincount(rows[alike, one.column], minlength=LENGTHS[one.column])
                assert (np.abs(found - alike.sum() * one.table[given]) < 1 + 1e-9).all()


def test_numbers_of_a_cell_are_evenly_apart_and_in_random_order() -> None:
    cell = np.repeat([2, 0, 3], [500, 1, 40])
    places = np.zeros(500)
    for seed in range(200):
        u = _systematic(cell, 5, np.random.default_rng(seed))
        for each, n in ((0, 1), (2, 500), (3, 40)):
            assert np.diff(np.sort(u[cell == each])) == pytest.approx(1 / n)
            assert 0 <= u[cell == each].min() < 1 / n
        places += u[cell == 2]
    assert np.abs(places / 200 - 0.5).max() < 0.12  # six standard deviations of a mean of 200 uniform numbers


def test_every_column_depends_on_columns_before_it() -> None:
    for factors in FACTORS.values():
        seen: set[int] = set()
        for one in joint_and_network(factors)[1].conditionals:
            assert seen.issuperset(one.given)
            seen.add(one.column)
            assert one.table.sum(-1) == pytest.approx(1)
        assert seen == set(range(5))
