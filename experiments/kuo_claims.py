"""The claims of Kuo et al. 2018 that the data at hand can test, each with figures and a verdict."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from tqdm import tqdm

from pgsr import CountOfCounts, Geometric, Hierarchy, Mechanism, PgsrError, PostProcess, Seeded, View, metrics
from pgsr.algorithms import BottomUp, IsotonicFit, Matching, Merge, NoConsistency
from pgsr.datasets import census_like, flights, kuo_taxi
from pgsr.random import ByteStream, Source, StreamId

HC, HG = View.CUMULATIVE, View.RANKED

FIT = IsotonicFit(min_size=1)
"""Groups of all data sets here have a member by construction: size 0 is publicly impossible."""


@dataclass(frozen=True)
class OneSeedForAll:
    """The artefact of the authors' published code: every region of a run gets the same noise sequence. Never use it."""

    source: Seeded

    @property
    def secure(self) -> bool:
        return False

    def stream(self, identity: StreamId) -> ByteStream:
        return self.source.stream(replace(identity, level=0, path=()))


@dataclass(frozen=True)
class Finding:
    """Mean earth mover's distance per region, by level, of two ways to release; `better` is whose it should be."""

    claim: str
    data: str
    ours: list[float]
    other: list[float]
    verdict: str


def findings(replicates: int) -> list[Finding]:
    """Run every comparison; those whose data is absent are left out, with a finding that says so."""
    found: list[Finding] = []
    for check in tqdm(_CHECKS, desc="claims", unit="claim", disable=None):
        try:
            found += check(replicates)
        except PgsrError as error:
            found.append(Finding(str(check.__doc__), "", [], [], f"not checked: {error}"))
    return found


def frame(found: list[Finding]) -> pd.DataFrame:
    """The findings as a table for people."""
    text = lambda values: " / ".join(f"{v:,.0f}" if v >= 100 else f"{v:,.1f}" for v in values)  # noqa: E731
    return pd.DataFrame(
        [
            {
                "claim": f.claim,
                "data": f.data,
                "claimed better": text(f.ours),
                "other": text(f.other),
                "verdict": f.verdict,
            }
            for f in found
        ]
    )


def _weighted_merging(n: int) -> list[Finding]:
    """merging by inverse variance beats the plain average"""
    rows = []
    for name, truth in (("taxi, 2 children", two_levels(kuo_taxi())), ("census-like, 51 children", _states())):
        for view, label in ((HC, "Hc x Hc"), (HG, "Hg x Hg")):
            weighted = errors(truth, Geometric(view, 2), Matching(FIT), n)
            average = errors(truth, Geometric(view, 2), Matching(FIT, Merge.AVERAGE), n)
            rows.append(_finding("weighted merging beats the average", f"{name}, {label}", weighted, average))
    return rows


def _consistency(n: int) -> list[Finding]:
    """consistency costs little accuracy"""
    rows = []
    for name, truth in _THREE_LEVELS:
        hierarchy = truth()
        consistent = errors(hierarchy, Geometric(HC, 3), Matching(FIT), n)
        alone = errors(hierarchy, Geometric(HC, 3), NoConsistency(FIT), n)
        rows.append(_finding("consistency costs at most 10 % accuracy", name, consistent, alone, slack=1.1))
    return rows


def _cumulative(n: int) -> list[Finding]:
    """Hc at every level is the better default"""
    rows = []
    for name, truth in _THREE_LEVELS:
        hierarchy = truth()
        hc = errors(hierarchy, Geometric(HC, 3), Matching(FIT), n)
        hg = errors(hierarchy, Geometric(HG, 3), Matching(FIT), n) if hierarchy.totals[0] < 10**6 else None
        if hg is not None:
            rows.append(_finding("Hc x Hc x Hc beats Hg x Hg x Hg", name, hc, hg))
    return rows


def _bottom_up(n: int) -> list[Finding]:
    """bottom-up is better at the leaves and worse above"""
    rows = []
    for name, truth in _THREE_LEVELS:
        hierarchy = truth()
        for noise, wrap in (("independent noise", Seeded), ("one seed for all regions", _shared)):
            top_down = errors(hierarchy, Geometric(HC, 1), Matching(FIT), n, wrap)
            leaves_only = Geometric(HC, 1, shares=(0,) * (hierarchy.hierarchy.n_levels - 1) + (1,))
            bottom_up = errors(hierarchy, leaves_only, BottomUp(FIT), n, wrap)
            claim = "top-down beats bottom-up above the leaves"
            rows.append(_finding(claim, f"{name}, {noise}", top_down[:, :-1], bottom_up[:, :-1]))
    return rows


def errors(
    truth: CountOfCounts, noise: Geometric, post: PostProcess, n: int, source: Callable[[str, int], Source] = Seeded
) -> np.ndarray:
    """Mean earth mover's distance per region and level, one row per replicate; shape (n, levels)."""
    mechanism = Mechanism(noise, post)
    return np.array([_error(truth, mechanism, source("claims", replicate)) for replicate in range(n)])


def two_levels(truth: CountOfCounts) -> CountOfCounts:
    """The first two levels of a hierarchy."""
    tree = truth.hierarchy
    upper = Hierarchy.from_paths([tree.paths[r] for r in range(tree.n_regions)[tree.level(1)]])
    return CountOfCounts(upper, truth.rows(tree.level(1).start, tree.level(1).stop), f"{truth.name}, two levels")


def _error(truth: CountOfCounts, mechanism: Mechanism, source: Source) -> list[float]:
    return metrics.level_means(truth, metrics.emd(truth, mechanism.release(truth, source).estimate))


def _finding(claim: str, data: str, ours: np.ndarray, other: np.ndarray, slack: float = 1.0) -> Finding:
    """Holds, fails or is a tie, by level, at two standard errors of the difference of means."""
    difference = other * slack - ours
    mean = difference.mean(axis=0)
    noise = 2 * difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    words = ["holds" if m > e else "fails" if m < -e else "undecided" for m, e in zip(mean, noise, strict=True)]
    verdict = words[0] if len(set(words)) == 1 else ", ".join(f"level {i}: {word}" for i, word in enumerate(words))
    return Finding(claim, data, ours.mean(axis=0).tolist(), other.mean(axis=0).tolist(), verdict)


def _shared(key: str, replicate: int) -> OneSeedForAll:
    return OneSeedForAll(Seeded(key, replicate))


def _states() -> CountOfCounts:
    return census_like(regions="states", max_size=2_000, groups=200_000)


def _nation() -> CountOfCounts:
    return census_like(regions="counties", max_size=2_000, groups=10_000_000)


_THREE_LEVELS: list[tuple[str, Callable[[], CountOfCounts]]] = [
    ("taxi, 1 / 2 / 28 regions", kuo_taxi),
    ("census-like, 1 / 51 / 3,143 regions", _nation),
    ("flights, 1 / 3 regions", flights),
]
_CHECKS = [_weighted_merging, _consistency, _cumulative, _bottom_up]
