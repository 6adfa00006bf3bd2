"""The ratchet of the house: what is counted in a wing stays at its least, and pages tell no history."""

import re
from dataclasses import replace

import pytest
from house_budget import BUDGET, RATCHET, ROOT, STEPS, Wing, history, pages, raised, turn, wings

WINGS = wings()


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.name)
def test_a_wing_keeps_its_ceilings(wing: Wing) -> None:
    assert wing.files
    assert not wing.faults()
    assert set(wing.ceilings) == set(wing.counts)


def test_every_folder_of_the_budget_exists() -> None:
    folders = [folder for wing in WINGS for folder in (*wing.folders, *wing.without)]
    assert not [folder for folder in folders if not (ROOT / folder).exists()]


def test_every_file_of_the_package_is_in_one_wing() -> None:
    apart = [wing for wing in WINGS if wing.name != "package"]
    together = next(wing for wing in WINGS if wing.name == "package")
    files = [path.relative_to(ROOT).as_posix() for path in together.files]
    assert not [file for file in files if sum(wing.holds(file) for wing in apart) != 1]


def test_one_line_more_or_a_ceiling_left_behind_is_named() -> None:
    wing = WINGS[0]
    count, least = wing.counts["lines"], wing.turned["lines"]
    below = replace(wing, ceilings=wing.counts | {"lines": count - 1})
    above = replace(wing, ceilings=wing.counts | {"lines": least + STEPS["lines"]})
    assert [f"is {count:,}, above {count - 1:,}" in fault for fault in below.faults()] == [True]
    assert [f"--turn` writes {least:,}" in fault for fault in above.faults()] == [True]


def test_no_number_was_raised_but_by_the_repair_of_a_wrong_answer() -> None:
    texts = history()
    if texts is None:
        pytest.skip("no history of the repository here, or a part of it")
    assert not raised([*texts, BUDGET.read_text(encoding="utf-8")])


def test_a_raised_number_is_found_at_whatever_commit_it_was_lower() -> None:
    once, lower = '[a]\nfolders = ["pgsr"]\nlines = 500\n', '[a]\nfolders = ["pgsr"]\nlines = 250\n'
    assert raised([once, lower]) == {}
    assert raised([once, lower, once, once]) == {("a", "lines"): (250, 500)}
    assert raised([once, lower, f'{once}[a.repairs]\nlines = "a total was wrong"\n']) == {}


def test_the_ratchet_turns_down_and_keeps_the_comments() -> None:
    text = BUDGET.read_text(encoding="utf-8")
    assert text.startswith(RATCHET)
    lines = WINGS[0].ceilings["lines"]
    higher = text.replace(f"lines = {lines}", f"lines = {lines + 1_000}", 1)
    assert higher != text
    assert turn(higher) == turn(text) == text


HISTORY = re.compile(r"earlier version|former|this version|was measured again|nobody here has had", re.IGNORECASE)


def test_pages_say_what_their_reader_can_do_and_tell_no_history() -> None:
    """The front page, the lists of changes and of notebooks, and how to contribute open in ways of their own."""
    apart = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "notebooks/README.md", "pgsr/release/THREATS.md"}
    for name in pages():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert name in apart or "After this page you can" in text[:400], name
        assert text.count("\n# ") + text.startswith("# ") == 1 or "```" in text, name
        assert not HISTORY.search(text), (name, HISTORY.search(text))
