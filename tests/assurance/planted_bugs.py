"""Bugs of budget, bytes and law as patches of the real code: each function plants one, MonkeyPatch takes it away."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from pytest import MonkeyPatch  # noqa: PT013

import pgsr.noise.step
import pgsr.privacy.budget
from pgsr import CountOfCounts
from pgsr.errors import BudgetError
from pgsr.experiments.kuo2018.choosing import ChosenByScore, ChosenByStatistic
from pgsr.noise import Geometric
from pgsr.privacy import Ledger, Secure, Seeded
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import Budget, exact
from pgsr.privacy.laws import DoubleGeometric, inversion
from pgsr.privacy.random import ByteStream


def around(patch: MonkeyPatch, owner: Any, name: str, make: Callable[[Callable], Callable]) -> None:
    """Replace owner.name by make(owner.name)."""
    patch.setattr(owner, name, make(getattr(owner, name)))


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


def infinite_epsilon(patch: MonkeyPatch) -> None:
    """Take an infinite epsilon, as libraries do that ask for epsilon > 0 alone."""
    around(
        patch, pgsr.privacy.budget, "fraction_of", lambda f: lambda v: Fraction(10**9) if v == float("inf") else f(v)
    )


def ledger_in_floats(patch: MonkeyPatch) -> None:
    def charge(ledger: Ledger, amount: Fraction | Loss, what: str, *_: object) -> None:
        amount = amount.parts[0] if isinstance(amount, Loss) else amount
        if float(amount) > float(ledger.left):
            raise BudgetError(what)
        ledger.spent.append((amount, what))

    patch.setattr(Ledger, "charge", charge)


def charged_after_drawing(patch: MonkeyPatch) -> None:
    def late(measure: Callable) -> Callable:
        def measured(noise: Geometric, truth: CountOfCounts, source: Any, ledger: Ledger | None = None) -> Any:
            measurement = measure(noise, truth, source)
            if ledger is not None:
                ledger.charge(exact(noise.epsilon), "measuring")
            return measurement

        return measured

    around(patch, Geometric, "measure", late)


def charged_before_refusing(patch: MonkeyPatch) -> None:
    def early(measure: Callable) -> Callable:
        def measured(noise: Geometric, truth: CountOfCounts, source: Any, ledger: Ledger | None = None) -> Any:
            if ledger is not None:
                ledger.charge(exact(noise.epsilon), "measuring")
            return measure(noise, truth, source)

        return measured

    around(patch, Geometric, "measure", early)


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


def one_draw_per_region(patch: MonkeyPatch) -> None:
    def alike(add_to: Callable) -> Callable:
        def add(noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
            one = np.zeros(1, np.int64)
            add_to(noise, one, stream)
            values += one

        return add

    around(patch, DoubleGeometric, "add_to", alike)


# The law


def scale_times(factor: Fraction) -> Callable[[MonkeyPatch], None]:
    return lambda patch: around(
        patch, inversion, "table_of", lambda f: lambda law: f(DoubleGeometric(law.scale * factor))
    )


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


def noise_of_one_sign(patch: MonkeyPatch) -> None:
    def positive(add_to: Callable) -> Callable:
        def add(noise: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
            drawn = np.zeros_like(values)
            add_to(noise, drawn, stream)
            values += np.abs(drawn)

        return add

    around(patch, DoubleGeometric, "add_to", positive)


def ties_without_more_bits(patch: MonkeyPatch) -> None:
    """The tail ends with the table, and every tie is decided one way."""
    patch.setattr(
        inversion,
        "decide",
        lambda noise, first_bits, stream: int(np.searchsorted(inversion.table_of(noise).thresholds, first_bits)),
    )
