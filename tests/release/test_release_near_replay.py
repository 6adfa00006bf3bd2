"""What the step `replay` lets through: a few roundings of methods in floating point, and optima that are equally near.

More than that is found, as the forgeries of the large releases in `forgeries.py` show.
"""

from functools import partial
from pathlib import Path

import numpy as np
from forgeries import counts, exchanged, made
from forging import Target
from made_measurements import cells_of
from made_tables import config, write_tables
from planned import planned

from pgsr.release import check, publish


def replayed(target: Target) -> tuple[str, list[str]]:
    """What the replay says, and the steps that found something."""
    found = check(target.folder).findings
    [sentence] = [finding.sentence for finding in found if finding.name == "replay"]
    return sentence, [finding.name for finding in found if not finding.passed]


def test_a_joint_replay_differs_by_a_few_roundings_at_most(tmp_path: Path) -> None:
    """The same machine gives the same counts. For others, of 25 x 1,001 cumulative counts two may differ, by one."""
    asked = made("large two_stage", tmp_path)
    target = Target(asked.output, asked)
    assert replayed(target)[0].endswith("gives the same counts from the noisy values, every one")
    for by, said in (
        (1, "up to rounding: 2 of 25,025 cumulative counts differ, by up to 1; up to 2 may"),
        (2, "2 of 25,025 cumulative counts differ, by up to 2; up to 2 may"),
    ):
        counts(partial(exchanged, 1, by), target)
        sentence, failed = replayed(target)
        assert said in sentence
        assert failed == ["replay"] * (by - 1)


def test_other_counts_that_cost_as_little_pass(tmp_path: Path) -> None:
    """Where two optima are equally near, which one is released is the method's choice, and either is proved."""
    write_tables(tmp_path, n_groups=6, leaves=[("US", "GA"), ("US", "MI")])
    asked = config(tmp_path, max_size="{nation = 3, state = 1}")
    target = Target(publish(asked).folder, asked)
    terms, tree, _, _ = target.known()
    noisy = np.array([[1, 0, 0, 1]]), np.array([[0, 0], [0, 0]])
    target.remake(planned(terms, tree).measured(tree, cells_of(noisy), np.array([2]), True), terms)

    def other(tables: list[np.ndarray]) -> None:
        tables[1][:] = tables[1][::-1].copy()

    counts(other, target)
    sentence, failed = replayed(target)
    assert "equally near" in sentence
    assert not {"certificate", "replay"} & set(failed)
