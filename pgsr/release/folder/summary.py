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
from pgsr.release.folder.region_views import RegionView, large_size, level_tables, region_views
from pgsr.release.folder.released_tables import Ends
from pgsr.release.publishing.charts import bars, rows
from pgsr.release.stated.least_error import LEAST_EPSILON, least_error_sentence, least_errors

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
summary { font-weight: bold; } select { font: inherit; max-width: 100%; }
code { background: #f2f2f2; padding: 0 .2rem; }
"""

_SCRIPT = """
(function () {
  var menu = document.getElementById("region"), parts = document.querySelectorAll("details.region");
  function show() {
    parts.forEach(function (part, place) { part.hidden = !(part.open = place === menu.selectedIndex); });
  }
  menu.parentNode.hidden = false;
  menu.addEventListener("change", show);
  show();
})();
"""
"""Without it the regions are a list to be unfolded; with it a menu shows one of them."""


def summary(manifest: dict[str, Any], tree: Hierarchy, counts: Estimate, ends: Ends | None = None) -> str:
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
    """

    def __init__(self, manifest: dict[str, Any], tree: Hierarchy, counts: Estimate, ends: Ends | None) -> None:
        self.manifest, self.tree, self.counts = manifest, tree, counts
        self.names = [level["name"] for level in manifest["levels"]]
        self.groups, self.members = (manifest["publication"][name] for name in ("group_name", "entity_name"))
        least = manifest.get("min_size", 0)
        self.tables = level_tables(tree, counts, least)
        self.views = region_views(tree, counts, ends, least)
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
        yield from self._regions()
        if self.tree.n_levels > 1:
            yield from self._charts_by_region()
        yield from self._privacy()
        yield from self._use()
        yield "</body>\n</html>"

    def _sizes(self) -> Iterator[str]:
        """A chart and a table of every region that is shown, with the menu."""
        yield f"<h2>{escape(_headed(self.groups))} by size</h2>"
        yield f"<p>{escape(self._caption())}</p>"
        options = "".join(f"<option>{escape(self._title(view))}</option>" for view in self.views)
        yield f'<p hidden><label for="region">Region</label> <select id="region">{options}</select></p>'
        for place, view in enumerate(self.views):
            unfolded = " open" if place == 0 else ""
            yield f'<details class="region"{unfolded}><summary>{escape(self._title(view))}</summary>'
            chart = bars(*view.bins, f"size ({self.members})", self.groups, view.ends)
            yield f'<div class="wide">\n{chart}\n</div>'
            yield from self._table_of(view)
            yield "</details>"
        yield f"<script>{_SCRIPT}</script>"

    def _caption(self) -> str:
        said = f"Bars are estimates of the number of {self.groups} of each size; K+ stands for size K and larger."
        if "intervals" in self.manifest:
            level = percent(exact(self.manifest["intervals"]["level"]))
            said += f" Lines are {level} intervals; there are none where a bar is a range of sizes."
        if len(self.views) < self.n_regions:
            said += (
                f" Of the {self.n_regions:,} regions {len(self.views)} are shown here, level by level from the top, "
                f"the largest of a level first; all are in {artefact.COUNTS_CSV}."
            )
        return said

    def _title(self, view: RegionView) -> str:
        return f"{view.name} ({self.names[view.level]})"

    def _table_of(self, view: RegionView) -> Iterator[str]:
        heads, columns = [self.groups], [view.bins[1]]
        if view.ends is not None:
            heads, columns = [*heads, "lower", "upper"], [*columns, *view.ends]
        yield '<div class="wide tall"><table><tr><th>size</th>' + _heads(heads) + "</tr>"
        for label, *values in zip(view.bins[0], *columns, strict=True):
            cells = "".join(f'<td class="n">{value:,}</td>' for value in values)
            yield f"<tr><td>{label}</td>{cells}</tr>"
        yield "</table></div>"

    def _regions(self) -> Iterator[str]:
        """The numbers, mean sizes and shares of large groups of the regions that are shown."""
        most = min(table.shape[1] - 1 for table in self.tables)
        large = large_size(self.tables[0][0], most)
        yield f"<h2>Mean size, and large {escape(self.groups)}</h2>"
        yield (
            f"<p>{escape(self._mean_said())} Called large are those of size {large:,} and more.</p>"
            '<div class="wide tall"><table><tr><th>region</th><th>level</th>'
            + _heads([self.groups, f"mean number of {self.members}", f"share of size {large:,} and more"])
            + "</tr>"
        )
        for view in self.views:
            share = view.share_from(large)
            yield (
                f'<tr><td>{escape(view.name)}</td><td>{escape(self.names[view.level])}</td><td class="n">'
                f'{view.n_groups:,}</td><td class="n">{_mean(view.mean)}</td><td class="n">'
                f"{'-' if share is None else f'{100 * share:.1f} %'}</td></tr>"
            )
        yield "</table></div>"

    def _mean_said(self) -> str:
        largest = sorted({table.shape[1] - 1 for table in self.tables}, reverse=True)
        last = " or ".join(f"{k:,}+ count as {k:,}" for k in largest)
        per_level = " by level" if len(largest) > 1 else ""
        return (
            f"The mean is over all {self.groups} of a region, those of size 0 too; sizes {last}{per_level}, so it is "
            "too small where there are larger ones."
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
        means = [RegionView("", 1, table[place], None, None).mean for place in order]
        chart = rows(labels, [mean or 0.0 for mean in means], list(map(_mean, means)), f"mean number of {self.members}")
        yield f"<h2>Mean size by {escape(name)}</h2>"
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
        """Say below which errors no release of this epsilon is, where it is known (`pgsr.release.stated.least_error`).

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
            "rows of one level, never all. <code>counts_wide_...</code> are spreadsheets of one level each. "
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


def _heads(texts: Sequence[str]) -> str:
    return "".join(f'<th class="n">{escape(text)}</th>' for text in texts)


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
