"""The manifest of a release: exactly the fields that may be published, and nothing else."""

import json
from typing import Any

import numpy as np

from pgsr.certificates import Certificate
from pgsr.data.estimate import Estimate
from pgsr.errors import PgsrError
from pgsr.noise.measurement import Measurement, Totals, pure_epsilons
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import exact
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.neighbours import Relation
from pgsr.privacy.sensitivity import Sensitivity
from pgsr.release.folder.distance import distance, exact_sum
from pgsr.release.publishing.errors import ManifestError
from pgsr.release.publishing.strict_fields import require_fields, require_versions
from pgsr.release.terms.kinds import Kind, MeasuredView
from pgsr.release.terms.plan import LevelPlan, Plan
from pgsr.release.terms.publication import USUAL, Publication
from pgsr.release.terms.terms import Terms
from pgsr.release.terms.thresholds import FromRoot

FORMAT = "pgsr release 1"
PRIVATE = "epsilon-differentially private (secure noise)"
SEEDED = "none (seeded)"
REHEARSAL_KEY = "rehearsal"
"""The key of the noise of rehearsals; everybody knows it."""

PACKAGES = ("pgsr", "numpy", "scipy", "numba", "pyarrow")

OTHER_FIELDS = ("min_size", "first_root", "intervals", "noise")
FIELDS = (  # and OTHER_FIELDS, where there are some
    *("format", "data_set", "publication", "privacy_claim", "epsilon", "delta", "neighbours", "levels", "totals"),
    *("max_size", "max_quantity", "invariants", "mechanism", "method", "status", "certificate", "distance"),
    *("measurement", "versions", "files"),
)

CLAIMS = {
    PureEpsilon: PRIVATE,
    Approximate: "(epsilon, delta)-differentially private (secure noise)",
    Rho: "rho-zero-concentrated differentially private (secure noise)",
}
"""The claim of secure noise, by the currency of the budget."""


def claim(terms: Terms, secure: bool) -> str:
    """The sentence in which a release states its privacy."""
    return CLAIMS[type(terms.total)] if secure else SEEDED


def facts(terms: Terms, secure: bool, table: str) -> dict[str, str]:
    """The metadata of a table file, so that it keeps its privacy claim when it is copied out of its folder."""
    return {
        "format": FORMAT,
        "table": table,
        "data_set": terms.data_set,
        "privacy_claim": claim(terms, secure),
        **({"epsilon": str(terms.epsilon)} if terms.plain else {"budget": terms.total.spelled}),
    }


def plan_fields(plan: Plan, secure: bool) -> dict[str, Any]:
    """The part of a manifest that follows from the plan."""
    terms = plan.terms
    levels = [
        {
            "level": place,
            "name": level.name,
            "regions": level.regions,
            **({} if terms.max_sizes is None else {"max_size": level.max_size}),
            "view": str(terms.view),
            **({} if level.threshold is None else {"threshold": _threshold(level)}),
            "share": str(level.share),
            **_noise(terms, level.noise, level.sensitivity),
        }
        for place, level in enumerate(plan.levels)
    ]
    totals: dict[str, Any] = {
        "public": str(terms.totals),
        "share": str(terms.totals_share),
        **_noise(terms, plan.totals_noise, terms.totals_sensitivity, len(levels)),
    }
    if terms.plain and plan.totals_noise is None:
        totals = {"public": totals["public"], "share": totals["share"], "epsilon": "0"}
    intervals = {} if terms.intervals is None else {"intervals": {"level": str(terms.intervals)}}
    noise = {"budget": terms.total.spelled, "unit": str(terms.unit), "relation": str(terms.relation)}
    return {
        "format": FORMAT,
        "data_set": terms.data_set,
        "publication": terms.publication.fields,
        "privacy_claim": claim(terms, secure),
        "epsilon": "none" if terms.epsilon is None else str(terms.epsilon),
        "delta": "0" if terms.delta is None else str(terms.delta),
        "neighbours": neighbours(terms),
        "levels": levels,
        "totals": totals,
        "max_size": terms.largest,
        **({"min_size": terms.min_size} if terms.min_size else {}),
        "max_quantity": terms.max_quantity,
        "invariants": invariants(terms),
        "mechanism": str(terms.kind),
        "method": repr(plan.mechanism.post),
        **({} if plan.first_root is None else {"first_root": plan.first_root.tolist()}),
        **intervals,
        **({} if terms.plain else {"noise": noise}),
    }


def _threshold(level: LevelPlan) -> int | list[int] | None:
    """Say where a level's views are split: one size, or one for each of its regions in their order."""
    return list(level.threshold) if isinstance(level.threshold, tuple) else level.threshold


def _noise(terms: Terms, noise: LevelNoise | None, size: Sensitivity, times: int = 1) -> dict[str, Any]:
    """Say what a level spends and which noise it has; of a pure epsilon of entities the sum over so many levels."""
    if terms.plain:
        [epsilon] = pure_epsilons((noise,))
        scale = str(size.l1 / epsilon if epsilon else 0)
        return {"epsilon": str(epsilon * times), "sensitivity": size.l1, "noise_scale": scale}
    return {
        "spent": "nothing" if noise is None else str(noise),
        "sensitivity": {"l1": size.l1, "l2_squared": size.l2_squared},
        "noise": {} if noise is None else noise.law(size).spelling,
    }


def neighbours(terms: Terms) -> str:
    """Say which data sets are neighbours, between which a reader can hardly distinguish."""
    if not terms.plain:
        return _NEIGHBOURS[terms.relation].format(terms.unit) + (
            f", of quantity at most {terms.max_quantity} in each group" if terms.max_quantity > 1 else ""
        )
    more = f", of quantity at most {terms.max_quantity}" if terms.max_quantity > 1 else ""
    empty = ", or by one empty group" if terms.totals is Totals.NOISY else ""
    return f"data sets that differ by one row of entities{more}{empty}"


def invariants(terms: Terms) -> list[str]:
    """List what is published exactly, without noise."""
    groups = terms.publication.group_name
    known = {
        Totals.ROOT: [f"the number of {groups} of the root"],
        Totals.REGIONS: [f"the number of {groups} of every region"],
        Totals.NOISY: [],
    }
    least = [f"that no group has fewer members than {terms.min_size:,}"] if terms.min_size else []
    return ["the regions", *known[terms.totals], *least]


def answer_fields(measurement: Measurement, status: str, certificate: Certificate, counts: Estimate) -> dict:
    """The part of a manifest that judges the counts from measurement and counts alone."""
    values = [measurement.row(region) for region in np.flatnonzero(measurement.measured).tolist()]
    return {
        "status": status,
        "certificate": {
            "problem": certificate.problem,
            "objective": certificate.objective,
            "bound": certificate.bound,
            "bound_by": certificate.bound_by,
            "violations": dict(certificate.violations),
        },
        "distance": {"sum": distance(measurement, counts, 1), "squares": distance(measurement, counts, 2)},
        "measurement": {"values": sum(part.size for part in values), "sum": sum(map(exact_sum, values))},
    }


def written(manifest: dict[str, Any]) -> str:
    """Write a manifest as text, in the only form that `read` accepts."""
    return json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read(text: str) -> dict[str, Any]:
    """Read a manifest from its text, with every field of its kind.

    Raises:
        ManifestError: it is no JSON in the form of `written`, or a field is missing, unknown or of another kind.
    """
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"the manifest is not JSON: {error}") from None
    _require_format(found)
    more = tuple(name for name in OTHER_FIELDS if name in found)
    require_fields(found, (*FIELDS, *more), "the manifest")
    parts = ("publication", "totals", "certificate", "distance", "measurement", "versions", "files")
    for name in (*parts, *(name for name in more if name in ("intervals", "noise"))):
        if not isinstance(found[name], dict):
            raise ManifestError(f"{name} of the manifest is no table")
    if not isinstance(found["levels"], list) or not found["levels"]:
        raise ManifestError("the manifest names no levels")
    plain = "noise" not in found
    for level in found["levels"]:
        require_fields(level, _level_fields(level, found["levels"][0], plain), "a level")
    noisy = ("sensitivity", "noise_scale") if found["totals"].get("public") == str(Totals.NOISY) else ()
    of_totals = ("epsilon", *noisy) if plain else _NOISE
    require_fields(found["totals"], ("public", "share", *of_totals), "totals")
    require_fields(found["certificate"], ("problem", "objective", "bound", "bound_by", "violations"), "the certificate")
    if "intervals" in more:
        require_fields(found["intervals"], ("level",), "intervals")
    if "noise" in more:
        require_fields(found["noise"], ("budget", "unit", "relation"), "noise")
    require_versions(found["versions"], PACKAGES, "the manifest")
    if written(found) != text:
        raise ManifestError("the manifest is not written as a release writes it; fields were moved or reformatted")
    return found


def plan_of(manifest: dict[str, Any]) -> tuple[Plan, bool]:
    """Read the plan that a manifest states, and whether it claims secure noise.

    Raises:
        ManifestError: it is no plan of a release.
    """
    try:
        kind = Kind(manifest["mechanism"])
        stated = manifest.get("noise", {})
        total = Loss.parse(_kind(stated, "budget", str)) if stated else PureEpsilon(_kind(manifest, "epsilon", str))
        by_level = "max_size" in manifest["levels"][0]
        sizes = tuple(_kind(level, "max_size", int) for level in manifest["levels"]) if by_level else ()
        threshold, by_region = _thresholds(manifest)
        shares = tuple(exact(_kind(level, "share", str), "a share", zero=True) for level in manifest["levels"])
        first = tuple(_kind(manifest, "first_root", list)) if "first_root" in manifest else None
        chosen = None if by_region is None else FromRoot(by_region, shares if first is not None else None, first)
        terms = Terms(
            _kind(manifest, "data_set", str),
            sizes or _kind(manifest, "max_size", int),
            total.parts[0] or None,
            kind,
            shares if first is None else BY_ROOT,
            Totals(manifest["totals"]["public"]),
            _kind(manifest, "max_quantity", int),
            level_names=tuple(_kind(level, "name", str) for level in manifest["levels"]),
            intervals=exact(_kind(manifest["intervals"], "level", str), "intervals")
            if "intervals" in manifest
            else None,
            delta=total.parts[1] or None,
            rho=total.parts[2] or None,
            min_size=_kind(manifest, "min_size", int) if "min_size" in manifest else 0,
            publication=_publication(manifest["publication"]),
            threshold=threshold,
            **({name: _kind(stated, name, str) for name in ("unit", "relation")} if stated else {}),
        )
        plan = Plan.of(terms, [_kind(level, "regions", int) for level in manifest["levels"]], chosen)
    except (PgsrError, ValueError) as error:
        raise ManifestError(f"the manifest states no terms of a release: {error}") from None
    if terms.plain == bool(stated):
        raise ManifestError("the manifest states its noise in another way than a release under its terms does")
    secure = claim(terms, True)
    if manifest["privacy_claim"] not in (secure, SEEDED):
        raise ManifestError(f"the privacy claim is {manifest['privacy_claim']!r}; no release under its terms says so")
    return plan, manifest["privacy_claim"] == secure


def _thresholds(manifest: dict[str, Any]) -> tuple[int | str | None, tuple[int, ...] | None]:
    """Read where views are split, as a term, and of every region where that follows from the noisy root."""
    levels = manifest["levels"]
    if levels[0]["view"] != str(MeasuredView.SPLIT):
        return None, None
    if any("threshold" not in level for level in levels):
        raise ManifestError("some levels of the manifest have split views, and others none")
    sizes = [level["threshold"] for level in levels]
    if not any(isinstance(size, list) for size in sizes):
        if len(set(sizes)) > 1:
            raise ManifestError("threshold of the manifest's levels is not one size")
        return _kind(levels[0], "threshold", int), None
    if [len(size) if isinstance(size, list) else None for size in sizes] != [level["regions"] for level in levels]:
        raise ManifestError("threshold of the manifest's levels is not one size per region")
    return BY_ROOT, tuple(size for level in sizes for size in level)


def _publication(fields: dict[str, Any]) -> Publication:
    require_fields(fields, tuple(USUAL.fields), "publication")
    return Publication(**fields)


def _require_format(found: object) -> None:
    """Raise `ManifestError` for a manifest of another format, which has other files and fields."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ManifestError(
            f"the format of the manifest is not {FORMAT!r}; use the version of pgsr that made the release"
        )


_NOISE = ("spent", "sensitivity", "noise")

_NEIGHBOURS = {
    Relation.ADD_REMOVE: "data sets that differ by one {}",
    Relation.ADD_REMOVE_OR_EMPTY_GROUP: "data sets that differ by one {}, or by one empty group",
    Relation.REPLACE: "data sets that differ in the members of one {}, which stays in its region",
    Relation.MOVE: "data sets that differ by one {} that was moved",
}
"""The differences of neighbours, by the relation, around the unit."""


def _level_fields(level: object, first: object, plain: bool) -> tuple[str, ...]:
    view = level.get("view") if isinstance(level, dict) else None
    few = ("threshold",) if view == str(MeasuredView.SPLIT) else ()
    size = ("max_size",) if isinstance(first, dict) and "max_size" in first else ()
    noise = ("epsilon", "sensitivity", "noise_scale") if plain else _NOISE
    return ("level", "name", "regions", *size, "view", *few, "share", *noise)


def _kind(table: dict[str, Any], name: str, kind: type) -> Any:
    if type(table[name]) is not kind:
        raise ManifestError(f"{name} is {table[name]!r}, not of the kind {kind.__name__}")
    return table[name]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is there twice")
    return found


def _finite(text: str) -> float:
    found = float(text)
    return found if abs(found) < float("inf") else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number")
