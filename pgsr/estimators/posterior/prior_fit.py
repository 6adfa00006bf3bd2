"""A prior that is learned from the evidence: one shape for the whole tree, and deviations from it down the tree.

**Model.** With G[r] the number of groups of region r, the counts x[r, s] are negative binomial with the means

    mu[r, s] = G[r] e^f[r](s) / sum over t of e^f[r](t),    f[root] = F,    f[r] = f[parent of r] + C d[r],

f linear in the size between knots (`Knots`), d = 0 for an only child, whose counts are its parent's. Differences of F
and of deviations are Student t distributed (`Scales`), counts have dispersions k (`dispersion`), and what is maximised
is the penalised evidence L. A step takes the information I(theta) = I + theta (M - I), I by Louis' formula and M that
of EM: theta = 0 is Newton's method, and a larger theta is safer and shorter. From the leaves up, the best d[r] is put
in for a given change of f[parent] (`elimination_kernel.eliminated`); the root is solved for F, and the way down gives
the changes of all d. The step is taken if L does not fall, else theta grows; after a first try it falls.

The search begins with no deviations. Dispersions move along with a step, and with it are dropped if it is refused. The
search ends once two steps in a row gain next to nothing. If it fails, it begins again with steps of EM. If that fails,
too, or leaves less evidence than there was at the start, the start is the prior, and `Learned.remark` says so.

docs/derivations/posterior.md derives all this.

Sources: Louis 1982 (information), Dempster, Laird and Rubin 1977 (EM), Schall 1991 (scales), Eilers and Marx 1996
(penalised differences). Shown by `test_posterior_learned.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pgsr.data.hierarchy import Hierarchy
from pgsr.estimators.posterior import dispersion
from pgsr.estimators.posterior.evidence import Evidence, Marginals
from pgsr.estimators.posterior.knots import Knots
from pgsr.estimators.posterior.newton import Newton
from pgsr.estimators.posterior.prior_model import Point, PriorModel, Seen
from pgsr.estimators.posterior.scales import Scales
from pgsr.estimators.posterior.start import Pooled, shape_of
from pgsr.machine import memory
from pgsr.machine.parallel import Threads
from pgsr.methods.gate import Deadline
from pgsr.noise.measurement import Measurement, Totals

MOST_STEPS = 40
"""After so many steps the search has failed."""

TRIES = 7
"""So many thetas are tried for a step."""

SLACK = 0.05
"""L may fall by as much in a step: windows leave its last digits open."""

GAIN, GAIN_PER_REGION = 0.3, 0.03
"""A step that gains less than their sum gains next to nothing."""

WAIT = 5
"""So many steps are done before dispersions move."""

FIRST_THETA, FAILED_THETA = 0.1, 0.1
"""The first theta, and the least one after a step that was refused."""

FARTHEST = 6.0
"""theta grows, up to `LARGEST_THETA`, until no logarithm moves by more in a step."""

LARGEST_THETA = 3.0


@dataclass(frozen=True, eq=False)
class Learned:
    """A prior of all regions, and what was found on the way.

    Attributes:
        model: which priors there are.
        start: where the search began.
        point: the parameters.
        seen: the last pass, under this prior.
        scales: of the differences.
        gains: of the penalised evidence, step by step.
        remark: what went wrong; "" where nothing did.
    """

    model: "PriorModel"
    start: Point
    point: Point
    seen: Seen
    scales: Scales
    gains: tuple[float, ...] = ()
    remark: str = ""

    def marginals(self, region: int, beginnings: Sequence[np.ndarray], border: float) -> Marginals:
        """Compute the posterior of a measured region; `beginnings` are those of `PriorModel`."""
        return self.model.marginals(region, self.point, beginnings, self.seen, border)


def learn(measurement: Measurement, deadline: Deadline) -> Learned:
    """Learn the prior of a measurement.

    Raises:
        Stopped: the deadline has passed.
        MemoryNeededError: three passes over all regions do not fit.

    Complexity: some ten to thirty forward-backward passes, and O(regions x J j (J + j)) operations for each.
    """
    sizes, tree = measurement.sizes, measurement.hierarchy
    evidence = {r: Evidence.of(measurement, r) for r in np.flatnonzero(measurement.measured).tolist()}
    pilots = sizes.rows(np.zeros(sizes.n_cells))
    found = Threads(sizes.n_cells)(lambda region: evidence[region].pilot(), evidence)
    for region, pilot in zip(evidence, found, strict=True):
        pilots[region][:] = pilot
    groups = numbers_of_groups(measurement, evidence, pilots)
    pooled = Pooled.of(tree, evidence, pilots)
    spikes = pooled.spikes()
    shares, knots = pooled.distribution(float(groups[0]), spikes), Knots.of(measurement.max_size + 1, spikes)
    memory.require(_memory(tree, knots), f"the prior of {tree.n_regions:,} regions with {len(knots.at)} knots")
    dispersions = np.full((tree.n_levels, int(knots.band[-1]) + 1), dispersion.MOST)
    deviations = tuple(np.zeros((n, len(knots.own))) for n in tree.regions_per_level)
    start = Point(shape_of(shares, knots), deviations, dispersions)
    model = PriorModel(sizes, evidence, groups, knots, deadline)
    if measurement.public is Totals.ROOT:  # numbers of groups are better known under a prior
        groups = numbers_of_groups(measurement, evidence, model.see(start, pilots).mean)
        model = replace(model, groups=groups)
    begun = Learned(model, start, start, model.see(start, pilots), Scales.typical(knots, tree))
    return guarded(begun)


def guarded(begun: Learned) -> Learned:
    """Search from the start; if that fails, by steps of EM; and if that fails, keep the start."""
    found = search(begun, FIRST_THETA)
    if not failure(begun, found):
        return found
    again = search(begun, 1.0)
    if not (why := failure(begun, again)):
        return again
    return replace(begun, remark=f"the prior was not learned, but is the start of the search: {why}")


def failure(begun: Learned, found: Learned) -> str:
    """Say why a search failed, or "".

    A prior is compared with the start by the penalised evidence.
    """
    if found.remark:
        return found.remark
    scales = found.scales
    if found.model.penalised(found.point, scales, found.seen) < found.model.penalised(begun.point, scales, begun.seen):
        return "it ended with less penalised evidence than the start has at the same scales"
    return ""


def search(begun: Learned, theta: float) -> Learned:
    """Improve a prior step by step until steps gain next to nothing."""
    model, now = begun.model, begun
    enough, calm = GAIN + GAIN_PER_REGION * len(model.evidence), 0
    for step in range(MOST_STEPS):
        if step:
            variances = Newton(model, now.point, now.scales, now.seen).variances()
            now = replace(now, scales=now.scales.follow(now.point.shape, now.point.deviations, *variances))
        before = model.penalised(now.point, now.scales, now.seen)
        newton = Newton(model, now.point, now.scales, now.seen)
        for tried in range(TRIES):
            move = newton.move(theta)
            while move.farthest > FARTHEST and theta < LARGEST_THETA:
                theta = max(3 * theta, 0.03)
                move = newton.move(theta)
            deviations = tuple(d + change for d, change in zip(now.point.deviations, move.deviations, strict=True))
            point = Point(now.point.shape + move.shape, deviations, now.point.dispersions)
            if step >= WAIT and tried < 3:
                point = replace(point, dispersions=model.stepped_dispersions(now.point, now.seen))
            seen = model.see(point, now.seen)
            gain = model.penalised(point, now.scales, seen) - before
            if gain >= -SLACK:
                break
            theta = max(4 * theta, FAILED_THETA)
        else:
            return replace(now, remark="no step kept the evidence")
        now = replace(now, point=point, seen=seen, gains=(*now.gains, gain))
        if tried == 0:
            theta = theta / 4 if theta > 1e-3 else 0.0
        calm = calm + 1 if gain < enough and step > WAIT else 0
        if calm == 2:
            return now
    return replace(now, remark=f"it had not ended after {MOST_STEPS} steps")


def numbers_of_groups(
    measurement: Measurement, evidence: Mapping[int, Evidence], sums: Sequence[np.ndarray]
) -> np.ndarray:
    """Public numbers of groups, or the last cumulative counts where only the root's is public; shape (regions,)."""
    if measurement.public is not Totals.ROOT:
        return measurement.region_totals.astype(float)
    tree = measurement.hierarchy
    own = np.maximum([row[-1] for row in sums], 1.0)
    own[0] = measurement.root_total
    for region in range(tree.n_inner - 1, 0, -1):
        if region not in evidence:
            own[region] = own[tree.first_child[region] : tree.first_child[region + 1]].sum()
    return own


def _memory(tree: Hierarchy, knots: Knots) -> int:
    """Estimate the memory of pilots, of three passes (the first, the last, one that is tried) and of messages."""
    n_knots, n_sizes = len(knots.at), len(knots.left)
    of_pass = 12 * n_sizes + 2 * n_knots * (n_knots + 17)
    of_region = 8 * n_sizes + 3 * of_pass + 4 * n_knots * len(knots.own)
    n_above = tree.n_regions - tree.regions_per_level[-1]
    return 8 * n_knots**2 * (64 + n_above) + tree.n_regions * of_region
