"""The mechanisms of a release, and what they measure."""

from enum import StrEnum

from pgsr.data.views import View
from pgsr.noise.measurement import Totals
from pgsr.release.publishing.errors import ConfigError


class MeasuredView(StrEnum):
    """The view that a release measures: one of all regions, or split views."""

    COUNTS = "counts"
    CUMULATIVE = "cumulative"
    SPLIT = "split"

    @property
    def sensitive(self) -> View:
        """The view whose sensitivity counts: split views have that of cumulative counts."""
        return View.COUNTS if self is MeasuredView.COUNTS else View.CUMULATIVE


class Kind(StrEnum):
    """The mechanisms that give a release and need no solver.

    M_H: noisy counts, nearest consistent ones (`TreeProjection`). M_C_DP: noisy cumulative counts, repaired region by
    region, then consistent (`IsotonicTreeProjection`). KUO: noisy cumulative counts, matched from the root down
    (`Matching`). BOTTOM_UP: noisy cumulative counts of the leaves alone, added up (`BottomUp`). POSTERIOR: noisy
    cumulative counts, every region's posterior means by the exact law of the noise, then consistent (`Posterior`); of
    noisy counts where groups are hidden and every region's number of them is known, which takes less noise. TWO_STAGE:
    noisy cumulative counts, repaired region by region in L1, then consistent in L2 (`TwoStage`). The last four also
    work on split views. Mean consistency is none of them: its counts are fractional and negative.
    """

    M_H = "m_h"
    M_C_DP = "m_c_dp"
    KUO = "kuo"
    BOTTOM_UP = "bottom_up"
    POSTERIOR = "posterior"
    TWO_STAGE = "two_stage"

    @classmethod
    def _missing_(cls, value: object) -> "Kind":
        """Raise `ConfigError`: no mechanism has this name."""
        raise ConfigError(f"the mechanism {value!r} is unknown; write one of {', '.join(cls)}")

    @property
    def takes_thresholds(self) -> bool:
        """Tell whether it works on split views."""
        return self not in (Kind.M_H, Kind.M_C_DP)

    @property
    def totals(self) -> tuple[Totals, ...]:
        """The choices of whose number of groups is public, the usual one first."""
        if self.is_joint:
            return Totals.REGIONS, Totals.ROOT, Totals.NOISY
        return (Totals.ROOT if self in (Kind.M_H, Kind.M_C_DP) else Totals.REGIONS), Totals.NOISY

    @property
    def totals_by_level(self) -> Totals | None:
        """The regions whose number of groups is public where levels have sizes of their own; None if they cannot."""
        return self.totals[0] if self in (Kind.M_H, Kind.M_C_DP, Kind.KUO) else None

    @property
    def is_joint(self) -> bool:
        """Tell whether counts are rounded from a projection of all regions together, which is in floating point."""
        return self in (Kind.POSTERIOR, Kind.TWO_STAGE)
