"""The posterior of whole tables that add up: against enumeration, and as often right as it says."""

import threading

import numpy as np
import pandas as pd
import pytest
from instances import rng_of
from scipy.special import gammaln
from scipy.stats import chisquare
from waiting import MINUTES

from pgsr import Hierarchy, reconcile
from pgsr.data.columns import ColumnFrame
from pgsr.errors import ArgumentError, ProblemError, TooLargeError
from pgsr.machine import parallel
from pgsr.problems.conditions import total
from pgsr.reconciling.laws import LAWS
from pgsr.reconciling.measurements import measured
from pgsr.reconciling.messages_kernel import downward, upward
from pgsr.reconciling.posterior import _for_each, _of_regions, table_posterior

LEVELS = ["nation", "state", "county"]
REGIONS = [(None, None), ("GA", None), ("MI", None), ("GA", "a"), ("GA", "b"), ("GA", "c"), ("MI", "d")]
BELOW = [[0, 1, 2, 3], [0, 1, 2], [3], [0], [1], [2], [3]]
SHAPE = np.array([[1.0], [1.7], [0.6]])


def small_table(rng, law, scale, missing=()) -> pd.DataFrame:
    """A nation, two states and four counties with about three in each; one cell is measured twice."""
    leaves = rng.integers(0, 7, 4)
    rows = [(*REGIONS[r], None if r in missing else sum(leaves[b] for b in BELOW[r])) for r in range(7)]
    rows.append(rows[5])
    frame = pd.DataFrame([("US", *row) for row in rows], columns=[*LEVELS, "n"])
    noise = {"gaussian": rng.normal(0, scale, len(frame)), "laplace": rng.laplace(0, scale, len(frame))}
    p = 1 - np.exp(-1 / scale)
    noise["geometric"] = rng.geometric(p, len(frame)) - rng.geometric(p, len(frame))
    frame["n"] = frame["n"].astype(float) + noise[law]
    frame["v"] = LAWS[law].variance(np.full(len(frame), scale))
    return frame


def found_of(frame, fixed=None):
    return measured(ColumnFrame.of(frame), LEVELS, "n", None, (), None, "v", fixed, True)


def log_g(x, z):
    return gammaln(x + z) - gammaln(z) - gammaln(x + 1)


def enumerated(frame, law, scale, most, known=None):
    """Every table with leaves up to `most`, and its log of prior times likelihood; shapes (tables, 7), (tables,)."""
    r1, r2 = SHAPE[1, 0], SHAPE[2, 0]
    leaves = np.stack(np.meshgrid(*[np.arange(most + 1)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    x = np.stack([leaves[:, below].sum(axis=1) for below in BELOW], axis=1)
    known = known or {}
    x = x[np.all([x[:, r] == n for r, n in known.items()], axis=0)] if known else x
    logs = log_g(x[:, 1], r1) + log_g(x[:, 2], r1) - log_g(x[:, 0], 2 * r1)
    logs += log_g(x[:, 3:6], r2).sum(axis=1) - log_g(x[:, 1], 3 * r2)
    for row in frame.itertuples():
        region = REGIONS.index(tuple(None if pd.isna(part) else part for part in (row.state, row.county)))
        if not pd.isna(row.n) and region not in known:
            off = np.abs(x[:, region] - row.n) / scale
            logs -= off * off / 2 if law == "gaussian" else off
    return x, logs


@pytest.mark.parametrize(
    ("law", "missing"),
    [("gaussian", ()), ("laplace", (0,)), ("geometric", (1, 4)), ("geometric", (3, 4, 5)), ("gaussian", (6, 2))],
)
def test_equals_enumeration(law, missing):
    """Marginals, medians, intervals and evidence; cells that nothing measured below one that is measured."""
    rng = rng_of(len(missing) + 10 * len(law))
    scale = 1.1 if law == "gaussian" else 0.7
    frame = small_table(rng, law, scale, missing)
    found = found_of(frame)
    posterior = table_posterior(found, LAWS[law], 0.9, SHAPE)
    tables, logs = enumerated(frame, law, scale, 25)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ tables
    assert posterior.lost.max() <= 1e-6
    assert posterior.mean[:, 0] == pytest.approx(mean, abs=1e-5)
    assert posterior.variance[:, 0] == pytest.approx(weights @ np.square(tables - mean), abs=1e-4)
    for region in range(7):
        mass = np.bincount(tables[:, region], weights)
        assert posterior.median[region, 0] == np.argmax(np.cumsum(mass) >= 0.5)
        low, high = posterior.low[region, 0], posterior.high[region, 0]
        assert mass[low : high + 1].sum() >= 0.9 - 1e-9
        shorter = high - low
        assert all(mass[first : first + shorter].sum() < 0.9 + 1e-9 for first in range(len(mass)))


def test_evidence_and_its_slope_equal_enumeration():
    rng = rng_of(3)
    frame = small_table(rng, "geometric", 0.7)
    values = table_posterior(found_of(frame), LAWS["geometric"], 0.9, SHAPE).sizes[0].values
    numbers = values.numbers(), values.log_likelihood()

    def evidence(shape):
        logs, fall = values.factors(*numbers, shape)
        mass, windows, found, *_ = upward(*values.sums, values.low, values.at, logs, fall, 1e-14)
        return found, windows, downward(*values.sums, values.low, values.at, logs, mass, windows)[0]

    found, windows, law = evidence(SHAPE[:, 0])
    logs = enumerated(frame, "geometric", 0.7, 25)[1]
    assert found == pytest.approx(np.log(np.exp(logs).sum()), abs=1e-6)
    here, x = _of_regions(windows, 7)
    slope, _ = values.slopes(SHAPE[:, 0], x, law[here], windows[2, :7])
    for level in (1, 2):
        ends = [evidence(SHAPE[:, 0] * np.where(np.arange(3) == level, np.exp(off), 1.0))[0] for off in (-1e-4, 1e-4)]
        assert slope[level] == pytest.approx((ends[1] - ends[0]) / 2e-4, abs=1e-6)


def test_a_fixed_cell_is_known():
    rng = rng_of(8)
    frame = small_table(rng, "laplace", 0.7)
    frame["sure"] = frame.index == 0
    frame.loc[0, "n"] = 11
    posterior = table_posterior(found_of(frame, "sure"), LAWS["laplace"], 0.9, SHAPE)
    tables, logs = enumerated(frame, "laplace", 0.7, 11, {0: 11})
    weights = np.exp(logs - logs.max())
    assert posterior.mean[:, 0] == pytest.approx(weights @ tables / weights.sum(), abs=1e-6)
    assert (posterior.draws(50, 1)[:, 0, 0] == 11).all()


def test_draws_have_the_law_of_whole_tables():
    """The likeliest 40 tables each, and all others together, are drawn as often as enumeration says."""
    rng = rng_of(5)
    frame = small_table(rng, "geometric", 0.7)
    draws = table_posterior(found_of(frame), LAWS["geometric"], 0.9, SHAPE).draws(20_000, 3)[:, :, 0]
    tables, logs = enumerated(frame, "geometric", 0.7, 25)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    likely = np.argsort(-weights)[:40]
    seen = [(draws == tables[i]).all(axis=1).sum() for i in likely]
    expected = 20_000 * weights[likely]
    seen, expected = [*seen, 20_000 - sum(seen)], [*expected, 20_000 - expected.sum()]
    assert chisquare(seen, expected).pvalue > 1e-3


TREE = Hierarchy.from_paths([("US", f"s{i}", f"c{j}") for i in range(6) for j in range(2 + i)])


def worlds(rng, law, scale, roots, r, stated=None) -> pd.DataFrame:
    """Tables from the prior, one for each root, as sizes of one frame; the truth is its column `truth`."""
    parts = []
    for size, root in enumerate(roots):
        x = np.zeros(TREE.n_regions, int)
        x[0] = root
        for region in range(TREE.n_inner):
            children = TREE.children(region)
            shares = rng.dirichlet(np.full(len(children), r[TREE.level_of[region]]))
            x[children.start : children.stop] = rng.multinomial(x[region], shares)
        p = 1 - np.exp(-1 / scale)
        noise = {
            "gaussian": lambda n: rng.normal(0, scale, n),
            "laplace": lambda n: rng.laplace(0, scale, n),
            "geometric": lambda n, p=p: rng.geometric(p, n) - rng.geometric(p, n),
        }[law](len(x))
        frame = pd.DataFrame([(*path, None, None)[:3] for path in TREE.paths], columns=LEVELS)
        parts.append(
            frame.assign(size=f"t{size:03}", truth=x, n=x + noise, v=LAWS[law].variance(np.array(stated or scale)))
        )
    return pd.concat(parts)


def of_sizes(frame, fixed=None):
    return measured(ColumnFrame.of(frame), LEVELS, "n", "size", (), None, "v", fixed, True)


def ranks(stated=None) -> np.ndarray:
    """The p-value, cell by cell, that the truth has any rank among 9 draws as often as any other, in 300 tables."""
    rng, law = rng_of(7), "laplace"
    roots = rng.integers(40, 200, 300)
    r = (1.4, 0.7)
    frame = worlds(rng, law, 3.0, roots, r, stated)
    frame["sure"] = frame.state.isna()
    frame.loc[frame.sure, "n"] = frame.truth[frame.sure]
    shape = np.repeat(np.array([[1.0], *([value] for value in r)]), len(roots), axis=1)
    draws = table_posterior(of_sizes(frame, "sure"), LAWS[law], 0.9, shape).draws(9, 1)
    truth = frame.truth.to_numpy().reshape(len(roots), -1).T
    below, equal = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    place = below + np.floor(rng.random(below.shape) * (equal + 1)).astype(int)
    return np.array([chisquare(np.bincount(row, minlength=10)).pvalue for row in place[1:]])


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    """Simulation-based calibration, with the root known; a scale that is stated wrongly is seen."""
    good, bad = ranks(), ranks(stated=1.5)
    assert good.min() > 0.05 / len(good) / 3
    assert (bad < 1e-4).sum() >= 6


@pytest.mark.slow
def test_intervals_of_a_learned_prior_hold_the_truth_as_often_as_they_say():
    """At 90 % between 88 and 93 % on both levels below the root; shares of few roots vary more."""
    rng = rng_of(17)
    roots = rng.integers(500, 3000, 120)
    frame = worlds(rng, "geometric", 5.0, roots, (1.0, 0.8))
    posterior = table_posterior(of_sizes(frame), LAWS["geometric"], 0.9, None)
    truth = frame.truth.to_numpy().reshape(len(roots), -1).T
    inside = (posterior.low <= truth) & (truth <= posterior.high)
    held = [float(inside[TREE.level(level)].mean()) for level in range(3)]
    assert 0.83 <= held[0] <= 0.97
    assert 0.88 <= held[1] <= 0.93
    assert 0.88 <= held[2] <= 0.93
    assert posterior.lost.max() <= 1e-6


def test_the_same_seed_draws_the_same_and_tables_add_up():
    rng = rng_of(2)
    frame = worlds(rng, "laplace", 3.0, [150, 90], (1.0, 0.8)).drop(columns=["v", "truth"])
    one, other = (reconcile(frame, LEVELS, "n", size="size", noise="laplace", scale=3.0, seed=4) for _ in range(2))
    assert (one.draws == other.draws).all()
    assert one.draws.shape == (1000, TREE.n_regions, 2)
    assert one.draws.min() >= 0
    for level in range(2):
        sums = np.stack([TREE.sum_children(table, level) for table in one.draws])
        assert (sums == one.draws[:, TREE.level(level)]).all()
    table = next(iter(one.drawn_tables))
    assert (one.draws[0] == table.drawn.to_numpy().reshape(2, -1).T).all()
    low, high = one.intervals(lambda table: table["US/s5"].sum() / table["US"].sum())
    shares = one.draws[:, 6].sum(axis=1) / one.draws[:, 0].sum(axis=1)
    assert (low, high) == pytest.approx(tuple(np.quantile(shares, [0.05, 0.95])))
    assert (one.cells.lower <= one.cells["median"]).all()
    assert one.noise is not None
    assert (one.noise.posterior.low == one.table.lower.to_numpy().reshape(2, -1).T).all()


@pytest.mark.parametrize(
    ("statistic", "error", "sentence"),
    [
        (lambda table: table["US"], ArgumentError, r"has the shape \(2,\) and not one number; add it up over sizes"),
        (lambda table: table["US"][0] / 0.0, ArgumentError, "is no finite number in 1000 of 1000 draws"),
        (lambda table: table["GA"].sum(), KeyError, "no region 'GA'; give names from the root down, such as 'US/n%2Fa"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_statistic_is_one_number_of_known_regions(statistic, error, sentence):
    rows = [("US", None, 1, 5), ("US", "GA", 1, 4), ("US", "GA", 2, 3), ("US", "n/a", 1, 2), ("US", "n/a", 2, 1)]
    frame = pd.DataFrame(rows, columns=["nation", "state", "size", "n"])
    done = reconcile(frame, ["nation", "state"], "n", size="size", noise="geometric", scale=1.0)
    regions = done.cells.region.unique()
    assert len(regions) == 3
    twice = done.intervals(lambda table: sum(table[region].sum() for region in regions))
    assert twice == done.intervals(lambda table: 2 * table["US"].sum())
    with pytest.raises(error, match=sentence):
        done.intervals(statistic)


def test_even_few_cells_are_shared_among_threads(monkeypatch):
    monkeypatch.setattr(parallel, "number_of_threads", lambda: 2)
    both = threading.Barrier(2, timeout=MINUTES)
    _for_each(lambda _: both.wait(), 2, "looking")
    assert not both.broken


@pytest.mark.slow
def test_medians_are_nearer_to_the_truth_and_proved():
    rng = rng_of(6)
    frame = worlds(rng, "geometric", 8.0, rng.integers(30, 150, 20), (1.0, 0.5))
    errors = {}
    for estimate in ("nearest", "median"):
        done = reconcile(frame, LEVELS, "n", size="size", noise="geometric", scale=8.0, estimate=estimate)
        assert done.status.name == "OPTIMAL"
        assert [level.sums_off_after for level in done.levels] == [0, 0, 0]
        leaves = done.table[done.table.county.notna()]
        errors[estimate] = float((leaves.reconciled - leaves.truth).abs().mean())
    assert errors["median"] < 0.9 * errors["nearest"]


def test_branches_that_end_early_have_one_law():
    rows = [(None, None, 31), ("GA", None, 20), ("GA", "a", 8), ("GA", "b", 11), ("DC", None, 9)]
    frame = pd.DataFrame([("US", *row) for row in rows], columns=[*LEVELS, "n"])
    done = reconcile(frame, LEVELS, "n", noise="geometric", scale=2.0)
    copies = [r for r, path in enumerate(done.found.tree.paths) if path == ("US", "DC")]
    assert len(copies) == 2
    assert (done.draws[:, copies[0]] == done.draws[:, copies[1]]).all()
    assert done.table.lower[4] <= 10 <= done.table.upper[4]


LAPLACE = {"noise": "laplace", "scale": 1}
BASE = {"nation": ["US"] * 3, "state": [None, "GA", "MI"], "n": [9, 7, -1]}


@pytest.mark.parametrize(
    ("columns", "options", "error", "sentence"),
    [
        ({}, {"noise": "cauchy", "scale": 1}, ArgumentError, "noise='cauchy'; give one of 'geometric', 'gaussian'"),
        ({}, {"noise": "laplace"}, ArgumentError, "goes with scale= or variance="),
        ({}, {"scale": 2.0}, ArgumentError, "give noise='geometric'"),
        ({}, {"noise": "laplace", "scale": 1, "where": total(("US",)) >= 3}, ProblemError, "where= states conditions"),
        ({}, {"noise": "laplace", "scale": 1, "totals": 3}, ProblemError, "totals= ties sizes together"),
        ({}, {"noise": "laplace", "scale": 1, "draws": 0}, ArgumentError, "draws=0; give a whole number from 1 up"),
        ({"n": [9, 7, -99]}, LAPLACE, ProblemError, r"row 2 \('US/MI'\) needs noise beyond 35"),
        ({"n": [None, 7, None]}, LAPLACE, ProblemError, "nothing bounds 'US'"),
        ({"n": [9e8, 4e8, 5e8]}, {"noise": "laplace", "scale": 1e6}, TooLargeError, "may be one of 7e.07 numbers"),
        ({}, {"estimate": "median"}, ArgumentError, "'median' together with noise="),
    ],
)
def test_what_has_no_law_is_refused(columns, options, error, sentence):
    with pytest.raises(error, match=sentence):
        _ = reconcile({**BASE, **columns}, ["nation", "state"], "n", **options).table
