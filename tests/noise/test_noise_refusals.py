"""What noise steps refuse, each in a sentence, with nothing drawn and nothing charged."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgsr import CountOfCounts, Hierarchy, PgsrError, Problem, View
from pgsr.comparison import overlay
from pgsr.data import Split
from pgsr.noise import Geometric, Noise, SplitByRoot
from pgsr.noise.measurement import Measurement
from pgsr.privacy import Ledger, Relation, Rho, Seeded, Unit
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.random import ByteStream, StreamId

TREE = Hierarchy.from_paths([("US", state, county) for state in ("GA", "MI") for county in ("x", "y")])
TRUTH = CountOfCounts(TREE, [np.bincount(np.arange(n) % 4, minlength=4) for n in (3, 9, 40, 0)], "refused")
FOLDED = TRUTH.folded((3, 2, 1))
MIXED = Geometric((*[View.CUMULATIVE] * 3, *[View.RANKED] * 4), 1).measure(TRUTH, Seeded("mixed"))
SPLIT = Geometric(Split(2), 1).measure(TRUTH, Seeded("split"))
RHO = Rho("1/10")
COUNTS: Any = View.COUNTS


class Untouchable:
    """A source of bytes that must not be asked for any."""

    secure = False

    def stream(self, identity: StreamId) -> ByteStream:
        raise AssertionError(f"noise was drawn for {identity}")


def by(*given: Any, **options: Any) -> Callable[[Ledger], Measurement]:
    return lambda ledger: Noise(*given, **options).measure(TRUTH, Untouchable(), ledger)


def geometric(*given: Any, **options: Any) -> Callable[[Ledger], Measurement]:
    return lambda ledger: Geometric(*given, **options).measure(TRUTH, Untouchable(), ledger)


def tables(*given: Any, **options: Any) -> Callable[[Ledger], object]:
    return lambda _: Geometric(*given, **options).noisy_tables(FOLDED, Untouchable(), "data")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (by(COUNTS, 1), "give PureEpsilon"),
        (by(COUNTS, PureEpsilon(0)), "leaves nothing to measure with"),
        (by(COUNTS, PureEpsilon(1), laws="gaussian"), "Gaussian noise has no pure epsilon"),
        (by(COUNTS, RHO, laws="normal"), "use 'best', 'geometric' or 'gaussian'"),
        (by(COUNTS, RHO, unit="entity"), "give Unit.ENTITY"),
        (by(COUNTS, RHO, unit=Unit.GROUP), "number of groups changes, so it cannot be public"),
        (by(COUNTS, RHO, relation=Relation.REPLACE), "other values of an entity that stays in its group"),
        (by(COUNTS, RHO, ("1/2", "1/3", "0")), "add up to 5/6"),
        (by(COUNTS, Rho("1e-30")), "larger"),
        (by(SplitByRoot(), Rho(1), unit=Unit.GROUP, totals="noisy"), "whole groups"),
        (geometric(COUNTS, 1, totals="leaves"), "totals='leaves' is unknown; use 'root', 'regions' or 'noisy'"),
        (geometric("by groups", 1), r"unknown; use View\.COUNTS"),
        (geometric(None, 1), "View"),
        (geometric(2, 1), "View"),
        (geometric((COUNTS, View.RANKED), 1), "2 views for 3 levels; give one view per level"),
        (geometric((Split(2),) * 5, 1), "5 views for 3 levels; give one view per level or per region"),
        (geometric(MIXED.views, 1, totals="root"), "tells every region's number of groups"),
        (geometric(Split(2), 1, totals="root"), r"Split\(2\) tells every region's number of groups by its length"),
        (geometric(SplitByRoot(), 1, totals="root"), "by its length"),
        (geometric(SplitByRoot(), 1, (0, 0, 1)), "the noisy root, and the root has"),
        (geometric((View.CUMULATIVE, SplitByRoot(), SplitByRoot()), 1), "the noisy root, and the root has"),
        (tables(COUNTS, 1, (1, 0, 0)), "share of 0"),
        (tables(View.RANKED, 1), r"not of View\.RANKED"),
        (tables(COUNTS, 1, totals="noisy"), "totals by level are public"),
        *((lambda _, bad=bad: Split(bad), "give a public size, a whole number from 0 up") for bad in (-1, True, "3")),
        (lambda _: replace(MIXED, views=(View.RANKED,) * 4), "4 views for 3 levels and 7 regions"),
        (lambda _: replace(MIXED, views="ranked"), "are a tuple of View"),  # type: ignore[arg-type]
        (lambda _: replace(SPLIT, views=(SplitByRoot(),)), "are a tuple of View"),  # type: ignore[arg-type]
        (lambda _: overlay(truth=TRUTH, noisy=MIXED, region=("US", "GA", "x")), "ranked sizes do not lie over counts"),
        (lambda _: overlay(truth=TRUTH, noisy=SPLIT), "split at 2 does not lie over counts"),
        (lambda _: CountOfCounts(TREE, TRUTH.counts[3:], name=2024), "name"),  # type: ignore[arg-type]
        *(  # all but M_c, for which ranks are costs of cumulative counts
            (lambda _, state=state: state(MIXED), r"several views \(3 regions cumulative, 4 regions ranked\); measure")
            for state in (Problem.isotonic, Problem.m_h, Problem.naive, Problem.mean_consistency)
        ),
    ],
)
def test_refusals(call: Callable[[Ledger], object], sentence: str) -> None:
    ledger = Ledger(Rho(10))
    with pytest.raises(PgsrError, match=sentence):
        call(ledger)
    assert ledger.spent == []
