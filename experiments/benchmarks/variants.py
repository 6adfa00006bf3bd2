"""Every variant of post-processing in the papers and in pgsr, and the methods that answer it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import numpy as np

from pgsr import CountOfCounts, Problem, View
from pgsr.errors import ArgumentError
from pgsr.methods.catalogue import Entry, Use
from pgsr.methods.method import Method, PostProcess
from pgsr.models.adapter import SolverModel
from pgsr.models.catalogue import all_entries
from pgsr.noise import Geometric, Measurement, SplitByRoot
from pgsr.noise.split_by_root import ViewRule
from pgsr.privacy import Seeded
from pgsr.problems.conditions import entities

Labelled = tuple[str, Measurement | Problem, Method | PostProcess]
"""An arm: its label, what it works on, and the method or the mechanism."""

Shares = tuple[Fraction, ...] | None
"""The parts of epsilon that levels get, root first; None for equal ones."""

THRESHOLDS = Fraction(1, 20)
"""The root's share where it tells thresholds of split views, and leaves alone are read otherwise."""

RANKS = (View.RANKED, SplitByRoot())
"""The views that measure a cell for a group."""

INTERFACES = (
    ("Direct('HIGHS')", "Scipy()", "MathOpt('HIGHS')"),
    ("MathOpt('GSCIP')", "Scip()", "Cvxpy('SCIP')"),
)
"""The interfaces to one solver, HiGHS and SCIP, fastest first."""

IMPORTS = (
    "cvxpy",
    "gurobipy",
    "highspy",
    "ortools.graph.python.min_cost_flow",
    "ortools.math_opt.python.mathopt",
    "ortools.sat.python.cp_model",
    "pyscipopt",
    "scipy.optimize",
)
"""The modules of the solvers, which take seconds to import."""


class Size(StrEnum):
    """The size of a hierarchy: one that every solver proves, one that most answer, or the whole nation."""

    SMALL = "small"
    STATES = "states"
    FULL = "full"


@dataclass(frozen=True)
class NoisyVariants:
    """The measurements of one truth that a comparison needs, each drawn when it is first asked for.

    Attributes:
        truth, epsilon, seed: what is measured, and how.
        max_sizes: the largest sizes of the levels, root first; the truth's own on all levels if None.
    """

    truth: CountOfCounts
    epsilon: Fraction
    seed: str
    max_sizes: tuple[int, ...] | None = None
    _drawn: dict[tuple[ViewRule, Shares], Measurement] = field(default_factory=dict, init=False, repr=False)

    def of(self, view: ViewRule, shares: Shares = None) -> Measurement:
        """Measure a view with these shares of epsilon, root first; equal ones if None."""
        if (view, shares) not in self._drawn:
            noise = Geometric(view, self.epsilon, shares, max_sizes=self.max_sizes)
            self._drawn[view, shares] = noise.measure(self.truth, Seeded(self.seed))
        return self._drawn[view, shares]

    @cached_property
    def by_level(self) -> "NoisyVariants":
        """The measurements of the same truth with half as many sizes on every level as on the one above."""
        levels = range(self.truth.hierarchy.n_levels)
        return NoisyVariants(
            self.truth, self.epsilon, self.seed, tuple(self.truth.max_size >> level for level in levels)
        )


@dataclass(frozen=True)
class Variant:
    """A variant of post-processing. Its arms are the methods of the catalogue that take it.

    Attributes:
        key: its name on the command line; relaxations and further forms of a problem share it.
        words: what it asks for, the papers' name first.
        state: the problem on noisy values; None for the releases, which are the optimum of no problem.
        largest: the largest size at which it is asked; ranked sizes, for example, are as many unknowns as there are
            groups.
        solvers: the general solvers that are asked besides, by name, beyond the small size; all of a comparison if
            None.
        small: whether its arms are the methods that take seconds on a hundred unknowns, in place of all others.
        interfaces: whether the small size shows every interface to a solver; elsewhere the first of `INTERFACES` that
            takes the problem stands for all of them.
        one_size: whether it is about one largest size for all levels, or chooses sizes per level itself, so that it is
            left out where those of the whole comparison are given.
    """

    key: str
    words: str
    state: Callable[[NoisyVariants], Problem] | None
    largest: Size = Size.FULL
    solvers: tuple[str, ...] | None = None
    small: bool = False
    interfaces: bool = False
    one_size: bool = False

    def arms(self, noisy: NoisyVariants, size: Size) -> list[Labelled]:
        """List the arms on noisy values; a hierarchy of a nation's size leaves the methods that can."""
        if self.one_size and noisy.max_sizes is not None:
            return []
        entries = [entry for entry in all_entries() if Use.COMPARE in entry.uses]
        if self.state is None:
            return [] if size is Size.SMALL else _released(entries, noisy, size is Size.FULL)
        if list(Size).index(size) > list(Size).index(self.largest):
            return []
        problem = self.state(noisy)
        methods = [entry.method for entry in entries if entry.small is self.small and isinstance(entry.method, Method)]
        asked = {repr(m): m for m in methods if self._asks(m, size) and m.supports(problem) is None}
        if not (self.interfaces and size is Size.SMALL):
            for interfaces in INTERFACES:
                for label in [each for each in interfaces if each in asked][1:]:
                    del asked[label]
        return [(label, problem, m) for label, m in asked.items()]

    def _asks(self, method: Method, size: Size) -> bool:
        if not isinstance(method, SolverModel) or size is Size.SMALL:
            return True
        return size is Size.STATES and (self.solvers is None or repr(method) in self.solvers)


def _released(entries: Sequence[Entry], noisy: NoisyVariants, nation: bool) -> list[Labelled]:
    """List post-processes on what they measure: class by class, and of a class view by view.

    Each spends all of epsilon on what it reads, and its label ends with the shares. Ranks of a nation are too many for
    a comparison.
    """
    shown = [
        (entry.method, view, label)
        for entry in entries
        if isinstance(entry.method, PostProcess)
        for view, label in _views(entry.method, entry.measured, noisy).items()
        if not (nation and view in RANKS) and _measurable(entry.method, view, noisy)
    ]
    classes, views = list(dict.fromkeys(type(post) for post, *_ in shown)), [*View, SplitByRoot()]
    shown.sort(key=lambda arm: (classes.index(type(arm[0])), views.index(arm[1])))
    return [
        (f"{label}  {_said(shares, noisy)}", noisy.of(view, shares), post)
        for post, view, label in shown
        for shares in [_shares(post, view, noisy)]
    ]


def _shares(post: PostProcess, view: ViewRule, noisy: NoisyVariants) -> Shares:
    """Choose the shares that a post-process is meant for: equal ones, or all to the leaves if it reads no others."""
    above = noisy.truth.hierarchy.n_levels - 1
    if not _reads_leaves_alone(post) or not above:
        return None
    root = THRESHOLDS if isinstance(view, SplitByRoot) else Fraction(0)
    return (root, *[Fraction(0)] * (above - 1), 1 - root)


def _reads_leaves_alone(post: PostProcess) -> bool:
    return getattr(post, "leaves_alone", False)


def _said(shares: Shares, noisy: NoisyVariants) -> str:
    return f"1/{noisy.truth.hierarchy.n_levels} each" if shares is None else ", ".join(map(str, shares))


def _measurable(post: PostProcess, view: ViewRule, noisy: NoisyVariants) -> bool:
    """Say whether the view can be measured for a post-process; where levels have sizes of their own, not all can.

    Every level is measured there, so what reads the leaves alone is left out.
    """
    if noisy.max_sizes is None:
        return True
    return view not in RANKS and not _reads_leaves_alone(post) and _takes(post, view, noisy)


def _views(post: PostProcess, measured: Mapping[ViewRule, str] | None, noisy: NoisyVariants) -> Mapping[ViewRule, str]:
    """Give the views that are measured for a post-process, each with the label of its row."""
    if measured is not None:
        return measured
    usual: tuple[ViewRule, ...] = (View.CUMULATIVE, View.COUNTS, *((View.RANKED,) if noisy.max_sizes is None else ()))
    found = next((view for view in usual if _takes(post, view, noisy)), None)
    return {} if found is None else {found: repr(post)}


def _takes(post: PostProcess, view: ViewRule, noisy: NoisyVariants) -> bool:
    supports = getattr(post, "supports", lambda measurement: None)
    return supports(noisy.of(view, _shares(post, view, noisy))) is None


def _by_level(state: Callable[[NoisyVariants], Problem]) -> Callable[[NoisyVariants], Problem]:
    return lambda noisy: state(noisy.by_level)


def _relaxed(state: Callable[[NoisyVariants], Problem]) -> Callable[[NoisyVariants], Problem]:
    return lambda noisy: state(noisy).relaxed()


def _naive(noisy: NoisyVariants) -> Problem:
    return Problem.naive(noisy.of(View.COUNTS))


def _h_c(norm: int) -> Callable[[NoisyVariants], Problem]:
    return lambda noisy: Problem.isotonic(noisy.of(View.CUMULATIVE), norm=norm)


def _h_g(norm: int) -> Callable[[NoisyVariants], Problem]:
    return lambda noisy: Problem.isotonic(noisy.of(View.RANKED), norm=norm)


def _mean(noisy: NoisyVariants) -> Problem:
    return Problem.mean_consistency(noisy.of(View.COUNTS))


def _m_h(noisy: NoisyVariants) -> Problem:
    return Problem.m_h(noisy.of(View.COUNTS))


def _m_h_regions(noisy: NoisyVariants) -> Problem:
    return Problem.m_h(noisy.of(View.COUNTS), totals="regions")


def _m_h_entities(noisy: NoisyVariants) -> Problem:
    truth = noisy.truth
    people = truth.counts[truth.hierarchy.leaves] @ np.arange(truth.max_size + 1)
    stated = entities(level=truth.hierarchy.n_levels - 1) == people
    return Problem.m_h(noisy.of(View.COUNTS), totals="regions").where(stated)


def _m_c(noisy: NoisyVariants) -> Problem:
    return Problem.m_c(noisy.of(View.CUMULATIVE))


def _m_c_regions(noisy: NoisyVariants) -> Problem:
    return Problem.m_c(noisy.of(View.CUMULATIVE), totals="regions")


def _m_c_l1(noisy: NoisyVariants) -> Problem:
    return Problem.m_c(noisy.of(View.CUMULATIVE), norm=1)


VARIANTS: tuple[Variant, ...] = (
    Variant("naive", "naive: each region alone: whole, non-negative counts that sum to its total", _naive),
    Variant("isotonic", "H_c, L1: each region's cumulative counts made non-decreasing, least absolute change", _h_c(1)),
    Variant("isotonic", "H_c, L2: each region's cumulative counts made non-decreasing, least squares", _h_c(2)),
    Variant("isotonic", "H_g, L1: each region's ranked sizes made non-decreasing, least absolute change", _h_g(1),
            largest=Size.STATES, solvers=(), one_size=True),
    Variant("isotonic", "H_g, L2: each region's ranked sizes made non-decreasing, least squares", _h_g(2),
            largest=Size.STATES, solvers=(), one_size=True),
    Variant("mean_consistency", "mean consistency: regions add up, counts of any sign, least squares", _mean),
    Variant("m_h", "M_H: counts that add up, whole and non-negative, the root's total kept", _m_h, interfaces=True),
    Variant("m_h", "M_H^r: counts that add up, non-negative, the root's total kept", _relaxed(_m_h)),
    Variant("m_h", "M_H by cost tables, M_dp: slopes merged or greedy", _m_h, Size.SMALL, small=True, one_size=True),
    Variant("m_h_regions", "M_H, totals: counts that add up, the total of every region kept", _m_h_regions),
    Variant("m_h_regions", "M_H^r, totals: counts that add up, the total of every region kept", _relaxed(_m_h_regions)),
    Variant("m_h_entities", "M_H, totals, members: every region's numbers of groups and of members kept", _m_h_entities,
            Size.SMALL, one_size=True),
    Variant("m_h_entities", "M_H^r, totals, members: every region's numbers of groups and of members kept",
            _relaxed(_m_h_entities), one_size=True),
    Variant("m_c", "M_c: cumulative counts that add up and never decrease, least squares", _m_c, interfaces=True,
            one_size=True),
    Variant("m_c", "M_c^r: cumulative counts that add up and never decrease, least squares", _relaxed(_m_c),
            one_size=True),
    Variant("m_c_l1", "M_c, L1: cumulative counts that add up and never decrease, least absolute change", _m_c_l1,
            one_size=True),
    Variant("m_c_l1", "M_c^r, L1: the same in real numbers, a linear program", _relaxed(_m_c_l1), one_size=True),
    Variant("by_level", "M_H, fewer sizes below: each level tells half as many sizes apart as the one above",
            _by_level(_m_h), solvers=("Cvxpy('CLARABEL')", "MathOpt('GSCIP')", "MathOpt('PDLP')"), one_size=True),
    Variant("by_level", "M_H^r, fewer sizes below: each level tells half as many sizes apart as the one above",
            _relaxed(_by_level(_m_h)), one_size=True),
    Variant("releases", "releases: mechanisms of several steps, no single stated problem", None),
)  # fmt: skip
"""All variants, in the order in which the tables show them."""

KEYS = tuple(dict.fromkeys(variant.key for variant in VARIANTS))


def chosen(keys: Sequence[str]) -> list[Variant]:
    """Give the variants of these keys, all if there is none.

    Raises:
        ArgumentError: a key is unknown.
    """
    unknown = [key for key in keys if key not in KEYS]
    if unknown:
        raise ArgumentError(f"the problem {unknown[0]!r} is unknown; write one of {', '.join(KEYS)}")
    return [variant for variant in VARIANTS if not keys or variant.key in keys]
