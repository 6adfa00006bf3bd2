"""Worlds with a known prior: means that add up, truths that have them, and what tells the kinds apart."""

import numpy as np
import pytest

from pgsr.datasets.worlds import N_LEAVES, SHAPES, World, WorldKind, size_law, world
from pgsr.errors import DataError


@pytest.mark.parametrize("kind", WorldKind)
def test_truths_have_the_means_and_variances_of_the_prior(kind: WorldKind) -> None:
    """Over 400 draws: sums over leaves by size within five standard errors, and squared deviations on average."""
    known = world(kind, max_size=20, groups=3_000)
    variances = known.means + known.means**2 / known.shapes
    drawn = np.array([known.draw(seed).counts[known.hierarchy.leaves] for seed in range(400)])
    of_sizes, spread = drawn.sum(axis=1), variances.sum(axis=0)
    off = np.abs(of_sizes.mean(axis=0) - known.means.sum(axis=0))
    assert (off <= 5 * np.sqrt(spread / 400) + 1e-3).all()
    # The mean over all cells of squared deviations, in units of their expectation, is 1 within a few per cent.
    large = known.means > 1
    squares = ((drawn - known.means) ** 2).mean(axis=0)[large] / variances[large]
    assert abs(float(squares.mean()) - 1) < 0.1


@pytest.mark.parametrize("kind", WorldKind)
def test_a_world_has_three_levels_and_no_impossible_count(kind: WorldKind) -> None:
    known = world(kind)
    assert np.diff(known.hierarchy.level_start).tolist() == [1, 4, N_LEAVES]
    assert known.means.shape == known.shapes.shape == (N_LEAVES, 61)
    assert (known.means > 0).all()
    expected = {WorldKind.SPARSE: (400, 400), WorldKind.MIXED: (10_000, 16_000)}.get(kind, (16_000, 16_000))
    assert expected[0] - 1 < known.means.sum() < expected[1] + 1


def test_seeds() -> None:
    one, again, other = (world("spikes", seed=seed) for seed in (3, 3, 4))
    assert (one.means == again.means).all()
    assert (one.means != other.means).any()
    assert (one.draw(5).counts == again.draw(5).counts).all()
    assert (one.draw(5).counts != one.draw(6).counts).any()
    assert one.draw(5).name != one.draw(6).name


def test_what_tells_the_kinds_apart() -> None:
    """Tails, spikes at every tenth size, ends, and in a mixed world one of each in turn."""
    tail = size_law(WorldKind.HOUSEHOLD, 60, (0, 0))[7:]
    assert tail[1:] / tail[:-1] == pytest.approx(0.8)
    assert size_law(WorldKind.POWER_LAW, 60, (0, 0))[[0, 10]].tolist() == pytest.approx([0, 0.01])
    spiky = size_law(WorldKind.SPIKES, 60, (0, 0))
    assert (spiky[10::10] > 10 * spiky[9::10]).all()
    for row in world("abrupt ends").means:
        groups = np.flatnonzero(row > 1e-6)
        assert groups.tolist() == list(range(groups[0], groups[-1] + 1))
        assert 2 <= groups[0] < 15
        assert 30 <= groups[-1] < 60
    mixed = world("mixed")
    assert mixed.shapes[:5, 0].tolist() == list(SHAPES.values())


def test_what_is_no_world_is_refused() -> None:
    for arguments in ({"kind": "dense"}, {"max_size": 11}, {"groups": 15}, {"seed": -1}):
        with pytest.raises(DataError):
            world(**{"kind": "sparse", **arguments})
    assert isinstance(world("sparse", max_size=12, groups=16), World)
