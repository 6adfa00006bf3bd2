"""The whole mechanism: M_c^dp step by step, privacy by construction."""

import pytest
from instances import random_tree, random_truth, rng_of

from pgsr import PgsrError, Problem, Status, View
from pgsr.algorithms import IsotonicFit, TreeProjection
from pgsr.estimators import BottomUp, IsotonicTreeProjection, Matching, NoConsistency
from pgsr.methods import Mechanism
from pgsr.models import Cvxpy
from pgsr.noise import Geometric
from pgsr.privacy import Ledger, Secure, Seeded


def test_a_mechanism_states_its_problem():
    rng = rng_of(45)
    truth = random_truth(rng, random_tree(rng, max_regions=12), max_size=5)
    relaxed = Mechanism(Geometric(View.COUNTS, 1), TreeProjection(), lambda m: Problem.m_h(m).relaxed())
    assert relaxed.release(truth, Seeded(1)).certificate.problem == "M_H^r"
    with pytest.raises(PgsrError, match="say which problem"):
        Mechanism(Geometric(View.RANKED, 1), TreeProjection()).release(truth, Seeded(1))


LEAVES_UNMEASURED = (1, 0)


@pytest.mark.parametrize(
    "mechanism",
    [
        Mechanism(Geometric(View.CUMULATIVE, 1), TreeProjection()),
        Mechanism(Geometric(View.COUNTS, 1), Matching()),
        Mechanism(Geometric(View.COUNTS, 1), IsotonicTreeProjection()),
        Mechanism(Geometric(View.CUMULATIVE, 1, totals="root"), Matching()),
        Mechanism(Geometric(View.CUMULATIVE, 1), Matching(IsotonicFit(min_size=9))),
        Mechanism(Geometric(View.CUMULATIVE, 1, LEAVES_UNMEASURED), Matching()),
        Mechanism(Geometric(View.CUMULATIVE, 1, LEAVES_UNMEASURED), BottomUp()),
        Mechanism(Geometric(View.CUMULATIVE, 1, LEAVES_UNMEASURED), NoConsistency()),
        Mechanism(Geometric(View.CUMULATIVE, 1, LEAVES_UNMEASURED), IsotonicTreeProjection()),
        Mechanism(Geometric(View.COUNTS, 1, LEAVES_UNMEASURED), TreeProjection()),
        Mechanism(Geometric(View.RANKED, 1), TreeProjection()),
        Mechanism(Geometric(View.COUNTS, 1), TreeProjection(), lambda m: Problem.m_h(m, totals="regions").relaxed()),
    ],
    ids=lambda m: f"{m.post!r} on {m.noise.view}",
)
def test_what_cannot_follow_the_noise_costs_nothing(mechanism):
    """Refused with a reason before the ledger is charged and before any noise is drawn."""
    rng = rng_of(46)
    truth = random_truth(rng, random_tree(rng, max_regions=9, n_levels=2), max_size=5)
    ledger = Ledger(1)
    with pytest.raises(PgsrError):
        mechanism.release(truth, Seeded(1), ledger)
    assert ledger.left == 1


@pytest.mark.parametrize("source", [None, "demo", Seeded, 5])
def test_a_source_that_is_none_costs_nothing(source):
    rng = rng_of(47)
    truth = random_truth(rng, random_tree(rng, max_regions=9, n_levels=2), max_size=5)
    ledger = Ledger(1)
    with pytest.raises(PgsrError, match="give Secure"):
        Geometric(View.COUNTS, 1).measure(truth, source, ledger)
    assert ledger.left == 1


def test_a_result_says_whether_it_may_claim_privacy():
    rng = rng_of(48)
    truth = random_truth(rng, random_tree(rng, max_regions=9, n_levels=2), max_size=5)
    mechanism = Mechanism(Geometric(View.COUNTS, 1), TreeProjection())
    assert "no privacy claim" in repr(mechanism.release(truth, Seeded(1)))
    published = mechanism.release(truth, Secure())
    assert "no privacy claim" not in repr(published)
    assert published.measurement.secure
    again = mechanism.post_process(published.measurement)
    assert (again.estimate.values == published.estimate.values).all()
    assert again.measurement is published.measurement


def test_a_relaxed_projection_stays_relaxed():
    """M_c^dp on top of a rounding solver must not call its answer feasible."""
    rng = rng_of(49)
    truth = random_truth(rng, random_tree(rng, max_regions=14, n_levels=3), max_size=8, max_count=30)
    noisy = Geometric(View.CUMULATIVE, "0.3").measure(truth, Seeded(2))
    result = IsotonicTreeProjection(Cvxpy("CLARABEL")).apply(noisy)
    assert result.status is (Status.FEASIBLE if result.certificate.feasible else Status.RELAXED)
    assert result.certificate.violations["consistency"] > 0
    assert "rounded" in result.reason
