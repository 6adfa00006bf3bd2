"""Every planted privacy bug is found, by checks that pass on the code as it is.

All checks run on the code as it is, in `make test` too: a lot that left one out would leave its condition unchecked.
The lot chooses among the bugs alone.
"""

import sys
from collections.abc import Callable, Iterator

import pytest
from mutants import MUTANTS, Mutant, accounts, laws

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


COUNTED = {
    accounts.likelihoods_keep_every_budget,
    laws.check_noisy_totals_lose_their_epsilon,
    laws.check_values_lose_no_more_beside_noisy_totals,
}
"""Checks that count what they compare: `test_accounting_noise_rho` and `test_assurance_likelihood` run them always."""

CHECKS = {m.killer for m in MUTANTS} - COUNTED


@pytest.mark.parametrize("check", sorted(CHECKS, key=lambda c: c.__name__), ids=lambda c: c.__name__)
def test_the_code_passes(check: Callable[[], object], counted: Callable[[int, str], None]) -> None:
    check()
    counted(1, "checks")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_mutant_is_killed(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch, counted: Callable[[int, str], None]
) -> None:
    mutant.plant(monkeypatch)
    with pytest.raises(AssertionError):
        mutant.killer()
    counted(1, "bugs, killed")


def test_mutants_are_many_and_named_once() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.plant for mutant in MUTANTS}) >= 100
