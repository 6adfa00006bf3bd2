"""Whatever the arguments are, only pgsr's own errors leave. Tables, trees: `test_core_*`."""

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances import rng_of, scale
from neighbours import PAIR, truth_of

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View, own_methods
from pgsr.algorithms import IsotonicFit, TreeProjection
from pgsr.certificates import certify
from pgsr.data import Estimate, Split
from pgsr.estimators import Matching
from pgsr.methods import Mechanism
from pgsr.methods.method import Method
from pgsr.noise import Geometric, Measurement
from pgsr.privacy import Ledger, Secure, Seeded
from pgsr.privacy.budget import Budget, exact

TRUTH = truth_of(PAIR, ((0, 1, 3), (2,)), 3)
NOISY = {view: Geometric(view, 1).measure(TRUTH, Seeded("garbage")) for view in View}
ROOT = Geometric(View.COUNTS, 1, totals="root").measure(TRUTH, Seeded("garbage"))
NUMBERS = [True, False, 0, -1, 2, 7, 10**30, -(2**63), 0.0, 0.5, -0.1, math.nan, math.inf, 1e-320, 1e300, 1j]
OTHER_NUMBERS = [
    Decimal("NaN"),
    Decimal("0.1"),
    Fraction(1, 3),
    Fraction(-1, 3),
    *map(np.float32, ("nan", 0.5)),
    np.int8(3),
]
TEXTS = ["", "a", "1/2", "1/0", "nan", "\x00", "ä" * 50, b"1", "counts", "root", "regions", "noisy"]
LISTS = [
    (),
    [],
    {},
    set(),
    (1,),
    ("1/2", "1/2"),
    ("1/3", "1/3"),
    (1, 0),
    (0, 1),
    [None, None],
    [[1, 2], [3]],
    [0.1] * 10,
]
ARRAYS = [*map(np.array, (3, [1.5, 2.5], [[1, 2], [3, 4]], ["a", "b"])), np.array([None, 1], object), np.zeros((0, 4))]
TABLES = [np.zeros((3, 4), np.int64), np.full((3, 4), -(2**62)), np.full((3, 4), 0.5)]
OBJECTS = [
    None,
    object(),
    int,
    len,
    lambda *_: None,
    range(3),
    iter([1, 2]),
    np.bool_(True),
    np.datetime64("2026-01-01"),
]
VIEWS = [View, View.COUNTS, View.RANKED, (View.CUMULATIVE, View.RANKED), (View.CUMULATIVE,)]
SOURCES = [Secure(), Seeded("x"), Seeded, Ledger(1), Ledger("1/1000"), Ledger]
OURS = [
    *(PAIR, Hierarchy, TRUTH, ROOT, *NOISY.values()),
    *(Geometric(View.COUNTS, 1), Geometric(View.CUMULATIVE, "1/10", (0, 1))),
    *(Problem.m_h(ROOT), Problem.naive(NOISY[View.COUNTS]), Problem, TreeProjection(), TreeProjection, Matching()),
    *(Estimate(PAIR, view, np.zeros((3, 4), np.int64)) for view in (View.COUNTS, View.CUMULATIVE)),
]
GARBAGE: list[Any] = [*(NUMBERS + OTHER_NUMBERS + TEXTS + LISTS + ARRAYS + TABLES + OBJECTS + VIEWS + SOURCES + OURS)]
METHODS = [entry.method for entry in own_methods.METHODS if isinstance(entry.method, Method)]
POSTS = [entry.method for entry in own_methods.METHODS if not isinstance(entry.method, Method)]


class Draw:
    """Draws arguments: one of the good ones, or one time in five garbage; `drawn` is all it gave."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.drawn: list[Any] = []

    def __call__(self, *good: Any) -> Any:
        return self.one_of(*GARBAGE) if self._rng.random() < 0.2 else self.one_of(*good)

    def one_of(self, *items: Any) -> Any:
        self.drawn.append(items[self._rng.integers(len(items))])
        return self.drawn[-1]


def geometric(a: Draw) -> Any:
    noise = Geometric(
        a(*View, (View.CUMULATIVE, View.RANKED), (View.COUNTS, Split(1)), Split(1), Split(0)),
        *(a(1, "0.1"), a(None, ("1/2", "1/2"), (0, 1)), a("regions", "root", "noisy"), a("1/10")),
    )
    return noise.measure(a(TRUTH), a(Seeded("x"), Secure()), a(None, Ledger(1)))


def split(a: Draw) -> Any:
    noisy = Geometric(Split(a(0, 1, 2, 9)), 1).measure(TRUTH, Seeded("x"))
    return a.one_of(*POSTS).apply(noisy)


def budget(a: Draw) -> Any:
    split = Budget.split(a(1, "0.3"), a(1, 2, 3), a(None, ("1/2", "1/2")))
    assert split.total == sum(split.levels)
    ledger = Ledger(a(1))
    ledger.charge(a(Fraction(1, 2)), a("a release"))
    return exact(a("1/3"), zero=True), ledger.left


def seeded(a: Draw) -> Any:
    return Geometric(View.COUNTS, 1).measure(TRUTH, Seeded(a("key", 1), a(0, 3)))


def problem(a: Draw) -> Any:
    noisy = a(*NOISY.values(), ROOT)
    kind = a.one_of("m_h", "m_c", "isotonic", "naive", "mean", "direct")
    if kind == "m_h":
        return Problem.m_h(noisy, totals=a("root", "regions")).w
    if kind == "m_c":
        return Problem.m_c(noisy, norm=a(1, 2), totals=a("root", "regions")).relaxed().n_unknowns
    if kind == "isotonic":
        return Problem.isotonic(noisy, norm=a(1, 2))
    if kind == "direct":
        return Problem.about(noisy, "x", norm=a(1, 2), totals=a(None), weights=a(None))
    return (Problem.naive if kind == "naive" else Problem.mean_consistency)(noisy)


def measurement(a: Draw) -> Any:
    noisy = ROOT
    given = noisy.sizes, noisy.views, noisy.cells, noisy.noise, noisy.public, noisy.totals, noisy.secure, ""
    return Measurement(*map(a, given)).measured


def post(a: Draw) -> Any:
    return a.one_of(*POSTS).apply(a(NOISY[View.CUMULATIVE], NOISY[View.RANKED]), a(None, 5))


def options(a: Draw) -> Any:
    fit = IsotonicFit(a(1, 2), a(1, 2), a("smallest", "midpoint"), a(0, 1))
    return Matching(a(fit), a("weighted", "average")).apply(NOISY[View.CUMULATIVE])


def mechanism(a: Draw) -> Any:
    noise = a(Geometric(View.COUNTS, "1/2", totals="root"), Geometric(View.CUMULATIVE, "1/2"))
    whole = Mechanism(noise, a(*METHODS, *POSTS), a.one_of(None, Problem.naive, Problem.m_c, Problem.isotonic))
    return whole.release(a(TRUTH), a(Seeded("x")), a(None, Ledger(1)), a(None, 5))


def table(a: Draw) -> Any:
    truth = CountOfCounts(a(PAIR), a([[1, 0], [2, 0]], np.zeros((3, 4), np.int64)), a("name"))
    return truth.totals, CountOfCounts.from_listed(a(PAIR), a([[1, 0], [2, 0]])).counts


def tree(a: Draw) -> Any:
    made = Hierarchy.from_paths(a([("r", "a"), ("r", "b")], [(a("r"), a("x"))]))
    assert made.n_regions > 0
    below = Hierarchy.from_parents(a(["r", "x"]), a([-1, 0]))
    return below.index(a(("r", "x"))), below.level(a(0)), below.children(a(0))


def finished(a: Draw) -> Any:
    estimate = Estimate(a(PAIR), a(View.COUNTS), a(np.zeros((3, 4), np.int64)))
    return certify(a(Problem.m_h(ROOT)), estimate), estimate.counts()


CALLS = [geometric, split, budget, seeded, problem, measurement, post, options, mechanism, table, tree, finished]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_garbage_is_refused_in_our_words(call: Callable[[Draw], Any]) -> None:
    rng = rng_of(15)
    outcomes: Counter = Counter()
    messages: set[str] = set()
    for i in range(scale(100, 8_000)):
        a = Draw(rng)
        try:
            call(a)
            outcomes["accepted"] += 1
        except PgsrError as error:
            outcomes["refused"] += 1
            messages.add(str(error))
        except Exception as error:
            raise AssertionError(f"case {i}: {a.drawn!r}") from error
    assert outcomes["accepted"] > 0
    assert outcomes["refused"] > 0
    assert min(map(len, messages)) > 20, "a refusal is a sentence"
