"""One region under another noise: its truth, noisy values and release, and the errors by level."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from pgsr.checks import require_kind
from pgsr.comparison.overlay import overlay
from pgsr.data.counts import CountOfCounts
from pgsr.data.views import View
from pgsr.errors import ArgumentError
from pgsr.estimators import Posterior
from pgsr.machine.extras import extra
from pgsr.methods import metrics
from pgsr.methods.mechanism import Mechanism
from pgsr.methods.method import Result
from pgsr.noise import Geometric
from pgsr.noise.measurement import Totals
from pgsr.privacy.budget import Number, exact
from pgsr.privacy.random import Seeded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EPSILONS = ("1/100", "1/30", "1/10", "1/3", "1", "3", "10")
"""The budgets of the slider."""


@dataclass(frozen=True, eq=False)
class Explored:
    """A release beside its truth, at one setting of the noise. It is as private as the truth.

    Attributes:
        truth: the exact counts.
        noise: the noise that was drawn, with a seed.
        result: the release.
        region: the index of the region that is drawn.
    """

    truth: CountOfCounts
    noise: Geometric
    result: Result
    region: int

    def figure(self) -> "Figure":
        """Draw the region: exact counts, noisy values and the release, and the distances from the exact counts."""
        noisy = None if self.noise.view is View.RANKED else self.result.measurement
        return overlay(truth=self.truth, noisy=noisy, released=self.result, region=self.region)

    def errors(self) -> "pd.DataFrame":
        """Make a table of the mean earth mover's distance of a region, in entities, by level, and the noise there."""
        with extra("release"):
            import pandas as pd

        tree, distances = self.truth.hierarchy, metrics.emd(self.truth, self.result.estimate)
        measurement = self.result.measurement
        assert measurement is not None, "mechanisms keep their measurement"
        levels = [tree.level(level) for level in range(tree.n_levels)]
        return pd.DataFrame(
            {
                "level": range(tree.n_levels),
                "regions": [here.stop - here.start for here in levels],
                "noise": ["not measured" if law is None else str(law) for law in measurement.noise],
                "mean distance (entities)": [float(distances[here].mean()) for here in levels],
            }
        )

    def __repr__(self) -> str:
        name = "/".join(self.truth.hierarchy.paths[self.region])
        return f"Explored({name}, {self.result.measurement!r}, {self.result.status.value})"

    def _repr_html_(self) -> str:
        picture = b64encode(self.figure()._repr_png_()).decode()  # pyright: ignore[reportAttributeAccessIssue]
        said = escape(f"{self.result.measurement!r}; {self.result.status.value}")
        return f'<p>{said}</p>{self.errors().to_html(index=False)}<img src="data:image/png;base64,{picture}"/>'


def explored(
    truth: CountOfCounts,
    *,
    epsilon: Number = 1,
    leaves: Number | None = None,
    view: View = View.CUMULATIVE,
    region: int | Sequence[str] | None = None,
    seed: str = "explore",
) -> Explored:
    """Measure counts with seeded noise, release by `Posterior()`, and show one region; numbers of groups are public.

    Args:
        truth: the exact counts; research noise protects nothing.
        epsilon: the whole budget.
        leaves: the share of epsilon that the leaves get, from 0 to 1; the other levels share the rest in equal parts.
            Equal parts for all levels if None.
        view: what is measured.
        region: its path of names or index; the root if None.
        seed: of the noise.

    Raises:
        ArgumentError, BudgetError, ProblemError: an argument is of another kind, or they do not fit together.

    Example:
        >>> from pgsr import Hierarchy
        >>> tree = Hierarchy.from_paths([("US", "GA"), ("US", "MI")])
        >>> shown = explored(CountOfCounts(tree, [[0, 40, 12], [1, 60, 18]]), epsilon="1/2", leaves="3/4")
        >>> shown.errors().columns.tolist()
        ['level', 'regions', 'noise', 'mean distance (entities)']
        >>> shown.noise.shares
        (Fraction(1, 4), Fraction(3, 4))
    """
    require_kind(truth, CountOfCounts, "the truth", "give CountOfCounts(hierarchy, counts)")
    require_kind(view, View, "view", "give View.COUNTS, View.CUMULATIVE or View.RANKED")
    noise = Geometric(view, epsilon, _shares(leaves, truth.hierarchy.n_levels), totals=Totals.REGIONS)
    result = Mechanism(noise, Posterior()).release(truth, Seeded(seed))
    return Explored(truth, noise, result, truth.hierarchy.find(region))


def explore(truth: CountOfCounts, seed: str = "explore") -> Any:
    """Show `explored` with sliders for epsilon and the leaves' share, and lists of views and regions, in a notebook.

    Args:
        truth: the exact counts.
        seed: of the noise; the same for all settings, so that only the setting changes.

    Raises:
        MissingPackageError: ipywidgets is not installed; `explored` shows one setting without.
    """
    with extra("widgets"):
        import ipywidgets
        from IPython.display import display
    require_kind(truth, CountOfCounts, "the truth", "give CountOfCounts(hierarchy, counts)")
    tree = truth.hierarchy
    regions = [(" / ".join(path), region) for region, path in enumerate(tree.paths) if not tree.padded[region]]

    def show(epsilon: str, leaves: int, view: View, region: int) -> Explored:
        share = None if tree.n_levels == 1 else Fraction(leaves, 100)
        shown = explored(truth, epsilon=epsilon, leaves=share, view=view, region=region, seed=seed)
        display(shown)
        return shown

    wide = {"style": {"description_width": "12em"}, "continuous_update": False}
    return ipywidgets.interactive(
        show,
        epsilon=ipywidgets.SelectionSlider(options=EPSILONS, value="1", description="epsilon", **wide),
        leaves=ipywidgets.IntSlider(
            value=round(100 / tree.n_levels), min=1, max=100, description="leaves' share (%)", **wide
        ),
        view=ipywidgets.Dropdown(
            options=[(view.value, view) for view in View], value=View.CUMULATIVE, description="view"
        ),
        region=ipywidgets.Dropdown(options=regions, value=0, description="region"),
    )


def _shares(leaves: Number | None, n_levels: int) -> tuple[Fraction, ...] | None:
    if leaves is None:
        return None
    share = exact(leaves)
    if not 0 <= share <= 1 or (n_levels == 1 and share != 1):
        raise ArgumentError(f"leaves={leaves!r}; give the leaves' share of epsilon, from 0 to 1, and 1 for one level")
    return (*((1 - share) / (n_levels - 1) for _ in range(n_levels - 1)), share)
