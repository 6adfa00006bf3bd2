"""A hierarchy made straight from the numbers of children, level by level, for data sets of millions of regions."""

from collections.abc import Sequence

import numpy as np

from pgsr.data.hierarchy import Hierarchy, Path


def counted_tree(children: Sequence[np.ndarray], paths: Sequence[Path]) -> Hierarchy:
    """Make the hierarchy whose regions have these numbers of children.

    It is what `Hierarchy.from_paths` makes, without its checks and its dictionaries of names: these take most of the
    time and memory where there are millions of regions, and numbers of children cannot be inconsistent.

    Args:
        children: for every level but the last, root first: the number of children of each of its regions, 1 at least.
        paths: of all regions in level order. One path may stand for many: regions without names cannot be looked up.

    Example:
        >>> tree = counted_tree([np.array([2])], [("US",), ("US", "GA"), ("US", "MI")])
        >>> tree, tree.index(("US", "MI"))
        (Hierarchy(3 regions, levels 1 / 2), 2)
    """
    sizes = [1, *(int(numbers.sum()) for numbers in children)]
    level_start = np.concatenate([[0], np.cumsum(sizes)])
    of_inner = np.concatenate([np.zeros(0, np.int64), *children])
    n = int(level_start[-1])
    parent = np.concatenate([[-1], np.repeat(np.arange(len(of_inner)), of_inner)])
    n_children = np.concatenate([of_inner, np.zeros(n - len(of_inner), np.int64)])
    first_child = 1 + np.concatenate([[0], np.cumsum(n_children)])
    return Hierarchy(tuple(paths), parent, first_child, level_start, np.arange(n), np.zeros(n, bool))
