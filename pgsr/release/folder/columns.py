"""The columns of every table of a release, in words. README.txt, datapackage.json and Parquet files use them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pgsr.release.terms import Terms
from pgsr.views import View


@dataclass(frozen=True)
class Column:
    """A column of a published table.

    Attributes:
        name: of the column.
        kind: "string", "integer" or "boolean", the words of the Table Schema standard.
        description: one or two sentences.
        required: whether every row has a value.
    """

    name: str
    kind: str
    description: str
    required: bool = True


def counts_columns(terms: Terms, names: Sequence[str]) -> list[Column]:
    """The columns of counts.parquet and counts.csv: the released counts."""
    return [
        *_region_columns(names),
        _size(terms),
        Column(
            "n_groups",
            "integer",
            "Released estimate of the number of groups of this size in this region: whole, not negative, and the sum "
            "of those of the regions directly below. Rows that would hold 0 are left out, but for size 0 of every "
            "region "
            "and the largest size of the first one.",
        ),
    ]


def measurement_columns(terms: Terms, names: Sequence[str]) -> list[Column]:
    """The columns of measurement.parquet: the noisy values that everything else was computed from."""
    if terms.kind.view is View.CUMULATIVE:
        value = (
            f"Noisy number of groups of this size OR SMALLER in this region (cumulative over sizes, do not add up over "
            f"sizes): true number plus noise. At the size {terms.max_size} it is the noisy number of all groups."
        )
    else:
        value = "Noisy number of groups of exactly this size in this region: true number plus noise."
    return [
        *_region_columns(names),
        _size(terms),
        Column(noisy_column(terms), "integer", f"{value} It may be negative. The noise's scale is in manifest.json."),
    ]


def regions_columns(names: Sequence[str]) -> list[Column]:
    """The columns of regions.csv: the regions, parents first."""
    region, level, leaf, *places = _region_columns(names)
    return [
        region,
        Column("parent_id", "string", "The region_id of the region directly above; empty for the first region.", False),
        level,
        leaf,
        *places,
        Column(
            "groups",
            "integer",
            "Number of groups of all sizes where it is published exactly, or (with noisy totals) its noisy value, made "
            "to add up over regions; empty where it is not published by itself.",
            False,
        ),
    ]


def noisy_column(terms: Terms) -> str:
    """The name of the column of noisy values, which says whether they are cumulative over sizes."""
    return "noisy_cumulative_count" if terms.kind.view is View.CUMULATIVE else "noisy_count"


def _region_columns(names: Sequence[str]) -> list[Column]:
    levels = [
        Column(name, "string", f"Name of the region, or of the one it lies in, on level {level}.", level == 0)
        for level, name in enumerate(names)
    ]
    return [
        Column(
            "region_id",
            "string",
            "The region: its path of names joined by '/' ('/' in a name is %2F, '%' is %25). It stays the same "
            "whatever other regions there are.",
        ),
        Column("level", "integer", "Level of the region, 0 for the one that contains all others."),
        Column(
            "is_leaf",
            "boolean",
            "Whether no region lies below. Every group lies in one such region and again in all regions above it: sum "
            "over rows with is_leaf = true, or over one level, never over all rows.",
        ),
        *levels,
    ]


def _size(terms: Terms) -> Column:
    return Column(
        "group_size",
        "integer",
        f"Number of members of a group, 0 to {terms.max_size}; groups with more than {terms.max_size} count as "
        f"{terms.max_size}.",
    )
