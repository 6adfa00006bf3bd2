"""The file summary.html: a release on one page."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from pgsr.counts_by_level import CountsByLevel
from pgsr.estimate import Estimate
from pgsr.hierarchy import Hierarchy
from pgsr.release.excess import with_sizes_below
from pgsr.release.folder import artefact, words
from pgsr.release.folder.charts import bars
from pgsr.release.folder.released_tables import dense

MOST_BARS = 60
"""The largest number of bars; more sizes than that are put together in ranges."""

MOST_REGIONS = 20

_STYLE = """
body { font: 16px/1.5 sans-serif; color: #222; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .25rem .9rem .25rem 0; }
th { border-bottom: 1px solid #999; } td.n { text-align: right; } svg { max-width: 100%; height: auto; }
.warning { background: #d55e00; color: white; padding: .6rem 1rem; font-weight: bold; }
code { background: #f2f2f2; padding: 0 .2rem; }
"""


def summary(manifest: dict[str, Any], tree: Hierarchy, counts: Estimate | CountsByLevel) -> str:
    """Write the page; manifest and released counts determine it, so that a check can write it again.

    Args:
        manifest: of the release.
        tree: its regions.
        counts: released.
    """
    levels = range(min(2, tree.n_levels))
    tables = counts.tables if isinstance(counts, CountsByLevel) else [dense(counts)[tree.level(n)] for n in levels]
    by_size = [with_sizes_below(table, manifest.get("min_size", 0)) for table in tables]
    return "\n".join(_parts(manifest, tree, by_size)) + "\n"


def size_bins(counts: np.ndarray) -> tuple[list[str], list[int]]:
    """Put sizes together in at most `MOST_BARS` ranges of equal width; labels and numbers of groups.

    The largest size stands for itself, because larger groups are counted there.

    Example:
        >>> size_bins(np.array([4, 3, 2, 1]))
        (['0', '1', '2', '3+'], [4, 3, 2, 1])
    """
    largest = len(counts) - 1
    width = -(-largest // MOST_BARS)
    labels, values = [], []
    for start in range(0, largest, width):
        stop = min(start + width, largest)
        labels.append(str(start) if width == 1 else f"{start:,}-{stop - 1:,}")
        values.append(int(counts[start:stop].sum()))
    return [*labels, f"{largest:,}+"], [*values, int(counts[-1])]


def _parts(manifest: dict[str, Any], tree: Hierarchy, tables: Sequence[np.ndarray]) -> Iterator[str]:
    """Write the parts of the page, from the tables of the first two levels."""
    title = f"{escape(manifest['data_set'])}: numbers of groups by region and size"
    root, names = escape(tree.name(0)), [escape(level["name"]) for level in manifest["levels"]]
    yield f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    if words.is_rehearsed(manifest):
        yield f'<p class="warning">{words.REHEARSAL_WARNING}</p>'
    total = int(tables[0].sum())
    yield (
        f"<p>{total:,} groups in {tree.n_regions - int(tree.padded.sum()):,} regions on {tree.n_levels} levels; "
        f"{escape(words.sizes_phrase(manifest))}. The numbers are estimates from "
        "noisy values: whole, not negative, and adding up over regions.</p>"
    )
    yield f"<h2>Groups by size, {root}</h2>"
    yield bars(*size_bins(tables[0][0]), "size of the group (members)", "groups")
    if tree.n_levels > 1:
        yield from _by_region(tree, tables[1], names[1])
    yield "<h2>Privacy</h2>"
    yield from (f"<p>{escape(sentence)}</p>" for sentence in words.protection_sentences(manifest))
    yield "<table><tr><th>level</th><th>regions</th><th>spent, and the noise of every value</th></tr>"
    for level, name in zip(manifest["levels"], names, strict=True):
        yield (
            f"<tr><td>{level['level']} ({name})</td><td class='n'>{level['regions']:,}</td>"
            f"<td>{escape(words.noise_phrase(level))}</td></tr>"
        )
    yield "</table>"
    yield f"<p>Published exactly, without noise: {escape('; '.join(manifest['invariants']))}.</p>"
    yield "<h2>How it was made</h2>"
    yield f"<p>From {escape(words.mechanism_phrase(manifest))}, by {escape(manifest['method'])}.</p>"
    yield f"<p>{escape(words.status_sentence(manifest['status']))}</p>"
    yield "<h2>How to use it</h2>"
    yield (
        f"<p><code>{artefact.COUNTS_CSV}</code> and <code>{artefact.COUNTS}</code> hold the counts, a row per region "
        "and size. Regions of all levels are in one table: add up rows with <code>is_leaf = true</code>, or rows of "
        "one "
        f"level, never all. <code>{artefact.README}</code> explains every column, <code>{artefact.PACKAGE}</code> the "
        "same for programs. <code>pgsr check</code> verifies the folder.</p>"
    )
    intervals = words.interval_sentence(manifest)
    if intervals is not None:
        yield f"<p>{escape(intervals)}</p>"
    yield "</body>\n</html>"


def _by_region(tree: Hierarchy, table: np.ndarray, name: str) -> Iterator[str]:
    """The regions below the root by their numbers of groups, the largest first."""
    below = np.arange(tree.level(1).start, tree.level(1).stop)
    totals = table.sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    shown, rest = order[:MOST_REGIONS], order[MOST_REGIONS:]
    labels, values = [tree.name(int(below[place])) for place in shown], [int(totals[place]) for place in shown]
    if len(rest):
        labels, values = [*labels, f"{len(rest):,} others"], [*values, int(totals[rest].sum())]
    yield f"<h2>Groups by {name}</h2>"
    yield bars(labels, values, name, "groups")
