"""Every planted privacy bug is found, by checks that pass on the code as it is."""

import sys
from collections.abc import Callable, Iterator

import pytest
from mutants import MUTANTS, Plant, accounts, apart, laws, synthesis

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> Iterator[None]:
    """Empty the caches of the package: what a planted bug computed must not be found later, nor hide the bug."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(("pgsr.privacy.accounting", "pgsr.privacy.laws", "pgsr.noise", "pgsr.release.checks")):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


ELSEWHERE = {
    accounts.likelihoods_keep_every_budget,
    laws.check_noisy_totals_lose_their_epsilon,
    laws.check_values_lose_no_more_beside_noisy_totals,
    apart.releases_do_not_interfere,
    synthesis.rounds_are_charged_first,
}
"""Checks of the code as it is that are tests, too.

Of `test_accounting_noise_rho`, `test_assurance_likelihood`, `test_assurance_interference` and `test_synthesis_curator`.
"""

PLANTED = [(plant, check) for check, plants in MUTANTS.items() for plant in plants]


@pytest.mark.parametrize("check", sorted({*MUTANTS} - ELSEWHERE, key=lambda c: c.__name__), ids=lambda c: c.__name__)
def test_the_code_passes(check: Callable[[], object]) -> None:
    check()


@pytest.mark.parametrize(("plant", "check"), PLANTED, ids=lambda one: one.__name__)
def test_the_mutant_is_killed(plant: Plant, check: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check()


def test_mutants_are_many_and_named_once() -> None:
    assert len(set(PLANTED)) == len(PLANTED)
    assert len({plant for plant, _ in PLANTED}) >= 100
