"""What estimators and intervals cannot use is refused in a sentence, before anything is spent."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_measurements import cells_of

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.algorithms import IsotonicFit, TreeProjection
from pgsr.data.sizes import Sizes
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching, NoConsistency, Posterior, TwoStage
from pgsr.intervals import band, intervals
from pgsr.intervals.statistics import statistic_of
from pgsr.methods import Mechanism
from pgsr.noise import Geometric, Noise
from pgsr.privacy import Rho, Seeded

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[2, 9, 4, 1], [0, 5, 2, 4]])
BY_LEVEL = Sizes(TREE, (3, 2))
KUO = Mechanism(Geometric(View.CUMULATIVE, 1), Matching())
POSTERIOR = Mechanism(Geometric(View.CUMULATIVE, 1), Posterior())
NOISY_TOTALS = Mechanism(Geometric(View.CUMULATIVE, 1, totals="noisy", totals_share="1/10"), Posterior())


@cache
def noisy(view=View.CUMULATIVE, **options):
    return Geometric(view, 1, **options).measure(TRUTH, Seeded("refused"))


def by_level(view=View.CUMULATIVE, totals="regions"):
    return noisy(view, max_sizes=(3, 2), totals=totals)


def of_draws(mechanism=POSTERIOR, replicates=20, **change):
    released = replace(mechanism.release(TRUTH, Seeded("refused")), **change)
    intervals(mechanism, released, "tail:1", replicates=replicates)


def bootstrap(**change):
    intervals(**({"mechanism": KUO, "released": TRUTH, "statistic": "tail:1", "replicates": 20} | change))


def statistic(text):
    return lambda: statistic_of(text, Sizes.alike(TREE, 4))


def check(noise, post=Posterior()):  # noqa: B008
    return lambda: Mechanism(noise, post).check(TRUTH, Seeded("before the noise"))


SPLIT_FINELY = ("0.12345678", "0.87654322")
OF_ESTIMATORS = [
    (lambda: IsotonicTreeProjection().apply(by_level(View.COUNTS)), r"M_c\^dp needs View.CUMULATIVE"),
    (lambda: Problem.m_h(by_level()), "M_H needs View.COUNTS"),
    (
        check(Geometric(View.CUMULATIVE, 2, max_sizes=(3, 2)), TreeProjection()),
        "all levels have the same largest size",
    ),
    (lambda: Matching().apply(noisy(View.COUNTS)), "SimplexProjection"),
    (lambda: Matching().apply(noisy(totals="root")), "totals='regions'"),
    (lambda: Matching().apply(noisy(shares=(1, 0))), "last level"),
    (lambda: Matching(IsotonicFit(min_size=5)).apply(noisy()), "above the largest size"),
    (lambda: IsotonicFit(optimum="middle"), "use 'smallest', 'largest' or 'midpoint'"),
    (lambda: Matching(merge="mean"), "use 'weighted' or 'average'"),
    (lambda: Matching().apply(by_level(View.COUNTS)), r"isotonic fits need View\.CUMULATIVE"),
    (lambda: Matching().apply(by_level(totals="root")), "isotonic fits need every region's"),
    (lambda: Matching(IsotonicFit(min_size=3)).apply(by_level()), "min_size 3 is above the largest size 2"),
    (lambda: BottomUp().apply(by_level()), "one largest size for all levels"),
    (lambda: NoConsistency().apply(by_level()), "one largest size for all levels"),
    (check(Geometric(View.CUMULATIVE, 100_000, SPLIT_FINELY)), "smaller denominators"),
    (check(Geometric(View.CUMULATIVE, 100_000, SPLIT_FINELY), TwoStage()), "smaller denominators"),
    (check(Noise(View.CUMULATIVE, Rho("1/1000000000000"))), "deviation above 100,000"),
    (lambda: Posterior().apply(noisy(View.COUNTS, totals="root")), "needs every region's number of groups"),
    (lambda: Posterior().apply(noisy(shares=(1, 0))), "needs measured leaves"),
]
OF_INTERVALS = [
    (lambda: band(noisy(totals="noisy")), "public numbers of groups"),
    *((lambda level=level: band(noisy(), level), "greater than 0|below 1") for level in (0, 1, "1.5")),
    (lambda: band(noisy()).intervals("gini", TRUTH), "Gini"),
    (lambda: band(replace(noisy(), cells=cells_of(noisy().matrix + 1_000))), "nearer to 1"),
    (lambda: band(replace(noisy(), totals=np.array([2**61, 2**60, 2**60]))), "64 bits"),
    (lambda: bootstrap(replicates=19), "from 20 up"),
    (lambda: bootstrap(level=1), "below 1"),
    (lambda: bootstrap(statistic="count:4"), "the sizes of this table are"),
    (lambda: bootstrap(statistic="tail:1 minus US/HI"), "no region"),
    (lambda: bootstrap(mechanism=Matching()), "give the Mechanism"),
    (lambda: bootstrap(released=[[1]]), "its counts"),
    (lambda: of_draws(measurement=None), "holds no noisy values"),
    (lambda: of_draws(replicates=19), "from 20 up"),
    (lambda: of_draws(NOISY_TOTALS), "noisy"),
    *((lambda text=text: statistic_of(text, BY_LEVEL), "one max_size for all levels") for text in ("mean", "count")),
    (statistic("middle"), "mean, median, quantile:0.9"),
    (statistic("tail"), "tail:100"),
    (statistic("share:3"), "share:1..3"),
    (statistic("mean minus "), "id of a region"),
    (statistic("mean minus US minus US"), "no region"),
    (statistic("count:-1"), r"the sizes of this table are 0\.\.4"),
    (statistic("share:3..1"), "smaller size first"),
    (statistic("quantile:1.5"), "at most 1"),
    (statistic("quantile:0"), "greater than 0"),
    (statistic("quantile:1/1234567"), "such as '0.9'"),
]


@pytest.mark.parametrize(("call", "sentence"), [*OF_ESTIMATORS, *OF_INTERVALS])
def test_what_cannot_be_used_is_a_sentence(call, sentence):
    with pytest.raises(PgsrError, match=sentence):
        call()
