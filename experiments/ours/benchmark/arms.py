"""The competitors of the benchmark. A new one is a file with an `ARM`, and its name in one of these lists."""

from pgsr.experiments.ours.benchmark.releases import (
    bottom_up,
    bottom_up_ranked,
    kuo,
    posterior_leaves,
    posterior_split,
    two_stage,
)
from pgsr.experiments.ours.rivals import (
    cyclic_laplace,
    dyadic_ranges,
    geometric_tail,
    james_stein,
    labelled_groups,
    partitions,
    privelet,
)

OURS = (posterior_split.ARM, posterior_leaves.ARM, two_stage.ARM)
"""Releases of this toolkit."""

KUO = (kuo.ARM, bottom_up.ARM, bottom_up_ranked.ARM)
"""Methods of Kuo et al. 2018."""

RIVALS = (
    cyclic_laplace.ARM,
    cyclic_laplace.ARM_ISOTONIC,
    partitions.ARM,
    privelet.ARM,
    dyadic_ranges.ARM,
    james_stein.ARM,
    geometric_tail.ARM,
    labelled_groups.ARM,
)
"""Mechanisms of other authors, for one histogram."""

ARMS = (*OURS, *KUO, *RIVALS)

CURATOR = tuple(arm for arm in ARMS if arm.trust == "curator")
"""The arms that trust a curator with true sizes, which are the ones to compare with each other."""
