"""The benchmarks of speed and memory, a command and not a test. Figures stand beside their peers' of the same run."""

import datetime
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from statistics import median
from typing import cast

import numpy as np
import pandas as pd
from rich.console import Console
from scipy import sparse
from scipy.optimize import isotonic_regression, linprog

from pgsr import CountOfCounts, Hierarchy, Problem, Status, View
from pgsr.algorithms import TreeProjection
from pgsr.algorithms.isotonic.regression import isotonic_l1, isotonic_l2_runs
from pgsr.certificates import certify
from pgsr.datasets import census_like
from pgsr.estimators import Matching, NoConsistency, Posterior
from pgsr.experiments.benchmarks import history, scale
from pgsr.experiments.engine.store import host
from pgsr.experiments.engine.tables import print_frame
from pgsr.machine.isolation import run_isolated
from pgsr.methods import Mechanism, Method, metrics
from pgsr.noise import Geometric, SplitByRoot
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.budget import recommended_split
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric, Law
from pgsr.privacy.random import ByteStream, Source, StreamId

_BENCH_STREAM = StreamId("bench", "counts", 0, ("bench",))


@dataclass(frozen=True)
class BenchRow:
    """A row of the table: median seconds after compilation, peak memory of the process, a comparison with a peer."""

    name: str
    size: str
    seconds: float
    peak_mb: float
    result: str
    peer: str = ""
    ratio: float | None = None


def main(console: Console, out: Path, past: Path, version: str, quick: bool) -> None:
    """Run all benchmarks, print a table, write the rows to `out`/<time>.json, and add their seconds to the history."""
    rows: list[BenchRow] = []
    for benchmark in _benchmarks(quick):
        console.print(benchmark.__doc__, highlight=False)
        rows += benchmark(rows)
        print_frame(console, _frame(rows), "Benchmarks so far")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{datetime.datetime.now():%Y-%m-%dT%H-%M-%S}.json"
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    history.append(past, _timed(rows, version))
    console.print(f"\nrows     {path}\nhistory  {past}", highlight=False)
    if (ratio := history.mean_ratio(history.read(past))) is not None:
        console.print(f"seconds over those of the version before, geometric mean: {ratio:.2f}", highlight=False)


def _timed(rows: list[BenchRow], version: str) -> list[history.TimedRow]:
    about = dict(host())
    machine, date = f"{about['processor']}, {about['cores']} cores", f"{datetime.datetime.now():%Y-%m-%d}"
    return [
        history.TimedRow(date, version, machine, row.name, row.size, round(row.seconds, 4), round(row.peak_mb))
        for row in rows
    ]


def _benchmarks(quick: bool) -> list[Callable[[list[BenchRow]], list[BenchRow]]]:
    always = [draws, m_h, growth_quick if quick else growth, certificate, isotonic, nation, hierarchical, posterior]
    return always if quick else [*always, growth_regions, root_ranked]


def draws(_: list[BenchRow]) -> list[BenchRow]:
    """Measure the noise: 100 million exact draws of both laws on one core."""
    values, n, p, generator = np.ones(100_000_000, np.int64), 10_000_000, 1 - np.exp(-1 / 60), np.random.default_rng(0)
    numpy_seconds = _median(lambda: generator.geometric(p, n) - generator.geometric(p, n)) / n
    peer = f"differences of NumPy geometrics (inexact, insecure): {1e-6 / numpy_seconds:,.0f} M/s"
    rows = _drawn("noise", DoubleGeometric(Fraction(60)), values, peer, numpy_seconds)
    for sigma in (60, 5_000):  # one word a draw, and two
        seconds = _opendp_seconds(sigma)
        peer = "OpenDP is not installed" if seconds is None else f"OpenDP: {1e-6 / seconds:,.2f} M/s"
        rows += _drawn(f"gaussian sigma={sigma:,}", DiscreteGaussian(Fraction(sigma) ** 2), values, peer, seconds)
    return rows


def _drawn(name: str, law: Law, values: np.ndarray, peer: str, peer_seconds: float | None) -> list[BenchRow]:
    """Draw `values` from both sources, beside a peer's seconds per draw; and with bytes that cost nothing."""
    law.add_to(values[:1000], Secure().stream(_BENCH_STREAM))  # compile and tabulate before the clock starts
    stored = cast(ByteStream, _StoredBytes(Seeded("bench").stream(_BENCH_STREAM)))
    alone = 1e-6 * len(values) / _median(partial(law.add_to, values, stored))
    rows = []
    for kind, source in (("secure", Secure()), ("seeded", Seeded("bench"))):
        seconds = _median(partial(_draw, law, values, source))
        ratio = None if peer_seconds is None else peer_seconds * len(values) / seconds
        speed = f"{1e-6 * len(values) / seconds:,.0f} M draws/s, {alone:,.0f} without the bytes"
        rows.append(BenchRow(f"{name} {kind}", f"{len(values):.0e} draws", seconds, 0.0, speed, peer, ratio))
    return rows


class _StoredBytes:
    """A stream that was drawn beforehand and gives the same words every time; for clocks alone."""

    def __init__(self, stream: ByteStream) -> None:
        self._words, self.bits = stream.words(1 << 18), stream.bits

    def words(self, n: int) -> np.ndarray:
        return self._words[:n]


def _opendp_seconds(sigma: float) -> float | None:
    """Measure a draw of OpenDP's discrete Gaussian mechanism over whole numbers, if it is installed."""
    try:
        dp = import_module("opendp.prelude")
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain, n = dp.vector_domain(dp.atom_domain(T="i64")), 50_000
    mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(sigma))
    return _median(lambda: mechanism([0] * n)) / n


def m_h(_: list[BenchRow]) -> list[BenchRow]:
    """Measure m_h: the certified integer optimum at 3,195 regions x 1,001 sizes."""
    return [_measured(f"m_h eps={epsilon}", TreeProjection(), False, epsilon, 1000) for epsilon in ("0.1", "0.5", "1")]


def growth(_: list[BenchRow]) -> list[BenchRow]:
    """Measure the growth of m_h: the certified integer optimum from 100 to 10,000 sizes, 3,195 regions."""
    return _growth((100, 300, 1000, 3000, 10_000))


def growth_quick(_: list[BenchRow]) -> list[BenchRow]:
    """Measure the growth of m_h: the certified integer optimum from 100 to 3,000 sizes, 3,195 regions."""
    return _growth((100, 300, 1000, 3000))


def certificate(_: list[BenchRow]) -> list[BenchRow]:
    """Measure the certificate, recomputed from problem and estimate alone, 7.7 million cells."""
    problem = _problem("1", 2400)
    estimate = TreeProjection().solve(problem).estimate
    seconds = _median(lambda: certify(problem, estimate))
    optimal = "optimal" if certify(problem, estimate).optimal else "NOT optimal"
    return [BenchRow("certificate", f"{problem.n_unknowns:,} unknowns", seconds, 0.0, optimal)]


def isotonic(_: list[BenchRow]) -> list[BenchRow]:
    """Measure isotonic regression: ours against HiGHS' linear program (L1) and SciPy (L2)."""
    generator, rows = np.random.default_rng(0), []
    y = np.sort(generator.integers(0, 10_000, 1_000_000)) + generator.integers(-60, 61, 1_000_000)
    isotonic_l1(y[:1000], 0, 10_000)
    isotonic_l2_runs(y[:1000], 0, 10_000)
    n_small = 5_000
    small = _median(partial(isotonic_l1, y[:n_small], 0, 10_000))
    program, theirs = _l1_by_linear_program(y[:n_small])
    ours = int(np.abs(isotonic_l1(y[:n_small], -(10**9), 10**9) - y[:n_small]).sum())
    agree = "same objective" if abs(ours - program) < 1e-6 * ours else f"objectives differ: {ours} and {program}"
    peer = f"HiGHS on the linear program: {1e9 * theirs / n_small:,.0f} ns/cell, {agree}"
    text = f"{1e9 * small / n_small:,.0f} ns/cell"
    rows.append(BenchRow("isotonic_l1", f"{n_small:,} cells", small, 0.0, text, peer, theirs / small))
    large = _median(partial(isotonic_l1, y, 0, 10_000))
    rows.append(BenchRow("isotonic_l1", "1e6 cells", large, 0.0, f"{1e9 * large / len(y):,.0f} ns/cell"))
    seconds = _median(partial(isotonic_l2_runs, y, 0, 10_000))
    scipy_seconds = _median(partial(isotonic_regression, y.astype(float)))
    peer = f"scipy.optimize.isotonic_regression (floats): {1e9 * scipy_seconds / len(y):,.0f} ns/cell"
    text = f"{1e9 * seconds / len(y):,.0f} ns/cell"
    return [*rows, BenchRow("isotonic_l2", "1e6 cells", seconds, 0.0, text, peer, scipy_seconds / seconds)]


def nation(_: list[BenchRow]) -> list[BenchRow]:
    """Measure kuo_nation: noise, H_c L1, matching and back-substitution, 3,195 regions x 100,001 sizes."""
    return [_once("kuo_nation", "3,195 regions x 100,001 sizes", _whole_nation)]


def hierarchical(_: list[BenchRow]) -> list[BenchRow]:
    """Measure M_H with every region's total, M_c and two-stage, 3,195 regions x 1,001 sizes."""
    rows = []
    for question, epsilon in product(scale.QUESTIONS, ("0.1", "1")):
        rows.append(_row(question.name, epsilon, scale.timing(question, question.method, epsilon, "counties", 1000)))
    return rows


def posterior(_: list[BenchRow]) -> list[BenchRow]:
    """Measure the recommended release: the posterior of split views with its intervals, 3,195 regions x 1,001 sizes."""
    return [_once("posterior", "3,195 regions x 1,001 sizes", _recommended)]


def growth_regions(_: list[BenchRow]) -> list[BenchRow]:
    """Measure the growth over 100 to 10,000 sizes and from 61 to 63,195 regions, with the fitted exponents."""
    rows = []
    for question in scale.GROWING:
        for what, cases in scale.GROWTH.items():
            timed = [scale.timing(question, question.method, "1", regions, k, repeats=1) for regions, k in cases]
            fit = scale.exponent([t.unknowns for t in timed], [t.seconds for t in timed])
            rows += [_row(f"{question.name} over {what}", "1", t) for t in timed[:-1]]
            last = _row(f"{question.name} over {what}", "1", timed[-1])
            rows.append(replace(last, peer=f"fitted exponent of time over unknowns: {fit:.2f}"))
    return rows


def root_ranked(_: list[BenchRow]) -> list[BenchRow]:
    """Measure h_g_root: noise and isotonic regression of 240,000,000 ranked groups."""
    return [_once("h_g_root", "240,000,000 groups", _ranked_root)]


def _row(name: str, epsilon: str, found: scale.Timing) -> BenchRow:
    size = f"{found.unknowns:,} unknowns" if found.unknowns else ""
    return BenchRow(f"{name} eps={epsilon}", size, found.seconds, found.peak_mb, found.text)


def _draw(law: Law, values: np.ndarray, source: Source) -> None:
    law.add_to(values, source.stream(_BENCH_STREAM))


def _once(name: str, size: str, work: Callable[[], tuple[float, str]]) -> BenchRow:
    outcome = run_isolated(work)
    if outcome.error:
        raise RuntimeError(f"{name}: {outcome.error}")
    seconds, text = outcome.value
    return BenchRow(name, size, seconds, outcome.peak_bytes / 1e6, text)


def _whole_nation() -> tuple[float, str]:
    mechanism = Mechanism(Geometric(View.CUMULATIVE, 1), Matching())
    mechanism.release(census_like(regions="counties", max_size=10, groups=10_000), Seeded("warm-up"))
    return _released(mechanism, census_like(regions="counties", max_size=100_000))


def _recommended() -> tuple[float, str]:
    noise = Geometric(SplitByRoot(), 1, shares=recommended_split(3), totals="regions")
    small = noise.measure(census_like(regions="counties", max_size=30, groups=100_000), Seeded("warm-up"))
    Posterior().apply(small)
    truth = census_like(regions="counties", max_size=1000)
    noisy = noise.measure(truth, Seeded("bench"))
    start = time.perf_counter()
    result = Posterior().apply(noisy)
    seconds = time.perf_counter() - start
    errors = " / ".join(f"{error:,.1f}" for error in metrics.level_means(truth, metrics.emd(truth, result.estimate)))
    return seconds, f"{result.status.name}, EMD per region {errors}"


def _ranked_root() -> tuple[float, str]:
    states = census_like(regions="states", max_size=100_000, groups=240_000_000)
    root = CountOfCounts(Hierarchy.from_parents(["United States"], [-1]), states.rows(0, 1), "root")
    mechanism = Mechanism(Geometric(View.RANKED, 1), NoConsistency())
    mechanism.release(census_like(regions="states", max_size=10, groups=10_000), Seeded("warm-up"))
    return _released(mechanism, root)


def _released(mechanism: Mechanism, truth: CountOfCounts) -> tuple[float, str]:
    start = time.perf_counter()
    result = mechanism.release(truth, Seeded("bench"))
    seconds = time.perf_counter() - start
    errors = " / ".join(f"{error:,.1f}" for error in metrics.level_means(truth, metrics.emd(truth, result.estimate)))
    return seconds, f"{result.status.name}, EMD per region {errors}"


def _l1_by_linear_program(y: np.ndarray) -> tuple[float, float]:
    """Minimise sum t with t >= |x - y| and x non-decreasing by SciPy's HiGHS; return objective and seconds."""
    n, one = len(y), sparse.csr_array(sparse.eye_array(len(y)))
    steps = one[:-1] - one[1:]
    above = sparse.vstack([
        sparse.hstack([one, -one]), sparse.hstack([-one, -one]), sparse.hstack([steps, sparse.csr_array((n - 1, n))])
    ])  # fmt: skip
    right = np.concatenate([y, -y, np.zeros(n - 1)])
    start = time.perf_counter()
    answer = linprog(np.repeat([0.0, 1.0], n), above, right, bounds=(None, None), method="highs")
    return float(answer.fun), time.perf_counter() - start


def _growth(sizes: tuple[int, ...]) -> list[BenchRow]:
    rows = [_measured(f"m_h growth {n:,} sizes", TreeProjection(), False, "1", n - 1) for n in sizes]
    first = rows[0].seconds / sizes[0]
    return [
        BenchRow(
            r.name,
            r.size,
            r.seconds,
            r.peak_mb,
            r.result,
            "seconds per size, relative to 100 sizes",
            r.seconds / n / first,
        )
        for r, n in zip(rows, sizes, strict=True)
    ]


def _problem(epsilon: str, max_size: int) -> Problem:
    truth = census_like(regions="counties", max_size=max_size)
    return Problem.m_h(Geometric(View.COUNTS, epsilon).measure(truth, Seeded("bench")))


def _measured(name: str, method: Method, relaxed: bool, epsilon: str, max_size: int, repeats: int = 5) -> BenchRow:
    """Build the problem in a process of its own, solve it once to compile, and then time `repeats` solves."""
    outcome = run_isolated(partial(_solve, method, relaxed, epsilon, max_size, repeats))
    if outcome.error:
        raise RuntimeError(f"{name}: {outcome.error}")
    size, seconds, result = outcome.value
    return BenchRow(name, size, seconds, outcome.peak_bytes / 1e6, result)


def _solve(method: Method, relaxed: bool, epsilon: str, max_size: int, repeats: int) -> tuple[str, float, str]:
    warm = _problem(epsilon, 30)
    problem = _problem(epsilon, max_size)
    if relaxed:
        warm, problem = warm.relaxed(), problem.relaxed()
    method.solve(warm)
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = method.solve(problem)
        times.append(time.perf_counter() - start)
    assert result is not None
    certificate = result.certificate
    solved = result.status is Status.OPTIMAL and certificate is not None
    text = f"{result.status.name}, objective {certificate.objective:,}" if solved and certificate else repr(result)
    return f"{problem.n_unknowns:,} unknowns", median(times), text


def _median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def _frame(rows: list[BenchRow]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "name": row.name,
                "size": row.size,
                "seconds": f"{row.seconds:,.3f}",
                "peak MB": f"{row.peak_mb:,.0f}" if row.peak_mb else "",
                "result": row.result,
                "peer": row.peer,
                "ratio": "" if row.ratio is None else f"{row.ratio:,.2f}",
            }
            for row in rows
        ]
    )
