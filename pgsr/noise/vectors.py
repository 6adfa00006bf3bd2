"""The vector that is measured of a region: its values, which of them get noise together, and how many they are."""

from collections.abc import Iterator, Sequence

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.data.split_view import AnyView, Split, columns, rows
from pgsr.data.views import View, cumulative, ranked
from pgsr.noise.split_by_root import SplitByRoot
from pgsr.noise.view_rules import ViewRule, view_under

RECTANGULAR = (View.COUNTS, View.CUMULATIVE)
"""The views whose vectors have a cell per size, so that no length tells a number of groups."""


def vector(counts: np.ndarray, view: AnyView, total: int | None) -> np.ndarray:
    """Make a fresh array of the view's values; cumulative counts from above where totals are noisy."""
    if isinstance(view, Split):
        groups = int(counts.sum())
        below = columns(counts, view.threshold)
        below = below if total is None else groups - below
        ranks = view.n_ranks(groups if total is None else total)
        return np.concatenate([below, rows(counts, view.threshold, ranks)])
    if view is View.COUNTS:
        return counts.astype(np.int64, copy=True)
    if view is View.CUMULATIVE:
        return cumulative(counts) if total is None else int(counts.sum()) - cumulative(counts)
    sizes = ranked(counts)
    if total is None:
        return sizes
    return np.concatenate([np.zeros(max(0, total - len(sizes)), np.int64), sizes[max(0, len(sizes) - total) :]])


def parts(row: np.ndarray, view: AnyView) -> Iterator[tuple[View, np.ndarray]]:
    """Yield the cells of a row that get their noise together, and the view whose stream it is drawn from.

    Columns and rows of a split view have the streams of the whole views that they are part of, so that both ends of
    thresholds give the noise of these.
    """
    if isinstance(view, Split):
        yield View.CUMULATIVE, row[: view.threshold]
        yield View.RANKED, row[view.threshold :]
    else:
        yield view, row


def most_cells(truth: CountOfCounts, rules: tuple[ViewRule, ...], max_sizes: Sequence[int]) -> int:
    """Count the values to be measured; where the noisy root decides, the most that a region may have.

    Args:
        rules: of the regions.
        max_sizes: of the levels.
    """
    n_cells, largest = 0, np.array(max_sizes)[truth.hierarchy.level_of].tolist()
    for rule, max_size, own in zip(rules, largest, truth.totals.tolist(), strict=True):
        if isinstance(rule, SplitByRoot):
            n_cells += max_size + 1 + Split(0, rule.ranks).n_ranks(own)
        else:
            view = view_under(rule, max_size)
            many = view.threshold + view.n_ranks(own) if isinstance(view, Split) else own
            n_cells += max_size + 1 if view in RECTANGULAR else many
    return n_cells
