"""What a short description of terms says, in words: an outline, a configuration and a published folder share it."""

from pgsr.release.stated.kinds import MeasuredView
from pgsr.release.stated.post_processing import post_of
from pgsr.release.stated.terms import Terms


def terms_facts(terms: Terms) -> dict[str, str]:
    """Describe the data set, the mechanism, the sizes and the budget of terms.

    Example:
        >>> terms_facts(Terms("demo", 5, "1", "m_h"))["mechanism"]
        'm_h: noise on counts, then TreeProjection()'
    """
    return {
        "data set": terms.data_set,
        "mechanism": f"{terms.kind}: noise on {_measures(terms)}, then {post_of(terms)!r}",
        "sizes": _sizes(terms),
        "budget": f"{terms.total} in all",
    }


def _measures(terms: Terms) -> str:
    if terms.view is MeasuredView.SPLIT:
        return f"cumulative counts below {_thresholds(terms)} and, beyond it, {_ranks(terms)} by rank"
    return "counts" if terms.view is MeasuredView.COUNTS else "cumulative counts"


def _thresholds(terms: Terms) -> str:
    if terms.threshold is None:
        return "a threshold per region, by the noisy root,"
    if isinstance(terms.threshold, int):
        return f"the threshold {terms.threshold:,}"
    return f"thresholds from {min(terms.threshold):,} to {max(terms.threshold):,}"


def _ranks(terms: Terms) -> str:
    return "what all groups have" if terms.ranks is None else f"what the {terms.ranks:,} largest groups have"


def _sizes(terms: Terms) -> str:
    least = f"{terms.min_size:,}"
    if terms.max_sizes is None:
        return f"{least} to {terms.largest:,}; larger groups count as {terms.largest:,}"
    names = terms.level_names or [f"level_{level}" for level in range(len(terms.max_sizes))]
    last = ", ".join(f"{name} {k:,} or more" for name, k in zip(names, terms.max_sizes, strict=True))
    return f"{least} to a last class of all larger groups: {last}"
