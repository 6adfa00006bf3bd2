"""Say in plain sentences what the fields of a manifest mean, for README.txt and summary.html."""

from typing import Any

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import exact
from pgsr.release.folder.columns import HELD, SEEDED, percent
from pgsr.release.terms.publication import USUAL

REHEARSAL_WARNING = (
    "THIS IS A REHEARSAL AND NOT PRIVATE. Its noise can be drawn again by anyone and taken off: keep it as secret as "
    "the data."
)

_SUMS = (
    "`pgsr intervals FOLDER --statistic cumulative` computes those of sums over sizes, and the sum over all regions "
    "below one has a row of its own."
)

_SHARES = (
    "The root was measured first, and its noisy values (first_root in manifest.json) chose how the levels share "
    "epsilon. Then its noise was made smaller, as its share says; all its values together cost no more than that share."
)

_STATUS = {
    "OPTIMAL": "The counts are proved to be as near to the noisy values as any counts that satisfy all conditions.",
    "FEASIBLE": (
        "The counts satisfy all conditions (whole, not negative, adding up). They are near to the noisy values, with "
        "no proof that no other counts are nearer; privacy and correctness of the sums do not depend on that."
    ),
}

_MECHANISMS = {
    "m_h": "noisy counts of every region, then the nearest counts that are consistent (M_H)",
    "m_c_dp": "noisy cumulative counts, repaired region by region, then made consistent (M_c^dp)",
    "kuo": "{noisy}, repaired region by region, then matched from the top down (Kuo et al. 2018)",
    "bottom_up": "{noisy} of the smallest regions alone, repaired and added up",
    "posterior": (
        "{noisy}, what they say of every region given the law of the noise (posterior means), then the nearest "
        "consistent values, rounded"
    ),
    "two_stage": "{noisy}, repaired region by region, then the nearest consistent values, rounded",
}


def title(manifest: dict[str, Any]) -> str:
    """The title of a release."""
    return f"{manifest['data_set']}: numbers of {manifest['publication']['group_name']} by region and size"


def publisher_sentences(manifest: dict[str, Any]) -> list[str]:
    """Say who publishes, where questions go, and under which licence, as far as the publisher says so."""
    words = manifest["publication"]
    said = (("Published by", "publisher"), ("Contact:", "contact"), ("Licence:", "licence"))
    return [f"{before} {words[name]}" for before, name in said if words[name] is not None]


def mechanism_phrase(manifest: dict[str, Any]) -> str:
    """Say what the mechanism makes the counts from, and how."""
    noisy = "noisy cumulative counts"
    if "threshold" in manifest["levels"][0]:
        by_root = not isinstance(manifest["levels"][0]["threshold"], int)
        source = ", which follows from the noisy values of the root," if by_root else ""
        noisy = (
            f"noisy cumulative counts of the sizes below a threshold{source} and, rank by rank, noisy "
            f"numbers of what all {manifest['publication']['group_name']} have beyond it (split view)"
        )
    return _MECHANISMS[manifest["mechanism"]].format(noisy=noisy)


def sizes_phrase(manifest: dict[str, Any]) -> str:
    """Say which sizes there are."""
    largest, least = f"{manifest['max_size']:,}", f"{manifest.get('min_size', 0):,}"
    groups = manifest["publication"]["group_name"]
    if "max_size" not in manifest["levels"][0]:
        return f"sizes {least} to {largest}, larger {groups} count as {largest}"
    last = ", ".join(f"{level['name']} {level['max_size']:,} or more" for level in manifest["levels"])
    return f"sizes from {least} up to a last class that holds all larger {groups}, on every level its own: {last}"


def status_sentence(status: str) -> str:
    """Say what the status of the answer means."""
    return _STATUS.get(status, f"The status is {status}.")


def protection_sentences(manifest: dict[str, Any]) -> list[str]:
    """Say who is protected, how well, and by how much other releases weaken it."""
    words, epsilon = manifest["publication"], manifest["epsilon"]
    groups, members = (words[name] for name in ("group_name", "entity_name"))
    own = [f"Here groups are {groups}, and their members, the entities, are {members}."]
    spent, adds = f"epsilon {epsilon}", "their epsilon to this one's"
    means = (
        f"whatever a reader concludes from these files, seeing them is at most e^{epsilon} times as likely with that "
        "row as without it. Moving or replacing a row costs up to twice that."
    )
    if "noise" in manifest:  # a budget in any currency, and any unit of privacy
        budget = Loss.parse(manifest["noise"]["budget"])
        spent, adds, means = budget.spelled, "what they spend to this", _MEANS[type(budget)]
    return [
        *([] if (groups, members) == (USUAL.group_name, USUAL.entity_name) else own),
        f"Privacy claim: {manifest['privacy_claim']}, {spent} in all.",
        f"Neighbours are {manifest['neighbours']}: {means}",
        f"Other releases of the same data add {adds}.",
        *([_SHARES] if "first_root" in manifest else []),
    ]


_MEANS = {
    PureEpsilon: "whatever a reader concludes from these files, seeing them is at most e^epsilon times as likely "
    "with the one as with the other.",
    Approximate: "any set of answers is at most e^epsilon times as likely with the one as with the other, but for "
    "a probability of at most delta.",
    Rho: "the Renyi divergence of order a between the answers to the one and to the other is at most a rho for "
    "every a > 1 (zero-concentrated differential privacy).",
}
"""What a budget promises, by its currency, in words that follow who the neighbours are."""


def noise_phrase(level: dict[str, Any]) -> str:
    """Say what a level, or the numbers of groups, spend and which noise they have."""
    spent = f"epsilon {level['epsilon']}" if "epsilon" in level else level["spent"]
    if spent in ("epsilon 0", "nothing"):
        return f"{spent}, not measured"
    if "noise_scale" in level:
        return f"{spent}, noise of scale {level['noise_scale']}"
    law = dict(level["noise"])
    name = law.pop("law").replace("_", " ")
    parameters = ", ".join(f"{parameter.replace('_', ' ')} {value}" for parameter, value in law.items())
    return f"{spent}, {name} noise of {parameters}"


def interval_sentence(manifest: dict[str, Any]) -> str | None:
    """Say what the columns `lower` and `upper` are; None where there are none."""
    if "intervals" not in manifest:
        return None
    stated, groups = manifest["intervals"], manifest["publication"]["group_name"]
    return (
        f"The columns lower and upper hold a {percent(exact(stated['level']))} interval for the true number of "
        f"{groups} of each size in each region. {HELD} The intervals "
        "follow from the noisy values alone, so they cost no privacy; they speak of the noise, not of errors in the "
        f"data. Ends of intervals do not add up over regions or sizes: {_SUMS}"
    )


def is_rehearsed(manifest: dict[str, Any]) -> bool:
    return manifest["privacy_claim"] == SEEDED
