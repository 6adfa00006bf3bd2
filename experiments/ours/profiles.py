"""The profiles that the experiments of no paper have in common."""

from dataclasses import replace
from fractions import Fraction

from pgsr.experiments.engine.experiment import Profile, Scale
from pgsr.experiments.fioretto2019.data import CENSUS_SMALL


def profiles(paper: Scale, quick: Scale) -> dict[Profile, Scale]:
    """Give all profiles: at smoke the small census alone, at quick five replicates of a minute each."""
    return {
        Profile.SMOKE: Scale((CENSUS_SMALL,), (Fraction(1),), replicates=2, time_limit=60),
        Profile.QUICK: replace(quick, replicates=5, time_limit=60),
        Profile.PAPER: paper,
    }
