"""The printed numbers: each stands beside the mean that it belongs to, or the report says why not."""

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape

import pytest
from smoke_cells import stored

from pgsr.experiments.engine.digest import code_digest, covered
from pgsr.experiments.engine.experiment import Profile
from pgsr.experiments.engine.papers import Beside, Printed
from pgsr.experiments.engine.store import Store
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.registry import EXPERIMENTS
from pgsr.experiments.report import html
from pgsr.experiments.report import sections as report_sections
from pgsr.experiments.report.content import as_printed, report_blocks
from pgsr.experiments.report.means import Mean

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # every cell of the paper's sizes is written and read

SMOKE = Profile.SMOKE
PRINTED = Printed("T1", "Small", "first", "1", 0, "emd", 10.5, "table <1>", 0)


def test_what_matches_and_what_it_says():
    mean = Mean("small", True, Fraction(1, 10), "one", (("N", 5),), "emd", 0, (9.0, 12.0))
    number = replace(PRINTED, epsilon="0.1")
    assert mean.stands_beside(Beside({"data": "small", "arm": "one", "N": 5}, number))
    for where in ({"N": 6}, {"level": 1}, {"epsilon": 1}, {"metric": "l1"}, {"M": 5}, {"arm": "two"}):
        assert not mean.stands_beside(Beside({"data": "small", "arm": "one"} | where, number))
    for values, word, changed in (
        ((108.0,), "agrees", {}),
        ((112.0,), "differs", {}),
        ((99.0, 100.0, 101.0), "too few replicates: 3 of 5", {"runs": 10}),
        ((108.0,), "too few replicates: 1 of 5", {"runs": 10}),
        ((99.0, 100.0, 101.0, 99.0, 101.0), "agrees", {"runs": 10}),
        ((120.0, 121.0, 119.0, 120.0, 120.0), "differs", {"runs": 10}),
        ((95.0, 110.0, 100.0, 97.0, 99.0), "agrees", {}),
        ((95.0, 110.0, 100.0, 97.0, 99.0), "undecided", {"runs": 2}),
        ((0.0,) * 5, "agrees", {"value": 0.0}),
        ((0.0, 0.0, 0.0, 0.0, 1.0), "differs", {"value": 0.0}),
    ):
        beside = Beside({}, replace(number, **{"value": 100.0} | changed))
        found = replace(mean, beside=beside, values=values)
        assert found.agreement == word
        other = replace(found, beside=replace(beside, remark="generated"))
        assert replace(found, real=False).agreement == other.agreement == "other data"
    assert not mean.stands_beside(Beside(None, number, "nobody counted it"))
    assert replace(mean, beside=Beside({}, replace(number, value=0.0))).ratio is None


def test_printed_numbers_of_all_papers_are_found():
    """An experiment that forgets a number of its paper would leave it out of the report."""
    papers = {experiment.paper for experiment in EXPERIMENTS if experiment.paper is not None}
    assert {paper.name for paper in papers} == {
        "Kuo et al. 2018",
        "Fioretto and Van Hentenryck 2019",
        "Liu and Wu 2022",
    }
    for paper in papers:
        assert len(set(paper.numbers)) == len(paper.numbers)
        assert paper.title in paper.reference
        given = {each.number for experiment in EXPERIMENTS if experiment.paper == paper for each in experiment.printed}
        assert given >= set(paper.numbers)


def all_printed() -> list[Printed]:
    return list(dict.fromkeys(number for each in EXPERIMENTS if each.paper for number in each.paper.numbers))


WITHOUT = {
    "K4": "figure 1 has no numbers",
    "K5": "figure 4 has no numbers",
    "K6": "figure 5 has no numbers",
    "K7": "figure 6 has no numbers",
    "K8b": "section 6 has advice in words",
    "K10": "sections 3 and 5 state conditions",
    "PG1": "figure 8 has no numbers",
    "PG2": "figure 9 has no numbers; the text bounds two ratios in words",
    "B1": "other authors' numbers are of data that are not here",
    "X1": "ours, of no paper",
    "X2": "ours, of no paper",
    "X3": "ours, of no paper",
    "X6": "ours, of no paper",
    "HP0": "the paper prints no settings",
    "HP1": "figure 2 has no numbers",
    "HP2": "figure 3 has no numbers",
    "HP3": "figure 4 has no numbers",
    "HP3b": "figure 5 has no numbers",
    "HP4": "section 5 has growth in words",
}
"""Experiments that have nothing printed to stand beside."""

NOWHERE = {
    kuo.TAXI_TRIPS_IN_THE_TEXT: "the text contradicts the paper's own table",
    kuo.K3_SINGLE_RUN: "a single run is no mean",
}
"""Printed numbers beside which nothing of ours can stand, and how the reason begins."""

PAPERS_OWN = {
    "taxi", "taxi, root", "White, root", "White, states", "White, counties", "Hawaiian, nation", "Hawaiian, root",
    "Hawaiian, counties",
}  # fmt: skip
"""Data sets that are the paper's; all others with printed numbers are stand-ins."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> list[report_sections.Section]:
    """Sections on every cell of the profile paper, each with what its arm records on the small data of smoke.

    The papers' own data are among them, and what stands in for them.
    """
    store = Store(tmp_path_factory.mktemp("swept"))
    for experiment in (each for each in EXPERIMENTS if each.id not in WITHOUT):
        first = {task.cell.arm: task for task in reversed(experiment.tasks(SMOKE))}
        records = {arm: task.compute() for arm, task in first.items()}
        scale = experiment.scale(Profile.PAPER)
        every = tuple(replace(each, fallback=None) for data in scale.data for each in data.with_fallbacks())
        for task in replace(experiment, profiles={Profile.PAPER: replace(scale, data=every)}).tasks(Profile.PAPER):
            if task.cell.replicate == 0:
                record = records[task.cell.arm]
                store.save(stored(task, record, code_digest(experiment)), Profile.PAPER)
    return report_sections.collect(EXPERIMENTS, Profile.PAPER, store, draw=False)


def test_experiments_have_printed_numbers_or_a_reason(swept):
    assert {section.experiment.id for section in swept if not any(row.printed for row in section.means)} == set(WITHOUT)
    assert not [remark for section in swept for remark in section.remarks if "printed numbers" in remark]


def test_every_printed_number_stands_beside_ours_or_says_why_not(swept):
    rows = re.findall(r"<tr>.*?</tr>", unescape(html.render(report_blocks(swept, Profile.PAPER))))
    matched = {row.printed for section in swept for row in section.means if row.printed is not None}
    for number in all_printed():
        shown = [row for row in rows if f">{as_printed(number.value)}<" in row]
        assert (number in matched) != (number in NOWHERE), number
        assert shown, number
        if number in NOWHERE:
            assert any(NOWHERE[number] in row for row in shown)
    unmatched = {number: why for section in swept for number, why in section.unmatched}
    assert set(unmatched) == set(NOWHERE)
    assert all(why.startswith(NOWHERE[number]) for number, why in unmatched.items())


def test_printed_numbers_are_compared_on_the_papers_own_data_alone(swept):
    rows = [row for section in swept for row in section.means if row.printed is not None]
    assert {row.data for row in rows if not row.remark} == PAPERS_OWN
    assert {row.data for row in rows if row.agreement != "other data"} <= PAPERS_OWN
    assert {row.data for row in rows} > PAPERS_OWN


def test_printed_numbers_stand_beside_their_like(swept):
    """Written out once more from the papers: budget, level and competitor of some cells."""
    rows = {}
    for identity, row in ((section.experiment.id, row) for section in swept for row in section.means):
        if row.printed is not None:
            size = dict(row.parameters).get("K")
            rows[identity, row.data, str(row.epsilon), row.arm, size, row.metric, row.level] = row.printed.value
    bottom_up, census = "bottom-up, independent noise", "Census by the recipe, generated"
    for where, value in {
        ("K1", "taxi", "None", "statistics", None, "entities", None): 130_962_398,
        ("K2", "taxi, root", "1", "projection as stated", 100_000, "cumulative_l1", 0): 208_977_518.4,
        ("K2", "taxi, root", "1", "clipped at zero, total not kept", 20_000, "cumulative_l1", 0): 208_977_518.4,
        ("K3", "Synthetic generated, root", "1", "Hg", None, "emd", 0): 2_219.6,
        ("K3", "Hawaiian, nation", "1", "Hc", None, "emd", 0): 254.0,
        ("K8", "taxi", "1", bottom_up, None, "emd", 1): 10_405.5,
        ("K8", "generated as Synthetic", "1", bottom_up, None, "emd", 2): 24.9,
        ("K8", "White by block group, counties", "1", bottom_up, None, "emd", 0): 448_909.0,
        ("K9", "White by block group, root", "1", "Hc L1, smallest optimum", None, "emd", 0): 1_838.9,
        ("PG3", census, "1/10", "M_c^dp", None, "l1_total", 0): 574_700,
        ("PG4", census, "1/2", "M_c^r", None, "l1", 1): 61_000,
        ("PG4", census, "1", "M_H^dp, half the noise", None, "l1", 2): 128_800,
        ("PG4", "Taxi 2014, generated", "1", "M_H^r", None, "cv_levels", 0): 18_085,
        ("PG5", census, "1", "M_c^r, ours, exact", None, "l1", 0): 24_100,
    }.items():
        assert rows[where] == value
    assert not [where for where in rows if where[0] == "K2" and where[1] not in PAPERS_OWN and where[4] == 20_000]
    assert not [where for where in rows if where[0] == "K9" and where[3] in ("Hc L2", "Hg L1, smallest optimum")]


def test_a_number_without_results_names_the_data_it_needs(tmp_path):
    experiment = next(each for each in EXPERIMENTS if each.id == "K3")
    store, task = Store(tmp_path), experiment.tasks(Profile.PAPER)[0]
    record = {"status": "FEASIBLE", "levels": {"emd": [2_800.0]}}
    cell = replace(task.cell, epsilon=Fraction(1), arm="Hc")
    store.save(replace(stored(task, record), cell=cell), Profile.PAPER)
    section = report_sections.collect([experiment], Profile.PAPER, store, draw=False)[0]
    why = {(number.data, number.arm): reason for number, reason in section.unmatched if number != kuo.K3_SINGLE_RUN}
    assert len(why) == 7
    assert why["White", "Hc"] == "no results on White, root or White by block group, root"


def test_what_is_printed_does_not_make_results_stale():
    for experiment in EXPERIMENTS:
        files = covered(experiment.owner.plot.__module__, experiment.owner.id)
        assert not [name for name, text in files.items() if "PRINTED_NUMBERS" in text]
        assert not [name for name in files if name.endswith(".published")]
