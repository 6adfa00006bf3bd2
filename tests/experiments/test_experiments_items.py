"""The list of the papers' items: it is what is declared, all that it names exists, and the papers' pages name all."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pgsr.experiments.commands.complete import app
from pgsr.experiments.engine.papers import Absent, Claim, Printed, StandsFor
from pgsr.experiments.fioretto2019.data import TAXI
from pgsr.experiments.quoted import PAGES
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.experiments.report.items import BEYOND, ItemKind, ItemState, _declared, all_items, beyond, counted

TESTS = Path(__file__).parents[1]
STUDY = TESTS.parent / "docs" / "study"
ITEMS = all_items(EXPERIMENTS)
OTHERS = beyond(EXPERIMENTS)
PAPERS = list(dict.fromkeys(each.paper for each in EXPERIMENTS if each.paper is not None))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_every_item_of_its_paper(page):
    """After a new method, claim or experiment: give it a row, or a section, where the paper has it."""
    text = " ".join((STUDY / f"{page}.md").read_text("utf-8").split())
    own = [item for item in ITEMS if PAGES[page] is not None and item.paper == PAGES[page].name]
    assert bool(own) == (PAGES[page] is not None)
    for item in own:
        if item.kind in (ItemKind.METHOD, ItemKind.THEOREM):
            assert f"`{item.where}`" in text, item
        if item.kind is ItemKind.THEOREM:
            assert item.source.lower() in text, item
        if item.state is ItemState.NO and item.kind is ItemKind.TABLE:
            assert item.what in text, item
    for experiment in EXPERIMENTS:
        if experiment.paper == PAGES[page] and experiment.paper is not None:
            assert f"(experiment {experiment.id})" in text, experiment.id
            assert f"quoted: {experiment.id}." in text, experiment.id


FACTS = {
    "kuo2018": "1 2 4 6 12 18 20 52 2010 2011 2,801 2,815 3,221 11",
    "fioretto2019": "0 0.1 0.2 0.67 0.9 1 1,000 2 3 6 7 8 10 24.1 25.4 26.6 50 100 216 925 2000 2010 2013 2019 30",
    "liu2022": "0.0001 0.01 0.03 1,000 10 100 30 400",
}
"""Numbers in sentences that are no results: of the papers, of data, of settings, of what is named."""


@pytest.mark.parametrize("page", FACTS)
def test_no_sentence_has_a_result_that_is_written_by_hand(page):
    """A result in a sentence stands between marks, which `quote` computes: so no sentence contradicts its table."""
    text = (STUDY / f"{page}.md").read_text("utf-8")
    for cut in (r"(?s)```.*?```", r"(?s)<!-- quoted: .*?<!-- / -->", r"`[^`]*`", r"\]\([^)]*\)", r"(?m)^[|#!].*$"):
        text = re.sub(cut, "", re.sub(r"arXiv\s[\d.]+", "", text))
    found = re.findall(r"(?<![\w.^_])\d[\d,]*(?:\.\d+)?(?: %| million| billion)?(?!\w)", " ".join(text.split()))
    assert {each.rstrip(",") for each in found} <= {*FACTS[page].split()}


def test_slips_are_few_and_each_says_how_sure_and_why():
    rows = []
    for page in FACTS:
        text = (STUDY / f"{page}.md").read_text("utf-8")
        section = text.partition("## Slips and open questions")[2].partition("\n## ")[0]
        rows += [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]
    for printed, _, sure, shown in rows:
        assert sure in ("sure", "likely", "open")
        assert '"' in printed or "block" in shown or "`tests/" in shown or sure == "open", printed
    assert sum(row[2] != "open" for row in rows) <= 26


def test_whatever_is_named_exists():
    for item in [*ITEMS, *OTHERS]:
        if item.kind in (ItemKind.METHOD, ItemKind.THEOREM):
            module, found = item.where, None
            while found is None:
                try:
                    found = importlib.import_module(module)
                except ModuleNotFoundError:
                    module = module.rpartition(".")[0]
            for name in item.where.removeprefix(module).split(".")[1:]:
                found = getattr(found, name)
        elif item.kind is not ItemKind.DATA and item.where:
            assert (find(item.where.removeprefix("experiment ")).paper is None) == (item.paper == BEYOND)
        for file, test in re.findall(r"(test_\w+\.py)(?:::(\w+))?", item.why):
            assert any(TESTS.glob(f"*/{file}")), item
            assert f"def {test}" in next(TESTS.glob(f"*/{file}")).read_text("utf-8") if test else True, item


def test_nothing_that_is_declared_is_left_out():
    """Counted here in other ways: by the text of files, by papers, and by experiments."""
    root, declaring = TESTS.parent, set()
    for path in [*(root / "pgsr").rglob("*.py"), *(root / "models").rglob("*.py")]:
        if "experiments" not in path.relative_to(root).parts and re.search(
            r"^\s*(?:Source|Extends)[^:\n]*:(?:[^\n]|\n(?!\s*\n))*?"
            r"(?:Kuo et al\. 2018|Van\s+Hentenryck\s+2019|Liu & Wu 2022)",
            path.read_text("utf-8"),
            re.MULTILINE,
        ):
            declaring.add(path.stem)
    methods = [item.where for item in [*ITEMS, *OTHERS] if item.kind is ItemKind.METHOD]
    assert len(declaring) > 40
    assert not [stem for stem in declaring if not any(stem in where.split(".") for where in methods)]
    for paper in PAPERS:
        own = [item for item in ITEMS if item.paper == paper.name]
        assert [item.what for item in own if item.kind is ItemKind.CLAIM] == [claim.words for claim in paper.claims]
        tables = {item.where for item in own if item.kind is ItemKind.TABLE and item.where}
        assert tables == {f"experiment {each.id}" for each in EXPERIMENTS if each.paper == paper}
        numbers = [re.match(r"([\d,]+) number", item.what) for item in own if item.kind is ItemKind.NUMBER]
        assert sum(int(found[1]) for found in numbers if found) == len(paper.numbers)
        assert {item.why for item in own} >= {absent.why for absent in paper.absent}


def test_what_is_ours_is_no_item_of_a_paper():
    """What a paper has not is counted for none, however near to its methods it is."""
    assert {item.paper for item in OTHERS} == {BEYOND}
    assert {item.paper for item in ITEMS} == {paper.name for paper in PAPERS}
    assert not {item.where for item in OTHERS} & {item.where for item in ITEMS}
    assert {item.where for item in OTHERS if item.kind is ItemKind.EXPERIMENT} == {
        f"experiment {each.id}" for each in EXPERIMENTS if each.paper is None
    }


def test_a_docstring_declares_a_source_a_theorem_or_what_it_extends():
    one, other = "test_isotonic.py::test_equals_brute_force", "test_cost_tables.py::test_equals_brute_force"
    words = (
        f"Count groups. Fast.\n\nSource: Nobody 1999, section 2; Hay et al. 2010. Shown by `tests/{one}`.\n\n"
        f"Theorem 7 of Nobody 1999: it ends in\nO(n). Shown by `tests/{other}`.\n\nExtends: `Count` of Nobody."
    )
    method, theorem, more = _declared(["Nobody 1999"], "pgsr.count", words, [])
    assert (method.kind, method.source, method.what) == (ItemKind.METHOD, "section 2", "Count groups")
    assert (theorem.kind, theorem.source, theorem.what) == (ItemKind.THEOREM, "Theorem 7", "it ends in O(n)")
    assert (theorem.state, theorem.why) == (ItemState.YES, other)
    assert (more.paper, more.source, more.state) == (BEYOND, "`Count` of Nobody", ItemState.YES)
    (unshown,) = _declared(["Nobody 1999"], "pgsr.count", "Count.\n\nTheorem 7 of Nobody 1999: it ends.", [])
    assert unshown.state is ItemState.NO


def test_what_does_not_work_says_why():
    assert len({(item.paper, item.kind, item.source, item.what, item.where) for item in ITEMS}) == len(ITEMS)
    for item in [*ITEMS, *OTHERS]:
        assert item.what
        assert item.source
        assert item.why, item
    shown = [item for item in [*ITEMS, *OTHERS] if item.kind in (ItemKind.METHOD, ItemKind.THEOREM)]
    assert not [item for item in shown if item.state is ItemState.NO], "no test names it"
    totals = [{name: int(value) for name, value in row.items() if name != "paper"} for row in counted(ITEMS)]
    assert all(row.pop("items") == sum(row.values()) for row in totals)


def test_states_follow_from_declarations():
    """A made-up paper with an experiment on data of every grade."""
    number = Printed("E", "Taxi", "an arm", "1", 0, "l1", 1.0, "table 9", 0)
    claims = (Claim("PG4", "judged", "figure 7"), Claim("E", "never judged", "figure 8"))
    paper = replace(PAPERS[0], name="Nobody 1999", numbers=(number,), claims=claims, absent=(Absent("a", "b", "c"),))
    wanted = {
        StandsFor("Taxi"): (ItemState.YES, ItemState.YES),
        StandsFor("Taxi", "drawn anew", by_recipe=True): (ItemState.YES, ItemState.OTHER_DATA),
        StandsFor("Taxi", "generated"): (ItemState.OTHER_DATA, ItemState.OTHER_DATA),
    }
    base = find("PG4")
    for stands_for, (of_claim, of_data) in wanted.items():
        data = replace(TAXI, stands_for=stands_for)
        profiles = {profile: replace(scale, data=(data,)) for profile, scale in base.profiles.items()}
        items = all_items([replace(base, paper=paper, profiles=profiles, printed=())])
        states = {(item.kind, item.what): item.state for item in items}
        assert states == {
            (ItemKind.TABLE, base.title): of_claim,
            (ItemKind.CLAIM, "judged"): of_claim,
            (ItemKind.CLAIM, "never judged"): ItemState.NO,
            (ItemKind.NUMBER, "1 number of Taxi: 1"): ItemState.NO,
            (ItemKind.DATA, "Taxi"): of_data,
            (ItemKind.TABLE, "a"): ItemState.NO,
        }


def test_the_command(tmp_path):
    done = CliRunner().invoke(app, ["items", "--out", str(tmp_path / "items.html")])
    assert done.exit_code == 0, done.output
    written = (tmp_path / "items.html").read_text("utf-8")
    assert all(item.where in written for item in [*ITEMS, *OTHERS])
