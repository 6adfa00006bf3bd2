"""The list of the papers' items: it is what is declared, all that it names exists, and the page is of today."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pgsr.experiments.__main__ import app
from pgsr.experiments.engine.printed import Absent, Claim, Printed, StandsFor
from pgsr.experiments.fioretto2019.data import TAXI
from pgsr.experiments.registry import EXPERIMENTS, find
from pgsr.experiments.report import markdown
from pgsr.experiments.report.items import Kind, State, all_items, counted, item_blocks

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "items.md"
ITEMS = all_items(EXPERIMENTS)
PAPERS = list(dict.fromkeys(each.paper for each in EXPERIMENTS if each.paper is not None))


def test_the_page_in_docs_is_of_today(tmp_path):
    """After a new method, claim or experiment: python -m pgsr.experiments items --out docs/items.md."""
    assert PAGE.read_text("utf-8") == markdown.render(item_blocks(ITEMS), tmp_path)


def test_whatever_is_named_exists():
    for item in ITEMS:
        if item.kind is Kind.METHOD:
            module, found = item.where, None
            while found is None:
                try:
                    found = importlib.import_module(module)
                except ModuleNotFoundError:
                    module = module.rpartition(".")[0]
            for name in item.where.removeprefix(module).split(".")[1:]:
                found = getattr(found, name)
        elif item.kind is not Kind.DATA and item.where:
            assert find(item.where.removeprefix("experiment ")).paper is not None
        for file, test in re.findall(r"(test_\w+\.py)(?:::(\w+))?", item.why):
            assert (TESTS / file).is_file(), item
            assert f"def {test}" in (TESTS / file).read_text("utf-8") if test else True, item


def test_nothing_that_is_declared_is_left_out():
    """Counted here in other ways: by the text of files, by papers, and by experiments."""
    root, declaring = TESTS.parent, set()
    for path in [*(root / "pgsr").rglob("*.py"), *(root / "models").rglob("*.py")]:
        if "experiments" not in path.relative_to(root).parts and re.search(
            r"^\s*Source[^:\n]*:(?:[^\n]|\n(?!\s*\n))*?(?:Kuo et al\. 2018|Van Hentenryck\s+2019|Liu & Wu 2022)",
            path.read_text("utf-8"),
            re.MULTILINE,
        ):
            declaring.add(path.stem)
    methods = [item.where for item in ITEMS if item.kind is Kind.METHOD]
    assert len(declaring) > 40
    assert not [stem for stem in declaring if not any(stem in where.split(".") for where in methods)]
    for paper in PAPERS:
        own = [item for item in ITEMS if item.paper == paper.name]
        assert [item.what for item in own if item.kind is Kind.CLAIM] == [claim.words for claim in paper.claims]
        tables = {item.where for item in own if item.kind is Kind.TABLE and item.where}
        assert tables == {f"experiment {each.id}" for each in EXPERIMENTS if each.paper == paper}
        numbers = [re.match(r"([\d,]+) number", item.what) for item in own if item.kind is Kind.NUMBER]
        assert sum(int(found[1]) for found in numbers if found) == len(paper.numbers)
        assert {item.why for item in own} >= {absent.why for absent in paper.absent}


def test_what_does_not_work_says_why():
    assert len({(item.paper, item.kind, item.source, item.what, item.where) for item in ITEMS}) == len(ITEMS)
    for item in ITEMS:
        assert item.what
        assert item.source
        assert item.why, item
    assert not [item for item in ITEMS if item.kind is Kind.METHOD and item.state is State.NO], "no test names it"
    totals = [{name: int(value) for name, value in row.items() if name != "paper"} for row in counted(ITEMS)]
    assert all(row.pop("items") == sum(row.values()) for row in totals)


def test_states_follow_from_declarations():
    """A made-up paper with an experiment on data of every grade."""
    number = Printed("E", "Taxi", "an arm", "1", 0, "l1", 1.0, "table 9")
    claims = (Claim("PG4", "judged", "figure 7"), Claim("E", "never judged", "figure 8"))
    paper = replace(PAPERS[0], name="Nobody 1999", numbers=(number,), claims=claims, absent=(Absent("a", "b", "c"),))
    wanted = {
        StandsFor("Taxi"): (State.YES, State.YES),
        StandsFor("Taxi", "drawn anew", by_recipe=True): (State.YES, State.OTHER_DATA),
        StandsFor("Taxi", "generated"): (State.OTHER_DATA, State.OTHER_DATA),
    }
    base = find("PG4")
    for stands_for, (of_claim, of_data) in wanted.items():
        data = replace(TAXI, stands_for=stands_for)
        profiles = {profile: replace(scale, data=(data,)) for profile, scale in base.profiles.items()}
        items = all_items([replace(base, paper=paper, profiles=profiles, printed=())])
        states = {(item.kind, item.what): item.state for item in items}
        assert states == {
            (Kind.TABLE, base.title): of_claim,
            (Kind.CLAIM, "judged"): of_claim,
            (Kind.CLAIM, "never judged"): State.NO,
            (Kind.NUMBER, "1 number of Taxi"): State.NO,
            (Kind.DATA, "Taxi"): of_data,
            (Kind.TABLE, "a"): State.NO,
        }


@pytest.mark.slow
def test_the_command(tmp_path):
    done = CliRunner().invoke(app, ["items", "--out", str(tmp_path / "items.md")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "items.md").read_text("utf-8") == PAGE.read_text("utf-8")
