"""What a short description of terms says, in words: an outline, a configuration and a published folder share it."""

from pgsr.release.terms.kinds import MeasuredView
from pgsr.release.terms.plan import post_of
from pgsr.release.terms.terms import Terms


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
        "budget": f"{terms.total} in all" + (", in shares by the noisy root" if terms.shares_by_root else ""),
    }


def _measures(terms: Terms) -> str:
    if terms.view is not MeasuredView.SPLIT:
        return "counts" if terms.view is MeasuredView.COUNTS else "cumulative counts"
    at = f"the threshold {terms.threshold:,}" if isinstance(terms.threshold, int) else _BY_ROOT
    return f"cumulative counts below {at} and, beyond it, what all groups have by rank"


_BY_ROOT = "a threshold per region, by the noisy root,"


def _sizes(terms: Terms) -> str:
    least = f"{terms.min_size:,}"
    if terms.max_sizes is None:
        return f"{least} to {terms.largest:,}; larger groups count as {terms.largest:,}"
    names = terms.level_names or [f"level_{level}" for level in range(len(terms.max_sizes))]
    last = ", ".join(f"{name} {k:,} or more" for name, k in zip(names, terms.max_sizes, strict=True))
    return f"{least} to a last class of all larger groups: {last}"
