"""Groups whose sizes agree with a release exactly, and who are otherwise as the mixture says given size."""

import numpy as np
import pytest
from instances import random_tree, random_truth, scale
from test_synthesis_mixture import random_mixture

from pgsr import CountOfCounts, Hierarchy
from pgsr.errors import ArgumentError
from pgsr.synthesis import Attribute, Domain, sample_to_sizes
from pgsr.synthesis.data.domain import Role, SynthesisError
from pgsr.synthesis.data.linked_tables import LinkedTableError
from pgsr.synthesis.queries.mixture import Mixture

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
SEX = Attribute("sex", ("f", "m"))


def domains() -> list[Domain]:
    group, individual = [Attribute("area", range(3))], [SEX, Attribute("age", range(4))]
    return [
        Domain.plain(group, individual, max_size=6),
        Domain.household(group, individual, max_children=4),
        Domain((), tuple(individual), (Role("guest", 0, 2), Role("host", 0, 4))),
    ]


def test_counts_are_those_of_the_release_in_every_region() -> None:
    rng = np.random.default_rng(1)
    n_empty = 0
    for i in range(scale(15, 300)):
        domain = domains()[i % 3]
        release = random_truth(rng, random_tree(rng), max_size=6, name="release")
        regional = sample_to_sizes(random_mixture(domain, 4, i), release, seed=i)
        np.testing.assert_array_equal(regional.counts(6).counts, release.counts)
        assert (regional.leaf_of >= release.hierarchy.leaves.start).all()
        assert regional.population.n_groups + len(regional.empty_leaf_of) == release.totals[0]
        assert domain.min_size > 0 or not len(regional.empty_leaf_of)
        n_empty += len(regional.empty_leaf_of)
    assert n_empty > 0


def test_tables_say_the_region_of_every_household() -> None:
    release = CountOfCounts(TREE, [[0, 2, 1], [0, 3, 0]])
    regional = sample_to_sizes(random_mixture(domains()[0], 2, 3), release, seed=0)
    homes, people = regional.to_tables()
    assert list(homes)[:3] == ["household", "level_0", "level_1"]
    sizes = people["household"].value_counts().reindex(homes["household"]).to_numpy()
    found = {state: sorted(sizes[(homes["level_1"] == state).to_numpy()]) for state in ("GA", "MI")}
    assert found == {"GA": [1, 1, 2], "MI": [1, 1, 1]}
    assert (homes["level_0"] == "US").all()
    domain = Domain.plain([Attribute("level_1", ("a",))], [SEX], max_size=2)
    with pytest.raises(LinkedTableError, match="level_1"):
        sample_to_sizes(random_mixture(domain, 1, 0), release, seed=0).to_tables()


def test_a_release_may_count_larger_sizes_without_groups_and_be_empty() -> None:
    mixture = random_mixture(domains()[0], 2, 0)
    release = CountOfCounts(TREE, [[0, 1, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 1, 0, 0]])
    np.testing.assert_array_equal(sample_to_sizes(mixture, release, 0).counts(8).counts, release.counts)
    nobody = CountOfCounts(TREE, np.zeros((2, 3), int))
    assert sample_to_sizes(mixture, nobody, 0).population.n_groups == 0


@pytest.mark.drawn(1)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_groups_follow_the_mixture_given_size(n: int) -> None:
    """Against many unconditional samples, of which the right size is kept: within 5 standard errors."""
    mixture = random_mixture(domains()[n], 3, 20 + n)
    size, many = 3, scale(8_000, 100_000)
    release = CountOfCounts(TREE, [[0, 0, 0, many], [0, 0, 0, many]])
    regional = sample_to_sizes(mixture, release, seed=5)
    drawn, free = regional.population, mixture.sample(scale(200_000, 2_000_000), 6)
    kept = free.sizes == size
    for leaf in (1, 2):
        mine = regional.leaf_of == leaf
        for part, whole, in_part, in_whole in (
            (drawn.groups, free.groups, mine, kept),
            (
                np.column_stack([drawn.persons, drawn.role_of]),
                np.column_stack([free.persons, free.role_of]),
                mine[drawn.group_of],
                kept[free.group_of],
            ),
        ):
            for column in range(part.shape[1]):
                for value in range(4):
                    p, q = (part[in_part, column] == value).mean(), (whole[in_whole, column] == value).mean()
                    spread = size * (q * (1 - q) + 1e-4) * (1 / in_part.sum() + 1 / in_whole.sum())
                    assert abs(p - q) < 5 * np.sqrt(spread)
        # Two members of one group: what a fresh component per member would lose.
        pairs = [x.persons[:, 0].reshape(-1) for x in (drawn, free)]
        starts = [drawn.first[:-1][mine], free.first[:-1][kept]]
        p, q = ((x[s] & x[s + 2]).mean() for x, s in zip(pairs, starts, strict=True))
        assert abs(p - q) < 5 * np.sqrt((q * (1 - q) + 1e-4) * (1 / len(starts[0]) + 1 / len(starts[1])))


def test_the_component_is_drawn_given_size() -> None:
    """One component has women alone, the other pairs of men."""
    domain = Domain.plain([], [SEX], max_size=2)
    mixture = Mixture(
        domain,
        (),
        (np.array([[[1, 0], [1, 0]], [[0, 1], [0, 1]]]),),
        (np.array([[0, 1, 0], [0, 0, 1]]),),
    )
    regional = sample_to_sizes(mixture, CountOfCounts(TREE, [[1, 5, 7], [0, 4, 3]]), 0)
    population = regional.population
    assert (population.persons[:, 0] == (population.sizes == 2)[population.group_of]).all()
    pairs = Mixture(domain, (), (np.array([[[0, 1], [0, 1]]]),), (np.array([[0, 0, 1]]),))
    with pytest.raises(SynthesisError, match="leaf US / MI needs 1 groups of size 1, and the mixture gives"):
        sample_to_sizes(pairs, CountOfCounts(TREE, [[0, 0, 0], [0, 1, 0]]), 0)


def test_same_seed_same_groups() -> None:
    mixture, release = random_mixture(domains()[1], 3, 0), CountOfCounts(TREE, [[0, 5, 5, 5], [1, 5, 5, 5]])
    first, second, other = (sample_to_sizes(mixture, release, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.population.persons, second.population.persons)
    assert first.population.persons.tolist() != other.population.persons.tolist()


def test_refusals() -> None:
    domain = Domain((), (SEX,), (Role("host", 2, 2), Role("guest", 0, 1)))
    mixture = random_mixture(domain, 2, 0)
    for sizes, wrong in (([0, 1, 0, 0, 0], 1), ([0, 0, 0, 0, 1], 4)):
        with pytest.raises(
            SynthesisError, match=f"leaf US / GA has groups of size {wrong}, and the domain has sizes 2 to 3"
        ):
            sample_to_sizes(mixture, CountOfCounts(TREE, [sizes, [0] * 5]), 0)
    with pytest.raises(ArgumentError, match="the release is"):
        sample_to_sizes(mixture, np.zeros((2, 3)), 0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SynthesisError, match="count sizes up to"):
        sample_to_sizes(mixture, CountOfCounts(TREE, [[0, 0, 1], [0, 0, 1]]), 0).counts(1)
