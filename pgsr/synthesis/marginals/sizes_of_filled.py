"""The filling of groups whose numbers by region and size are those of a release."""

import numpy as np

from pgsr.synthesis.data.population import Population
from pgsr.synthesis.marginals.balanced_draws import fill
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.public_households import PublicHouseholds


def filled_to_sizes(model: FilledHouseholds, sizes: np.ndarray, seed: int) -> Population:
    """Fill groups of given sizes, with attributes from the public groups of that size.

    Attributes are drawn in proportion to how many public groups of the size have them; where sizes are not public, to
    how probable the size is for them. A size that no public group has gets the attributes of all sizes.

    Args:
        sizes: per group; groups of one size are drawn together, in random order.
    """
    by_size = _of_sizes(model)
    kinds, weights, rng = by_size.households.kinds, _weights(model, by_size), np.random.default_rng([seed, 3])
    size_of = kinds[:, -1] + model.domain.min_size
    kind_of = np.zeros(len(sizes), np.int64)
    for size in np.unique(sizes):
        groups, listed = np.flatnonzero(sizes == size), np.flatnonzero(size_of == size)
        upto = np.cumsum(weights[listed])
        at = (np.arange(len(groups)) + rng.random()) / len(groups) * upto[-1]
        drawn = listed[np.minimum(np.searchsorted(upto, at, side="right"), len(listed) - 1)]
        kind_of[groups] = rng.permutation(drawn)
    return fill(by_size, kind_of, seed)


def _of_sizes(model: FilledHouseholds) -> FilledHouseholds:
    """Make the same model for groups whose size is given, of all kinds and sizes.

    The component of a group of size s is likely in proportion to P(s) in it, too; where sizes are public, the model has
    a logit for them.
    """
    domain, households = model.domain, model.households
    n_sizes = len(domain.sizes)
    if households.with_sizes:
        attributes, of_groups = np.unique(households.kinds[:, :-1], axis=0), model.of_groups
    else:
        attributes, by_size = households.kinds, np.zeros((n_sizes, model.n_components))
        np.add.at(by_size, model.filling.size_of, model.way_table)
        of_groups = np.concatenate([model.of_groups, np.log(np.maximum(by_size, 1e-300))])
    kinds = np.column_stack([np.repeat(attributes, n_sizes, axis=0), np.tile(np.arange(n_sizes), len(attributes))])
    every = PublicHouseholds(domain, True, kinds, np.ones(len(kinds), np.int64))
    return FilledHouseholds(every, model.impossible, of_groups, model.of_members, model.of_ways)


def _weights(model: FilledHouseholds, by_size: FilledHouseholds) -> np.ndarray:
    """Compute how likely the attributes of every kind of `by_size` are among groups of its size, up to a factor."""
    households, n_sizes = model.households, len(model.domain.sizes)
    if not households.with_sizes:
        sizes = np.zeros((n_sizes, model.n_components))
        np.add.at(sizes, model.filling.size_of, model.way_table)
        return ((model.components * households.numbers[:, None]) @ sizes.T).ravel()
    _, attribute = np.unique(households.kinds[:, :-1], axis=0, return_inverse=True)
    found = np.zeros((len(by_size.households.kinds) // n_sizes, n_sizes))
    np.add.at(found, (attribute.ravel(), households.kinds[:, -1]), households.numbers)
    of_all = found.sum(1)
    for size in np.flatnonzero(found.sum(0) == 0):
        found[:, size] = of_all
    return found.ravel()
