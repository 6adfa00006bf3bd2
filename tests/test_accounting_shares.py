"""Variances of consistent estimates against dense least squares, and the shares found with them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from instances import random_tree, scale

from pgsr import Hierarchy
from pgsr.errors import BudgetError
from pgsr.privacy.accounting.shares import consistent_variances, starting_shares
from pgsr.privacy.laws import DoubleGeometric, GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity

ONE, TWO = Sensitivity(((1,),)), Sensitivity(((1, 1),))


def balanced(*fan_outs: int) -> Hierarchy:
    return Hierarchy.from_paths([("root", *map(str, path)) for path in product(*map(range, fan_outs))])


def dense(tree: Hierarchy, variances: np.ndarray) -> np.ndarray:
    """The slow twin: A (A' W A)^-1 A' of the matrix A that adds leaves up, W = 1 / variance of measured regions."""
    leaves = np.arange(tree.n_regions)[tree.leaves]
    adds = tree.sum_up(np.eye(len(leaves)))
    weight = np.where(tree.padded, 0.0, (1 / variances)[tree.level_of])
    covariance = adds @ np.linalg.inv(adds.T @ (weight[:, None] * adds)) @ adds.T
    return np.array([np.diag(covariance)[tree.level(level)].mean() for level in range(tree.n_levels)])


def test_variances_are_those_of_dense_least_squares() -> None:
    rng = np.random.default_rng(73)
    for _ in range(scale(200, 5_000)):
        tree = random_tree(rng, 20)
        variances = np.exp(rng.normal(0, 2, tree.n_levels))
        variances[:-1][rng.random(tree.n_levels - 1) < 0.3] = np.inf
        assert consistent_variances(tree, variances) == pytest.approx(dense(tree, variances), rel=1e-9)


def test_padded_regions_are_measured_once() -> None:
    tree = Hierarchy.from_paths([("r", "a", "x"), ("r", "a", "y"), ("r", "b")], pad_ragged=True)
    assert tree.padded.any()
    variances = np.array([1.0, 2.0, 3.0])
    assert consistent_variances(tree, variances) == pytest.approx(dense(tree, variances), rel=1e-12)


def logs(tree: Hierarchy, shares: tuple[Fraction, ...], power: int) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(consistent_variances(tree, 1 / np.array(shares, float) ** power)).sum())


@pytest.mark.parametrize("fan_outs", [(3,), (50,), (5, 20), (2, 2, 2), (50, 60)])
@pytest.mark.parametrize(("law", "power"), [(GaussianNoise, 1), (GeometricNoise, 2)])
def test_no_shares_of_a_grid_are_better(fan_outs, law, power) -> None:
    tree = balanced(*fan_outs)
    n_levels = tree.n_levels
    found = starting_shares(tree, [ONE] * n_levels, law)
    assert sum(found) == 1
    assert found[-1] > 0
    steps = {2: 50, 3: 20, 4: 10}[n_levels]
    for parts in product(range(steps + 1), repeat=n_levels - 1):
        if sum(parts) < steps:
            other = (*(Fraction(part, steps) for part in parts), Fraction(steps - sum(parts), steps))
            assert logs(tree, found, power) <= logs(tree, other, power) + 1e-3


@pytest.mark.parametrize("fan_outs", [(1,), (2,), (5,), (3, 4), (1, 2), (2, 1, 3)])
def test_what_a_first_little_share_gains(fan_outs) -> None:
    """The formula of `starting_shares`, for every level above the leaves."""
    tree, little = balanced(*fan_outs), Fraction(1, 10**6)
    n_levels = tree.n_levels
    leaves = [int(np.prod(fan_outs[level:])) for level in range(n_levels)]
    alone = tuple(Fraction(level == n_levels - 1) for level in range(n_levels))
    for level in range(n_levels - 1):
        shares = tuple(little if i == level else share * (1 - little) for i, share in enumerate(alone))
        gain = (level + 1) * leaves[level] + sum(leaves[level + 1 :]) - n_levels
        assert logs(tree, alone, 1) - logs(tree, shares, 1) == pytest.approx(float(little) * gain, rel=1e-3, abs=1e-10)
        assert logs(tree, alone, 2) < logs(tree, shares, 2), "geometric"


def test_sensitive_levels_get_no_less() -> None:
    """Sum of logs: in what units a level counts does not matter, where levels do not help each other."""
    tree = balanced(1_000, 2)
    plain, doubled = (starting_shares(tree, [s, ONE, ONE], GaussianNoise) for s in (ONE, TWO))
    assert abs(plain[0] - doubled[0]) <= Fraction(1, 100)


def test_noise_has_the_variance_that_is_assumed() -> None:
    assert DoubleGeometric(Fraction(40)).variance == pytest.approx(2 * 40**2, rel=1e-3)
    assert GaussianNoise(Fraction(1, 100)).law(TWO).variance == pytest.approx(100, rel=1e-3)


def test_many_levels_and_one() -> None:
    deep = Hierarchy.from_paths([tuple(map(str, range(11))), (*map(str, range(10)), "other")])
    assert sum(starting_shares(deep, [ONE] * 11, GaussianNoise)) == 1
    assert starting_shares(Hierarchy.from_paths([("r",)]), [ONE], GeometricNoise) == (Fraction(1),)


def test_what_is_refused() -> None:
    tree = balanced(3)
    for given, word in (
        (([ONE], GaussianNoise), "1 sensitivities for 2 levels"),
        (([ONE, Sensitivity(((),))], GaussianNoise), "publish it"),
        (([ONE, ONE], DoubleGeometric), "are not known"),
    ):
        with pytest.raises(BudgetError, match=word):
            starting_shares(tree, *given)
    for variances in ([1.0], [1.0, np.inf], [0.0, 1.0], [1.0, -1.0]):
        with pytest.raises(BudgetError, match="give a positive variance per level"):
            consistent_variances(tree, variances)
