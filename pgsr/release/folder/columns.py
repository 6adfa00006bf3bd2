"""The columns of every table of a release in words, and what a table says of itself when it lies alone.

README.txt, datapackage.json and Parquet files use them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pyarrow as pa

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.release.terms.kinds import MeasuredView
from pgsr.release.terms.plan import Plan
from pgsr.release.terms.terms import Terms

HELD = (
    "Every interval by itself aims to hold it with this chance, by the posterior of the counts given the noisy values "
    "(normal approximation)."
)
"""How often published intervals hold the truth."""

FORMAT = "pgsr release 1"
PRIVATE = "epsilon-differentially private (secure noise)"
SEEDED = "none (seeded)"

CLAIMS = {
    PureEpsilon: PRIVATE,
    Approximate: "(epsilon, delta)-differentially private (secure noise)",
    Rho: "rho-zero-concentrated differentially private (secure noise)",
}
"""The claim of secure noise, by the currency of the budget."""

_ARROW = {"string": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}


def claim(terms: Terms, secure: bool) -> str:
    """The sentence in which a release states its privacy."""
    return CLAIMS[type(terms.total)] if secure else SEEDED


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


def counts_schema(plan: Plan, secure: bool) -> pa.Schema:
    """The schema of counts.parquet."""
    return _schema(counts_columns(plan), plan.terms, secure, "counts")


def measurement_schema(plan: Plan, secure: bool) -> pa.Schema:
    """The schema of measurement.parquet."""
    return _schema(measurement_columns(plan), plan.terms, secure, "measurement")


def _schema(columns: list[Column], terms: Terms, secure: bool, table: str) -> pa.Schema:
    """Make a schema; a table keeps its descriptions and its privacy claim when it is copied out of its folder."""
    fields = [
        pa.field(column.name, _ARROW[column.kind], metadata={"description": column.description}) for column in columns
    ]
    facts = {
        "format": FORMAT,
        "table": table,
        "data_set": terms.data_set,
        "privacy_claim": claim(terms, secure),
        **({"epsilon": str(terms.epsilon)} if terms.plain else {"budget": terms.total.spelled}),
    }
    return pa.schema(fields, metadata=facts)


def counts_columns(plan: Plan) -> list[Column]:
    """The columns of counts.parquet and counts.csv: the released counts, and their intervals where there are some."""
    terms, groups = plan.terms, plan.terms.publication.group_name
    if terms.max_sizes is None:
        number = (
            f"Released estimate of the number of {groups} of this size in this region: whole, not negative, and the "
            "sum of those of the regions directly below. "
        )
        counts, first = [_size(plan)], "the largest size of the first one"
    else:
        number = (
            f"Released estimate of the number of {groups} of these sizes in this region: whole, not negative. For each "
            "class of the level below, the counts of a region's sizes in it are the sum of those of the regions "
            "directly below. "
        )
        counts, first = [_size(plan), _SIZE_CLASS], "the last class of the first region of every level"
    zero = "0" if terms.intervals is None else "0 in all three columns n_groups, lower and upper"
    if plan.zeros:
        number += "Every region has rows of all sizes, those with 0 too."
    else:
        number += f"Rows that would hold {zero} are left out, but for size 0 of every region and {first}."
    columns = [*_region_columns(groups, plan.names), *counts, Column("n_groups", "integer", number)]
    if terms.intervals is None:
        return columns
    lower = (
        f"Lower end of a {percent(terms.intervals)} interval for the true number of {groups} of this size in this "
        f"region, which belongs to it. {HELD} Ends do not add up over "
        "regions or sizes."
    )
    upper = f"Upper end of this {percent(terms.intervals)} interval, which belongs to it."
    return [*columns, Column("lower", "integer", lower), Column("upper", "integer", upper)]


def measurement_columns(plan: Plan) -> list[Column]:
    """The columns of measurement.parquet: the noisy values that everything else was computed from."""
    terms, groups = plan.terms, plan.terms.publication.group_name
    if terms.view is MeasuredView.COUNTS:
        exactly = "exactly this size" if terms.max_sizes is None else "this size, at the last class of larger ones too,"
        value = f"Noisy number of {groups} of {exactly} in this region: true number plus noise."
        return [*_region_columns(groups, plan.names), _size(plan), _noisy("noisy_count", value)]
    places, size = _region_columns(groups, plan.names), _size(plan)
    value = (
        f"Noisy number of {groups} of this size OR SMALLER in this region (cumulative over sizes, do not add up over "
        "sizes): true number plus noise."
    )
    if terms.view is MeasuredView.SPLIT:
        return [*places, *_split_columns(terms, size, value)]
    last = f"the size {terms.largest}" if terms.max_sizes is None else "the last class of a level"
    value += f" At {last} it is the noisy number of all {groups}."
    return [*places, size, _noisy("noisy_cumulative_count", value)]


def regions_columns(plan: Plan) -> list[Column]:
    """The columns of regions.csv: the regions, parents first."""
    region, level, level_name, leaf, *places = _region_columns(plan.terms.publication.group_name, plan.names)
    return [
        region,
        Column("parent_id", "string", "The region_id of the region directly above; empty for the first region.", False),
        level,
        level_name,
        leaf,
        *places,
        Column(
            "groups",
            "integer",
            f"Number of {plan.terms.publication.group_name} of all sizes where it is published exactly, or (with noisy "
            "totals) its noisy value, made to add up over regions; empty where it is not published by itself.",
            False,
        ),
    ]


def _split_columns(terms: Terms, size: Column, cumulative: str) -> list[Column]:
    """Describe the columns of split views: a row has a size and a cumulative count, or a rank and what lies beyond."""
    groups, members = terms.publication.group_name, terms.publication.entity_name
    value = (
        f"{cumulative} Of the sizes below the region's threshold, which manifest.json states; up to the size "
        f"{terms.largest} if it is not below the threshold."
    )
    sized, ranked = "Empty in rows of ranks.", "Empty in rows of sizes."
    return [
        replace(size, description=f"{size.description} {sized}", required=False),
        replace(_noisy("noisy_cumulative_count", f"{value} {sized}"), required=False),
        Column(
            "rank",
            "integer",
            f"A place among the {groups} of this region sorted by size, 0 for the smallest; of all {groups}. {ranked}",
            False,
        ),
        replace(
            _noisy(
                "noisy_excess",
                f"Noisy number of {members} that the one at this rank has beyond the region's threshold, 0 if it has "
                f"none: true number plus noise. {ranked}",
            ),
            required=False,
        ),
    ]


_SIZE_CLASS = Column(
    "size_class",
    "string",
    "The sizes that this row counts: group_size, or for the last class of the level group_size and more, '7 or more'. "
    "A size may have a row of its own on one level and be part of the last class below.",
)


def _region_columns(groups: str, names: Sequence[str]) -> list[Column]:
    return [
        Column(
            "region_id",
            "string",
            "The region: its path of names joined by '/' ('/' in a name is %2F, '%' is %25). It stays the same "
            "whatever other regions there are.",
        ),
        Column("level", "integer", "Level of the region, 0 for the one that contains all others."),
        Column("level_name", "string", f"Name of this level: {', '.join(names)}."),
        Column(
            "is_leaf",
            "boolean",
            f"Whether no region lies below. All {groups} lie in such regions, and again in the "
            "regions above them: sum over rows with is_leaf = true, or over one level, never over all rows.",
        ),
        *(
            Column(name, "string", f"Name of the region, or of the one it lies in, on level {level}.", level == 0)
            for level, name in enumerate(names)
        ),
    ]


def percent(probability: Fraction) -> str:
    """The probability that intervals aim at, in percent.

    Example:
        >>> percent(Fraction(9, 10))
        '90 %'
    """
    return f"{float(100 * probability):.6g} %"


def _noisy(name: str, value: str) -> Column:
    """Describe a column of noisy values; its name says whether they are cumulative over sizes."""
    return Column(name, "integer", f"{value} It may be negative. The noise's scale is in manifest.json.")


def _size(plan: Plan) -> Column:
    terms = plan.terms
    groups, members = terms.publication.group_name, terms.publication.entity_name
    least = f" No group has fewer than {terms.min_size:,}, which is known beforehand." if terms.min_size else ""
    if terms.max_sizes is not None:
        last = ", ".join(f"{level.max_size} or more ({level.name})" for level in plan.levels)
        text = f"Number of {members}. The last class of every level holds all larger {groups}, too: {last}."
    else:
        text = (
            f"Number of {members}, 0 to {terms.largest}; {groups} with more than {terms.largest} {members} count as "
            f"{terms.largest}."
        )
    return Column("group_size", "integer", text + least)
