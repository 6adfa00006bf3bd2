"""Bugs of the accounting of noise as patches of the real code: each function plants one, MonkeyPatch takes it away."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp

from planted_bugs import around
from pytest import MonkeyPatch  # noqa: PT013

from pgsr.privacy.accounting import composing, loss_distribution, loss_of_noise, noise_rho, search
from pgsr.privacy.accounting.loss_distribution import LossDistribution
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, GeometricNoise
from pgsr.privacy.laws.per_level import GaussianNoise
from pgsr.privacy.sensitivity import Sensitivity


def rho_of_laplace_noise(patch: MonkeyPatch) -> None:
    """The rho of continuous Laplace noise, t + exp(-t) - 1, which is less than that of double-geometric noise."""

    def laplace(rate: Fraction, changes: dict[int, int]) -> tuple[Fraction, Fraction]:
        rho = sum((Fraction(k * float(rate) + exp(-k * rate) - 1) * n for k, n in changes.items()), Fraction(0))
        return rho, rho

    patch.setattr(noise_rho, "_geometric_rho", laplace)


def rho_of_pure_epsilon(patch: MonkeyPatch) -> None:
    """epsilon^2 / 2 holds, and is more than geometric noise costs."""

    def general(rate: Fraction, changes: dict[int, int]) -> tuple[Fraction, Fraction]:
        rho = sum((n * (k * rate) ** 2 / 2 for k, n in changes.items()), Fraction(0))
        return rho, rho

    patch.setattr(noise_rho, "_geometric_rho", general)


def rho_of_one_cell(patch: MonkeyPatch) -> None:
    """The cells that change count once, however many they are."""
    around(patch, noise_rho, "_geometric_rho", lambda f: lambda rate, changes: f(rate, dict.fromkeys(changes, 1)))


def rho_rounded_down(patch: MonkeyPatch) -> None:
    around(patch, noise_rho, "rounded_down", lambda f: lambda x: f(x) if x > 0 else -f(-x))


def gaussian_rho_of_the_l1_norm(patch: MonkeyPatch) -> None:
    """(sum of k)^2 in place of the sum of k^2, divided by the number of cells."""

    def rho(law: DoubleGeometric | DiscreteGaussian, change: list[int]) -> Fraction:
        return Fraction(sum(change) ** 2, len(change)) / (2 * law.sigma_squared)

    around(
        patch,
        noise_rho,
        "rho_of_law",
        lambda f: lambda law, change: rho(law, change) if isinstance(law, DiscreteGaussian) else f(law, change),
    )


def epsilon_of_rho_rounded_up(patch: MonkeyPatch) -> None:
    around(
        patch,
        noise_rho,
        "largest",
        lambda f: lambda fits, start, digits: f(fits, start, digits) * (1 + Fraction(1, 10**8)),
    )


def chances_rounded_down(patch: MonkeyPatch) -> None:
    for module in (loss_distribution, loss_of_noise):
        patch.setattr(module, "shifted_up", lambda a, bits: a >> bits)
        patch.setattr(module, "divided_up", lambda a, b: a // b)


def delta_rounded_down(patch: MonkeyPatch) -> None:
    """Round delta to three digits after the first, as for print."""

    def rounded(delta: Callable) -> Callable:
        def found(self: LossDistribution, epsilon: Fraction) -> Fraction:
            exact = delta(self, epsilon)
            return search.decimal_down(exact, 3) if exact else exact

        return found

    around(patch, LossDistribution, "delta", rounded)


def epsilon_of_delta_rounded_down(patch: MonkeyPatch) -> None:
    def rounded(epsilon: Callable) -> Callable:
        def found(self: LossDistribution, delta: Fraction) -> Fraction | None:
            exact = epsilon(self, delta)
            return exact and search.decimal_down(exact, 6)

        return found

    around(patch, LossDistribution, "epsilon", rounded)


def losses_moved_down(patch: MonkeyPatch) -> None:
    """A loss between two multiples of the step becomes the lower one."""

    def moved(on: Callable) -> Callable:
        def found(self: LossDistribution, step: Fraction) -> LossDistribution:
            return replace(on(replace(self, above=False), step), above=self.above)

        return found

    around(patch, LossDistribution, "on", moved)


def a_level_left_out(patch: MonkeyPatch) -> None:
    """The exact distribution knows a kind of level once, however many levels are of it."""
    around(patch, composing, "loss_of_cells", lambda f: lambda cells, *rest: f(dict.fromkeys(cells, 1), *rest))


def half_the_sensitivity_of_geometric_noise(patch: MonkeyPatch) -> None:
    patch.setattr(
        GeometricNoise,
        "law",
        lambda self, sensitivity: DoubleGeometric(Fraction(sensitivity.l1, 2) / self.epsilon),
    )


def half_the_sensitivity_of_gaussian_noise(patch: MonkeyPatch) -> None:
    patch.setattr(
        GaussianNoise,
        "law",
        lambda self, sensitivity: DiscreteGaussian(Fraction(sensitivity.l2_squared, 4) / (2 * self.rho)),
    )


def half_the_sensitivity_of_counts(patch: MonkeyPatch) -> None:
    """The exact distribution counts one changed cell where two change."""
    around(
        patch,
        composing,
        "loss_of_cells",
        lambda f: lambda cells, *rest: f({cell: max(1, n // 2) for cell, n in cells.items()}, *rest),
    )


def larger_changes_taken_for_changes_by_one(patch: MonkeyPatch) -> None:
    """The exact distribution knows how many cells change, not by how much."""

    def by_one(cells: dict) -> dict:
        return {(law, 1): n * len(k) if isinstance(k, tuple) else n for (law, k), n in cells.items()}

    around(patch, composing, "loss_of_cells", lambda f: lambda cells, *rest: f(by_one(cells), *rest))


def the_least_of_several_changes(patch: MonkeyPatch) -> None:
    """Take the least delta where several larger changes are compared."""
    around(patch, loss_of_noise, "_envelope", lambda f: lambda parts: parts[-1])


def the_first_of_several_changes(patch: MonkeyPatch) -> None:
    patch.setattr(Sensitivity, "l1", property(lambda self: max(self.changes[0])))


def sigma_times(factor: Fraction) -> Callable[[MonkeyPatch], None]:
    """Gaussian noise is drawn with another sigma than the one that is stated."""

    def plant(patch: MonkeyPatch) -> None:
        def drawn(add_to: Callable) -> Callable:
            return lambda law, *rest: add_to(DiscreteGaussian(law.sigma_squared * factor**2), *rest)

        around(patch, DiscreteGaussian, "add_to", drawn)

    return plant


def sigma_for_its_square(patch: MonkeyPatch) -> None:
    """sigma where sigma^2 belongs, to five digits."""

    def law(self: GaussianNoise, sensitivity: Sensitivity) -> DiscreteGaussian:
        return DiscreteGaussian(Fraction(round(1e5 * (sensitivity.l2_squared / (2 * float(self.rho))) ** 0.5), 10**5))

    patch.setattr(GaussianNoise, "law", law)
