"""The catalogue of methods: one line puts a method into every list, and what an entry declares is so."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import pytest
from planned import planned

from pgsr import CountOfCounts, Hierarchy, Result, Status, algorithms, estimators, own_methods
from pgsr.algorithms import TreeProjection
from pgsr.estimators import TwoStage
from pgsr.experiments.benchmarks.agreement import agreement, proving
from pgsr.experiments.benchmarks.variants import NoisyVariants, Size, chosen
from pgsr.experiments.lib.run import all_methods
from pgsr.experiments.report.method_tables import method_tables
from pgsr.methods import Method, PostProcess, toys
from pgsr.methods.catalogue import Entry, Proof, Use
from pgsr.models.availability import solvers
from pgsr.models.catalogue import SOLVERS, all_entries
from pgsr.noise import Measurement
from pgsr.privacy import Seeded
from pgsr.release import Terms
from pgsr.release.terms.kinds import Kind
from pgsr.warming import warm_up, warmed

TREE = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
TRUTH = CountOfCounts(TREE, [[0, 9, 4, 1], [0, 8, 5, 2]], "tiny")
OWN = [pytest.param(entry, id=repr(entry.method)) for entry in own_methods.METHODS]


@dataclass(frozen=True)
class ToyMethod(TreeProjection):
    """Solves what its parent solves, under a name of its own.

    Source: nobody, section 7. Shown by nothing.
    """


@dataclass(frozen=True)
class ToyRelease:
    """Releases what `TwoStage` does."""

    def supports(self, measurement: Measurement) -> str | None:
        return TwoStage().supports(measurement)

    def apply(self, measurement: Measurement, time_limit: float | None = None) -> Result:
        return TwoStage().apply(measurement, time_limit)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_methods, "METHODS", (*own_methods.METHODS, Entry(ToyMethod()), Entry(ToyRelease())))


def labels(key: str, size: Size = Size.STATES) -> list[str]:
    """The labels of the arms of the variants of a key."""
    noisy = NoisyVariants(TRUTH, Fraction(1), "catalogue")
    return [label for variant in chosen([key]) for label, *_ in variant.arms(noisy, size)]


@pytest.mark.usefixtures("registered")
def test_one_line_puts_a_method_into_every_list() -> None:
    assert labels("m_h").count("ToyMethod()") == 2, "M_H, in integers and relaxed, and not by cost tables"
    assert labels("m_h", Size.FULL).count("ToyMethod()") == 2
    assert labels("releases").count("ToyRelease()  1/2 each") == 1
    assert not set(labels("m_c")) & {"ToyMethod()", "ToyRelease()  1/2 each"}, "another problem"
    assert ToyMethod() in all_methods()
    assert {ToyMethod(), ToyRelease()} <= {method for method in warmed() if "Toy" in repr(method)}
    toy = [method for method in warmed() if "Toy" in repr(method)]
    assert [name for name, _ in warm_up(toy)] == ["ToyMethod()", "ToyRelease()"]
    pairs = agreement(1, ["M_H"], [each for each in proving() if "TreeProj" in repr(each) or "Toy" in repr(each)])
    assert pairs["ToyMethod()", "M_H"].agreed == 1


@pytest.mark.usefixtures("registered")
def test_one_line_puts_a_method_onto_the_page() -> None:
    tables = dict(method_tables())
    (row,) = [line for line in tables["methods.exact"].splitlines() if "toy_method" in line]
    assert (
        "| Solves what its parent solves, under a name of its own | M\\_H, root or regions; M\\_H^r, root; with" in row
    )
    assert "| proved optimum |" in row
    assert "| `toy_release` | Releases what `TwoStage` does |" in tables["methods.releases"]


def test_a_use_that_is_left_out_is_a_list_without_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    for use, listed in {
        Use.COMPARE: partial(labels, "m_h"),
        Use.AGREEMENT: lambda: map(repr, proving()),
        Use.LIBRARY: lambda: map(repr, all_methods()),
        Use.WARM_UP: lambda: map(repr, warmed()),
    }.items():
        monkeypatch.setattr(own_methods, "METHODS", (Entry(ToyMethod(), uses=Use.EVERYWHERE & ~use),))
        assert "ToyMethod()" not in list(listed()), use
    monkeypatch.setattr(own_methods, "METHODS", (Entry(ToyMethod(), Proof.GAP, small=True),))
    assert ToyMethod() not in proving(), "a gap that is proved is no optimum"
    assert ToyMethod() not in all_methods(), "instances are large"
    assert labels("m_h", Size.SMALL)[-3:].count("ToyMethod()") == 1, "the section of methods for small hierarchies"


@pytest.mark.parametrize("entry", OWN)
def test_an_entry_says_what_is_so(entry: Entry) -> None:
    """What an entry says is proved is proved of toys; every method has words, and a source or what it extends."""
    assert entry.words
    assert entry.source, "Source: or Extends: in the docstring"
    method = entry.method
    if isinstance(method, PostProcess):
        return
    asked = [problem for problem in toys.problems() if method.supports(problem) is None]
    assert asked
    for problem in asked:
        result = method.solve(problem)
        if problem.integer and getattr(method, "rounds_relaxation", False):
            proved = result.certificate is not None and result.certificate.optimal
            assert result.status is (Status.OPTIMAL if proved else Status.RELAXED)
        elif entry.answer is Proof.OPTIMUM:
            assert result.status is Status.OPTIMAL
        else:
            assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
            certificate = result.certificate
            assert certificate is not None
            assert (certificate.bound is not None) == (entry.answer is Proof.GAP)


def test_every_method_that_is_exported_is_in_the_catalogue() -> None:
    """Whatever is exported that solves or applies is in it."""
    listed = {type(entry.method) for entry in own_methods.METHODS}
    exported = [getattr(room, name) for room in (algorithms, estimators) for name in room.__all__]
    methods = {
        each for each in exported if isinstance(each, type) and (hasattr(each, "solve") or hasattr(each, "apply"))
    }
    left = {each.__name__ for each in methods - listed if each not in (Method, PostProcess)}
    assert not left
    assert listed <= methods


def test_releases_have_the_names_of_mechanisms() -> None:
    assert sorted(entry.release for entry in all_entries() if entry.release) == sorted(Kind)
    truth = CountOfCounts(Hierarchy.from_parents(["US", "GA"], [-1, 0]), ([[0, 3, 1, 2]], [[0, 3, 3]]))
    for kind in Kind:
        if kind.totals_by_level is not None:
            planned(Terms("d", (3, 2), "1", kind), 2).mechanism.check(truth, Seeded("k"))


def test_solvers_of_this_package_are_in_the_catalogue_once_and_name_their_package() -> None:
    ours = [repr(entry.method) for entry in SOLVERS]
    assert len({repr(entry.method) for entry in all_entries()}) == len(all_entries())
    known = {repr(info.method) for info in solvers()}
    assert known <= set(ours)
    shown = [entry for entry in SOLVERS if Use.PAGE in entry.uses]
    assert all((repr(entry.method) in known) != bool(entry.needs) for entry in shown)
