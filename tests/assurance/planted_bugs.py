"""Bugs of budget, bytes and law as patches of the real code: each function plants one, MonkeyPatch takes it away."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
from pytest import MonkeyPatch  # noqa: PT013

import pgsr.noise.step
import pgsr.privacy.budget
from pgsr import CountOfCounts
from pgsr.errors import BudgetError
from pgsr.experiments.kuo2018.choosing import ChosenByScore, ChosenByStatistic
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Ledger, Secure, Seeded
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import Budget, exact
from pgsr.privacy.laws import DoubleGeometric, inversion
from pgsr.privacy.random import ByteStream


def around(patch: MonkeyPatch, owner: Any, name: str, make: Callable[[Callable], Callable]) -> None:
    """Replace owner.name by make(owner.name)."""
    patch.setattr(owner, name, make(getattr(owner, name)))


def replacing(owner: Any, name: str) -> Callable[[Callable], Callable[[MonkeyPatch], None]]:
    """Make a bug of a function that stands in for owner.name: it gets that first, and then its arguments."""

    def of(bug: Callable) -> Callable[[MonkeyPatch], None]:
        @wraps(bug)
        def plant(patch: MonkeyPatch) -> None:
            around(patch, owner, name, lambda right: lambda *given, **named: bug(right, *given, **named))

        return plant

    return of


def with_row(found: Measurement, region: int, values: np.ndarray) -> Measurement:
    """The measurement with other values of one region."""
    matrix = found.matrix.copy()
    matrix[region] = values
    return replace(found, cells=matrix.ravel())


def by(helper: Callable[[MonkeyPatch, Callable], None]) -> Callable[[Callable], Callable[[MonkeyPatch], None]]:
    """Make a bug of the function that `helper` takes."""
    return lambda bug: wraps(bug)(lambda patch: helper(patch, bug))


# Budget


def float_split(patch: MonkeyPatch) -> None:
    def split(epsilon: Any, n_levels: int, shares: Any = None) -> Budget:
        parts = [1 / n_levels] * n_levels if shares is None else [float(exact(s, zero=True)) for s in shares]
        return Budget(tuple(Fraction(float(exact(epsilon)) * part) for part in parts))

    patch.setattr(Budget, "split", split)


def float_by_its_bits(patch: MonkeyPatch) -> None:
    around(patch, pgsr.privacy.budget, "fraction_of", lambda f: lambda v: Fraction(v) if isinstance(v, float) else f(v))


def whole_epsilon_on_every_level(patch: MonkeyPatch) -> None:
    patch.setattr(Budget, "split", lambda epsilon, n_levels, shares=None: Budget((exact(epsilon),) * n_levels))


@replacing(pgsr.privacy.budget, "fraction_of")
def infinite_epsilon(fraction_of: Callable, value: Any) -> Fraction:
    """Take an infinite epsilon, as libraries do that ask for epsilon > 0 alone."""
    return Fraction(10**9) if value == float("inf") else fraction_of(value)


def ledger_in_floats(patch: MonkeyPatch) -> None:
    def charge(ledger: Ledger, amount: Fraction | Loss, what: str, *_: object) -> None:
        amount = amount.parts[0] if isinstance(amount, Loss) else amount
        if float(amount) > float(ledger.left):
            raise BudgetError(what)
        ledger.spent.append((amount, what))

    patch.setattr(Ledger, "charge", charge)


@replacing(Geometric, "measure")
def charged_after_drawing(
    measure: Callable, noise: Geometric, truth: CountOfCounts, source: Any, ledger: Ledger | None = None
) -> Any:
    measurement = measure(noise, truth, source)
    if ledger is not None:
        ledger.charge(exact(noise.epsilon), "measuring")
    return measurement


@replacing(Geometric, "measure")
def charged_before_refusing(
    measure: Callable, noise: Geometric, truth: CountOfCounts, source: Any, ledger: Ledger | None = None
) -> Any:
    if ledger is not None:
        ledger.charge(exact(noise.epsilon), "measuring")
    return measure(noise, truth, source)


@replacing(Geometric, "after_root")
def second_step_of_twice_what_is_left(after_root: Callable, step: Geometric, *given: Any) -> Geometric:
    return replace(after_root(step, *given), epsilon=2 * exact(step.epsilon))


def best_of_two_at_the_price_of_one(patch: MonkeyPatch) -> None:
    """The accounting that Kuo et al. print."""
    patch.setattr(
        ChosenByScore, "epsilon", property(lambda c: max(m.epsilon for m in c.candidates) + exact(c.choice_epsilon))
    )


def statistic_for_nothing(patch: MonkeyPatch) -> None:
    patch.setattr(ChosenByStatistic, "epsilon", property(lambda c: max(m.epsilon for m in c.candidates)))


# Sources of bytes


def one_seed_for_all_regions(patch: MonkeyPatch) -> None:
    """Draw the same noise in all regions, as the published reference implementation does."""
    around(patch, Seeded, "stream", lambda f: lambda s, identity: f(s, replace(identity, path=(), level=0)))


def one_seed_from_the_fourth_level_down(patch: MonkeyPatch) -> None:
    """The key of a region holds the names of three levels."""
    around(patch, Seeded, "stream", lambda f: lambda s, identity: f(s, replace(identity, path=identity.path[:3])))


def one_seed_for_all_views(patch: MonkeyPatch) -> None:
    around(patch, Seeded, "stream", lambda f: lambda s, identity: f(s, replace(identity, view="")))


def one_seed_for_all_data_sets(patch: MonkeyPatch) -> None:
    around(patch, Seeded, "stream", lambda f: lambda s, identity: f(s, replace(identity, data_set="")))


def one_seed_for_all_replicates(patch: MonkeyPatch) -> None:
    around(patch, Seeded, "stream", lambda f: lambda s, identity: f(Seeded(s.key), identity))


def secure_with_a_seed(patch: MonkeyPatch) -> None:
    patch.setattr(Secure, "stream", lambda source, identity: Seeded("oops").stream(identity))


def seeded_that_claims_privacy(patch: MonkeyPatch) -> None:
    patch.setattr(Seeded, "secure", property(lambda source: True))


@replacing(DoubleGeometric, "add_to")
def one_draw_per_region(add_to: Callable, noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    one = np.zeros(1, np.int64)
    add_to(noise, one, stream)
    values += one


# The law


def scale_times(factor: Fraction) -> Callable[[MonkeyPatch], None]:
    @replacing(inversion, "table_of")
    def scale_times_a_factor(table_of: Callable, law: DoubleGeometric) -> object:
        return table_of(DoubleGeometric(law.scale * factor))

    return scale_times_a_factor


def thresholds_of_another_scale(patch: MonkeyPatch) -> None:
    around(patch, inversion, "thresholds", lambda f: lambda law: f(DoubleGeometric(law.scale * Fraction(1001, 1000))))


def zero_twice(patch: MonkeyPatch) -> None:
    """A sign on a geometric size, where +0 and -0 are both kept."""

    def add(noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        uniform = (stream.words(values.size) + 0.5) / 2**32
        size = np.floor(-np.log(uniform) * float(noise.scale)).astype(np.int64)
        values += (size * np.where(stream.words(values.size) % 2, 1, -1)).reshape(values.shape)

    patch.setattr(DoubleGeometric, "add_to", add)


def rounded_laplace(patch: MonkeyPatch) -> None:
    def add(noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        uniform = (stream.words(values.size) + 0.5) / 2**32
        size = -np.log(uniform) * float(noise.scale) * np.where(stream.words(values.size) % 2, 1, -1)
        values += np.rint(size).astype(np.int64).reshape(values.shape)

    patch.setattr(DoubleGeometric, "add_to", add)


@replacing(DoubleGeometric, "add_to")
def noise_of_one_sign(add_to: Callable, noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
    drawn = np.zeros_like(values)
    add_to(noise, drawn, stream)
    values += np.abs(drawn)


def ties_without_more_bits(patch: MonkeyPatch) -> None:
    """The tail ends with the table, and every tie is decided one way."""
    by_table = lambda noise, first, _: int(np.searchsorted(inversion.table_of(noise).thresholds, first))  # noqa: E731
    patch.setattr(inversion, "decide", by_table)
