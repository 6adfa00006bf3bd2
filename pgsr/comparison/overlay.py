"""The figure of one region's truth, noisy values and release."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgsr.checks import require_kind
from pgsr.data.counts import CountOfCounts
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, counts_of_cumulative, cumulative
from pgsr.errors import ArgumentError
from pgsr.figures.region_figure import COUNTED, ESTIMATED, NOISY, Curve, sizes_figure
from pgsr.methods.method import Result
from pgsr.noise.measurement import Measurement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def overlay(
    *,
    truth: CountOfCounts | None = None,
    noisy: Measurement | None = None,
    released: CountOfCounts | Estimate | Result | None = None,
    region: int | Sequence[str] | None = None,
    view: View | None = None,
) -> "Figure":
    """Draw the given tables of one region over each other: exact counts black, the noise orange, the release blue.

    With exact counts there is a second panel with the distances from them, because noise is small beside counts. A
    figure of a truth is as private as the truth.

    Args:
        truth: exact counts.
        noisy: of counts or cumulative counts.
        released: what was made of them: a result, its estimate, or finished counts.
        region: its path, `("US", "GA")`, or its index; the root if None.
        view: `View.COUNTS` or `View.CUMULATIVE`; that of `noisy` if None, else counts. Noisy counts are summed up, or
            noisy cumulative counts subtracted from each other, where the view is the other one.

    Raises:
        ArgumentError: nothing is given, something of another kind, or the regions or sizes differ.
        HierarchyError: there is no such region.

    Example:
        >>> from pgsr import Hierarchy
        >>> from pgsr.noise import Geometric
        >>> from pgsr.privacy import Seeded
        >>> counts = CountOfCounts(Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0]), [[0, 2, 0, 1], [0, 1, 1, 1]])
        >>> noisy = Geometric(View.COUNTS, epsilon="1").measure(counts, Seeded("demo"))
        >>> drawn = overlay(noisy=noisy, truth=counts, region=("US", "GA"))
        >>> drawn.get_suptitle(), drawn.axes[0].get_legend_handles_labels()[1]
        ('US / GA', ['noisy', 'truth'])
    """
    released = getattr(released, "result", released)  # of `pgsr.estimate`
    for given, kind, what in (
        (truth, CountOfCounts, "truth"),
        (noisy, Measurement, "noisy"),
        (released, (CountOfCounts, Estimate, Result), "released"),
    ):
        if given is not None:
            require_kind(given, kind, what, "give truth=counts, noisy=measurement, released=result")
    released = released.estimate if isinstance(released, Result) else released
    drawn = [table for table in (truth, noisy, released) if table is not None]
    if not drawn:
        raise ArgumentError("there is nothing to draw; give a truth, noisy values or what was released")
    tree, largest = drawn[0].hierarchy, drawn[0].max_size
    if any(table.hierarchy.paths != tree.paths or table.max_size != largest for table in drawn):
        raise ArgumentError("the tables are of different regions or sizes; give those of one data set")
    place = tree.find(region)
    measured = None
    if noisy is not None:
        given = noisy.view_of(place)
        measured = next((one for one in (View.COUNTS, View.CUMULATIVE) if one is given), None)
    if noisy is not None and measured is None:
        what = "ranked sizes do" if noisy.view_of(place) is View.RANKED else f"{noisy.view_of(place).value} does"
        raise ArgumentError(f"{what} not lie over counts; draw the measurement alone, by measurement.plot()")
    shown = view or measured or View.COUNTS
    if shown is View.RANKED:
        raise ArgumentError("view=View.RANKED; give View.COUNTS or View.CUMULATIVE")
    curves = []
    if noisy is not None and measured is not None and noisy.measured[place]:
        how = {View.COUNTS: "noisy, subtracted", View.CUMULATIVE: "noisy, summed up"}
        label = "noisy" if measured is shown else how[shown]
        curves.append(Curve(label, _as(shown, noisy.row(place), measured), NOISY))
    base = None
    if truth is not None:
        base = Curve("truth", _as(shown, truth.row(place), View.COUNTS), COUNTED)
        curves.append(base)
    if released is not None:
        curves.append(Curve("released", _as(shown, released.row(place), View.COUNTS), ESTIMATED))
    if not curves:
        raise ArgumentError(
            f"{' / '.join(tree.paths[place])} was not measured, so there is nothing to draw; name a region of a "
            "measured level, or give a truth or what was released"
        )
    return sizes_figure(" / ".join(tree.paths[place]), curves, shown is View.CUMULATIVE, base)


def _as(view: View, values: np.ndarray, given: View) -> np.ndarray:
    if view is given:
        return values
    return cumulative(values) if view is View.CUMULATIVE else counts_of_cumulative(values)
