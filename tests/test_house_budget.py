"""No wing of the house grows unseen: what is counted stays below its ceiling, and the ceiling close above it."""

from dataclasses import replace

import pytest
from house_budget import COUNTED, ROOT, Wing, wings

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
