"""The competitors of the benchmark: arms of X2, and others' mechanisms, each a file with an `ARM` in others/rivals."""

from pgsr.experiments.engine.experiment import Arm
from pgsr.experiments.others.competitor import Competitor
from pgsr.experiments.others.rivals import (
    cyclic_laplace,
    dyadic_ranges,
    james_stein,
    labelled_groups,
    partitions,
    priv_hist,
    privelet,
)
from pgsr.experiments.ours import every_release as x2
from pgsr.experiments.ours.arms import KUO, TWO_STAGE


def _release(arm: Arm, made_by: str, assumes: str = "nothing") -> Competitor:
    """Make an arm of X2 a competitor, with the same noise step and post-process, and say whose it is."""
    return Competitor(arm.label, arm.noise, arm.post, arm.problem, made_by=made_by, assumes=assumes)


_SMOOTH = "counts that are smooth in size, but for spikes"
_KUO, _SLIDES = "Kuo et al. 2018", "Kuo et al. 2018, slides"

POSTERIOR_SPLIT = _release(x2.DEFAULT, "this toolkit", _SMOOTH)
POSTERIOR_LEAVES = _release(x2.POSTERIOR_LEAVES, "this toolkit", _SMOOTH)
STAGES = _release(TWO_STAGE, "this toolkit")
BOTTOM_UP = _release(x2.BOTTOM_UP, _SLIDES)

OURS = (POSTERIOR_SPLIT, POSTERIOR_LEAVES, STAGES)
"""Releases of this toolkit."""

OF_KUO = (_release(KUO, _KUO), BOTTOM_UP, _release(x2.BOTTOM_UP_RANKED, _SLIDES))
"""Methods of Kuo et al. 2018."""

RIVALS = (
    cyclic_laplace.ARM,
    cyclic_laplace.ARM_ISOTONIC,
    partitions.ARM,
    priv_hist.ARM,
    privelet.ARM,
    dyadic_ranges.ARM,
    james_stein.ARM,
    labelled_groups.ARM,
)
"""Mechanisms of other authors, for one histogram."""

ARMS = (*OURS, *OF_KUO, *RIVALS)

CURATOR = tuple(arm for arm in ARMS if arm.trust == "curator")
"""The arms that trust a curator with true sizes, which are the ones to compare with each other."""
