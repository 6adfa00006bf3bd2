"""The sample of a synthesis: tables drawn from a fitted or saved model, and written; it costs no privacy."""

import shutil
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from pgsr.data.counts import CountOfCounts
from pgsr.release.publishing.folder import hidden_folder, name_folder
from pgsr.release.publishing.places import require_place
from pgsr.synthesis.data.domain import COUNT, Domain, SynthesisError
from pgsr.synthesis.data.linked_tables import require_free_names, to_tables
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.sizes import RegionalPopulation, sample_to_sizes
from pgsr.synthesis.publish import folder as files
from pgsr.synthesis.publish.given_sizes import GivenSizes, read_sizes

if TYPE_CHECKING:
    import pandas as pd

Tables = tuple["pd.DataFrame", "pd.DataFrame"]


def resample(
    model: str | PathLike[str],
    groups: int | None,
    seed: int,
    output: str | PathLike[str],
    sizes: str | PathLike[str] | None = None,
) -> Path:
    """Sample a saved model again, which costs no privacy; return the folder that was made.

    Args:
        model: file of the model.
        groups: households to sample; None with `sizes`.
        seed: of the sample.
        output: folder, absent or empty.
        sizes: release folder or table of counts (`read_sizes`).

    Raises:
        SynthesisError: the file holds no model, or not one of `groups` and `sizes` is given.
        TableError: an attribute has the name of a column of the regions.
        ReleaseError: the place is not right.
    """
    folder = Path(output)
    require_place(folder)
    require_one_number(groups, sizes)
    if groups is None and sizes is None:
        raise SynthesisError("say how many households to sample with --groups, or give --sizes")
    given = None if sizes is None else read_sizes(sizes)
    if given is not None and given.secure is False:
        raise SynthesisError("the sizes are those of a rehearsal, whose noise anybody can take off; give a release")
    found = load_model(model)
    domain = found.domain
    require_free_names(domain, "sample this model without --sizes", levels(given))
    tables = sampled(found, groups or 0, seed, None if given is None else given.counts)
    hidden = hidden_folder(folder)
    try:
        write(hidden, tables, domain, levels(given))
        name_folder(hidden, folder)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return folder


def load_model(path: str | PathLike[str]) -> FilledHouseholds:
    """Read the model of a synthesis.

    Raises:
        SynthesisError: the file is absent, or holds something else.
    """
    if not Path(path).is_file():
        raise SynthesisError(f"there is no file {str(path)!r}; give the {files.MODEL} of a synthesis")
    try:
        return FilledHouseholds.load(path)
    except SynthesisError as error:
        raise SynthesisError(f"{str(path)!r} holds no model; give the {files.MODEL} of a synthesis") from error


def sampled(model: FilledHouseholds, groups: int, seed: int, release: CountOfCounts | None = None) -> Tables:
    """Draw households and persons as tables. With a release, households have a column per level, level_0 the root.

    Households of size 0 are in a release, and a model knows nothing about them: their attributes are missing.

    Args:
        model: fitted or loaded.
        groups: households; without meaning if a release is given.
        seed: of the sample.
        release: households by region and size.

    Raises:
        SynthesisError: the release has sizes that the model does not have.
    """
    if release is None:
        return to_tables(model.sample(groups, seed))
    regional = sample_to_sizes(model, release, seed)
    homes, persons = regional.to_tables()
    return _with_empty(homes, regional), persons


def write(folder: Path, tables: Tables, domain: Domain, n_levels: int) -> None:
    """Write both tables and their dictionary; `n_levels` are those of regions."""
    for frame, name, schema in zip(
        tables, (files.HOUSEHOLDS, files.PERSONS), files.schemas(domain, n_levels), strict=True
    ):
        pq.write_table(files.table_of(frame, schema), folder / name)
    (folder / files.DICTIONARY).write_text(files.dictionary(domain, n_levels), encoding="utf-8", newline="")


def levels(given: GivenSizes | None) -> int:
    """Count the levels of the regions of given sizes; 0 without."""
    return 0 if given is None else given.counts.hierarchy.n_levels


def require_one_number(groups: int | None, sizes: object) -> None:
    """Raise `SynthesisError` if households are to be as many as was said, and as many as the sizes say."""
    if groups is not None and sizes is not None:
        raise SynthesisError(
            "the sizes say how many households to sample; leave out --groups, and groups in the configuration"
        )


def _with_empty(homes: "pd.DataFrame", regional: RegionalPopulation) -> "pd.DataFrame":
    """Append one row per household without members."""
    import pandas as pd

    n, paths = len(regional.empty_leaf_of), regional.hierarchy.paths
    empty: dict[str, object] = {column: [None] * n for column in homes.columns}
    empty |= {"household": len(homes) + np.arange(n), COUNT: np.zeros(n, np.int64)}
    for level in range(regional.hierarchy.n_levels):
        empty[f"level_{level}"] = [paths[leaf][level] for leaf in regional.empty_leaf_of]
    return pd.concat([homes, pd.DataFrame(empty)], ignore_index=True) if n else homes
