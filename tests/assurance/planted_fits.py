"""Bugs of adaptive fits as patches of the real code: each function plants one, MonkeyPatch takes it away."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import synthesis_fits
from planted_bugs import around, replacing
from pytest import MonkeyPatch  # noqa: PT013

from pgsr.synthesis import Population
from pgsr.synthesis.queries import adaptive, curator
from pgsr.synthesis.queries.curator import Curator
from pgsr.synthesis.queries.transcript import MeasuredQuery, RhoLedger


def stopped_by_the_truth(patch: MonkeyPatch) -> None:
    """No more rounds where all answers are good: how many there were tells how good the guess was."""
    known: list[tuple[Curator, np.ndarray]] = []

    def noted(select: Callable) -> Callable:
        def selected(self: Curator, estimates: np.ndarray) -> int:
            known[:] = [(self, estimates)]
            return select(self, estimates)

        return selected

    def rounds(given: Iterable[int], **_: Any) -> Iterator[int]:
        for number in given:
            if known:
                keeper, estimates = known[0]
                if np.abs(keeper._scaled / keeper._grid - estimates).mean() < 0.4:
                    return
            yield number
        known.clear()

    around(patch, Curator, "select", noted)
    patch.setattr(adaptive, "tqdm", rounds)


@replacing(RhoLedger, "charge")
def selections_for_nothing(charge: Callable, ledger: RhoLedger, amount: Any, what: str) -> Any:
    """Only measurements are charged."""
    return None if what.startswith("selection") else charge(ledger, amount, what)


def charged_at_the_end(patch: MonkeyPatch) -> None:
    """All rounds in one, when the fit is done."""
    charge = RhoLedger.charge
    owed: list[tuple[RhoLedger, Any, str]] = []
    patch.setattr(RhoLedger, "charge", lambda ledger, amount, what: owed.append((ledger, amount, what)))

    def settled(fit: Callable) -> Callable:
        def fitted(*arguments: Any, **names: Any) -> Any:
            found = fit(*arguments, **names)
            while owed:
                charge(*owed.pop(0))
            return found

        return fitted

    around(patch, synthesis_fits, "fit", settled)


def half_the_sensitivity(patch: MonkeyPatch) -> None:
    """A replaced person counted as one that leaves, without the one that comes."""
    around(patch, curator, "sensitivity", lambda f: lambda *arguments: f(*arguments) / 2)


@replacing(Curator, "measure")
def no_noise_for_empty_cells(measure: Callable, self: Curator, query: int) -> MeasuredQuery:
    found = measure(self, query)
    return MeasuredQuery(query, 0.0) if self._counts[query] == 0 else found


@replacing(Curator, "__init__")
def true_number_of_persons(make: Callable, self: Curator, population: Population, *rest: Any, **names: Any) -> None:
    """It is known, so why not use it: also where it is private."""
    names["n_persons"] = population.n_persons
    make(self, population, *rest, **names)


@replacing(Curator, "select")
def best_query_by_the_truth(select: Callable, self: Curator, estimates: np.ndarray) -> int:
    """The exponential mechanism is asked, charged for, and overruled where another query is clearly worse."""
    found = select(self, estimates)
    errors = np.abs(self._scaled / self._grid - estimates) * self._open
    return int(errors.argmax()) if errors.max() > 2 * errors[found] else found
