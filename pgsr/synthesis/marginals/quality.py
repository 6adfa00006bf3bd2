"""The file report.html of a synthesis: what its tables look like, and how far off they must be expected to be.

It is made of what is published anyway, the transcript, the model and the sample, and so costs no privacy.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.privacy.neighbours import Unit
from pgsr.privacy.random import Seeded
from pgsr.release.publishing.charts import bars
from pgsr.synthesis.data.domain import COUNT, Neighbours
from pgsr.synthesis.data.impossible import violations
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.whole_marginals import WholeMarginals
from pgsr.synthesis.queries.evaluation import Errors, errors
from pgsr.synthesis.queries.independent_marginals import IndependentMarginals
from pgsr.synthesis.queries.transcript import AdaptiveBudget
from pgsr.synthesis.queries.workload import Level, Marginal, Workload

if TYPE_CHECKING:
    import pandas as pd

MOST_LISTED = 25
"""Measured marginals in the table of the report."""

_STYLE = """
body { font: 16px/1.5 sans-serif; color: #222; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .25rem .9rem .25rem 0; }
th { border-bottom: 1px solid #999; } td.n { text-align: right; } svg { max-width: 100%; height: auto; }
.warning { background: #d55e00; color: white; padding: .6rem 1rem; font-weight: bold; }
"""


@dataclass(frozen=True)
class StandIn:
    """The errors of a fit whose truth is known, because it is a synthetic population.

    Attributes:
        model, independent: by level, of the method and of independent marginals at the same budget; None for the latter
            where whole groups are hidden, which independent marginals cannot do.
        k: attributes per query.
    """

    model: dict[Level, Errors]
    independent: dict[Level, Errors] | None
    k: int


def stand_in(
    model: FilledHouseholds,
    method: WholeMarginals,
    budget: AdaptiveBudget,
    neighbours: Neighbours,
    unit: Unit,
    seed: int,
) -> StandIn:
    """Draw a population from the model, fit the method to it with seeded noise, and compare with what was drawn.

    The population stands in for the data, which nothing is read of. Errors of a fit to the data are like these as far
    as the data are like the model; what no model of this kind can represent comes on top.
    """
    truth = model.sample(model.households.n_groups, seed)
    levels = [Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if len(model.domain.roles) > 1 else [])]
    k = min(method.k, len(model.domain.group) + 1 + len(model.domain.individual))
    workload, source = Workload.k_way(model.domain, k, levels), Seeded("stand-in")
    ours = method.fit(truth, budget, source=source, neighbours=neighbours, unit=unit, seed=seed).distribution
    if unit.is_group:
        return StandIn(errors(ours, truth, workload), None, k)
    theirs = IndependentMarginals().fit(truth, budget, source=source, neighbours=neighbours)
    return StandIn(errors(ours, truth, workload), errors(theirs, truth, workload), k)


def report(
    fields: dict[str, Any],
    model: FilledHouseholds,
    homes: "pd.DataFrame",
    people: "pd.DataFrame",
    compared: StandIn,
) -> str:
    """Write the page.

    Args:
        fields: of the transcript.
        model: of the fit.
        homes, people: the tables of the sample.
        compared: errors of a fit to a stand-in.
    """
    return "\n".join(_parts(fields, model, homes, people, compared)) + "\n"


def _parts(
    fields: dict[str, Any], model: FilledHouseholds, homes: "pd.DataFrame", people: "pd.DataFrame", compared: StandIn
) -> Iterator[str]:
    title = f"{escape(fields['data_set'])}: a synthetic population"
    yield f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    if fields["charged"] is None:
        yield '<p class="warning">A rehearsal: NOT private. Keep it as secret as the data.</p>'
    yield f"<p>{len(homes):,} households with {len(people):,} persons, by {escape(fields['method'])}.</p>"
    yield f"<p>Privacy: {escape(fields['privacy_claim'])}. {escape(fields['adds_up'].capitalize())}.</p>"
    yield from _public(fields, model, people)
    yield from _measured(fields, model)
    yield from _compared(compared)
    yield "<h2>The tables, by one attribute</h2>"
    domain = model.domain
    for attribute in domain.group:
        yield from _chart(attribute.name, attribute.values, homes[attribute.name], "households")
    yield from _chart(COUNT, tuple(sorted(set(homes[COUNT]))), homes[COUNT], "households")
    for attribute in domain.individual:
        yield from _chart(attribute.name, attribute.values, people[attribute.name], "persons")
    yield "</body>\n</html>"


def _public(fields: dict[str, Any], model: FilledHouseholds, people: "pd.DataFrame") -> Iterator[str]:
    yield "<h2>What is exact</h2>"
    sizes = ", their sizes and the number of persons" if model.households.with_sizes else ""
    if fields["sizes_from"] is None and fields["sampled"] == model.households.n_groups:
        yield f"<p>The attributes of households{sizes} are public and are those of the data.</p>"
    else:
        yield "<p>Attributes of households are public, and in proportion to those of the data.</p>"
    if model.impossible:
        columns = {name: people[name].tolist() for zero in model.impossible for name in zero.values}
        found = violations(columns, model.impossible)
        yield f"<p>{len(model.impossible)} combinations are declared impossible; {found:,} persons have one.</p>"


def _measured(fields: dict[str, Any], model: FilledHouseholds) -> Iterator[str]:
    """List the marginals that were measured, by their noise, and how the model fits them."""
    domain, told = model.domain, fields["measured"]
    marginals = tuple(Marginal(m["level"], m["group"], m["individual"], m["relation"], m["relative"]) for m in told)
    workload = Workload(domain, marginals)
    answers, starts = model.answers(workload), workload.starts
    n_groups, rows = model.households.n_groups, []
    n_persons = fields["persons"] or model.sample(n_groups, fields["seed"]).n_persons
    for number, m in enumerate(told):
        of = n_groups if m["level"] == "group" else n_persons
        deviation = float(Fraction(m["variance"])) ** 0.5
        off = np.array(m["noisy"]) - answers[starts[number] : starts[number + 1]] * of
        rows.append((deviation / of, m["marginal"], len(off), float(np.sqrt(np.mean((off / deviation) ** 2)))))
    yield "<h2>What was measured</h2>"
    yield (
        f"<p>{len(rows)} marginals were measured with noise. Its standard deviation, in shares of all households or "
        "persons, is how far off a cell would be if the noisy table itself were published; the model combines all of "
        "them, and is nearer. The last column tells how far the model is from the noisy counts, in standard "
        "deviations: about 1 where it fits, and more where it cannot follow.</p>"
    )
    yield "<table><tr><th>marginal</th><th>cells</th><th>noise per cell</th><th>fit</th></tr>"
    for share, name, cells, fit in sorted(rows, key=lambda row: -row[3])[:MOST_LISTED]:
        yield (
            f'<tr><td>{escape(name)}</td><td class="n">{cells:,}</td><td class="n">{share:.2g}</td>'
            f'<td class="n">{fit:.2f}</td></tr>'
        )
    yield "</table>"
    if len(rows) > MOST_LISTED:
        yield f"<p>The {MOST_LISTED} that fit least; transcript.json has all {len(rows)}.</p>"


def _compared(compared: StandIn) -> Iterator[str]:
    beside = "Beside it, a product of noisy histograms of single attributes at the same budget. "
    beside = beside if compared.independent else ""
    yield "<h2>Errors to be expected</h2>"
    yield (
        "<p>A population drawn from the model stood in for the data: the same method was fitted to it, with the same "
        f"budget and fresh noise, and its answers to all queries of {compared.k} attributes were compared with what "
        f"was drawn. {beside}Nothing was read of the data for this. What the data have and no model of this kind can "
        "have comes on top.</p>"
    )
    yield "<table><tr><th>queries of</th><th>number</th><th>largest error</th><th>mean error</th>"
    yield f"{'<th>independent: largest</th><th>mean</th>' if compared.independent else ''}</tr>"
    for level, ours in compared.model.items():
        cells = [f"{ours.largest:.2g}", f"{ours.mean:.2g}"]
        if compared.independent is not None:
            theirs = compared.independent[level]
            cells += [f"{theirs.largest:.2g}", f"{theirs.mean:.2g}"]
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in (f"{ours.n_queries:,}", *cells))
        yield f"<tr><td>{_OF[level]}</td>{numbers}</tr>"
    yield "</table>"


_OF = {Level.GROUP: "households", Level.INDIVIDUAL: "persons", Level.RELATION: "relatives"}


def _chart(name: str, values: tuple, column: Any, what: str) -> Iterator[str]:
    counts = Counter(column)
    yield bars([str(value) for value in values], [counts[value] for value in values], name, what)
