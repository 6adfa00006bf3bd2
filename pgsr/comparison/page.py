"""The page of a comparison: one HTML file without a connection, and its short form for a notebook."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.comparison.findings import findings, headline
from pgsr.comparison.items import SYMBOLS, Dot, slug, svg
from pgsr.comparison.profile import TALL, profile
from pgsr.comparison.runs import ProblemRows, by_kind, read, scored
from pgsr.comparison.solvers import FAMILIES
from pgsr.comparison.strips import HEIGHT, TITLES, TimeScale, spoken, strip
from pgsr.comparison.tables import errors_table, problem_table
from pgsr.comparison.wording import math, short_part

if TYPE_CHECKING:
    import pandas as pd

WIDTHS = {"wide": 440.0, "thin": 318.0}
"""Pixels of the strips for which names are placed; page.css shows those that fit."""

TIMES = """A line is a problem, a mark is a method: its place is the time to formulate, solve and round on a log axis.
Left is faster. One run each, so factors below 1.5 mean little. Compilation is not counted. Point at a mark for its
name, status, time and objective."""
SHARES = """Performance profiles. Height at τ = 1: the share of problems on which the method is fastest. Height at the
right end: the share that it proves at all; a problem that it was not tried on counts as not proved. Over the problems
that two methods or more were asked; a solver is taken by its fastest route."""
ERRORS = "Earth mover's distance: members to add or remove per region of a level to reach the truth."
NUMBERS = """Best of a column bold, where not all are equal: fastest proof; of answers that break nothing, lowest
objective, least memory and error. The gap is to the best bound proved of the same problem. Memory is what the solve
took beyond imports, compiled code and a toy problem. EMD is the error above. An answer that breaks conditions may be
below the optimum."""
TAU = "<b>τ</b>: within how many times the time of the fastest on the same problem (log)"


def page(rows: "pd.DataFrame", about: str = "") -> str:
    """Write the page of rows as `Comparison.to_frame` makes them, with `part`, `key` and `variant` if of several.

    It begins with `about`, which is HTML.

    Complexity: the square of the methods of a problem, times problems.
    """
    problems, releases = read(rows)
    errors = scored(problems, releases)
    parts = list(dict.fromkeys([*(problem.part for problem in problems), *releases]))
    said, curves, tables = " and ".join(filter(None, parts)), "", ""
    for real, title in ((False, "Exact problems, whole numbers"), (True, "Relaxations, real numbers")):
        drawn = profile([problem for problem in problems if problem.real is real])
        plot = f'<div class="plot">{svg(drawn, TALL, "profile", title)}</div><figcaption>{TAU}</figcaption>'
        note = '<p class="note">share of the problems proved</p>'
        curves += f"<figure><h3>{title}</h3>{note}{plot}</figure>" if drawn else ""
    curves = curves and f'<div class="two">{curves}</div>'
    for part in dict.fromkeys(problem.part for problem in problems):
        tables += f"<h3>{escape(part)}</h3>" + "".join(problem_table(each) for each in problems if each.part == part)
    sections = (
        ("How long each method takes on each problem", TIMES, problems and _legend(problems) + _strips(problems)),
        ("How often a method is first, and how far behind otherwise", SHARES, curves),
        (
            "How far each answer is from the truth, by level",
            ERRORS,
            "".join(errors_table(*each) for each in errors.items()),
        ),
        ("All numbers, a table per problem", NUMBERS, tables),
    )
    body = "".join(
        f'<section><h2>{title}</h2><p class="note">{escape(note)}</p>{inner}</section>'
        for title, note, inner in sections
        if inner
    )
    lines = findings(problems, releases, errors)
    facts = "".join(f"<dt>{heading}</dt><dd>{math(text)}</dd>" for heading, text in lines.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>pgsr compare: {escape(said)}</title>{_style()}</head><body class="compare whole">{SYMBOLS}'
        f'<header><p class="note">pgsr compare · {escape(said)}</p><h1>{math(headline(problems, releases))}</h1>'
        f"{about}<dl>{facts}</dl></header>{body}<footer>{escape(_foot(rows))}</footer>"
        f"<script>{_asset('page.js')}</script></body></html>"
    )


def fragment(rows: "pd.DataFrame") -> str:
    """Write the sentence, the strips, the errors of releases, and the tables folded, for a notebook."""
    problems, releases = read(rows)
    strips = _strips(problems) if problems else ""
    bars = "".join(errors_table(*each) for each in scored(problems, releases).items()) if releases else ""
    head, tables = math(headline(problems, releases)), "".join(map(problem_table, problems))
    return f'{_style()}<div class="compare">{SYMBOLS}<p><b>{head}</b></p>{strips}{bars}{tables}</div>'


def _strips(problems: list[ProblemRows]) -> str:
    """A row per problem and a column per hierarchy."""
    parts, scale = list(dict.fromkeys(problem.part for problem in problems)), TimeScale.of(problems)
    names = {part: escape(short_part(part)) for part in parts}
    html, axis = "", svg(scale.axis(), 20, "axis", "")
    for real, group in by_kind(problems).items():
        heads = "".join(f'<div class="cell"><b class="part">{names[part]}</b>{axis}</div>' for part in parts)
        html += f'<div class="row head"><h3>{TITLES[real]}</h3>{heads}</div>'
        for at in group:
            one = next(iter(at.values()))
            html += (
                f'<div class="row"><div class="what"><b>{math(one.name)}</b><small>{math(one.sentence)}</small></div>'
            )
            for part in parts:
                drawn = '<p class="none">not run at this size</p>'
                if part in at:
                    drawn = svg(strip(at[part], scale, WIDTHS), HEIGHT, "strip", spoken(at[part]))
                html += f'<div class="cell"><span class="which">{names[part]}</span>{drawn}</div>'
            html += "</div>"
    return f'<div class="strips" style="--parts:{len(parts)}">{html}</div>'


def _legend(problems: list[ProblemRows]) -> str:
    there = {run.solver.family for problem in problems for run in problem.runs}
    words = {"pgsr": "pgsr, its own algorithms", "OR-tools": "OR-tools (GLOP, PDLP, CP-SAT, flow)"}
    keys = "".join(
        f'<span class="key {slug(name)}">{svg([Dot(50, 9, name, True, "")], 18, "", "")}{words.get(name, name)}</span>'
        for name in FAMILIES
        if name in there
    )
    how = "filled: proved optimal; hollow: an answer without proof; ✕ no answer"
    return f'<div class="legend">{keys}<span>{how}</span></div>'


def _foot(rows: "pd.DataFrame") -> str:
    """The time limits, and the versions of what ran."""
    known = [set(rows[column].dropna()) - {""} if column in rows else () for column in ("time_limit_s", "version")]
    limits, versions = " or ".join(f"{limit:g}" for limit in sorted(known[0])), ", ".join(sorted(known[1]))
    limit = f"At most {limits} s per method. " if limits else ""
    return limit + (f"Versions: {versions}." if versions else "")


def _style() -> str:
    """The style sheet, with the colours of families."""
    css = _asset("page.css")
    for name, (_, light, dark) in FAMILIES.items():
        own, dim = f".{slug(name)}", f".compare:has(.key.{slug(name)}:hover)"
        css += f".compare {own}{{--c:light-dark({light},{dark})}}"
        css += f"{dim} .mark:not({own}),{dim} .curve:not({own}){{opacity:.14}}\n"
    return f"<style>{css}</style>"


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
