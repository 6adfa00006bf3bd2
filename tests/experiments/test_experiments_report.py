"""The report: every experiment is in it, numbers stand beside what is printed, nothing is fetched from elsewhere."""

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from io import StringIO
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import sweeps
from smoke_cells import one_quick, smoke_cells, stored
from typer.testing import CliRunner

from pgsr.errors import DataError
from pgsr.experiments.commands.complete import app
from pgsr.experiments.engine.causes import Cause, cause_on
from pgsr.experiments.engine.digest import code_digest
from pgsr.experiments.engine.experiment import Cell, Profile
from pgsr.experiments.engine.looks import ARM_LOOKS, CONDITIONS, arm_looks
from pgsr.experiments.engine.papers import Beside, Printed, StandsFor
from pgsr.experiments.engine.runner import RunSummary
from pgsr.experiments.engine.store import CellState, Store, StoredCell, to_frame
from pgsr.experiments.engine.verdicts import (
    TestOutcome,
    Verdict,
    agrees,
    at_most,
    compared,
    exactly,
    in_every_replicate,
    separated,
    worst,
)
from pgsr.experiments.fioretto2019 import published as fioretto
from pgsr.experiments.fioretto2019 import runtime_by_size
from pgsr.experiments.kuo2018 import published as kuo
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.experiments.report import html, write_report
from pgsr.experiments.report import sections as report_sections
from pgsr.experiments.report.content import report_blocks
from pgsr.experiments.report.svg import smaller
from pgsr.figures.drawing import LEVELS, log_places, new_figure

SMOKE = Profile.SMOKE
PRINTED = Printed("T1", "Small", "first", "1", 0, "emd", 10.5, "table <1>", 10)
ELSEWHERE = Printed("T1", "Large", "first", "1", 1, "emd", 1234.5, "table 2", 10)
REAL = replace(sweeps.SMALL, real=True)
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """Reads a page strictly, and keeps what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def plot(frame):
    figure = new_figure(4, 3)
    axes = figure.subplots()
    axes.plot(frame["replicate"], frame["emd_level0"])
    axes.set(title="small", xlabel="replicate", ylabel="EMD (entities)")
    return figure


FIVE = dict(enumerate([1.0, 1.1, 0.9, 1.0, 1.2]))


def verdicts(frame):
    words = f"mean of {len(frame)} <cells> | and a pipe"
    return [
        Verdict("one is better", "small", compared(FIVE, 0.5), words, Cause.CLAIM),
        Verdict("two", "small", exactly(False, "counted"), "no"),
        Verdict("three", "small", exactly(False, "counted"), "no", Cause.STAND_IN),
    ]


BESIDE = (Beside({"data": "small", "arm": "one"}, PRINTED), Beside({"data": "large", "arm": "one"}, ELSEWHERE))


def tiny(**fields):
    """Two arms, three replicates, two printed numbers, one of them of data that is not there."""
    given = {"plot": plot, "verdicts": verdicts, "printed": BESIDE} | fields
    return replace(sweeps.experiment(replicates=3, data=(REAL,)), **given)


def save(store: Store, experiment, replicate: int, arm: str, value=0.0, *, code=None, failed="") -> None:
    cell = Cell(experiment.id, "small", Fraction(1), replicate, arm)
    record = {"status": "FEASIBLE", "levels": {"emd": [value, 2.0]}, "violations": {"sign": 0}, "solve_seconds": 0.5}
    state = CellState.FAILED if failed else CellState.DONE
    code = code or code_digest(experiment)
    store.save(StoredCell(cell, True, state, failed, {} if failed else record, code, 60.0, 2.0, 1), SMOKE)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> str:
    """A report: arm one is there, once stale; arm two failed once, is missing once, and has a cell of no plan."""
    place = tmp_path_factory.mktemp("written")
    store, experiment = Store(place / "results"), tiny()
    for replicate, value in enumerate((9.0, 12.0, 10.0)):
        save(store, experiment, replicate, "one", value, code="older" if replicate == 2 else None)
    save(store, experiment, 0, "two", 5.0)
    save(store, experiment, 1, "two", failed="ValueError: a <b> | c")
    save(store, experiment, 7, "two", 99_999.0)
    folder = place / "report"
    folder.mkdir()
    return write_report((experiment, *EXPERIMENTS), SMOKE, store, folder).read_text("utf-8")


def test_numbers_stand_beside_what_is_printed(written):
    text = Page(written).text
    assert "EMD, mean per region (entities) root 10.33 0.8819 1.528 3 10.5 0.984 too few replicates: 3 of 5" in text
    assert "small (real), epsilon 1: one" in text
    why = "no results on large"
    assert f"Large first 1 level 1 EMD, mean per region (entities) 1,234.5 table 2 {why}" in text
    assert "99,999" not in text
    assert "1 stored cells are of no arm or data set of today" in text


def test_verdicts_are_counted_and_lead_to_their_experiment(written):
    page = Page(written)
    assert (
        "Of 3 findings, 1 test a claim of a paper as the paper states it: 1 hold, 0 fail, "
        "0 show no material difference, 0 are undecided, 0 were not judged. The others are about something else"
        in page.text
    )
    assert "T1 one is better paper's claim 1 2.08 2.08 2.08 above 1 T1 two our own claim 1 T1 three" in page.text
    by_cause = page.text.split("Findings by cause")[1].split("What to run next")[0]
    for cause in Cause:
        assert cause.meaning in by_cause
    assert f"paper's claim 1 {Cause.CLAIM.meaning}" in by_cause
    assert f"stand-in data 1 {Cause.STAND_IN.meaning}" in by_cause
    assert "three small fails stand-in data no exact: counted" in page.text
    assert "one is better small holds paper's claim 2.08 [1.797, 2.36], above 1 needed mean of" in page.text
    assert "mean of 4 <cells> | and a pipe" in page.text
    assert "paired t-test, 5 %, 5 replicates" in page.text
    assert "exact: counted" in page.text
    assert "#t1" in [link["href"] for link in page.all("a")]


def test_errors_beyond_half_of_the_largest_are_marked(tmp_path):
    """The data have 432 groups, so L1 errors of a level reach 864, and those above 432 say nothing."""
    experiment, store = tiny(), Store(tmp_path / "results")
    for replicate in range(3):
        cell = Cell(experiment.id, "small", Fraction(1), replicate, "one")
        record = {"status": "FEASIBLE", "levels": {"l1": [431.0, 433.0], "emd": [500.0, 500.0]}}
        entry = StoredCell(cell, True, CellState.DONE, "", record, code_digest(experiment), 60.0, 2.0, 1)
        store.save(entry, SMOKE)
    text = Page(write_report([experiment], SMOKE, store, tmp_path).read_text("utf-8")).text
    rows = re.findall(r"(?:L1, sum|EMD, mean).*?\) (?:root|leaves) ([\d.]+(?: saturated)?)", text)
    assert set(rows) == {"431", "433 saturated", "500"}


def test_troubles_are_told_with_their_remedy(written):
    text = Page(written).text
    assert "1 stale. Cells: T1 | small | epsilon=1 | replicate=2 | one" in text
    assert "1 failed: ValueError: a <b> | c. Cells: T1 | small | epsilon=1 | replicate=1 | two" in text
    assert "1 missing. Cells: T1 | small | epsilon=1 | replicate=2 | two" in text
    assert "python -m pgsr.experiments run T1 --profile smoke" in text
    assert "3 finished, 1 stale, 1 failed, 1 missing. Seconds spent: 10" in text


def test_the_page_needs_nothing_else(written):
    page = Page(written)
    allowed = re.compile(r"#|data:image/png;base64,|https://arxiv\.org/abs/|https://doi\.org/")
    for _, attributes in page.tags:
        for name in ("src", "href", "srcset", "poster", "action"):
            if name in attributes:
                assert allowed.match(attributes[name] or ""), attributes[name]
    assert not page.all("script")
    assert not page.all("link")
    assert "url(" not in written
    assert "@import" not in written


def test_the_page_is_accessible(written):
    page = Page(written)
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("caption")) == len(page.all("table")) > 3
    assert {head.get("scope") for head in page.all("th")} == {"col", "row", "rowgroup"}
    assert page.all("img")[0]["alt"] == (
        "T1: a test. small: EMD (entities) over replicate. The numbers are in the tables below."
    )
    identities = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(identities)) == len(identities)
    assert {link["href"] for link in page.all("a") if (link["href"] or "").startswith("#")} <= {
        f"#{each}" for each in identities
    }


def test_a_part_that_cannot_be_made_does_not_end_the_report(tmp_path):
    def broken(frame):
        raise KeyError("emd_level9")

    experiment, store = tiny(plot=broken, verdicts=broken), Store(tmp_path)
    save(store, experiment, 0, "one", 1.0)
    section = report_sections.collect([experiment], SMOKE, store)[0]
    assert [remark.partition(":")[0] for remark in section.remarks] == [
        "the figure could not be drawn",
        "the verdicts could not be found",
    ]
    assert section.means
    page = write_report([experiment], SMOKE, store, tmp_path)
    assert "no verdicts" in Page(page.read_text()).text


def test_no_verdict_below_five_replicates_and_none_without_a_test():
    """However far apart the numbers are, four draws judge nothing; five do, and name the test."""
    far = [100.0, 101.0, 99.0, 100.5, 100.2]
    for n in range(6):
        few = far[:n]
        for judged in (
            compared(dict(enumerate(few)), 1.0),
            compared(1.0, dict(enumerate(few))),
            at_most(dict(enumerate(few)), 1.0, 2.0),
            separated(few, [0.0, 1.0, 0.5, 0.2, 0.1]),
            agrees(few, 5.0, 10),
            in_every_replicate(False, n, "a rule"),
        ):
            assert judged.test
            assert (judged.finding is TestOutcome.NOT_JUDGED) == (n < 5)
            assert judged.replicates == n
    assert compared(dict(enumerate(far)), 1.0).finding is TestOutcome.HOLDS
    assert compared(1.0, dict(enumerate(far))).finding is TestOutcome.FAILS
    assert compared(dict(enumerate([1.0, 3.0, 0.5, 4.0, 2.5])), 2.0).finding is TestOutcome.UNDECIDED
    assert worst(compared(dict(enumerate(few)), 1.0) for few in (far, far[:2])).finding is TestOutcome.NOT_JUDGED


def test_a_cause_is_what_was_declared_unless_data_or_replicates_speak_against_it():
    own, other = StandsFor("Taxi"), StandsFor("Taxi", "generated")
    by_recipe = replace(other, by_recipe=True)
    wanted = {
        Cause.CLAIM: (Cause.CLAIM, Cause.STAND_IN, Cause.CLAIM, Cause.CLAIM),
        Cause.NUMBER: (Cause.NUMBER, Cause.STAND_IN, Cause.STAND_IN, Cause.NUMBER),
        Cause.READING: (Cause.READING,) * 4,
        Cause.OURS: (Cause.OURS,) * 4,
    }
    for declared, found in wanted.items():
        assert tuple(cause_on(data, declared) for data in (own, other, by_recipe, None)) == found
    for n in range(8):
        judged = Verdict("a claim", "small", compared(dict.fromkeys(range(n), 2.0), 1.0), "", Cause.CLAIM)
        assert judged.cause is (Cause.PROFILE if n < 5 else Cause.CLAIM)
    assert Verdict("a claim", "small", exactly(True, "counted"), "", Cause.CLAIM).cause is Cause.CLAIM


@pytest.mark.slow
def test_verdicts_of_all_experiments_obey(smoked):
    """Nothing random is judged at smoke profile, whatever an experiment computes."""
    assert smoked
    for verdict in (verdict for section in smoked for verdict in section.verdicts):
        assert verdict.judgement.test, verdict
        if verdict.finding is not TestOutcome.NOT_JUDGED:
            assert verdict.judgement.replicates is None, verdict


@pytest.mark.slow
def test_claims_of_papers_are_not_declared_ours(smoked):
    """And experiments of no paper claim nothing for one. Every paper's experiment judges something of its paper."""
    words = {claim.words for claim in kuo.CLAIMS} | {*fioretto.CLAIMS.values()}
    for section in smoked:
        declared = {verdict.claim: verdict.declared for verdict in section.verdicts}
        if section.experiment.paper is None:
            assert set(declared.values()) == {Cause.OURS}, section.experiment.id
        else:
            assert set(declared.values()) - {Cause.OURS}, section.experiment.id
        assert not [claim for claim in declared if claim in words and declared[claim] is Cause.OURS]
    (bottom_up,) = (section for section in smoked if section.experiment.id == "K8")
    by_noise = {noise: [v for v in bottom_up.verdicts if noise in v.data] for noise in ("independent", "shared seed")}
    assert {v.declared for v in by_noise["independent"]} == {Cause.CLAIM}, "as the paper states it"
    assert {v.declared for v in by_noise["shared seed"]} == {Cause.READING}, "as its code did it"


@pytest.mark.slow
def test_a_smoke_report_says_what_it_is_and_what_to_run_next(smoked, tmp_path, monkeypatch):
    document = html.render(report_blocks(smoked, SMOKE))
    top = document.split('<h2 id="next">')[0]
    assert "shows that everything runs, no number here reproduces anything" in top
    commands = re.findall(r"<code>(?:\S+=\S+ )?python -m pgsr.experiments ([^<]+)</code>", document)
    assert any(command.startswith("run ") and "--profile quick" in command for command in commands)
    run = "pgsr.experiments.commands.experiments.runner.run"
    monkeypatch.setattr(run, lambda *args, **options: RunSummary(0, {}))
    for command in commands:  # advice works: the command line takes every word of it
        arguments = [*command.split(), "--out", str(tmp_path)]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, (command, done.output, done.exception)
    later = html.render(report_blocks(smoked, Profile.QUICK))
    assert "no number here reproduces anything" not in later


@pytest.fixture(scope="module")
def smoked(tmp_path_factory) -> list[report_sections.Section]:
    """Some experiments of every kind at smoke profile."""
    store = Store(tmp_path_factory.mktemp("smoked"))
    wanted = [each for each in EXPERIMENTS if each.id in ("K1", "K3", "K8", "K10", "PG3", "X1")]
    for experiment in wanted:
        for task, record in smoke_cells(experiment):
            store.save(stored(task, record, code_digest(experiment)), SMOKE)
    return report_sections.collect(wanted, SMOKE, store, draw=False)


def test_stand_ins_are_named(tmp_path):
    def absent():
        raise DataError("no such file; set PGSR_DATA")

    stand_in = replace(sweeps.SMALL, name="drawn")
    real = replace(REAL, load=absent, fallback=stand_in)
    experiment, store = replace(tiny(), profiles=sweeps.experiment(data=(real,)).profiles), Store(tmp_path)
    cell, record = Cell("T1", "drawn", Fraction(1), 0, "one"), {"a": 1, "emd_level0": 1}
    store.save(StoredCell(cell, False, CellState.DONE, "", record, "x", 1, 1, 1), SMOKE)
    text = Page(write_report([experiment], SMOKE, store, tmp_path).read_text()).text
    assert "small is absent; drawn (generated) stands in; set PGSR_DATA for the real one" in text
    assert "Other data stands in for small" in text
    assert "No result in this report is of real data" in text
    save(store, experiment, 0, "one", 1.0)
    section = report_sections.collect([experiment], SMOKE, store)[0]
    assert [(use.data.name, use.instead_of, use.results) for use in section.data] == [
        ("small", "", 1),
        ("drawn", "small", 1),
    ]
    assert section.remarks == (), "results of real data count, even where the file is not there any more"


def test_every_registered_experiment_is_there_and_its_command_in_advice(written):
    text = Page(written).text
    for experiment in EXPERIMENTS:
        assert f"{experiment.id}: {experiment.title}" in text
        assert f"python -m pgsr.experiments run {experiment.id} --profile smoke" in text


def test_a_profile_that_an_experiment_lacks(tmp_path):
    text = Page(write_report([tiny()], Profile.PAPER, Store(tmp_path), tmp_path).read_text()).text
    assert "it has no profile paper, but smoke. This runs it: python -m pgsr.experiments run T1 --profile smoke" in text


# Figures: an arm has one colour everywhere, axes have several labels, and what did not run has no place in them.


DRAWN = ("K2", "K3", "K5", "K6", "K8", "K8b", "K9", "PG3", "PG4")


@pytest.mark.parametrize("name", one_quick(DRAWN, "K9"))
def test_every_logarithmic_axis_has_several_labels(name):
    """Two at least between its ends; the axis of epsilons has one for every epsilon that ran."""
    experiment = find(name)
    figure = experiment.plot(to_frame([stored(task, record) for task, record in smoke_cells(experiment)]))
    figure.draw_without_rendering()
    checked = 0
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            of_epsilon = axis is axes.xaxis and name in ("K5", "K6", "PG3")
            if axis.get_scale() == "log" and not of_epsilon:
                low, high = min(limits), max(limits)
                inside = [place for place in axis.get_majorticklocs() if 0.999 * low <= place <= 1.001 * high]
                assert len(inside) >= 2, (name, axes.get_title(), inside)
                checked += 1
        if axes.get_xlabel() and axes.get_ylabel():
            assert re.search(r"\(|part of|over", axes.get_ylabel()), "a unit, or a ratio"
    assert checked


@pytest.mark.parametrize(("low", "high"), [(1, 1), (0.9, 1.1), (7, 90), (1e-5, 1e9)])
def test_three_to_seven_labels_on_any_range(low, high):
    places = log_places(low, high, 7)
    assert 3 <= len(places) <= 7
    assert places == sorted(places)
    digits = {f"{place:e}"[0] for place in places}
    assert digits <= set("1235")


def test_arms_of_an_experiment_look_different_and_the_same_in_every_figure():
    without = ("B1", "K1", "K10", "K8b", "X1", "X2", "X3", "X6", "HP0")
    drawn_by_arm = [each for each in EXPERIMENTS if each.id not in without]
    for experiment in drawn_by_arm:
        labels = [arm.label for arm in experiment.arms]
        assert set(labels) <= set(ARM_LOOKS), experiment.id
        looks = arm_looks(labels)
        assert len(set(looks.values())) == len(labels), experiment.id
        assert looks == {label: ARM_LOOKS[label] for label in labels}
    others = {look.colour for look in (*LEVELS, *CONDITIONS)}
    assert not others & {look.colour for look in ARM_LOOKS.values()}
    assert len(set(arm_looks(["a", "b", "Hc"]).values())) == 3


def test_mechanisms_keep_their_colour_between_experiments():
    """M_H^dp by tables, by ours, with seconds or with errors: one colour; open: the paper's way, or half the noise."""
    for mechanism in ("M_H^r", "M_H^dp", "M_c^r", "M_c^dp"):
        looks = {label: look for label, look in ARM_LOOKS.items() if label.split(",")[0].split(" (")[0] == mechanism}
        assert len(looks) >= 3
        assert len({look.colour for look in looks.values()}) == 1
        for label, look in looks.items():
            assert look.open == any(word in label for word in ("Clarabel", "Gurobi", "tables", "half the noise")), label


def test_a_refused_solver_is_named_and_not_drawn():
    record = {"status": "MEASURED", "sizes": [5, 10], "limit": 6}
    answered = {"outcomes": ["answered"] * 2, "reasons": [""] * 2, "step_seconds": [0.1, 0.2]}
    refused = {"outcomes": ["refused"] * 2, "reasons": ["no licence"] * 2, "step_seconds": [None] * 2}
    entries = [
        stored(task, record | (refused if "Gurobi" in task.arm.label else answered))
        for task in runtime_by_size.EXPERIMENT.tasks(Profile.SMOKE)
    ]
    figure = runtime_by_size.plot(to_frame(entries))
    assert "refused at the smallest N, so not drawn: $M_{H}$, Gurobi" in figure.get_suptitle().replace("\n", " ")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "$M_{H}$, HiGHS" in shown
    assert not [label for label in shown if "Gurobi" in label]


def test_a_small_svg_keeps_every_line_mark_and_word():
    figure = new_figure(4, 3)
    axes = figure.subplots()
    axes.errorbar([1, 2, 3], [5, 6, 7], [1, 1, 9], fmt="o", capsize=2, label="<some & more>")
    axes.set_yscale("log")  # the last bar ends below 0, outside the panel
    axes.plot([1, 3], [2, 2])
    axes.legend()
    before = StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(before, format="svg")
    after = smaller(before.getvalue())
    assert len(after) < 0.6 * len(before.getvalue())
    trees = [ElementTree.fromstring(text) for text in (before.getvalue(), after)]
    drawn = [Counter(re.findall("[MLCQz]", " ".join(node.get("d", "") for node in tree.iter()))) for tree in trees]
    assert drawn[0] == drawn[1]
    for kind in ("use", "text"):
        found = [[node.text for node in tree.iter(f"{{http://www.w3.org/2000/svg}}{kind}")] for tree in trees]
        assert found[0] == found[1] != []
    ids = re.findall(r'\bid="(\w+)"', after)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"#(\w+)[\")]", after)) == set(ids)
