"""The colour and the marker of every arm, in one place, so that a colour means the same in all figures of a paper.

Colours are those of `pgsr.figures.drawing`; markers tell arms apart in black and white. An open marker is another way
to run the same mechanism. Levels, conditions and kinds of data are no arms and have colours of their own, so that no
colour means two things in one figure.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

from pgsr.figures.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, VERMILION, Look

_HC, _HG, _BOTTOM_UP = Look(BLUE, "o"), Look(ORANGE, "s"), Look(GREEN, "^")
_M_H_R, _M_H_DP, _M_C_R, _M_C_DP = Look(PINK, "D"), Look(GREEN, "^"), Look(SKY, "v"), Look(VERMILION, "P")
_M_H, _M_C = Look(BLACK, "X"), Look(GREY, "X")
_MWEM = Look(GREEN, "^")


def _open(look: Look, marker: str = "") -> Look:
    return replace(look, open=True, marker=marker or look.marker)


ARM_LOOKS = {
    # Kuo et al. 2018
    "Hc": _HC,
    "Hg": _HG,
    "Hc x Hc": _HC,
    "Hc x Hg": Look(SKY, "v"),
    "Hg x Hc": Look(PINK, "D"),
    "Hg x Hg": _HG,
    "Hc x Hc x Hc": _HC,
    "Hg x Hg x Hg": _HG,
    "Hc L1, smallest optimum": _HC,
    "Hc L1, midpoint of optima": Look(SKY, "v"),
    "Hc L2": _open(_HC),
    "Hg L2": _HG,
    "Hg L1, smallest optimum": _open(_HG),
    "Hc, independent noise": _HC,
    "bottom-up, independent noise": _BOTTOM_UP,
    "Hc, shared seed: replicates the published artefact, not private": _open(_HC),
    "bottom-up, shared seed: replicates the published artefact, not private": _open(_BOTTOM_UP),
    "projection as stated": Look(PINK, "D"),
    "clipped at zero, total not kept": Look(VERMILION, "P"),
    "omniscient reference (not a method)": Look(BLACK, ""),
    # Fioretto and Van Hentenryck 2019; open: the paper's way (a general solver, tables), or half the noise
    "M_H^r": _M_H_R,
    "M_H^dp": _M_H_DP,
    "M_c^r": _M_C_R,
    "M_c^dp": _M_C_DP,
    "M_H^dp, half the noise": _open(_M_H_DP),
    "M_c^dp, half the noise": _open(_M_C_DP),
    "M_H^r, ours, exact": _M_H_R,
    "M_H^dp, ours, exact": _M_H_DP,
    "M_c^r, ours, exact": _M_C_R,
    "M_c^dp, ours, exact": _M_C_DP,
    "M_H^r, Clarabel": _open(_M_H_R),
    "M_H^dp, tables as printed": _open(_M_H_DP),
    "M_c^r, Clarabel": _open(_M_C_R),
    "M_H^r, Clarabel (extrapolated)": _open(_M_H_R),
    "M_H^dp, tables as printed (extrapolated)": _open(_M_H_DP),
    "M_c^r, Clarabel (extrapolated)": _open(_M_C_R),
    "M_c^dp, tables as printed (extrapolated)": _open(_M_C_DP),
    "M_H^r, Gurobi (extrapolated)": _open(_M_H_R, "o"),
    "M_c^r, Gurobi (extrapolated)": _open(_M_C_R, "o"),
    "M_H^r, Gurobi": _open(_M_H_R, "o"),
    "M_c^r, Gurobi": _open(_M_C_R, "o"),
    "M_dp^OP, CP-SAT in tables": Look(ORANGE, "s"),
    "M_H, Gurobi": _M_H,
    "M_c, Gurobi": _M_C,
    "M_H, HiGHS": _open(_M_H, "o"),
    "M_c, HiGHS": _open(_M_C, "o"),
    # Liu and Wu 2022
    "HPD-Fixed": Look(BLUE, "o"),
    "HPD-Gen": Look(ORANGE, "s"),
    "MWEM as printed": Look(SKY, "v"),
    "MWEM, linearised": _MWEM,
    "MWEM, ordered universe": _open(_MWEM),
    "independent marginals": Look(BLACK, "X"),
    "MWEM, tuned": Look(VERMILION, "v"),
}
"""The looks of every arm by its label."""

_OTHERS = [
    Look(c, m) for c, m in zip((BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, BLACK, GREY), "os^DvPX*", strict=True)
]

PRINTED = Look(BLACK, "_")
"""The look of numbers that a paper prints."""

CONDITIONS = (Look("#332288", "o"), Look("#44AA99", "s"), Look("#AA4499", "^"), Look("#999933", "D"))
"""The looks of the conditions that a release may violate."""

REAL, GENERATED = Look(BLACK, "o"), Look(GREY, "o", open=True)
"""The looks of real and of generated data."""


def arm_looks(labels: Sequence[str]) -> dict[str, Look]:
    """Look up the looks of every arm; arms that the table lacks get looks that no other has, while there are some.

    Example:
        >>> arm_looks(["Hc", "one of yours"])["Hc"]
        Look(colour='#0072B2', marker='o', open=False)
    """
    taken = {ARM_LOOKS[label] for label in labels if label in ARM_LOOKS}
    free = cycle([look for look in _OTHERS if look not in taken] or _OTHERS)
    return {label: ARM_LOOKS.get(label) or next(free) for label in labels}
