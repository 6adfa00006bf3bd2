"""Tables of counts: what is refused and with which words, and that dense and sparse tables agree."""

import time
from typing import Any

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale
from scipy import sparse

from pgsr import CountOfCounts, Hierarchy, PgsrError, View
from pgsr.data import Estimate
from pgsr.data.counts import LARGEST_TOTAL, checked_counts
from pgsr.errors import CountError, MemoryNeededError
from pgsr.noise import Geometric
from pgsr.privacy import Ledger, Seeded

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])

both = pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=lambda f: f.__name__)
"""Dense and sparse tables; `test_dense_and_sparse_agree` has every format of SciPy."""


def table(cell: Any, dtype: Any = None) -> np.ndarray:
    """Leaf rows in which one cell, MI's groups of size 2, is the one to be looked at."""
    counts = np.array([[0, 2, 0, 1], [0, 1, 0, 1]], dtype)
    if dtype is None:
        counts = counts.astype(np.array(cell).dtype)
    counts[1, 2] = cell
    return counts


BAD_CELLS = [
    (-1, None, "size 2 is -1: negative; counts start at 0"),
    (-1.0, None, "size 2 is -1.0: negative; counts start at 0"),
    (np.nan, None, "size 2 is nan: not a finite number; fill missing counts"),
    (np.inf, None, "size 2 is inf: not a finite number"),
    (0.5, None, "size 2 is 0.5: not a whole number; counts are integers"),
    (2.0**53 + 2, None, "size 2 is 9007199254740994.0: too large for a float to hold exactly; give integers"),
    (2**62 + 1, None, r"size 2 is 4611686018427387905: larger than 2\^62"),
    (2**64 - 1, np.uint64, r"size 2 is 18446744073709551615: larger than 2\^62"),
]


@pytest.mark.parametrize(("cell", "dtype", "message"), BAD_CELLS)
@both
def test_bad_counts_are_refused_by_name(make: Any, cell: Any, dtype: Any, message: str) -> None:
    with pytest.raises(CountError, match=f"count of region US / MI, {message}"):
        CountOfCounts(TREE, make(table(cell, dtype)))


@both
@pytest.mark.parametrize("first", [0, 1], ids=["all regions", "leaves"])
def test_the_named_region_counts_from_the_table_given(make: Any, first: int) -> None:
    with pytest.raises(CountError, match="region US / MI, size 1 is -1"):
        CountOfCounts(TREE, make(np.array([[0, 3], [0, 2], [0, -1]])[first:]))


@both
def test_kinds_of_numbers_that_are_no_counts(make: Any) -> None:
    for kind, message in ((bool, "booleans; give the number of groups of each size"), (complex, "complex128, not")):
        with pytest.raises(CountError, match=message):
            CountOfCounts(TREE, make(np.ones((2, 3), kind)))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones((2, 3), object), "dtype object, not integers; convert the column to int64"),
        ([[1, None], [0, 1]], "dtype object, not integers"),
        ([[1, 2**70], [0, 1]], r"whole numbers beyond 64 bits; no count may be larger than 2\^62"),
        ("abc", "not integers"),
        ([[1, 2], [3]], "rows of counts differ in length; give every region the sizes 0..K"),
        ([1, 2], "1 dimensions; give a table of regions x sizes"),
        (np.ones((2, 2, 2), int), "3 dimensions; give a table of regions x sizes"),
        (np.ones((2, 1), int), "1 size columns; sizes run 0..K with K at least 1, size 0 included"),
        (np.ones((4, 2), int), r"4 rows; give one per region \(3\) or one per leaf \(2\)"),
        (sparse.csr_array(np.ones((4, 2), int)), r"4 rows; give one per region \(3\) or one per leaf \(2\)"),
        (sparse.csr_array(np.ones((2, 1), int)), "1 size columns; sizes run 0..K"),
        (sparse.coo_array(np.ones(2, int)), "1 dimensions; give a table"),
    ],
)
def test_bad_tables_are_refused(counts: Any, message: str) -> None:
    with pytest.raises(CountError, match=message):
        CountOfCounts(TREE, counts)


@both
def test_regions_that_do_not_add_up(make: Any) -> None:
    with pytest.raises(
        CountError, match="region US, size 2 is 5, but its children add up to 2; give leaf rows only, or"
    ):
        CountOfCounts(TREE, make(np.array([[0, 3, 5], [0, 2, 1], [0, 1, 1]])))
    deep = Hierarchy.from_paths([("a", "b", "c"), ("a", "d", "e")])
    with pytest.raises(CountError, match="region a / d, size 0 is 0, but its children add up to 1"):
        CountOfCounts(deep, make(np.array([[1, 1], [1, 1], [0, 0], [1, 1], [1, 0]])))


@both
def test_totals_beyond_2_to_the_62_are_refused_not_wrapped(make: Any) -> None:
    for leaves in ([[2**62, 2**62], [2**62, 2**62]], [[2**61, 0], [2**61, 2**61]]):  # the first wraps to 0 in 64 bits
        with pytest.raises(CountError, match=r"all leaves add up to more than 2\^62"):
            CountOfCounts(TREE, make(np.array(leaves)))
    large = CountOfCounts(TREE, make(np.array([[2**60, 1], [0, 2**60]])))
    assert large.totals.tolist() == [2**61 + 1, 2**60 + 1, 2**60]


def test_sums_that_wrap_do_not_pass_for_equal() -> None:
    """Four children of 2^62 add up to 0 in 64 bits, the root's count; the leaves below them hold nothing."""
    tree = Hierarchy.from_paths([("r", f"m{i}", "leaf") for i in range(4)])
    counts = np.zeros((9, 2), np.int64)
    counts[1:5, 1] = 2**62
    with pytest.raises(CountError, match="add up"):
        CountOfCounts(tree, counts)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float16])
def test_small_types_are_summed_in_64_bits(dtype: Any) -> None:
    """100 + 100 groups of one size do not fit int8."""
    truth = CountOfCounts(TREE, np.full((2, 2), 100, dtype))
    assert truth.counts.dtype == np.int64
    assert truth.counts.tolist() == [[200, 200], [100, 100], [100, 100]]
    if dtype is not np.float16:  # SciPy has no such tables
        thin = CountOfCounts(TREE, sparse.csr_array(np.full((2, 2), 100, dtype)))
        assert thin.counts.tolist() == truth.counts.tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_repeated_entries_of_a_sparse_table_are_summed_in_64_bits(dtype: Any) -> None:
    """One entry of 1 per group is the usual way to count them; 300 groups in a cell must stay 300."""
    rows, sizes = np.zeros(300, int), np.ones(300, int)
    counts = sparse.coo_array((np.ones(300, dtype), (rows, sizes)), shape=(2, 3))
    assert CountOfCounts(TREE, counts).totals.tolist() == [300, 300, 0]
    as_rows = sparse.csr_array((np.ones(300, dtype), sizes, np.array([0, 300, 300])), shape=(2, 3))
    assert CountOfCounts(TREE, as_rows).totals.tolist() == [300, 300, 0]


def test_masked_counts_are_not_taken_for_counts() -> None:
    """A masked count is a missing one, and must not enter silently."""
    with pytest.raises(CountError):
        CountOfCounts(TREE, np.ma.masked_array([[1, 999], [3, 4]], mask=[[0, 1], [0, 0]]))


def test_empty_regions_and_size_0_are_kept() -> None:
    truth = CountOfCounts(TREE, [[3, 0, 0], [0, 0, 0]])
    assert truth.counts.tolist() == [[3, 0, 0], [3, 0, 0], [0, 0, 0]]
    assert truth.totals.tolist() == [3, 3, 0]
    nothing = CountOfCounts(TREE, sparse.csr_array((2, 4), dtype=np.int64))
    assert nothing.totals.tolist() == [0, 0, 0]
    assert nothing.counts.shape == (3, 4)


def test_dense_and_sparse_agree() -> None:
    rng = rng_of(41)
    formats = [getattr(sparse, f"{name}_array") for name in ("csr", "csc", "coo", "lil", "dok")] + [sparse.csr_matrix]
    for i in range(scale(60, 2_000)):
        tree = random_tree(rng)
        dense = random_truth(rng, tree, max_size=int(rng.integers(1, 9)))
        thin = CountOfCounts(tree, formats[i % 6](dense.counts[tree.leaves]))
        whole = CountOfCounts(tree, formats[i % 6](dense.counts))
        assert np.array_equal(CountOfCounts(tree, dense.counts).counts, dense.counts)
        for table in (thin, whole):
            assert table.is_sparse
            assert not dense.is_sparse
            assert np.array_equal(table.counts, dense.counts)
            assert np.array_equal(table.totals, dense.totals)
            assert table.max_size == dense.max_size
            start = int(rng.integers(0, tree.n_regions))
            assert np.array_equal(table.rows(start, tree.n_regions), dense.rows(start, tree.n_regions))


def test_the_callers_table_is_copied() -> None:
    """Later changes to it do not reach the truth, and the truth does not change it."""
    dense = np.array([[0, 3], [0, 2], [0, 1]])
    thin = sparse.csr_array(dense)
    truths = CountOfCounts(TREE, dense), CountOfCounts(TREE, thin)
    dense[:] = 7
    thin.data[:] = 7
    thin.indices[:] = 0
    for truth in truths:
        assert truth.counts.tolist() == [[0, 3], [0, 2], [0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        truths[0].counts[0, 0] = 1


def test_too_large_a_table_is_refused_at_once() -> None:
    """100,000 regions x 10^7 sizes: 7 TiB. Refused in a moment, and before the budget is charged."""
    tree = Hierarchy.from_paths([("r", str(i)) for i in range(100_000)])
    truth = CountOfCounts(tree, sparse.csr_array(([5], ([1], [10**7])), shape=(10**5, 10**7 + 1)))
    assert truth.totals[:4].tolist() == [5, 0, 5, 0]
    many = CountOfCounts(TREE, [[0, 2**40], [0, 0]])
    ledger = Ledger(1)
    start = time.process_time()
    with pytest.raises(
        MemoryNeededError, match=r"100,001 regions x 10,000,001 sizes needs .* GiB.*lower the largest size K"
    ):
        _ = truth.counts
    with pytest.raises(MemoryNeededError, match=r"a measurement of 1,000,010,100,001 values needs .* GiB"):
        Geometric(View.COUNTS, epsilon=1).measure(truth, Seeded("key"), ledger)
    with pytest.raises(MemoryNeededError, match="a measurement of 2,199,023,255,552 values"):
        Geometric(View.RANKED, epsilon=1).measure(many, Seeded("key"), ledger)
    assert time.process_time() - start < 1
    assert ledger.spent == []


@pytest.mark.parametrize("rows", [2, 3], ids=["leaves", "all regions"])
def test_too_long_a_row_is_refused(rows: int) -> None:
    """10^12 sizes: no row fits memory, although the sparse table does."""
    with pytest.raises(MemoryNeededError):
        CountOfCounts(TREE, sparse.csr_array((rows, 10**12), dtype=np.int64))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.5]], r"target\[0, 0\] is 1.5: not a whole number"),
        ([[0, 1], [2, np.nan]], r"target\[1, 1\] is nan: not a finite number"),
        ([2**62 + 1], r"target\[0\] is 4611686018427387905: larger than 2\^62"),
        ([0, -(2**62) - 1], r"target\[1\] is -4611686018427387905: smaller than -2\^62"),
        ([True], "booleans"),
    ],
)
def test_checked_counts(values: Any, message: str) -> None:
    with pytest.raises(CountError, match=message):
        checked_counts(values, "target")


def test_checked_counts_keeps_signs() -> None:
    assert checked_counts([[-3.0, 4.0]], "target").tolist() == [[-3, 4]]
    assert checked_counts([-LARGEST_TOTAL], "target").dtype == np.int64


def test_unfinished_estimate_is_no_release() -> None:
    with pytest.raises(CountError, match=r"not a valid release: count of region US / GA, size 1 is 0\.5: not a whole"):
        Estimate(TREE, View.COUNTS, np.array([[0, 1.0], [0, 0.5], [0, 0.5]])).counts()
    with pytest.raises(CountError, match="not a valid release: count of region US, size 0 is -1: negative"):
        Estimate(TREE, View.CUMULATIVE, np.array([[-1, 1], [-1, 0], [0, 1]])).counts()


def garbage_counts(rng: np.random.Generator, tree: Hierarchy) -> Any:
    """Mostly small tables of the right shape with one or two faults, of all number types, dense or sparse."""
    rows = int(rng.choice([tree.n_regions, tree.n_regions - tree.n_inner, rng.integers(0, 6)]))
    columns = int(rng.integers(0, 5)) if rng.random() < 0.1 else 3
    types = ["i1", "u1", "i2", "u4", "i8", "u8", "f4", "f8", "?", "c16", "O", "U3"]
    weights = np.array([1, 1, 1, 1, 8, 1, 1, 6, 0.5, 0.5, 0.5, 0.5])
    dtype = np.dtype(rng.choice(types, p=weights / weights.sum()))
    counts = rng.integers(0, 2 if rng.random() < 0.5 else 5, (rows, columns)).astype(dtype)
    if rng.random() < 0.2:
        counts[:] = 0
    if counts.size and rng.random() < 0.6:
        whole, real = [-1, 2**62, 2**63 - 1, 2**62 - 1, 100, 0], [np.nan, np.inf, 0.5, -1.0, 1e300, -0.0]
        faults = whole if dtype.kind in "iu" else real
        if dtype.kind in "iuf":
            fault = faults[rng.integers(6)]
            if dtype.kind == "f" or np.iinfo(dtype).min <= fault <= np.iinfo(dtype).max:
                with np.errstate(over="ignore"):
                    counts.flat[rng.integers(counts.size)] = fault
    if dtype.kind in "?iufc" and rng.random() < 0.4:
        return [sparse.csr_array, sparse.coo_array, sparse.csc_matrix][rng.integers(3)](counts)
    if rng.random() < 0.3:
        return counts.tolist()
    return counts


def test_garbage_is_refused_or_adds_up() -> None:
    """Whatever the table, only pgsr's own errors leave, and what is accepted is what was given and adds up."""
    rng = rng_of(42)
    trees = [random_tree(rng, max_regions=6, n_levels=n) for n in (1, 2, 2, 3)]
    n_cases, n_accepted = scale(1_000, 100_000), 0
    messages = set()
    for i in range(n_cases):
        tree = trees[i % len(trees)]
        counts = garbage_counts(rng, tree)
        try:
            truth = CountOfCounts(tree, counts)
            table = truth.counts
        except PgsrError as error:
            messages.add(str(error))
            continue
        except Exception as error:
            raise AssertionError(f"case {i}: {counts!r}") from error
        n_accepted += 1
        given = counts.toarray() if sparse.issparse(counts) else np.asarray(counts)
        assert table.dtype == np.int64
        assert (table >= 0).all()
        assert np.array_equal(table[-len(given) :], given)
        assert given.dtype.kind in "iuf"
        assert np.array_equal(tree.sum_up(table[tree.leaves]), table)
        assert truth.totals.tolist() == [sum(row) for row in table.tolist()]
    assert 0.1 < n_accepted / n_cases < 0.9
    assert min(map(len, messages)) > 20


# Sizes per level

LEVELS = Hierarchy.from_paths([("US", "GA", "1"), ("US", "GA", "2"), ("US", "MI", "1")])


def test_counts_fold_to_sizes_per_level_and_add_up():
    leaves = rng_of(16).integers(0, 9, (3, 8))
    truth = CountOfCounts(LEVELS, leaves, "name", max_quantity=3).folded((7, 4, 2))
    assert truth.max_sizes == (7, 4, 2)
    assert (truth.max_size, truth.sizes.n_cells) == (7, 8 + 2 * 5 + 3 * 3)
    assert (truth.name, truth.max_quantity, truth.is_sparse) == ("name", 3, False)
    assert truth.tables[2].tolist() == [[*row[:2], sum(row[2:])] for row in leaves.tolist()]
    assert truth.totals.tolist() == CountOfCounts(LEVELS, leaves).totals.tolist()
    assert truth.row(4).tolist() == truth.tables[2][1].tolist() == truth.rows(3, 6)[1].tolist()
    assert "sizes 0..7 / 0..4 / 0..2" in repr(truth)
    sparse_truth = CountOfCounts(LEVELS, sparse.csr_array(leaves)).folded((7, 4, 2))
    assert all((a == b).all() for a, b in zip(truth.tables, sparse_truth.tables, strict=True))
    wrong = [table.copy() for table in truth.tables]
    wrong[2][0, 2] += 5
    with pytest.raises(CountError, match=r"count of region US / GA, size 2 or more is .* but its children add up to"):
        CountOfCounts(LEVELS, wrong)


def test_tables_are_neither_copied_nor_widened_and_stay_as_they_are():
    tables = np.array([[0, 3, 1]], np.int32), np.array([[0, 4]], np.int32)
    tree = Hierarchy.from_parents(["US", "GA"], [-1, 0])
    counts = CountOfCounts(tree, tables)
    for ours, given in zip(counts.tables, tables, strict=True):
        assert np.shares_memory(ours, given)
        assert ours.dtype == np.int32
    assert not any(table.flags.writeable for table in counts.tables)
    assert all(table.flags.writeable for table in tables), "the caller's own"
    same = CountOfCounts(tree, [table[:, :2] for table in (np.array([[1, 3]], np.int32), np.array([[1, 3]], np.int32))])
    assert same.tables[1].dtype == np.int32
    assert same.counts.dtype == np.int64
    assert same.counts.tolist() == same.rows(0, 2).tolist() == [[1, 3], [1, 3]]
    wide = CountOfCounts(tree, ([[1, 3]], [[1, 3]]))
    assert np.shares_memory(wide.counts, wide.tables[0])


def test_tables_beyond_32_bits_are_added_up_in_64():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    leaves = np.array([[2**31 - 1, 1], [2**31 - 1, 2]], np.int32)
    counts = CountOfCounts(tree, (np.array([[2**32 - 2, 1, 2]]), leaves))
    assert counts.totals.tolist() == [2**32 + 1, 2**31, 2**31 + 1]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda t: CountOfCounts(t, ([[1, 1]],)), "1 tables for 2 levels"),
        (lambda t: CountOfCounts(t, ([[1, 1]], [[1], [1], [1]])), "row for each of its 2 regions"),
        (lambda t: CountOfCounts(t, ([[1, 1]], [[0.5], [1]])), "count of region US / GA, size 0 is 0.5: not a whole"),
        (lambda t: CountOfCounts(t, ([[1, -1]], [[0], [0]])), "count of region US, size 1 is -1: negative"),
        (lambda t: CountOfCounts(t, ([[3]], [[1, 2], [1, 2]])), "may only be merged from the root down"),
        (lambda t: CountOfCounts(t, (np.array([[2**63 + 1, 1]], np.uint64), [[1], [1]])), r"larger than 2\^62"),
        (lambda t: CountOfCounts(t, ([[2**61, 2**61]], [[2**61], [2**61]])), r"add up to more than 2\^62"),
        (lambda t: CountOfCounts(t, ([[1, 3]], [[1, 1], [1, 1]])), "count of region US, size 0 is 1, but .* up to 2"),
        (lambda t: CountOfCounts(t, ([[1, 3]], [[1], [2]])), "size 0 or more is 4, but its children add up to 3"),
        (lambda t: CountOfCounts(t, [[0, 1], [0, 2]]).folded((0,)), "give one per level"),
        (lambda t: CountOfCounts(t, [[0, 1], [0, 2]]).folded((3, 0)), "give at most that"),
        (lambda t: CountOfCounts(t, [[0, 1], [0, 2]]).folded((1, -1)), "give 0 or more"),
        (lambda t: CountOfCounts(t, [[0, 1], [0, 2]]).folded((1, 0)).counts, "counts are no array; read the tables"),
    ],
)
def test_wrong_tables_are_refused(build, says):
    with pytest.raises(CountError, match=says):
        build(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]))


def test_a_frame_of_sizes_per_level_names_their_classes():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    frame = CountOfCounts(tree, ([[0, 3, 0, 3]], [[0, 3], [0, 3]])).to_frame()
    assert frame["size_class"].tolist() == ["0", "1", "3 or more", "0", "1 or more", "0", "1 or more"]
    assert frame["n_groups"].tolist() == [0, 3, 3, 0, 3, 0, 3]
    assert "size_class" not in CountOfCounts(tree, [[0, 3], [0, 3]]).to_frame()
