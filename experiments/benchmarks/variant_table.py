"""The table of a comparison of variants: on the screen, as data frame, as HTML page and as figure."""

from base64 import b64encode
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console
from rich.markup import escape as plain
from rich.table import Table

from pgsr.certificates.certificate import ALTERNATIVES, CHAIN, EXCHANGE_TEST, MULTIPLIERS, POTENTIALS
from pgsr.comparison import Comparison
from pgsr.comparison.row import Row
from pgsr.comparison.table import READING, outcome_frame
from pgsr.experiments.engine.tables import STATUS_STYLES
from pgsr.figures.drawing import level_name
from pgsr.methods.method import ANSWERED, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (("method", 46), ("status", 9), ("proof", 14), ("objective", 12), ("gap", 6), ("time", 8))
ERROR_WIDTH = 9

PROOFS = {
    EXCHANGE_TEST: "exchange test",
    MULTIPLIERS: "bound",
    CHAIN: "chain",
    POTENTIALS: "potentials",
    ALTERNATIVES: "alternatives",
}
"""The arguments that prove optima, in a word or two."""

CLAIMED = "claimed"

KEY = (
    "status: OPTIMAL proved, FEASIBLE valid but not proved, RELAXED a relaxation that was rounded, so it may break "
    "conditions (then its objective can be below the optimum). proof: what shows that an answer is optimal, always an "
    "argument of pgsr, computed from problem and answer: a Lagrangian bound, an exchange test, node potentials, a "
    "chain of slopes, a tree over alternatives; 'claimed' where a solver alone says so. error: EMD, or the same sum "
    "where totals are off, mean per region of a level, in members. Compare objectives within one problem. Behind a "
    "release stand the shares of epsilon by level, root first; stated problems have equal ones."
)


@dataclass(frozen=True)
class VariantSection:
    """The arms of one variant.

    Attributes:
        key: of the variant.
        words: what it asks for.
        table: its rows.
        part: the hierarchy that it was asked on, where there are several in one table.
    """

    key: str
    words: str
    table: Comparison
    part: str = ""


@dataclass(frozen=True)
class VariantTable:
    """The sections of a comparison, in order."""

    title: str
    sections: list[VariantSection]

    @property
    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.table.rows]

    def followed_by(self, other: "VariantTable") -> "VariantTable":
        """Put the sections of another comparison behind, whose title is the new one's."""
        return VariantTable(other.title, [*self.sections, *other.sections])

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame of one row per arm: `Comparison.to_frame` with the variant's key and words in front."""
        frames = []
        for section in self.sections:
            frame = section.table.to_frame()
            frame.insert(0, "variant", section.words)
            frame.insert(0, "key", section.key)
            frame.insert(0, "part", section.part)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def print(self, console: Console) -> None:
        """Print a line per arm under a line per variant, and below what is to be known about both."""
        levels = self._levels
        for place, section in enumerate(self.sections):
            if place:
                console.print()
            if section.part and (not place or section.part != self.sections[place - 1].part):
                console.print(f"[bold underline]{plain(section.part)}[/]\n", highlight=False)
            console.print(f"[bold]{plain(section.words)}[/bold]", highlight=False)
            shown = Table(show_header=not place, box=None, pad_edge=False, header_style="dim")
            for name, width in COLUMNS:
                side = "left" if name in ("method", "status", "proof") else "right"
                shown.add_column(name, justify=side, width=width, no_wrap=name != "method", overflow="fold")
            for level in range(levels):
                shown.add_column(f"error\n{level_name(level, levels)}", justify="right", width=ERROR_WIDTH)
            for row in section.table.rows:
                cells = _cells(row, levels)
                style = STATUS_STYLES.get(cells[1], "dim")
                shown.add_row(plain(cells[0]), f"[{style}]{cells[1]}[/]", *cells[2:])
            console.print(shown)
        console.print()
        for note in self.notes():
            head, _, rest = note.partition(": ")
            console.print(f"[bold]{plain(head)}[/bold]: {plain(rest)}", highlight=False)

    def notes(self) -> list[str]:
        """The key to the table, and why arms have no answer: one line per method and status, with its first reason."""
        first: dict[tuple[str, Status], list[str]] = {}
        for row in self.rows:
            if row.status not in ANSWERED and row.reason:
                first.setdefault((row.method, row.status), []).append(row.reason)
        found = [KEY]
        for (method, status), reasons in first.items():
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            found.append(f"{method}: {status.name}, {reasons[0]}{more}")
        return found

    def to_html(self, figure: bytes) -> str:
        """Make one page without links to other files: the figure, and every section in full."""
        parts = [f"<h1>{escape(self.title)}</h1>", f"<p>{escape(KEY)}</p>"]
        parts.append(f'<img alt="times and errors" src="data:image/png;base64,{b64encode(figure).decode()}">')
        before = ""
        for section in self.sections:
            if section.part != before:
                parts.append(f"<h1>{escape(section.part)}</h1>")
                before = section.part
            parts.append(f"<h2>{escape(section.words)}</h2>")
            parts.append(outcome_frame(section.table).to_html(index=False, border=0))
        parts += [f"<p>{escape(note)}</p>" for note in [*self.notes()[1:], READING]]
        return _PAGE.format(title=escape(self.title), body="\n".join(parts))

    def plot(self) -> "Figure":
        """Draw times of every method on every variant of the last part, and the errors of the first answer of each."""
        from pgsr.experiments.benchmarks.variant_figure import figure

        last = [section for section in self.sections if section.part == self.sections[-1].part]
        return figure(self.title, [(section.words, section.table.rows) for section in last])

    @property
    def _levels(self) -> int:
        return max((len(row.errors.get("cumulative_l1", ())) for row in self.rows), default=0)


def _cells(row: Row, levels: int) -> list[str]:
    known = row.result.certificate if row.status in ANSWERED else None
    objective = None if known is None else known.objective
    gap = None if known is None else known.gap
    seconds = row.result.seconds.total
    errors = row.errors.get("cumulative_l1", [])
    return [
        row.method,
        row.status.name,
        _proof(row),
        "" if objective is None else _objective(objective),
        "" if gap is None else "0" if gap == 0 else "<1e-9" if abs(gap) < 1e-9 else f"{gap:.0e}",
        "" if not seconds else f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms",
        *(f"{error:,.0f}" if error >= 100 else f"{error:.1f}" for error in errors),
        *[""] * (levels - len(errors)),
    ]


def _proof(row: Row) -> str:
    """Name what shows that an answer is optimal, or that a solver alone says so."""
    certificate = row.result.certificate
    if row.status is Status.OPTIMAL and certificate is not None:
        return PROOFS.get(certificate.bound_by, certificate.bound_by)
    return CLAIMED if row.status is Status.FEASIBLE and row.result.claimed.startswith("optimal") else ""


def _objective(value: float) -> str:
    if abs(value) >= 1e9:
        return f"{value:.2e}"
    return f"{value:,.0f}" if isinstance(value, int) else f"{value:,.1f}"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #1c1c1c; }}
h1 {{ font-size: 1.25rem; }} h2 {{ font-size: 1.05rem; margin-top: 2rem; }} img {{ max-width: 100%; }}
table {{ border-collapse: collapse; font-size: 0.85rem; }}
th, td {{ text-align: right; padding: 0.15rem 0.7rem; border-bottom: 1px solid #e5e5e5; }}
th:first-child, td:first-child {{ text-align: left; }}
</style></head><body>
{body}
</body></html>
"""
