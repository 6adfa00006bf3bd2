"""The self-test accepts the sampler and rejects broken ones."""

import time
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from instances import rng_of
from scipy.stats import kstest

from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.privacy.laws.gaussian_sums import GaussianSizes
from pgsr.privacy.laws.inversion import Thresholds, table_of, thresholds
from pgsr.release.make.selftest import REJECT, expected_thresholds, selftest, sign_p_value, size_p_value
from pgsr.release.publishing.findings import Outcome

MODULE = import_module("pgsr.release.make.selftest")  # its name in the package is that of the function
SIX = DoubleGeometric(Fraction(6))
SCALES = [Fraction(*pair) for pair in ((1, 10), (1, 3), (1, 1), (2, 1), (6, 1), (60, 1), (1000, 7), (3000, 1))]


def failed(report) -> set[str]:
    return {finding.name.split()[0] for finding in report.findings if finding.outcome is Outcome.FAILED}


@pytest.mark.parametrize("law_scale", SCALES)
def test_two_computations_agree(law_scale):
    assert thresholds(DoubleGeometric(law_scale)) == expected_thresholds(DoubleGeometric(law_scale))


def test_one_setting_takes_less_than_a_second():
    selftest([DoubleGeometric(Fraction(2))])  # compiles
    start = time.process_time()
    report = selftest([DoubleGeometric(Fraction(1000))])
    assert time.process_time() - start < 1
    assert report.passed, report


def test_without_laws_the_bytes_are_tested():
    assert {f.name for f in selftest([]).findings} == {"byte source", "secure streams"}


@pytest.mark.few(2)
@pytest.mark.parametrize("sigma_squared", ["1/100", "1/2", "5/2", "3600", "1048576"])
def test_two_computations_of_gaussian_laws_agree(sigma_squared):
    for sides in (1, 2):
        sizes = GaussianSizes(1 / (2 * Fraction(sigma_squared)), sides)
        assert thresholds(sizes) == expected_thresholds(sizes)


@pytest.mark.few(1)
@pytest.mark.parametrize("sigma_squared", ["1/2", "5/2", "3600", "100000000"])
def test_gaussian_laws_pass_and_broken_ones_are_found(monkeypatch, sigma_squared):
    law, add_to = DiscreteGaussian(Fraction(sigma_squared)), DiscreteGaussian.add_to
    report = selftest([law])
    assert report.passed, report
    assert {f.name.split()[0] for f in report.findings} == {"byte", "secure", "law", "fit"}
    wider = DiscreteGaussian(law.sigma_squared * 4 + 1)
    monkeypatch.setattr(DiscreteGaussian, "add_to", lambda _law, values, stream: add_to(wider, values, stream))
    assert failed(selftest([law])) == {"fit"}


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize("place", [0, 5, -2])
def test_one_wrong_threshold_is_found(monkeypatch, change, place):
    right = table_of(DoubleGeometric(Fraction(6))).thresholds
    wrong = right.astype(np.int64)
    wrong[place] += change
    wrong = wrong.astype(np.uint32)
    monkeypatch.setattr(MODULE, "table_of", lambda _law: Thresholds(wrong))
    assert "law" in failed(selftest([SIX]))


@pytest.mark.parametrize("change", [1, -1])
def test_a_wrong_guide_cell_is_found(monkeypatch, change):
    table = Thresholds(table_of(DoubleGeometric(Fraction(6))).thresholds)
    table.guide[40_000] += change
    monkeypatch.setattr(MODULE, "table_of", lambda _law: table)
    assert failed(selftest([SIX])) == {"law"}


def mutant(name):
    add_to = DoubleGeometric.add_to

    def broken(law, values, stream):
        if name == "half the scale":
            add_to(DoubleGeometric(law.scale / 2), values, stream)
        elif name == "no noise":
            pass
        elif name == "one sign":
            add_to(law, values, stream)
            np.abs(values, out=values)
        else:  # zero twice
            add_to(law, values, stream)
            again = np.zeros_like(values)
            add_to(law, again, stream)
            values[values == 0] = again[values == 0]

    return broken


@pytest.mark.parametrize("name", ["half the scale", "no noise", "one sign", "zero twice"])
def test_broken_samplers_are_found(monkeypatch, name):
    monkeypatch.setattr(DoubleGeometric, "add_to", mutant(name))
    assert failed(selftest([SIX])) == {"fit"}


@pytest.mark.slow
def test_p_values_are_those_of_a_right_test():
    """Under the law they are spread evenly over 0..1."""
    rng = rng_of(4)
    a = np.exp(-1 / 6)
    draws = rng.geometric(1 - a, (600, 5_000)) - rng.geometric(1 - a, (600, 5_000))
    for p in ([size_p_value(row, SIX) for row in draws], [sign_p_value(row) for row in draws]):
        assert kstest(p, "uniform").pvalue > 1e-6
        assert np.min(p) > REJECT
