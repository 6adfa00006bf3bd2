"""The conditions of adaptive fits' privacy claim: functions that raise AssertionError where one does not hold."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import synthesis_fits as fits

from pgsr.errors import PgsrError
from pgsr.privacy import Seeded
from pgsr.synthesis import Population
from pgsr.synthesis.data.domain import Neighbours
from pgsr.synthesis.queries import adaptive, curator
from pgsr.synthesis.queries.curator import Curator
from pgsr.synthesis.queries.transcript import RhoLedger
from tests.synthesis import test_synthesis_curator

N_GROUPS = 12


def fits_are_blind() -> None:
    """Selected alike and with the same noisy counts, any two populations of the same public size are fitted alike.

    Rounds, answers, history and charges are compared. Where persons may be added or removed, their number differs.
    """
    for neighbours in Neighbours:
        found = [_blindly(truth, neighbours) for truth in _far(neighbours)]
        assert all(one == found[0] for one in found), f"{neighbours}: something besides noisy answers tells of the data"
        spent, left = found[0][-2:]
        assert len(spent) == 2 * fits.BUDGET.rounds, "an operation was not charged, or one was left out"
        assert left == 0


def rounds_cost_what_is_charged() -> None:
    """Check all neighbours of small populations, both by replacement and removal; equality is attained."""
    for neighbours in (Neighbours.REPLACE, Neighbours.ADD_REMOVE):
        with pytest.MonkeyPatch.context() as patch:
            test_synthesis_curator.test_neighbours_are_told_apart_no_better_than_charged(neighbours, patch)


def rounds_are_charged_first() -> None:
    """Every selection and every measurement, before a byte is asked for."""
    test_synthesis_curator.test_charged_before_drawn()


def _far(neighbours: Neighbours) -> Iterator[Population]:
    """Groups of one kind of person, of another, and mixed ones."""
    largest = fits.DOMAIN.max_size
    sizes = np.resize([1, 2, largest], N_GROUPS)
    for number in range(4):
        ours = np.resize([1, largest, 2, 1][number:], N_GROUPS) if neighbours is Neighbours.ADD_REMOVE else sizes
        n = int(ours.sum())
        persons = {
            0: np.zeros((n, 2), int),
            1: np.tile([1, 2], (n, 1)),
            2: np.column_stack([np.arange(n) % 2, np.arange(n) % 3]),
            3: np.tile([0, 1], (n, 1)),
        }[number]
        homes = np.full((N_GROUPS, 1), number % 2)
        yield Population(fits.DOMAIN, homes, persons, np.repeat(np.arange(N_GROUPS), ours), np.zeros(n, int))


def _blindly(truth: Population, neighbours: Neighbours) -> tuple:
    asked: list[int] = []
    measure, ledger = Curator.measure, RhoLedger(fits.BUDGET.rho)

    def noted(self: Curator, query: int) -> Any:
        asked.append(query)
        return measure(self, query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curator, "exponential_mechanism", lambda scores, rate, stream: 3 * len(scores) // 7)
        patch.setattr(curator, "with_noise", lambda counts, law, stream: np.array([asked[-1] % 9 + 2]))
        patch.setattr(Curator, "measure", noted)
        try:
            fitted = adaptive.fit(
                truth,
                fits.WORKLOAD,
                fits.Memory(),
                fits.BUDGET,
                source=Seeded("blind"),
                neighbours=neighbours,
                n_persons=24,
                ledger=ledger,
            )
        except PgsrError as error:
            raise AssertionError(f"no fit: {error}") from error
    told = fitted.transcript
    history = tuple((r.query, r.surprise, r.largest, r.mean) for r in fitted.history)
    facts = told.n_groups, told.n_persons, told.measured, str(told.privacy)
    answers = fitted.distribution.answers(fits.WORKLOAD).tobytes()
    return facts, history, answers, tuple(ledger.spent), ledger.left
