"""Trees of regions: what is refused and with which words, and what a finished tree guarantees."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from instances import random_tree, rng_of, scale

from pgsr import Hierarchy, PgsrError
from pgsr.errors import HierarchyError

by_parents, by_paths = Hierarchy.from_parents, Hierarchy.from_paths
STATES = by_parents(["US", "GA", "MI"], [-1, 0, 0])

MESSAGES: list[tuple[str, Callable[[], Any], str]] = [
    ("orphan", lambda: by_parents(["a", "b"], [-1, 7]), "'b' is an orphan: its parent 7 is unknown.*0..1"),
    ("parent -2", lambda: by_parents(["a", "b"], [-1, -2]), "'b' is an orphan: its parent -2 is unknown"),
    ("two roots", lambda: by_parents(["a", "b"], [-1, -1]), "two roots, 'a' and 'b'; put them below one"),
    ("no root", lambda: by_parents(["a", "b"], [1, 0]), "no root.*give the root parent -1"),
    ("cycle", lambda: by_parents(["a", "b", "c"], [-1, 2, 1]), "'b' never reaches the root.*cycle; break"),
    ("own parent", lambda: by_parents(["a", "b"], [-1, 1]), "'b' is its own parent; give the region above it"),
    ("two parents", lambda: by_parents(["a", "b", "c"], [-1, 0, (0, 1)]), r"'c' has several parents, \(0, 1\)"),
    ("missing parent", lambda: by_parents(["a", "b"], [-1, None]), "'b' has parent None; parents are pos"),
    ("Boolean parent", lambda: by_parents(["a", "b"], [-1, False]), "'b' has parent False; parents are pos"),
    ("fewer parents", lambda: by_parents(["a", "b"], [-1]), "2 names but 1 parents; give one parent per"),
    ("same siblings", lambda: by_parents(["a", "b", "b"], [-1, 0, 0]), r"'a' / 'b' is listed twice \(items 1 a"),
    ("same path", lambda: by_paths([("a", "b"), ("a", "c"), ("a", "b")]), r"'b' is listed twice \(items 0 and 2\)"),
    ("ragged", lambda: by_paths([("a", "b"), ("a", "c", "d")]), "'a' / 'b' ends at level 1, others at level 2.*pad"),
    ("number as id", lambda: by_paths([("US", "01001"), ("US", 1001)]), "id 1001 is a int, not text.*'01001'"),
    ("array without dimensions as path", lambda: by_paths([np.array("US")]), "a region is a sequence of names"),
    ("text as path", lambda: by_paths(["US", "GA"]), r"not 'US'; write \('US', 'GA'\)"),
    ("empty path", lambda: by_paths([()]), "an empty path; the shortest is the root's"),
    ("blank name", lambda: by_parents(["US", " \t"], [-1, 0]), "an empty name; name every region"),
    ("no regions", lambda: by_paths([]), "no regions; give at least the root"),
    ("zero byte", lambda: by_paths([("US", "G\0A")]), "holds a control character; remove it"),
    ("right to left mark", lambda: by_paths([("US", "\u202eAG")]), "holds a control character; remove it"),
    ("two spellings", lambda: by_paths([("US", "é"), ("US", "e\u0301")]), "'US' / 'é' is listed twice"),
    ("region that is none", lambda: STATES.index(("US", "TX")), "regions are named by their path from the root"),
    ("number in a path", lambda: STATES.index(("US", 5)), "regions are named by their path from the root"),
    ("path without names", lambda: STATES.index(()), "regions are named by their path from the root"),
    ("last part alone", lambda: STATES.index("GA"), "'US/GA'"),
    ("path of the last part alone", lambda: STATES.index(("GA",)), "'US/GA'"),
    ("level above", lambda: STATES.level(-1), r"does not exist; levels run 0\.\.1"),
    ("level below", lambda: STATES.level(2), r"does not exist; levels run 0\.\.1"),
]


@pytest.mark.parametrize(("make", "message"), [m[1:] for m in MESSAGES], ids=[m[0] for m in MESSAGES])
def test_bad_trees_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        make()


def check_invariants(tree: Hierarchy) -> None:
    """Parents first, siblings side by side, all leaves on the last level, and every index consistent."""
    assert tree.parent[0] == -1
    assert tree.level_start[0] == 0
    assert tree.level_start[-1] == tree.n_regions == len(tree.parent) == len(set(tree.paths))
    assert (np.diff(tree.level_start) >= 1).all()
    assert tree.n_inner == tree.leaves.start
    for region, path in enumerate(tree.paths):
        children = tree.children(region)
        assert tree.index(path) == region
        assert tree.level_of[region] == len(path) - 1
        assert [tree.paths[child][:-1] for child in children] == [path] * len(children)
        assert (len(children) == 0) == (region >= tree.leaves.start)
        if region:
            assert tree.paths[tree.parent[region]] == path[:-1]
    assert [c for region in range(tree.n_regions) for c in tree.children(region)] == list(range(1, tree.n_regions))


def test_order_maps_rows_back_on_random_trees() -> None:
    rng = rng_of(31)
    for _ in range(scale(100, 2_000)):
        tree = random_tree(rng)
        check_invariants(tree)
        shuffled = rng.permutation(tree.n_regions)
        place = np.argsort(shuffled)
        parents = [-1 if tree.parent[r] < 0 else int(place[tree.parent[r]]) for r in shuffled]
        again = Hierarchy.from_parents([tree.name(r) for r in shuffled], parents)
        check_invariants(again)
        assert [tree.paths[shuffled[i]] for i in again.order] == list(again.paths)
        listed = [tree.paths[r] for r in shuffled]
        by_path = Hierarchy.from_paths(listed)
        assert [listed[i] for i in by_path.order] == list(by_path.paths)
        leaves = [path for path in listed if len(path) == tree.n_levels]
        by_leaf = Hierarchy.from_paths(leaves)
        check_invariants(by_leaf)
        assert (by_leaf.order[: by_leaf.n_inner] == -1).all() or tree.n_levels == 1
        assert [leaves[i] for i in by_leaf.order[by_leaf.leaves]] == list(by_leaf.paths[by_leaf.n_inner :])


def test_same_name_in_two_branches() -> None:
    tree = Hierarchy.from_parents(["US", "GA", "MI", "Clinton", "Clinton"], [-1, 0, 0, 1, 2])
    assert tree.paths[3:] == (("US", "GA", "Clinton"), ("US", "MI", "Clinton"))
    assert Hierarchy.from_paths([("x", "x", "x")]).n_regions == 3


def test_numpy_input() -> None:
    tree = Hierarchy.from_parents(np.array(["US", "GA"]), np.array([-1, 0]))  # type: ignore[arg-type]
    assert tree.paths == (("US",), ("US", "GA"))
    assert {type(name) for path in tree.paths for name in path} == {str}
    assert Hierarchy.from_paths(np.array([["US", "GA"], ["US", "MI"]])).n_regions == 3


def test_single_region_and_single_children() -> None:
    alone = Hierarchy.from_parents(["US"], [-1])
    check_invariants(alone)
    assert (alone.n_levels, alone.n_inner, alone.leaves) == (1, 0, slice(0, 1))
    chain = Hierarchy.from_parents(["US", "GA", "Fulton"], [-1, 0, 1])
    check_invariants(chain)
    assert not chain.padded.any()
    assert chain.sum_up(np.array([[1, 2]])).tolist() == [[1, 2]] * 3


def test_padding_repeats_short_branches() -> None:
    """A short branch ends in copies of its last region; only the deepest copy is measured."""
    tree = Hierarchy.from_paths([("a", "b"), ("a", "c", "d"), ("a", "c", "e", "f")], pad_ragged=True)
    check_invariants(tree)
    assert tree.paths[tree.n_inner :] == (("a", "b", "b", "b"), ("a", "c", "d", "d"), ("a", "c", "e", "f"))
    padded = [path for path, is_padded in zip(tree.paths, tree.padded, strict=True) if is_padded]
    assert sorted(padded) == [("a", "b"), ("a", "b", "b"), ("a", "c", "d")]
    assert tree.sum_up(np.array([[1], [2], [4]])).ravel().tolist() == [7, 1, 6, 1, 2, 4, 1, 2, 4]


def test_padded_leaves_know_the_caller_s_row() -> None:
    """Rows of leaf counts are put in order by `rows[tree.order[tree.leaves]]`; -1 would take the last row instead."""
    listed = [("a", "b"), ("a", "c", "d")]
    tree = Hierarchy.from_paths(listed, pad_ragged=True)
    rows = [tree.order[leaf] for leaf in range(tree.leaves.start, tree.leaves.stop)]
    assert [listed[row] for row in rows if row >= 0] == [("a", "b"), ("a", "c", "d")]


def test_sums() -> None:
    """Against a plain loop over children, for tables and for single numbers per leaf."""
    rng = rng_of(33)
    for _ in range(scale(100, 2_000)):
        tree = random_tree(rng)
        for shape in ((), (4,), (2, 3)):
            leaf_values = rng.integers(-9, 10, (tree.n_regions - tree.n_inner, *shape))
            values = tree.sum_up(leaf_values)
            assert np.array_equal(values[tree.leaves], leaf_values)
            for region in range(tree.n_inner):
                assert np.array_equal(values[region], sum(values[child] for child in tree.children(region)))
            for level in range(tree.n_levels - 1):
                assert np.array_equal(tree.sum_children(values, level), values[tree.level(level)])


def test_trees_cannot_be_changed() -> None:
    tree = random_tree(rng_of(34))
    for array in (tree.parent, tree.first_child, tree.level_start, tree.order, tree.padded):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


NAMES: list[Any] = ["a", "b", "é", "e\u0301", "", " ", "a\n", "01", 1, None, 2.5, float("nan"), b"a", ("a",), "\ud800"]


def garbage_path(rng: np.random.Generator) -> Any:
    if rng.random() < 0.05:
        return [None, "ab", 7, b"a", {"a"}, (), range(2), np.array(["r", "a"]), np.nan, [["r"], ["a"]]][
            rng.integers(10)
        ]
    if rng.random() < 0.1:
        return [NAMES[i] for i in rng.integers(0, len(NAMES), rng.integers(0, 4))]
    return ("r", *(NAMES[i] for i in rng.integers(0, 4, rng.integers(0, 4))))


def garbage_parents(rng: np.random.Generator) -> tuple[Any, Any]:
    n = int(rng.integers(0, 6))
    names: list[Any] = list("rabcde")[:n]
    parents: list[Any] = [-1, *(int(rng.integers(0, i)) for i in range(1, n))][:n]
    for _ in range(rng.integers(0, 3)):
        if n and rng.random() < 0.4:
            names[rng.integers(n)] = NAMES[rng.integers(len(NAMES))]
        if n:
            other = [*range(-3, n + 2), None, "a", (0, 1), [0], 0.0, True, np.int32(0), np.nan, np.array([0, 1]), 2**70]
            parents[rng.integers(n)] = other[rng.integers(len(other))]
    if rng.random() < 0.05:
        parents.append(0)
    return names, parents


def test_garbage_is_refused_or_a_tree() -> None:
    """Whatever is thrown at it, only pgsr's own errors leave, and what is accepted is a tree."""
    rng = rng_of(35)
    n_trees = n_cases = 0
    messages = set()
    for i in range(scale(2_000, 50_000)):
        pad = bool(rng.random() < 0.5)
        names, parents = garbage_parents(rng)
        paths = [garbage_path(rng) for _ in range(rng.integers(0, 5))]
        for make in (
            lambda: Hierarchy.from_parents(names, parents, pad_ragged=pad),  # noqa: B023
            lambda: Hierarchy.from_paths(paths, pad_ragged=pad),  # noqa: B023
        ):
            n_cases += 1
            try:
                tree = make()
            except PgsrError as error:
                messages.add(str(error))
                continue
            except Exception as error:
                raise AssertionError(f"case {i}: {names}, {parents}, {paths}") from error
            n_trees += 1
            check_invariants(tree)
    assert 0.1 < n_trees / n_cases < 0.9
    assert min(map(len, messages)) > 20


def test_down_to_a_level_equals_the_hierarchy_of_its_regions():
    whole = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1"), ("US", "OH", "1")])
    for level in range(3):
        upper = Hierarchy.from_paths([path for path in whole.paths if len(path) <= level + 1])
        found = whole.down_to(level)
        assert found.paths == upper.paths
        for name in ("parent", "first_child", "level_start", "padded"):
            assert np.array_equal(getattr(found, name), getattr(upper, name)), (level, name)
