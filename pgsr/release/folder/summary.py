"""The file summary.html: a release on one page."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from pgsr.data.estimate import Estimate
from pgsr.data.hierarchy import Hierarchy
from pgsr.errors import CountError
from pgsr.privacy.budget import exact
from pgsr.release.folder import artefact, words
from pgsr.release.folder.columns import percent
from pgsr.release.folder.released_tables import Ends
from pgsr.release.publishing.charts import bars, rows
from pgsr.release.terms.excess import with_sizes_below
from pgsr.release.terms.least_error import LEAST_EPSILON, least_error_sentence, least_errors

MOST_BARS = 60
"""The largest number of bars of sizes; more sizes than that are put together in ranges."""

MOST_NAMES = 60
"""The largest number of regions in a chart by region."""

_STYLE = """
body { font: 16px/1.5 sans-serif; color: #222; max-width: 52rem; margin: 1.5rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem .9rem .2rem 0; overflow-wrap: normal; }
th { border-bottom: 1px solid #999; vertical-align: bottom; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; }
.wide { overflow-x: auto; } .wide svg { width: 100%; max-width: 41rem; height: auto; }
.tall { max-height: 30rem; overflow: auto; } .tall th { position: sticky; top: 0; background: white; }
.warning { background: #d55e00; color: white; padding: .6rem 1rem; font-weight: bold; position: sticky; top: 0;
  z-index: 1; }
code { background: #f2f2f2; padding: 0 .2rem; }
"""


def summary(manifest: dict[str, Any], tree: Hierarchy, counts: Estimate, ends: Ends | None) -> str:
    """Write the page; manifest, released counts and intervals determine it, so that a check can write it again.

    Args:
        manifest: of the release.
        tree: its regions.
        counts: released.
        ends: of their intervals, where these are published.
    """
    return "\n".join(_Page(manifest, tree, counts, ends).parts()) + "\n"


class _Page:
    """The parts of the page, and what several of them need.

    Attributes:
        groups, members: the publisher's words, not escaped.
        tables: the counts of every level by size, shape (regions of the level, K + 1).
        ends: the lower and the upper ends of the root's intervals; None where there are none.
    """

    def __init__(self, manifest: dict[str, Any], tree: Hierarchy, counts: Estimate, ends: Ends | None) -> None:
        self.manifest, self.tree, self.counts = manifest, tree, counts
        self.names = [level["name"] for level in manifest["levels"]]
        self.groups, self.members = (manifest["publication"][name] for name in ("group_name", "entity_name"))
        least = manifest.get("min_size", 0)
        levels = map(tree.level, range(tree.n_levels))
        self.tables = [with_sizes_below(counts.rows(here.start, here.stop), least) for here in levels]
        root = slice(0, self.tables[0].size - least)
        sides = () if ends is None else (ends.lower[root], ends.upper[root])
        self.ends = tuple(with_sizes_below(side, least).tolist() for side in sides) or None
        self.n_regions = len(tree.listed)

    def parts(self) -> Iterator[str]:
        title = escape(words.title(self.manifest))
        yield f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
        if words.is_rehearsed(self.manifest):
            yield f'<p class="warning">{words.REHEARSAL_WARNING}</p>'
        yield (
            f"<p>{int(self.tables[0].sum()):,} {escape(self.groups)} in {self.n_regions:,} regions on "
            f"{self.tree.n_levels} levels; {escape(words.sizes_phrase(self.manifest))}. The numbers are estimates from "
            "noisy values: whole, not negative, and adding up over regions.</p>"
        )
        yield from _paragraphs(words.publisher_sentences(self.manifest))
        yield from self._sizes()
        if self.tree.n_levels > 1:
            yield from self._charts_by_region()
        yield from self._privacy()
        yield from self._use()
        yield "</body>\n</html>"

    def _sizes(self) -> Iterator[str]:
        """A chart and a table of the root."""
        labels, heights = size_bins(self.tables[0][0])
        ends = self.ends if len(labels) == self.tables[0].shape[1] else None
        heads, columns = [self.groups], [heights]
        if ends is not None:
            heads, columns = [*heads, "lower", "upper"], [*columns, *ends]
        yield f"<h2>{escape(_headed(self.groups))} of {escape(self.tree.name(0))} by size</h2>"
        yield f"<p>{escape(self._caption())}</p>"
        yield f'<div class="wide">\n{bars(labels, heights, f"size ({self.members})", self.groups, ends)}\n</div>'
        headed = "".join(f'<th class="n">{escape(text)}</th>' for text in heads)
        yield f'<div class="wide tall"><table><tr><th>size</th>{headed}</tr>'
        for label, *values in zip(labels, *columns, strict=True):
            cells = "".join(f'<td class="n">{value:,}</td>' for value in values)
            yield f"<tr><td>{label}</td>{cells}</tr>"
        yield "</table></div>"

    def _caption(self) -> str:
        said = f"Bars are estimates of the number of {self.groups} of each size; K+ stands for size K and larger."
        if "intervals" in self.manifest:
            level = percent(exact(self.manifest["intervals"]["level"]))
            said += f" Lines are {level} intervals; there are none where a bar is a range of sizes."
        return f"{said} All regions are in {artefact.COUNTS_CSV}."

    def _mean_said(self) -> str:
        largest = self.tables[1].shape[1] - 1
        return (
            f"The mean is over all {self.groups} of a region, those of size 0 too; sizes {largest:,}+ count as "
            f"{largest:,}, so it is too small where there are larger ones."
        )

    def _charts_by_region(self) -> Iterator[str]:
        """The regions below the root: their numbers of groups, the largest first, and mean sizes in the same order."""
        table, start = self.tables[1], self.tree.level(1).start
        totals, name = table.sum(axis=1), self.names[1]
        order = np.argsort(-totals, kind="stable")[:MOST_NAMES]
        labels, shown = [self.tree.name(start + int(place)) for place in order], [int(totals[place]) for place in order]
        rest = len(totals) - len(order)
        others = int(totals.sum()) - sum(shown)
        more = f"<p>The {MOST_NAMES} largest are shown; {rest:,} others have {others:,} in all.</p>"
        yield f"<h2>{escape(_headed(self.groups))} by {escape(name)}</h2>{more if rest else ''}"
        yield f'<div class="wide">\n{rows(labels, shown, [f"{value:,}" for value in shown], self.groups)}\n</div>'
        means = [_mean(table[place]) for place in order]
        shown = ["-" if mean is None else f"{mean:,.2f}" for mean in means]
        chart = rows(labels, [mean or 0.0 for mean in means], shown, f"mean number of {self.members}")
        yield f"<h2>Mean size by {escape(name)}</h2><p>{escape(self._mean_said())}</p>"
        yield f'<div class="wide">\n{chart}\n</div>'

    def _privacy(self) -> Iterator[str]:
        yield "<h2>Privacy</h2>"
        yield from _paragraphs(words.protection_sentences(self.manifest))
        yield '<div class="wide"><table><tr><th>level</th><th class="n">regions</th><th>spent, and the noise of every '
        yield "value</th></tr>"
        for level in self.manifest["levels"]:
            yield (
                f"<tr><td>{level['level']} ({escape(level['name'])})</td><td class='n'>{level['regions']:,}</td>"
                f"<td>{escape(words.noise_phrase(level))}</td></tr>"
            )
        yield "</table></div>"
        yield f"<p>Published exactly, without noise: {escape('; '.join(self.manifest['invariants']))}.</p>"
        yield "<h2>How it was made</h2>"
        yield f"<p>From {escape(words.mechanism_phrase(self.manifest))}, by {escape(self.manifest['method'])}.</p>"
        yield f"<p>{escape(words.status_sentence(self.manifest['status']))}</p>"
        yield from self._least_error()

    def _least_error(self) -> Iterator[str]:
        """Say below which errors no release of this epsilon is, where it is known (`pgsr.release.terms.least_error`).

        It is known of a pure epsilon of entities. A forger's table may hold what are no counts of groups, which the
        check says elsewhere.
        """
        epsilon = self.manifest["epsilon"]
        if "noise" in self.manifest or exact(epsilon) < LEAST_EPSILON:
            return
        try:
            errors = least_errors(self.counts.counts(), epsilon)
        except CountError:
            return
        said = least_error_sentence(errors, self.names, epsilon, "the published counts")
        yield "<h2>How near any release can be</h2>"
        yield (
            f"<p>{escape(said)} The error is the earth mover's distance of a region: the number of "
            f"{escape(self.members)} by which the sizes of its {escape(self.groups)} are off in all, on the mean over "
            "the regions of a level. This is computed at the published counts, which hold noise, and from nothing "
            "else, so it costs no privacy and is not the error of this release.</p>"
        )

    def _use(self) -> Iterator[str]:
        yield "<h2>How to use it</h2>"
        yield (
            f"<p><code>{artefact.COUNTS_CSV}</code> and <code>{artefact.COUNTS}</code> hold the counts, a row per "
            "region and size. Regions of all levels are in one table: add up rows with <code>is_leaf = true</code>, or "
            "rows of one level, never all. "
            f"<code>{artefact.README}</code> explains every column, <code>{artefact.PACKAGE}</code> the same for "
            "programs. <code>pgsr check</code> verifies the folder.</p>"
        )
        intervals = words.interval_sentence(self.manifest)
        if intervals is not None:
            yield f"<p>{escape(intervals)}</p>"


def _headed(text: str) -> str:
    """Begin a word as a heading begins."""
    return text[:1].upper() + text[1:]


def _paragraphs(sentences: Sequence[str]) -> Iterator[str]:
    yield from (f"<p>{escape(sentence)}</p>" for sentence in sentences)


def _mean(counts: np.ndarray) -> float | None:
    """Compute the mean size, groups of the largest size and more taken as of this size; None without groups."""
    total = int(counts.sum())
    return int(counts @ np.arange(len(counts))) / total if total else None


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
