"""The noise step of the front door: one view of every region with double-geometric noise, by epsilon."""

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.views import View
from pgsr.errors import ArgumentError
from pgsr.noise.geometric import Geometric
from pgsr.noise.measurement import Measurement, Totals
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.noise.split_by_root import SplitByRoot, ViewRule
from pgsr.privacy.budget import Number
from pgsr.privacy.random import Secure, Seeded

SPLIT = "split"
"""The view of the recommended release."""


def measure(
    truth: CountOfCounts,
    view: str | ViewRule = SPLIT,
    *,
    epsilon: Number,
    seed: str | int | None = None,
    secure: bool = False,
) -> Measurement:
    """Measure true counts with noise; the only step that sees the truth, and epsilon-differentially private.

    Neighbouring data differ by one member who joins or leaves a group. Of the view "split" the noisy root, which is
    measured first, chooses the parts of epsilon that the levels of the hierarchy get. Of others every level gets an
    equal part; `pgsr.noise.Geometric` has other parts, and `pgsr.noise.Noise` other budgets, units and laws of noise.

    Args:
        truth: the counts, as `pgsr.read` makes them. Where they say that groups are private, a tenth of epsilon goes to
            noisy numbers of groups, in place of public ones.
        view: which vector of every region is measured: "split", cumulative counts of small sizes and ranks of large
            groups, as the recommended release has it; "counts" of groups of size s, "cumulative" counts of groups of
            size at most s, "ranked" sizes, or a value such as `pgsr.data.split_view.Split(5)`.
        epsilon: the whole privacy loss, as a number or as text, such as "1/10".
        seed: text or a number that the noise is made of. Whoever knows it can take it off, so it is for research.
        secure: whether noise comes from the operating system, has no seed and cannot be drawn again: to publish.

    Raises:
        ArgumentError: neither `seed` nor `secure` is given, or both are, or the view is unknown.
        BudgetError, MemoryNeededError: as `Geometric` says.

    Complexity: O(regions x sizes), or O(regions + groups) for ranked sizes.

    Example:
        >>> import pgsr
        >>> tree = pgsr.Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> truth = pgsr.CountOfCounts(tree, [[0, 900, 400, 90], [0, 800, 300, 110]])
        >>> measure(truth, "counts", epsilon=1, seed="demo")
        Measurement(View.COUNTS, Hierarchy(3 regions, levels 1 / 2), sizes 0..3, epsilon=1)

    Source: Kuo et al. 2018, section 4; Fioretto and Van Hentenryck 2019, section 4.
    """
    require_kind(truth, CountOfCounts, "the truth", "give the counts that pgsr.read makes")
    if not isinstance(secure, bool):
        raise ArgumentError(f"secure={secure!r}; give True or False")
    if (seed is not None) is secure:
        raise ArgumentError(
            f"{'seed and secure exclude each other' if secure else 'there is neither seed nor secure'}; "
            'give seed="demo" for research, whose noise anybody can draw again, or secure=True to publish'
        )
    return noise_step(truth, view, epsilon).measure(truth, Secure() if seed is None else Seeded(seed))


def noise_step(counts: CountOfCounts, view: object, epsilon: Number) -> Geometric:
    """Make the noise step with which `measure` measures counts of this kind."""
    totals = Totals.NOISY if counts.private_groups else Totals.REGIONS
    rule, shares = _view(view), BY_ROOT if view == SPLIT else None
    return Geometric(rule, epsilon, shares, totals=totals, max_quantity=counts.max_quantity)


def _view(view: object) -> ViewRule:
    if isinstance(view, ViewRule):
        return view
    if view == SPLIT:
        return SplitByRoot()
    for known in View:
        if isinstance(view, str) and view.casefold() == known.value:
            return known
    raise ArgumentError(
        f'view={view!r} is unknown; give "split", "counts", "cumulative" or "ranked", or a view such as Split(5)'
    )
