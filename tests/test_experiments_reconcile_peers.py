"""The benchmark of tables made consistent: all methods answer the same question."""

import numpy as np
import pytest

from pgsr.experiments.benchmarks.reconcile_peers import (
    METHODS,
    ReconcilePeer,
    _shown,
    dense_program,
    least_squares,
    made,
    ours,
)


def test_a_made_table_is_a_tree_of_its_values():
    data = made(200)
    table = data.table.to_pandas()
    assert len(table) == len(data.y) == data.starts[-1]
    assert table.notna().sum().tolist()[:4] == [len(table) - first for first in data.starts[:-1]]
    leaves = np.arange(float(len(data.y) - data.starts[-2]))
    assert np.abs(data.sums @ (data.leaves @ leaves)).max() == 0
    assert (data.leaves @ leaves)[0] == leaves.sum()


def test_all_methods_find_the_same_distance():
    pytest.importorskip("qpsolvers")
    data = made(120)
    least = data.judged(ours(data, integer=False)[0])
    whole = data.judged(ours(data, integer=True)[0])
    assert whole[0] == 0
    assert whole[2] >= least[2]
    for method in (dense_program, least_squares, METHODS["sparse program, HiGHS"]):
        off, _, distance = data.judged(method(data)[0])
        assert off < 1e-6
        assert distance == pytest.approx(least[2], rel=1e-6)
    off, below, distance = data.judged(METHODS["sparse program, OSQP"](data)[0])  # to its own tolerance, below 0 too
    assert off < 1e-3
    assert below < 0
    assert distance == pytest.approx(least[2], rel=0.02)


def test_a_row_without_an_answer_is_shown_without_numbers():
    assert _shown(ReconcilePeer(1000, "a peer", note="no answer in 3 s"))["seconds"] == ""
