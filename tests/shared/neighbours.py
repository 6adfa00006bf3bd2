"""Small tables of groups and all their neighbours: one entity joins or leaves a group, or one empty group appears."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np

from pgsr import CountOfCounts, Hierarchy

Table = tuple[tuple[int, ...], ...]
"""Sizes of the groups of every leaf, each sorted."""

PAIR = Hierarchy.from_paths([("root", "a"), ("root", "b")])
CHAIN = Hierarchy.from_paths([("root", "a")])
THREE = Hierarchy.from_paths([("root", "a", "x")])
ALONE = Hierarchy.from_paths([("root",)])


def tables(groups: Sequence[int], max_size: int) -> Iterator[Table]:
    """Every table with `groups[leaf]` groups in each leaf, sizes 0..max_size."""
    yield from product(*(combinations_with_replacement(range(max_size + 1), n) for n in groups))


def joined(table: Table, max_size: int, max_quantity: int = 1) -> Iterator[Table]:
    """The tables in which one entity more belongs to one of the groups and adds 1..max_quantity to its size.

    Leaving is the same pair read backwards.
    """
    for leaf, sizes in enumerate(table):
        for i, size in enumerate(sizes):
            if i == 0 or sizes[i - 1] != size:
                for larger in range(size + 1, min(size + max_quantity, max_size) + 1):
                    yield _with(table, leaf, (*sizes[:i], larger, *sizes[i + 1 :]))


def with_empty_group(table: Table) -> Iterator[Table]:
    """The tables with one empty group more."""
    for leaf, sizes in enumerate(table):
        yield _with(table, leaf, (0, *sizes))


def truth_of(tree: Hierarchy, table: Table, max_size: int) -> CountOfCounts:
    return CountOfCounts(tree, [np.bincount(np.array(sizes, int), minlength=max_size + 1) for sizes in table])


def random_pair(rng: np.random.Generator, truth: CountOfCounts) -> CountOfCounts | None:
    """A neighbour of `truth`: one entity joins or leaves one of its groups; None where there is no group."""
    leaves = truth.counts[truth.hierarchy.leaves].copy()
    movable = np.argwhere(leaves)
    if not len(movable):
        return None
    leaf, size = movable[rng.integers(len(movable))]
    step = 1 if size == 0 or (size < truth.max_size and rng.random() < 0.5) else -1
    leaves[leaf, size] -= 1
    leaves[leaf, size + step] += 1
    return CountOfCounts(truth.hierarchy, leaves, truth.name)


def _with(table: Table, leaf: int, sizes: tuple[int, ...]) -> Table:
    return (*table[:leaf], tuple(sorted(sizes)), *table[leaf + 1 :])
