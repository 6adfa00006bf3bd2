"""No wing of the house grows unseen: what is counted stays below its ceiling, and the ceiling close above it."""

import re
from dataclasses import replace

import pytest
from house_budget import COUNTED, ROOT, Wing, wings, words_of_pages

WINGS = wings()


@pytest.mark.parametrize("wing", WINGS, ids=lambda wing: wing.name)
def test_a_wing_keeps_its_ceilings(wing: Wing) -> None:
    assert wing.files
    assert not wing.faults()
    assert set(wing.ceilings) <= set(COUNTED)


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
    count = wing.counts["lines"]
    below = replace(wing, ceilings=wing.counts | {"lines": count - 1})
    above = replace(wing, ceilings=wing.counts | {"lines": int(count * 1.03) + 1})
    assert [f"is {count}, above {count - 1}" in fault for fault in below.faults()] == [True]
    assert [f"write {count}" in fault for fault in above.faults()] == [True]


def test_a_page_keeps_its_words() -> None:
    """Every page has a ceiling: what it gains goes from somewhere else, or the ceiling is raised and said why."""
    pages = words_of_pages()
    assert not {name: words for name, words in pages.items() if words[1] is None or words[0] > words[1]}


HISTORY = re.compile(r"earlier version|former|this version|was measured again|nobody here has had", re.IGNORECASE)


def test_pages_say_what_their_reader_can_do_and_tell_no_history() -> None:
    """The front page, the lists of changes and of notebooks, and how to contribute open in ways of their own."""
    apart = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "notebooks/README.md", "pgsr/release/THREATS.md"}
    for name in words_of_pages():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert name in apart or "After this page you can" in text[:400], name
        assert text.count("\n# ") + text.startswith("# ") == 1 or "```" in text, name
        assert not HISTORY.search(text), (name, HISTORY.search(text))
