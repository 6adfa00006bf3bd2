"""The source of noise: fresh bytes, asked for once, all used by the law, none of it chosen by the data.

Each function raises AssertionError where that does not hold; `test_assurance_mutants` runs them on seeded bugs, too.
"""

import os
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from neighbours import PAIR, truth_of
from privacy_checks import frozen
from pytest import MonkeyPatch  # noqa: PT013

from pgsr import CountOfCounts, Hierarchy, Problem, View
from pgsr.algorithms import SimplexProjection
from pgsr.data import Split
from pgsr.data.views import cumulative, ranked
from pgsr.estimators import Matching
from pgsr.experiments.kuo2018.choosing import ChosenByScore, ChosenByStatistic
from pgsr.machine import parallel
from pgsr.methods import Mechanism
from pgsr.noise import Geometric, Measurement, step
from pgsr.noise.group_totals import noisy_numbers
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream, StreamId
from tests.house import test_house_streams as streams
from tests.privacy.test_laws_double_geometric import independent_thresholds

IDENTITY = StreamId("x", "counts", 0, ("root",))


def streams_are_asked_for_once() -> None:
    """Check measurements, numbers of groups, choices and fits: a share of `test_house_streams`."""

    def note(n: int, what: str) -> None:
        assert n > 0, what

    for name in ("pair", "ragged"):
        streams.test_measurements(name, note)
        streams.test_totals(name, note)
    streams.test_choices(note)
    streams.test_fits(True, note)
    streams.test_baselines(streams.Neighbours.REPLACE, note)


def noise_is_the_draws_of_its_stream() -> None:
    """Value by value the exact one plus the law's answer to the next word of the stream, whatever the data are.

    Of few sizes and of many.
    """
    source = Seeded("words")
    many = [[1, 0, 0, 2] * 10 + [3], [0] * 41], [[0, 1] * 350, [0] * 600 + [9] * 100]
    for leaves in ([[0] * 9, [0] * 9], [[3, 0, 0, 1, 0, 0, 0, 2, 0], [0] * 9], [[900] * 9, [10**6] * 9], *many):
        truth = CountOfCounts(PAIR, leaves, "words")
        for epsilon in ("3", "1/4"):
            for view, exact in ((View.COUNTS, np.array), (View.CUMULATIVE, cumulative), (View.RANKED, ranked)):
                if view is View.RANKED and truth.totals[0] > 1_000:
                    continue
                noise = Geometric(view, epsilon)
                scale = view.sensitivity * 2 / Fraction(epsilon)
                found = noise.measure(truth, source).rows
                for region, path in enumerate(PAIR.paths):
                    values = exact(truth.counts[region])
                    stream = source.stream(StreamId("words", view.value, len(path) - 1, path))
                    expected = values + _drawn(scale, stream, len(values))
                    assert found[region].tolist() == expected.tolist(), f"{view} of {path} is not value plus draw"
            numbers = noisy_numbers(truth, DoubleGeometric(2 / Fraction(epsilon)), source)
            for region, path in enumerate(PAIR.paths):
                stream = source.stream(StreamId("words", "totals", len(path) - 1, path))
                assert numbers[region] == truth.totals[region] + _drawn(2 / Fraction(epsilon), stream, 1)[0]
    chosen = Mechanism(Geometric(View.CUMULATIVE, 1), Matching())
    truth = truth_of(PAIR, ((0, 1, 3), (2,)), 3)
    for replicate in range(5):
        source = Seeded("statistic", replicate)
        result = ChosenByStatistic([chosen], lambda t: chosen, "1/4").release(truth, source)
        drawn = _drawn(Fraction(4), source.stream(StreamId("", "selection statistic", 0, ("distinct sizes",))), 1)[0]
        assert f"noisy distinct sizes = {4 + drawn}:" in result.reason, result.reason


def many_regions_draw_their_own_noise() -> None:
    """Each of 1,261 regions, the last one too: its value plus the draws of its own stream, on one core and on three."""
    for cells in (step.MANY_CELLS, 0):
        with MonkeyPatch.context() as patch:
            patch.setattr(step, "MANY_CELLS", cells)
            patch.setattr(parallel, "number_of_threads", lambda: 3)
            _check_many_regions()


def _check_many_regions() -> None:
    tree = Hierarchy.from_paths([("root", f"s{i % 60}", f"c{i}") for i in range(1_200)])
    n_levels, source = tree.n_levels, Seeded("many")
    for max_size in (1, 2):
        leaves = np.arange(1_200 * (max_size + 1)).reshape(1_200, -1) % 7
        truth = CountOfCounts(tree, leaves, "many")
        for view, exact in ((View.COUNTS, np.array), (View.CUMULATIVE, cumulative), (View.RANKED, ranked)):
            law = DoubleGeometric(Fraction(view.sensitivity * n_levels))
            found = Geometric(view, 1).measure(truth, source).rows
            for region, path in enumerate(tree.paths):
                expected = exact(truth.row(region)).astype(np.int64)
                law.add_to(expected, source.stream(StreamId("many", view.value, int(tree.level_of[region]), path)))
                assert found[region].tolist() == expected.tolist(), f"{view} of {path} is not value plus draws"
        found = Geometric(View.COUNTS, 1, max_sizes=(max_size,) * n_levels).measure(truth, source).tables
        for level, table in enumerate(truth.tables):
            expected = table.astype(np.int64)
            law = DoubleGeometric(Fraction(View.COUNTS.sensitivity * n_levels))
            law.add_to(expected.reshape(-1), source.stream(StreamId("many", "counts", level, ("root",))))
            assert found[level].tolist() == expected.tolist(), f"level {level} is not values plus draws"


def levels_have_the_laws_of_their_own_sizes() -> None:
    """The noise of levels whose regions have views of their own is that of a change by up to the level's own K."""
    truth, source = CountOfCounts(PAIR, [[3, 1, 0, 2, 1], [0, 2, 5, 0, 1]], "sizes"), Seeded("sizes")
    for views in ((View.CUMULATIVE, Split(1)), (Split(2), View.CUMULATIVE)):
        noise = Geometric(views, 1, max_sizes=(4, 2), max_quantity=9)
        drawn, nothing = (replace(noise, epsilon=epsilon).measure(truth, source).rows for epsilon in (1, 10**9))
        for region, path in enumerate(PAIR.paths):
            level, exact = len(path) - 1, nothing[region]
            law = DoubleGeometric(Fraction(2 * (4, 2)[level]))
            expected = exact.copy()
            for part, cells in views[level].parts(expected):
                law.add_to(cells, source.stream(StreamId("sizes", part.value, level, path)))
            assert drawn[region].tolist() == expected.tolist(), f"{path} has the noise of another largest size"


def noise_is_the_operating_system_s() -> None:
    """Each secure stream has the 32 bytes that it asks the operating system for as its key, or there is none."""
    import pytest

    truth = truth_of(PAIR, ((0, 1), (1,)), 2)
    with pytest.MonkeyPatch.context() as patch:
        given = [bytes(range(i, i + 32)) for i in range(5)]
        left = list(given)
        patch.setattr(os, "urandom", lambda n: left.pop(0)[:n])
        for key in given:
            found = Secure().stream(IDENTITY).words(8).tobytes()
            assert found == ByteStream(key).words(8).tobytes(), "a secure key is not what the operating system gave"
    for error in (OSError("no entropy"), NotImplementedError("no source"), InterruptedError("interrupted")):
        for noise in (Geometric(View.COUNTS, 1), Geometric(View.CUMULATIVE, 1, totals="noisy")):

            def fail(n: int, error: BaseException = error) -> bytes:
                raise error

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "urandom", fail)
                try:
                    noise.measure(truth, Secure())
                except type(error):
                    continue
            raise AssertionError("noise was drawn though the operating system gave no bytes")


def processes_share_no_noise() -> None:
    """Check that processes share no noise with the one that they were forked from, nor with each other."""
    Secure().stream(IDENTITY)
    seen = []
    for _ in range(2):
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of other libraries; the child runs none
            child = os.fork()
        if child == 0:
            try:
                os.write(writing, Secure().stream(IDENTITY).words(8).tobytes())
            finally:
                os._exit(0)
        os.close(writing)
        seen.append(os.read(reading, 64))
        os.close(reading)
        os.waitpid(child, 0)
    seen.append(Secure().stream(IDENTITY).words(8).tobytes())
    assert {len(found) for found in seen} == {32}
    assert len(set(seen)) == len(seen), "two processes draw the same noise"


def claims_are_those_of_the_source() -> None:
    """A measurement on the way to a choice is as secure as the source of all of it."""
    secure = []

    class Spy:
        def apply(self, measurement: Measurement, time_limit: float | None = None) -> object:
            secure.append(measurement.secure)
            return Matching().apply(measurement)

    truth = truth_of(PAIR, ((0, 1), (1,)), 2)
    spying = Mechanism(Geometric(View.CUMULATIVE, 1), Spy())  # type: ignore[arg-type]
    for source in (Seeded(1), Secure()):
        ChosenByScore([spying], 1).release(truth, source)
        noisy_numbers(truth, DoubleGeometric(Fraction(2)), source)
    assert secure == [False, True], "seeded noise claims privacy, or secure noise does not"


def candidates_are_told_apart() -> None:
    """Equal candidates have different noise, so that the better of two is no better than one by more than that."""
    truth, seen = truth_of(PAIR, ((0, 1, 2, 2), (1, 3)), 3), []

    class Spy(SimplexProjection):
        def solve(self, problem: Problem, time_limit: float | None = None) -> object:
            seen.append(frozen(problem.rows))
            return super().solve(problem, time_limit)

    candidate = Mechanism(Geometric(View.COUNTS, "1/20"), Spy(), Problem.naive)
    ChosenByScore([candidate] * 3, 1).release(truth, Seeded("candidates"))
    assert len(set(seen)) == 3, "candidates share noise"


def _drawn(scale: Fraction, stream: ByteStream, n: int) -> np.ndarray:
    """The first n draws of the law by its definition: 31 bits below T_m for the first time at m, and a sign."""
    table: Sequence[int] = independent_thresholds(scale)
    found = []
    for word in stream.words(n).tolist():
        bits, negative = word & 0x7FFFFFFF, word >> 31
        assert bits not in table, "a tie, one word in a million; choose another key"
        size = bisect_right(table, bits)
        found.append(-size if negative else size)
    return np.array(found, np.int64)
