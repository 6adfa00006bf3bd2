"""Bugs of the accounting of noise as patches of the real code: each function plants one, MonkeyPatch takes it away."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp
from typing import Any

from planted_bugs import around, replacing
from pytest import MonkeyPatch  # noqa: PT013

from pgsr.privacy.accounting import composition, loss_distribution, loss_of_noise, noise_rho, search
from pgsr.privacy.accounting.loss_distribution import LossDistribution
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise, Law
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity


@replacing(noise_rho, "_geometric_rho")
def rho_of_laplace_noise(_: Callable, rate: Fraction, changes: dict[int, int]) -> Fraction:
    """The rho of continuous Laplace noise, t + exp(-t) - 1, which is less than that of double-geometric noise."""
    return sum((Fraction(k * float(rate) + exp(-k * rate) - 1) * n for k, n in changes.items()), Fraction(0))


@replacing(noise_rho, "_geometric_rho")
def rho_of_pure_epsilon(_: Callable, rate: Fraction, changes: dict[int, int]) -> Fraction:
    """epsilon^2 / 2 holds, and is more than geometric noise costs."""
    return sum((n * (k * rate) ** 2 / 2 for k, n in changes.items()), Fraction(0))


def rho_of_one_cell(patch: MonkeyPatch) -> None:
    """The cells that change count once, however many they are."""
    around(patch, noise_rho, "_geometric_rho", lambda f: lambda rate, changes: f(rate, dict.fromkeys(changes, 1)))


def rho_rounded_down(patch: MonkeyPatch) -> None:
    around(patch, noise_rho, "rounded_down", lambda f: lambda x: f(x) if x > 0 else -f(-x))


@replacing(noise_rho, "rho_of_law")
def gaussian_rho_of_the_l1_norm(rho_of_law: Callable, law: Law, change: list[int]) -> Fraction:
    """(sum of k)^2 in place of the sum of k^2, divided by the number of cells."""
    if not isinstance(law, DiscreteGaussian):
        return rho_of_law(law, change)
    return Fraction(sum(change) ** 2, len(change)) / (2 * law.sigma_squared)


@replacing(noise_rho, "largest")
def epsilon_of_rho_rounded_up(largest: Callable, *given: Any, **named: Any) -> Fraction:
    return largest(*given, **named) * (1 + Fraction(1, 10**8))


def chances_rounded_down(patch: MonkeyPatch) -> None:
    for module in (loss_distribution, loss_of_noise):
        patch.setattr(module, "shifted_up", lambda a, bits: a >> bits)
        patch.setattr(module, "divided_up", lambda a, b: a // b)


@replacing(LossDistribution, "delta")
def delta_rounded_down(delta: Callable, self: LossDistribution, epsilon: Fraction) -> Fraction:
    """Round delta to three digits after the first, as for print."""
    exact = delta(self, epsilon)
    return search.decimal_down(exact, 3) if exact else exact


@replacing(LossDistribution, "epsilon")
def epsilon_of_delta_rounded_down(epsilon: Callable, self: LossDistribution, delta: Fraction) -> Fraction | None:
    exact = epsilon(self, delta)
    return exact and search.decimal_down(exact, 6)


@replacing(LossDistribution, "on")
def losses_moved_down(on: Callable, self: LossDistribution, step: Fraction) -> LossDistribution:
    """A loss between two multiples of the step becomes the lower one."""
    return replace(on(replace(self, above=False), step), above=self.above)


def a_level_left_out(patch: MonkeyPatch) -> None:
    """The exact distribution knows a kind of level once, however many levels are of it."""
    around(patch, composition, "loss_of_cells", lambda f: lambda cells, *rest: f(dict.fromkeys(cells, 1), *rest))


@replacing(GeometricNoise, "law")
def half_the_sensitivity_of_geometric_noise(_: Callable, noise: GeometricNoise, sensitivity: Sensitivity) -> Law:
    return DoubleGeometric(Fraction(sensitivity.l1, 2) / noise.epsilon)


@replacing(GaussianNoise, "law")
def half_the_sensitivity_of_gaussian_noise(_: Callable, noise: GaussianNoise, sensitivity: Sensitivity) -> Law:
    return DiscreteGaussian(Fraction(sensitivity.l2_squared, 4) / (2 * noise.rho))


@replacing(composition, "loss_of_cells")
def half_the_sensitivity_of_counts(loss_of_cells: Callable, cells: dict, *rest: Any) -> LossDistribution:
    """The exact distribution counts one changed cell where two change."""
    return loss_of_cells({cell: max(1, n // 2) for cell, n in cells.items()}, *rest)


@replacing(composition, "loss_of_cells")
def larger_changes_taken_for_changes_by_one(loss_of_cells: Callable, cells: dict, *rest: Any) -> LossDistribution:
    """The exact distribution knows how many cells change, not by how much."""
    by_one = {(law, 1): n * len(k) if isinstance(k, tuple) else n for (law, k), n in cells.items()}
    return loss_of_cells(by_one, *rest)


def the_least_of_several_changes(patch: MonkeyPatch) -> None:
    """Take the least delta where several larger changes are compared."""
    around(patch, loss_of_noise, "_envelope", lambda f: lambda parts: parts[-1])


def the_first_of_several_changes(patch: MonkeyPatch) -> None:
    patch.setattr(Sensitivity, "l1", property(lambda self: max(self.changes[0])))


def sigma_times(factor: Fraction) -> Callable[[MonkeyPatch], None]:
    """Gaussian noise is drawn with another sigma than the one that is stated."""

    @replacing(DiscreteGaussian, "add_to")
    def sigma_times_a_factor(add_to: Callable, law: DiscreteGaussian, *rest: Any) -> None:
        add_to(DiscreteGaussian(law.sigma_squared * factor**2), *rest)

    return sigma_times_a_factor


@replacing(GaussianNoise, "law")
def sigma_for_its_square(_: Callable, noise: GaussianNoise, sensitivity: Sensitivity) -> Law:
    """sigma where sigma^2 belongs, to five digits."""
    return DiscreteGaussian(Fraction(round(1e5 * (sensitivity.l2_squared / (2 * float(noise.rho))) ** 0.5), 10**5))
