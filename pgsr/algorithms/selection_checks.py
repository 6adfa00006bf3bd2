"""What a choice among mechanisms refuses before it spends anything."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from pgsr.budget import Ledger
from pgsr.errors import MethodError, ProblemError
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Measurement, Totals
from pgsr.mechanism import Mechanism
from pgsr.method import Method, PostProcess
from pgsr.random import Source
from pgsr.views import View


def checked_candidates(candidates: Sequence[Mechanism]) -> tuple[Mechanism, ...]:
    """The candidates as a tuple.

    Raises:
        MethodError: there is none, or one is no `Mechanism`.
    """
    if not isinstance(candidates, Sequence) or not candidates:
        raise MethodError(f"candidates={candidates!r}; give a sequence of at least one Mechanism")
    for candidate in candidates:
        if not isinstance(candidate, Mechanism) or not isinstance(candidate.post, Method | PostProcess):
            raise MethodError(f"candidate {candidate!r} cannot be run; give Mechanism(noise, method or post-process)")
    return tuple(candidates)


def refuse_early(candidates: Sequence[Mechanism], truth: CountOfCounts, source: Source) -> None:
    """Raise what any candidate would raise before it draws noise; nothing is drawn or charged.

    Raises:
        BudgetError, ProblemError, MemoryNeededError: as `Geometric.measure`.
        ProblemError: a method does not solve the problem it would get.
    """
    for candidate in candidates:
        with suppress(_Charged):
            candidate.noise.measure(truth, source, _StopAtCharge(1))
        if isinstance(candidate.post, Method):
            reason = candidate.post.supports(candidate._stated(_blank(candidate, truth)))
            if reason is not None:
                raise ProblemError(f"candidate {label(candidate)} cannot run: {reason}")


def label(candidate: Mechanism) -> str:
    """A candidate in words, without its epsilon."""
    view = candidate.noise.view
    return f"{candidate.post!r} on {' x '.join(v.value for v in (view if isinstance(view, tuple) else (view,)))}"


class _Charged(Exception):
    """`Geometric.measure` refuses whatever it can, then charges, then draws: it came as far as the charge."""


class _StopAtCharge(Ledger):
    def charge(self, amount, what) -> None:
        raise _Charged


def _blank(candidate: Mechanism, truth: CountOfCounts) -> Measurement:
    """A measurement of zeros with the public facts of the real one; takes no memory."""
    noise, tree, shape = candidate.noise, truth.hierarchy, (truth.hierarchy.n_regions, truth.max_size + 1)
    views = noise.view if isinstance(noise.view, tuple) else (noise.view,)
    public = Totals.parse(noise.totals)
    totals = {Totals.REGIONS: truth.totals, Totals.ROOT: truth.totals[:1]}.get(public, np.zeros(shape[0], np.int64))
    values = (np.empty(0, np.int64),) * shape[0] if View.RANKED in views else np.broadcast_to(np.int64(0), shape)
    return Measurement(
        hierarchy=tree,
        view=views[0] if len(set(views)) == 1 else views,
        values=values,
        max_size=truth.max_size,
        epsilon=noise.budget(tree.n_levels).levels,
        public=public,
        totals=totals.copy(),
        secure=False,
        data_set=truth.name,
        totals_epsilon=noise.totals_epsilon,
    )
