"""Refuse, before anything is charged, a release that memory, disk or arithmetic does not allow."""

import re
import shutil
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.data.region_ids import region_id
from pgsr.errors import MemoryNeededError
from pgsr.estimators.posterior.method import BATCH_CELLS
from pgsr.intervals.replicates import Outermost, draws_for
from pgsr.machine import memory
from pgsr.noise.measurement import Totals, measured_regions
from pgsr.privacy.laws import DoubleGeometric, Law
from pgsr.release.publishing.errors import ConfigError, ReleaseError
from pgsr.release.terms.kinds import Kind, MeasuredView
from pgsr.release.terms.plan import Plan

MOST_IN_SUMS = 2**50
"""The most groups times levels for which prices of sums, added up along a branch, stay within 64 bits."""

_AT_REST = 400_000_000
"""The bytes of a process that has loaded its libraries and compiled code."""

_SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""The signs with which formulas begin, and their wide forms, which some programs take for the same."""

_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")


def peak_bytes(kind: Kind, n_regions: int, n_sizes: int, n_filled: int, intervals: Fraction | None = None) -> int:
    """Estimate the most bytes that the process of a release holds after reading: libraries, regions, and tables.

    Fitted to measured peaks of all mechanisms: noisy values, post-processing and the check need so much per
    region and size, and the rows of the counts table, which leaves out counts of 0, come on top (matching keeps its
    pairs beside them). A joint projection takes more per region and size, and posteriors a table of states.

    Args:
        kind: of the mechanism.
        n_regions, n_sizes: the shape, padded regions included.
        n_filled: cells that have a row.
        intervals: the probability of intervals, with which nearly every cell has a row, and draws come on top.

    Shown by `test_release_preflight.py::test_the_estimate_is_near_the_true_peak`.
    """
    n_cells, draws = n_regions * n_sizes, 0
    if intervals is not None:
        n_filled, number = n_cells, draws_for(intervals)
        per_value = 250 + Outermost(number, intervals).bytes_per_value
        draws = 20 * min(number * n_cells, BATCH_CELLS) + per_value * n_cells
    per_filled = 320 if kind is Kind.KUO else 75
    per_cell = 165 if kind in (Kind.POSTERIOR, Kind.TWO_STAGE) else 110
    per_size = 28_000 if kind is Kind.POSTERIOR else 0
    return _AT_REST + 2_000 * n_regions + per_size * n_sizes + per_cell * n_cells + per_filled * n_filled + draws


def level_peak_bytes(n_regions: int, n_cells: int, n_filled: int) -> int:
    """Estimate the most bytes of a release with sizes per level, by the regions and cells of all levels.

    Fitted to measured peaks, as shown by `test_release_by_level.py::test_the_estimate_is_near_the_true_peak`.
    """
    return _AT_REST + 2_000 * n_regions + 110 * n_cells + 125 * n_filled


def rank_bytes(n_ranks: int) -> int:
    """Estimate what the ranks of split views add to the most bytes: the rows of a block of the table, and the values.

    Fitted to measured peaks of releases with 0.5 to 8 million ranks, which were 3 to 18 % below this and `peak_bytes`.
    """
    return 150 * min(n_ranks, 3 << 19) + 55 * n_ranks


def most_filled(plan: Plan, tree: Hierarchy, totals: np.ndarray) -> int:
    """Bound the cells of the released counts that are not 0, or have a row all the same, by public numbers alone.

    A region of G groups has at most G sizes of which it has some; all cells, where rows of zeros are kept, or where no
    number of groups is public.

    Args:
        plan, tree: of the release.
        totals: numbers of groups of all regions; those that are not public are not looked at.

    Example:
        >>> from pgsr.release.terms.terms import Terms
        >>> tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
        >>> plan = Plan.of(Terms("demo", 999_999, "1", "kuo"), [1, 2])
        >>> most_filled(plan, tree, np.array([15, 12, 3]))  # of 3 x 1,000,000
        30
    """
    if plan.terms.totals is Totals.NOISY or plan.zeros:
        return plan.n_cells
    n_sizes = np.array([level.max_excess + 1 for level in plan.levels])
    if plan.terms.totals is Totals.REGIONS:
        return int(np.minimum(totals, n_sizes[tree.level_of]).sum())
    return int(np.minimum(totals[0], n_sizes * np.array(tree.regions_per_level)).sum())


def n_ranks(plan: Plan, tree: Hierarchy, totals: np.ndarray) -> int:
    """Count the ranks that a release with split views measures, at most; `totals` as in `most_filled`."""
    if plan.terms.view is not MeasuredView.SPLIT:
        return 0
    return int(totals[measured_regions(tree, tuple(level.noise for level in plan.levels))].sum())


def bytes_needed(plan: Plan, tree: Hierarchy, truth: CountOfCounts | None = None) -> int:
    """Estimate the most bytes of a release under this plan; without the truth, of one without groups.

    Of the truth numbers of groups alone are looked at, so that what is refused does not hang on private sizes.
    """
    terms, totals = plan.terms, _totals(tree, truth)
    filled = most_filled(plan, tree, totals)
    if terms.max_sizes is not None and len(set(terms.max_sizes)) > 1:
        cells, gate = plan.n_cells, 0
        if terms.kind in (Kind.M_H, Kind.M_C_DP):  # the method asks for this much before it begins
            gate = _AT_REST + (200 + 16) * cells
        return max(level_peak_bytes(tree.n_regions, cells, filled), gate)
    ranks = rank_bytes(n_ranks(plan, tree, totals))
    return ranks + peak_bytes(terms.kind, tree.n_regions, terms.max_excess + 1, filled, terms.intervals)


def _totals(tree: Hierarchy, truth: CountOfCounts | None) -> np.ndarray:
    """Give the numbers of groups of all regions; before the private rows are read, of a release without groups."""
    return np.zeros(tree.n_regions, np.int64) if truth is None else truth.totals


def require_arithmetic(plan: Plan, n_groups: int) -> None:
    """Raise `ReleaseError` if post-processing would leave 64 bits, or the digits of floating point.

    Means of cumulative counts are compared exactly; joint projections want counts below 2^39 beside their fractions.
    The noise is taken to stay below 100 scales, or 15 sigma of Gaussian noise; it is larger once in e^100 draws.
    """
    terms = plan.terms
    noise, by_level = max(_reach(level.law) for level in plan.levels if level.law), terms.max_sizes is not None
    in_integers = "mechanism = 'm_h'" if by_level else "mechanism = 'm_h' or 'kuo'"
    if by_level and (n_groups + noise) * len(plan.levels) > MOST_IN_SUMS:
        raise ReleaseError(
            "so many groups, or so much noise, would need more than 64 bits; spend more epsilon, or release parts "
            "of the hierarchy; nothing was charged"
        )
    by_squares = terms.view is MeasuredView.SPLIT and terms.kind is not Kind.POSTERIOR
    if by_squares and (terms.max_excess + noise) * (n_groups + noise) ** 2 >= 2**62:
        raise ReleaseError(
            "ranks of so many groups would need more than 64 bits; leave threshold out; nothing was charged"
        )
    if terms.kind is Kind.M_C_DP and (n_groups + noise) * (terms.max_excess + 1) ** 2 >= 2**62:
        raise ReleaseError(
            f"{terms.kind} of so many groups and sizes up to {terms.largest:,} would need more than 64 bits; lower "
            f"max_size, or write {in_integers}; nothing was charged"
        )
    if terms.kind.is_joint and n_groups + noise >= 2**39:
        raise ReleaseError(
            f"{terms.kind} of so many groups would have too few digits for fractions; write {in_integers}; nothing was "
            "charged"
        )


def require_publishable(plan: Plan, tree: Hierarchy) -> None:
    """Raise `ConfigError` if no release of these regions can be written."""
    require_no_formula(plan.names, "level")
    require_no_formula(dict.fromkeys(name for path in tree.paths for name in path), "region")
    if plan.terms.max_sizes is not None and tree.padded.any():
        copied = region_id(tree.paths[int(np.argmax(tree.padded))])
        raise ConfigError(
            f"region {copied!r} has no regions below it, and others of its level have; with sizes per level every "
            "branch has the same depth: write one max_size for all levels, or name regions of every level"
        )


def require_no_formula(texts: Iterable[str], what: str) -> None:
    """Raise `ConfigError` if a spreadsheet program would compute one of these texts; it computes no plain number.

    Example:
        >>> require_no_formula(["North", "=1+1"], "region")
        Traceback (most recent call last):
        pgsr.release.publishing.errors.ConfigError: the region '=1+1' begins as a formula does, and spreadsheet
            programs would compute it when they open a CSV file; write another name
    """
    for text in texts:
        if text.lstrip().startswith(_SIGNS) and _NUMBER.fullmatch(text) is None:
            raise ConfigError(
                f"the {what} {text!r} begins as a formula does, and spreadsheet programs would compute it when they "
                "open a CSV file; write another name"
            )


def require_room(folder: Path, plan: Plan, tree: Hierarchy, truth: CountOfCounts | None = None) -> None:
    """Raise unless memory, disk and numbers of 64 bits suffice. Before the private rows are read their `truth` is None.

    Raises:
        MemoryNeededError, ReleaseError: they do not; nothing was charged.
    """
    totals = _totals(tree, truth)
    terms, n_sizes = plan.terms, plan.terms.max_excess + 1
    per_level = "" if terms.max_sizes is None else " at most"
    what = f"a release of {tree.n_regions:,} regions x {n_sizes:,} sizes{per_level}"
    needed = max(0, bytes_needed(plan, tree, truth) - psutil.Process().memory_info().rss)
    try:
        memory.require(needed, what)
    except MemoryNeededError:
        if truth is None:
            raise
        # Where numbers of groups are noisy, how many ranks there will be is private: no number is told.
        raise MemoryNeededError(
            f"{what} needs more memory than is free now that the tables are read; free some, or lower max_size; "
            "nothing was charged"
        ) from None
    free, per_cell = shutil.disk_usage(folder.parent).free, 64 if terms.intervals is None else 128
    needed = per_cell * plan.n_cells + 2**20 + 8 * n_ranks(plan, tree, totals)
    if free < needed:
        raise ReleaseError(
            f"the release may need {needed / 2**30:,.2f} GiB of disk, and {free / 2**30:,.2f} GiB are free in "
            f"{str(folder.parent)!r}; make room; nothing was charged"
        )
    require_arithmetic(plan, int(totals[0]))


def _reach(law: Law) -> int:
    """Give a size that the noise exceeds once in e^100 draws or less."""
    if isinstance(law, DoubleGeometric):
        return 100 * int(law.scale + 1)
    return 15 * int(law.deviation + 1)
