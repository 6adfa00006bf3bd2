"""The sample of a synthesis: tables drawn from a fitted or saved model, and written; it costs no privacy."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from pgsr.data.counts import CountOfCounts
from pgsr.publishing.folder import hidden_folder, name_folder
from pgsr.publishing.places import require_place
from pgsr.synthesis import folder as files
from pgsr.synthesis.adaptive import Distribution
from pgsr.synthesis.dictionary import dictionary
from pgsr.synthesis.domain import COUNT, Attribute, Domain, SynthesisError
from pgsr.synthesis.filled_households import FilledHouseholds
from pgsr.synthesis.folder import HOUSEHOLDS, MODEL, PERSONS
from pgsr.synthesis.given_sizes import GivenSizes, read_sizes
from pgsr.synthesis.linked_tables import require_free_names, to_tables
from pgsr.synthesis.mixture import Mixture
from pgsr.synthesis.random_households import RandomHouseholds
from pgsr.synthesis.sizes import RegionalPopulation, sample_to_sizes
from pgsr.synthesis.type_distribution import TypeDistribution

if TYPE_CHECKING:
    import pandas as pd

Tables = tuple["pd.DataFrame", "pd.DataFrame"]


def resample(
    model: str | PathLike[str],
    groups: int | None,
    seed: int,
    output: str | PathLike[str],
    sizes: str | PathLike[str] | None = None,
    rename: Mapping[str, str] | None = None,
) -> Path:
    """Sample a saved model again, which costs no privacy; return the folder that was made.

    Args:
        model: file of the model.
        groups: households to sample; None with `sizes`.
        seed: of the sample.
        output: folder, absent or empty.
        sizes: release folder or table of counts (`read_sizes`).
        rename: other names for some of the model's attributes.

    Raises:
        SynthesisError: the file holds no model, not one of `groups` and `sizes` is given, or a name to change is none.
        TableError: an attribute has the name of a column that links the tables; `rename` gives it another one.
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
    domain = renamed(found.domain, rename or {})
    require_free_names(
        domain, "give it another name in the sample, as with --rename role=role_of_person", levels(given)
    )
    tables = sampled(found, groups or 0, seed, None if given is None else given.counts, domain)
    hidden = hidden_folder(folder)
    try:
        write(hidden, tables, domain, levels(given))
        name_folder(hidden, folder)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return folder


def load_model(path: str | PathLike[str]) -> Distribution:
    """Read a model that any distribution of this package saved.

    Raises:
        SynthesisError: the file is absent, or holds something else.
    """
    if not Path(path).is_file():
        raise SynthesisError(f"there is no file {str(path)!r}; give the {MODEL} of a synthesis")
    for kind in (FilledHouseholds, Mixture, TypeDistribution, RandomHouseholds):
        try:
            return kind.load(path)
        except SynthesisError:
            continue
    raise SynthesisError(f"{str(path)!r} holds no model; give the {MODEL} of a synthesis")


def sampled(
    model: Distribution, groups: int, seed: int, release: CountOfCounts | None = None, domain: Domain | None = None
) -> Tables:
    """Draw households and persons as tables. With a release, households have a column per level, level_0 the root.

    Households of size 0 are in a release, and a model knows nothing about them: their attributes are missing.

    Args:
        model: fitted or loaded.
        groups: households; without meaning if a release is given.
        seed: of the sample.
        release: households by region and size.
        domain: the model's, with other names of attributes perhaps.

    Raises:
        SynthesisError: the model is not a mixture, and sizes are to be fixed; or the release has other sizes.
    """
    if release is None:
        population = model.sample(groups, seed)
        return to_tables(replace(population, domain=domain or model.domain))
    if not isinstance(model, Mixture | FilledHouseholds):
        raise SynthesisError(OF_MIXTURES)
    regional = sample_to_sizes(model, release, seed)
    regional = replace(regional, population=replace(regional.population, domain=domain or model.domain))
    homes, persons = regional.to_tables()
    return _with_empty(homes, regional), persons


OF_MIXTURES = "sizes can be fixed for mixtures only; use another method than mwem"


def renamed(domain: Domain, names: Mapping[str, str]) -> Domain:
    """Give attributes of a domain other names.

    Raises:
        SynthesisError: no attribute has one of the old names, or two have one name then.

    Example:
        >>> domain = Domain.plain([], [Attribute("role", ("cook", "guest"))], max_size=3)
        >>> renamed(domain, {"role": "role_of_person"}).individual[0].name
        'role_of_person'
    """
    known = [attribute.name for attribute in (*domain.group, *domain.individual)]
    for old in names:
        if old not in known:
            raise SynthesisError(f"{old} is no attribute of the model; it has {', '.join(known)}")

    def other(attribute: Attribute) -> Attribute:
        return replace(attribute, name=names.get(attribute.name, attribute.name))

    return Domain(tuple(map(other, domain.group)), tuple(map(other, domain.individual)), domain.roles)


def write(folder: Path, tables: Tables, domain: Domain, n_levels: int) -> None:
    """Write both tables and their dictionary; `n_levels` are those of regions."""
    for frame, name, schema in zip(tables, (HOUSEHOLDS, PERSONS), files.schemas(domain, n_levels), strict=True):
        pq.write_table(files.table_of(frame, schema), folder / name)
    (folder / files.DICTIONARY).write_text(dictionary(domain, n_levels), encoding="utf-8", newline="")


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
