"""The matching as assignment, flow and linear program against the specialised one, and whole mechanisms with each."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from instances import random_tree, random_truth, rng_of, scale

from pgsr import CountOfCounts, Hierarchy, PgsrError, Status, View
from pgsr.algorithms import IsotonicFit
from pgsr.algorithms.groups import GroupRuns
from pgsr.errors import MethodError, ProblemError
from pgsr.estimators import Matching, Merge, match_groups
from pgsr.estimators.matching.sorted_matching import Matcher, NoMatchError, SortedMatching
from pgsr.methods import Mechanism
from pgsr.models import Assignment, TransportFlow, TransportLp
from pgsr.noise import Geometric
from pgsr.privacy import Seeded

MODELS = [Assignment(), TransportFlow(), TransportLp()]


def groups(sizes):
    return GroupRuns.pooled(np.array(sizes, int), np.ones(len(sizes), int))


def random_instance(rng, max_count=1):
    """A parent and its children with equal numbers of groups; empty children, ties and shared sizes occur."""
    n_children, largest = int(rng.integers(1, 5)), int(rng.integers(1, 30))
    children = [
        GroupRuns.pooled(rng.integers(0, largest, n), rng.integers(1, max_count + 1, n))
        for n in rng.integers(0, 7, n_children)
    ]
    size = np.concatenate([child.size for child in children])
    count = np.concatenate([child.count for child in children])
    # Another histogram of as many groups: sizes move together, and part of a run moves away.
    moved = rng.integers(0, count + 1)
    sizes = np.concatenate([size, size]) + rng.integers(0, 6, 2 * len(size))
    parts = np.concatenate([count - moved, moved])
    parent = GroupRuns.pooled(sizes[parts > 0], parts[parts > 0])
    return parent, children


def emd(parent, children):
    """Sum over sizes of |cumulative counts of the parent - those of its children|, with dense vectors."""
    largest = max([0, *parent.size, *(s for child in children for s in child.size)])
    total = np.zeros(largest + 1, np.int64)
    total[parent.size] += parent.count
    for child in children:
        total[child.size] -= child.count
    return int(np.abs(np.cumsum(total)).sum())


def assert_perfect(match, parent, children):
    """Every group of the parent and of each child is matched exactly once, and the cost is the pairs' own."""
    owner = np.repeat(np.arange(len(children)), [len(child.size) for child in children])
    size = np.concatenate([child.size for child in children])
    count = np.concatenate([child.count for child in children])
    table = np.zeros((len(parent.size), len(size)), np.int64)
    np.add.at(table, (match.top, match.bottom), match.count)
    assert (match.count > 0).all()
    assert (table.sum(axis=1) == parent.count).all()
    assert (table.sum(axis=0) == count).all()
    assert (owner[match.bottom] == match.child).all()
    assert (np.diff(match.child) >= 0).all()
    assert (table * np.abs(parent.size[:, None] - size[None, :])).sum() == match.cost


@pytest.mark.parametrize("most", [4, 100_000_000])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_costs_are_equal_and_the_earth_movers_distance(model, most):
    """Hundreds of millions of groups are matched in exact integers, too, where groups are not taken one by one."""
    if most > 4 and isinstance(model, Assignment):
        pytest.skip("one by one")
    rng = rng_of(61)
    for i in range(scale(30, 1_000)):
        parent, children = random_instance(rng, max_count=most if i % 2 else max(1, most // 10**8))
        match = model.match(parent, children)
        assert_perfect(match, parent, children)
        assert match.cost == match_groups(parent, children).cost == emd(parent, children)


@pytest.mark.parametrize("model", [SortedMatching(), *MODELS], ids=repr)
def test_regions_without_groups(model):
    nothing = groups([])
    match = model.match(nothing, [nothing, nothing])
    assert (len(match.count), match.cost) == (0, 0)
    assert_perfect(model.match(groups([3]), [nothing, groups([5])]), groups([3]), [nothing, groups([5])])


@dataclass(frozen=True)
class Witness:
    """A matcher that hands on what `inner` answers and keeps its costs beside the specialised ones."""

    inner: Matcher
    costs: list

    def supports(self, n_groups):
        return self.inner.supports(n_groups)

    def match(self, parent, children, time_limit=None):
        match = self.inner.match(parent, children, time_limit)
        self.costs.append((match.cost, match_groups(parent, children).cost))
        return match


def test_the_whole_mechanism_with_a_solver_inside():
    """Valid releases; at every region the least cost, and at the root, where inputs are the same, the default's."""
    rng = rng_of(63)
    for i in range(scale(12, 500)):
        tree = random_tree(rng, max_regions=12, n_levels=int(rng.integers(2, 5)))
        truth = random_truth(rng, tree, max_size=int(rng.integers(1, 9)), name=str(i))
        noise = Geometric(View.CUMULATIVE if i % 2 else View.RANKED, str(rng.choice(["0.05", "0.5", "3"])))
        merge = Merge.WEIGHTED if i % 3 else Merge.AVERAGE
        ours, theirs = Witness(SortedMatching(), []), Witness(MODELS[i % len(MODELS)], [])
        default = Mechanism(noise, Matching(merge=merge, matcher=ours)).release(truth, Seeded(2))
        result = Mechanism(noise, Matching(merge=merge, matcher=theirs)).release(truth, Seeded(2), time_limit=60)
        assert default.certificate.feasible
        assert result.certificate.feasible
        assert len(theirs.costs) == tree.n_inner
        assert all(cost == least for cost, least in theirs.costs)
        assert theirs.costs[0] == ours.costs[0]


def test_names_are_short():
    assert repr(Matching()) == "Matching()"
    assert repr(Matching(matcher=SortedMatching())) == "Matching()"
    assert repr(Matching(merge="average", matcher=Assignment())) == "Matching(merge='average', matcher=Assignment())"
    assert repr(Matching(IsotonicFit(optimum="midpoint"))) == "Matching(IsotonicFit(optimum='midpoint'))"
    assert [repr(model) for model in MODELS] == ["Assignment()", "TransportFlow()", "TransportLp()"]


@pytest.mark.parametrize("model", [SortedMatching(), *MODELS], ids=repr)
def test_unequal_totals_are_refused(model):
    with pytest.raises(ProblemError, match="2 groups cannot be matched to 1; totals must add up"):
        model.match(groups([1, 2]), [groups([1])])


def two_leaves(counts):
    return CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), counts)


def test_limits_are_sentences(monkeypatch):
    parent, children = groups([1, 2, 4]), [groups([1, 2]), groups([5])]
    for constant, model, word in [
        ("LARGEST_ASSIGNMENT", Assignment(), r"3 groups have 9 pairs.*up to 2 groups.*TransportFlow"),
        ("LARGEST_FLOW", TransportFlow(), r"3 sizes by 3 runs of the children are 9 arcs.*SortedMatching"),
        ("LARGEST_LP", TransportLp(), r"9 variables.*SortedMatching"),
    ]:
        monkeypatch.setattr(f"pgsr.models.matching_.{constant}", 2)
        with pytest.raises(NoMatchError, match=word) as caught:
            model.match(parent, children)
        assert caught.value.status is Status.TOO_LARGE
        assert isinstance(caught.value, MethodError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.status, str(again)) == (Status.TOO_LARGE, str(caught.value))
    # The number of groups is public, so a mechanism refuses before the noise; runs are known only afterwards.
    truth = two_leaves([[0, 3, 4, 1], [0, 2, 2, 5]])
    noise = Geometric(View.CUMULATIVE, 1)
    with pytest.raises(ProblemError, match="17 groups have 289 pairs"):
        Mechanism(noise, Matching(matcher=Assignment())).release(truth, Seeded(1))
    for model in (Assignment(), TransportFlow(), TransportLp()):
        result = Matching(matcher=model).apply(noise.measure(truth, Seeded(1)))
        assert result.status is Status.TOO_LARGE
        assert result.reason.startswith("region US: ")


def test_missing_packages_are_sentences(monkeypatch):
    model = TransportFlow()
    absent = ModuleNotFoundError(name="ortools")
    monkeypatch.setattr("pgsr.models.optional._imported", lambda module: absent)
    with pytest.raises(PgsrError, match="ortools is missing; pip install ortools") as caught:
        model.match(groups([1]), [groups([2])])
    assert caught.value.status is Status.NOT_INSTALLED
    truth, noise = two_leaves([[0, 3], [1, 2]]), Geometric(View.CUMULATIVE, 1)
    with pytest.raises(ProblemError, match="pip install ortools"):
        Mechanism(noise, Matching(matcher=model)).release(truth, Seeded(1))
    result = Matching(matcher=model).apply(noise.measure(truth, Seeded(1)))
    assert result.status is Status.NOT_INSTALLED


def test_wrong_answers_of_a_solver_are_refused(monkeypatch):
    """Neither marginals that are off nor a matching that is not the cheapest come through."""
    parent, children = groups([1, 2]), [groups([1, 2])]

    class Answer:
        status, message = 0, ""

        def __init__(self, *x):
            self.x = np.array(x, float)

    for answer, word in [
        (Answer(1, 0, 0, 0), "exactly once"),
        (Answer(0.9, 0.5, 0, 0), "exactly once"),
        (Answer(2, -1, -1, 2), "exactly once"),
        (Answer(0, 1, 1, 0), "costs 2, the least is 0"),
    ]:
        monkeypatch.setattr("scipy.optimize.linprog", lambda *a, answer=answer, **k: answer)
        with pytest.raises(NoMatchError, match=word) as caught:
            TransportLp().match(parent, children)
        assert caught.value.status is Status.FAILED


def test_the_time_left_reaches_the_matcher():
    """HiGHS stops at its limit; a mechanism without time left says how far it came."""
    rng = rng_of(64)
    children = [GroupRuns(np.arange(300), rng.integers(1, 10**6, 300))]
    parent = GroupRuns(np.arange(300, 600), children[0].count[::-1].copy())
    with pytest.raises(NoMatchError, match=r"no matching after 1e-06 s") as caught:
        TransportLp().match(parent, children, time_limit=1e-6)
    assert caught.value.status is Status.TIMED_OUT

    @dataclass(frozen=True)
    class Told:
        seconds: list

        def supports(self, n_groups):
            return None

        def match(self, parent, children, time_limit=None):
            self.seconds.append(time_limit)
            return match_groups(parent, children)

    told = Told([])
    noisy = Geometric(View.CUMULATIVE, 1).measure(two_leaves([[0, 3], [1, 2]]), Seeded(1))
    for limit in (None, 60):
        Matching(matcher=told).apply(noisy, limit)
    assert told.seconds[0] is None
    assert 0 < told.seconds[1] < 60
    assert Matching(matcher=told).apply(noisy, 1e-9).status is Status.TIMED_OUT
