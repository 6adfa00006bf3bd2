"""The manifest of a release: exactly the fields that may be published, and nothing else.

What it states of the plan and of the answer follows from both, so that a check writes it again and compares the texts.
"""

import json
import platform
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from pgsr.certificates import Certificate
from pgsr.data.estimate import Estimate
from pgsr.data.views import View, cumulative
from pgsr.errors import PgsrError
from pgsr.machine.blocks import row_blocks
from pgsr.machine.extras import version_of
from pgsr.noise.measurement import Measurement, Totals, pure_epsilons
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.budget import exact
from pgsr.privacy.laws.per_level import LevelNoise
from pgsr.privacy.neighbours import Relation
from pgsr.privacy.sensitivity import Sensitivity
from pgsr.release.folder.columns import FORMAT, SEEDED, claim
from pgsr.release.publishing.errors import ManifestError
from pgsr.release.terms.kinds import Kind, MeasuredView
from pgsr.release.terms.plan import FromRoot, Plan
from pgsr.release.terms.publication import Publication
from pgsr.release.terms.terms import Terms

REHEARSAL_KEY = "rehearsal"
"""The key of the noise of rehearsals; everybody knows it."""

_PACKAGES = ("pgsr", "numpy", "scipy", "numba", "pyarrow")

OF_ANSWER = ("status", "certificate", "distance", "measurement", "versions", "files")
"""The fields that do not follow from the plan; all others do."""


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
            **({} if level.threshold is None else {"threshold": level.threshold}),
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
        "distance": _distance(measurement, counts),
        "measurement": {"values": sum(part.size for part in values), "sum": sum(map(_exact_sum, values))},
    }


def _distance(measurement: Measurement, counts: Estimate) -> dict[str, int]:
    """Sum |x - y| and (x - y)^2 over all measured cells, exact integers.

    x are the released values in the measured view of each region, y the noisy ones.

    Raises:
        ManifestError: a region's counts do not have the number of groups that are ranked there.
    """
    found = {"sum": 0, "squares": 0}
    for x, y in _compared(measurement, counts):
        difference = np.abs(x - y).ravel()
        found["sum"] += _exact_sum(difference)
        found["squares"] += _exact_sum_of_squares(difference)
    return found


def _exact_sum(values: np.ndarray) -> int:
    """Sum numbers of int64 without overflow."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _compared(measurement: Measurement, counts: Estimate) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pair released values in the measured view with noisy ones, by region or by block of regions."""
    tree, measured = measurement.hierarchy, measurement.measured
    if not measurement.has_ranks:
        for level, y in enumerate(measurement.tables):
            first = tree.level(level).start
            view = measurement.view_of(first)
            for block in row_blocks(slice(0, len(y)), y.shape[1]):
                kept = measured[first + block.start : first + block.stop]
                x = counts.rows(first + block.start, first + block.stop)[kept]
                yield x if view is View.COUNTS else cumulative(x), y[block][kept]
        return
    for region in np.flatnonzero(measured).tolist():
        x, y = counts.row(region), measurement.row(region)
        vector = measurement.view_of(region).vector(x, None) if (x >= 0).all() else None
        if vector is None or len(vector) != len(y):
            name = " / ".join(tree.paths[region])
            raise ManifestError(f"the counts of {name!r} do not have its public number of groups")
        yield vector, y


def _exact_sum_of_squares(values: np.ndarray) -> int:
    """Sum squares of non-negative numbers of int64 without overflow."""
    if int(values.max(initial=0)) < 2**31:
        return _exact_sum(values * values)
    return sum(int(value) ** 2 for value in values)


def written(manifest: Mapping[str, Any]) -> str:
    """Write a manifest as text, in the only form that `read` accepts."""
    return json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read(text: str) -> dict[str, Any]:
    """Read a manifest from its text; `plan_of` reads what it states, and writing it again tells whether it is true.

    Raises:
        ManifestError: it is no JSON in the form of `written`, has another format, or versions that are none.
    """
    try:
        found = json.loads(text)
        moved = written(found) != text
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"the manifest is not JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ManifestError(
            f"the format of the manifest is not {FORMAT!r}; use the version of pgsr that made the release"
        )
    if moved:
        raise ManifestError("the manifest is not written as a release writes it; fields were moved or reformatted")
    _require_versions(found.get("versions"))
    return found


def versions() -> dict[str, str]:
    """Look up the versions of Python and of the packages that make a release."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in _PACKAGES}}


def plan_of(manifest: dict[str, Any]) -> tuple[Plan, bool]:
    """Read the plan that a manifest states, and whether it claims secure noise.

    Raises:
        ManifestError: it is no plan of a release.
    """
    try:
        terms, chosen = _stated(manifest)
        plan = Plan.of(terms, [_whole(level["regions"]) for level in manifest["levels"]], chosen)
        claimed = manifest["privacy_claim"]
    except KeyError as error:
        raise ManifestError(f"the manifest lacks the field {error}") from None
    except (TypeError, AttributeError, IndexError):
        raise ManifestError("a field of the manifest is of another kind than those that a release writes") from None
    except (PgsrError, ValueError) as error:
        raise ManifestError(f"the manifest states no terms of a release: {error}") from None
    secure = claim(terms, True)
    if claimed not in (secure, SEEDED):
        raise ManifestError(f"the privacy claim is {claimed!r}; no release under its terms says so")
    return plan, claimed == secure


def _stated(manifest: dict[str, Any]) -> tuple[Terms, FromRoot | None]:
    """Read the terms, and what followed from the noisy root. Whatever else is stated follows from both."""
    levels, noise = manifest["levels"], manifest.get("noise", {})
    total = Loss.parse(noise["budget"]) if noise else PureEpsilon(manifest["epsilon"])
    by_level = "max_size" in levels[0]
    shares = tuple(exact(level["share"], "a share", zero=True) for level in levels)
    threshold = levels[0]["threshold"] if levels[0]["view"] == str(MeasuredView.SPLIT) else None
    first, chosen = manifest.get("first_root"), None
    if isinstance(threshold, list | tuple):  # one per region
        by_region = tuple(chain.from_iterable(level["threshold"] for level in levels))
        chosen = FromRoot(by_region, *((None, None) if first is None else (shares, tuple(first))))
        threshold = BY_ROOT
    terms = Terms(
        manifest["data_set"],
        tuple(level["max_size"] for level in levels) if by_level else manifest["max_size"],
        total.parts[0] or None,
        Kind(manifest["mechanism"]),
        shares if first is None else BY_ROOT,
        Totals(manifest["totals"]["public"]),
        manifest["max_quantity"],
        level_names=tuple(level["name"] for level in levels),
        intervals=manifest["intervals"]["level"] if "intervals" in manifest else None,
        delta=total.parts[1] or None,
        rho=total.parts[2] or None,
        min_size=manifest.get("min_size", 0),
        publication=Publication(**manifest["publication"]),
        threshold=threshold,
        **({name: noise[name] for name in ("unit", "relation")} if noise else {}),
    )
    return terms, chosen


def _whole(number: object) -> int:
    if type(number) is not int:
        raise ManifestError(f"{number!r} is no number of regions")
    return number


def _require_versions(found: object) -> None:
    """Raise `ManifestError` unless these are versions of Python and of the packages, which README.txt prints."""
    if not isinstance(found, dict) or tuple(found) != ("python", *_PACKAGES):
        raise ManifestError(f"versions of the manifest are not those of python, {', '.join(_PACKAGES)}")
    for name, value in found.items():
        if not isinstance(value, str) or re.fullmatch("[0-9A-Za-z.+_-]{1,40}", value) is None:
            raise ManifestError(f"the version of {name} in the manifest is {value!r}, no version")


_NEIGHBOURS = {
    Relation.ADD_REMOVE: "data sets that differ by one {}",
    Relation.ADD_REMOVE_OR_EMPTY_GROUP: "data sets that differ by one {}, or by one empty group",
    Relation.REPLACE: "data sets that differ in the members of one {}, which stays in its region",
    Relation.MOVE: "data sets that differ by one {} that was moved",
}
"""The differences of neighbours, by the relation, around the unit."""
