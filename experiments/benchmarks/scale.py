"""The benchmarks of the hierarchical optima at national scale, each beside general solvers, and of their growth."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from pgsr import CountOfCounts, Problem, Result, View
from pgsr.algorithms import (
    CumulativeIntegers,
    CumulativeProjection,
    RegionTotalsProjection,
    TreeProjection,
)
from pgsr.datasets import census_like
from pgsr.estimators.two_stage import TwoStage
from pgsr.machine.isolation import run_isolated
from pgsr.methods import Method, PostProcess
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Seeded


@dataclass(frozen=True)
class NationalProblem:
    """A problem at national scale.

    Attributes:
        name: of the benchmark row.
        view: what is measured.
        state: the problem, from the measurement and, where entities are public, the truth; None for a post-process.
        method: ours.
        peers: general solvers on the same problem, for `pgsr.experiments.benchmarks.peers`.
    """

    name: str
    view: View
    state: Callable[[Measurement, CountOfCounts], Problem] | None
    method: Method | PostProcess
    peers: tuple[Method, ...] = ()


def m_h(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_h(noisy)


def m_h_relaxed(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_h(noisy).relaxed()


def m_h_regions(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_h(noisy, totals="regions")


def m_h_regions_relaxed(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_h(noisy, totals="regions").relaxed()


def m_c(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_c(noisy)


def m_c_relaxed(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_c(noisy).relaxed()


def m_c_regions_relaxed(noisy: Measurement, _: CountOfCounts) -> Problem:
    return Problem.m_c(noisy, totals="regions").relaxed()


QUESTIONS = (
    NationalProblem("m_h_relaxed", View.COUNTS, m_h_relaxed, TreeProjection()),
    NationalProblem("m_h_region_totals_relaxed", View.COUNTS, m_h_regions_relaxed, RegionTotalsProjection()),
    NationalProblem("m_h_region_totals", View.COUNTS, m_h_regions, TreeProjection()),
    NationalProblem("m_c_relaxed gap 1e-6", View.CUMULATIVE, m_c_relaxed, CumulativeProjection(gap=1e-6)),
    NationalProblem("m_c_relaxed gap 1e-10", View.CUMULATIVE, m_c_relaxed, CumulativeProjection(gap=1e-10)),
    NationalProblem("m_c_region_totals_relaxed", View.CUMULATIVE, m_c_regions_relaxed, CumulativeProjection()),
    NationalProblem("m_c", View.CUMULATIVE, m_c, CumulativeIntegers()),
    NationalProblem("two_stage", View.CUMULATIVE, None, TwoStage()),
)


@dataclass(frozen=True)
class Timing:
    """The measurement of one method on one instance, in a process of its own."""

    unknowns: int
    seconds: float
    peak_mb: float
    text: str
    solved: bool


def timing(
    question: NationalProblem,
    method: Method | PostProcess,
    epsilon: str,
    regions: str,
    max_size: int,
    repeats: int = 1,
    time_limit: float | None = None,
) -> Timing:
    """Measure the median seconds after compilation on a small instance, the peak memory, and what was proved."""
    work = partial(_solve, question, method, epsilon, regions, max_size, repeats, time_limit)
    outcome = run_isolated(work, None, None if time_limit is None else 2 * time_limit + 60)
    if outcome.timed_out or outcome.error:
        text = outcome.error or f"killed after {2 * (time_limit or 0) + 60:g} s"
        return Timing(0, float("nan"), outcome.peak_bytes / 1e6, text, False)
    unknowns, seconds, text, solved = outcome.value
    return Timing(unknowns, seconds, outcome.peak_bytes / 1e6, text, solved)


def exponent(unknowns: Sequence[float], seconds: Sequence[float]) -> float:
    """Fit the slope of log seconds against log unknowns by least squares."""
    return float(np.polyfit(np.log(unknowns), np.log(seconds), 1)[0])


def _solve(
    question: NationalProblem,
    method: Method | PostProcess,
    epsilon: str,
    regions: str,
    max_size: int,
    repeats: int,
    time_limit: float | None,
) -> tuple[int, float, str, bool]:
    _answer(question, method, *_measured(question, epsilon, "divisions", 5), None)
    measurement, truth = _measured(question, epsilon, regions, max_size)
    unknowns = truth.hierarchy.n_regions * (max_size + 1)
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = _answer(question, method, measurement, truth, time_limit)
        times.append(time.perf_counter() - start)
    assert result is not None
    certificate, text = result.certificate, result.status.name
    if certificate is not None and certificate.gap is not None and certificate.bound is not None:
        text += f", proven gap {certificate.gap:.1e}"
    elif result.answer is None:
        text += f": {result.reason}"
    return unknowns, median(times), text, result.answer is not None


def _measured(
    question: NationalProblem, epsilon: str, regions: str, max_size: int
) -> tuple[Measurement, CountOfCounts]:
    truth = census_like(regions=regions, max_size=max_size)
    return Geometric(question.view, epsilon).measure(truth, Seeded("bench")), truth


def _answer(
    question: NationalProblem,
    method: Method | PostProcess,
    measurement: Measurement,
    truth: CountOfCounts,
    limit: float | None,
) -> Result:
    if question.state is None:
        assert isinstance(method, PostProcess)
        return method.apply(measurement, limit)
    assert isinstance(method, Method)
    return method.solve(question.state(measurement, truth), limit)


GROWTH = {
    "sizes": tuple(("counties", n - 1) for n in (100, 300, 1_000, 3_000, 10_000)),
    "regions": tuple((regions, 1_000) for regions in ("divisions", "counties", "tracts")),
}
"""Regions and K: 3,195 regions throughout, then 61, 3,195 and 63,195 regions."""

GROWING = (
    NationalProblem("m_h growth", View.COUNTS, m_h, TreeProjection()),
    NationalProblem("m_c_relaxed growth", View.CUMULATIVE, m_c_relaxed, CumulativeProjection(gap=1e-6)),
)
"""The two whose growth over sizes and over regions is measured."""
