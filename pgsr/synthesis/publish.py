"""From confidential tables to a folder with a synthetic population, its model, and what privacy was paid."""

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import PgsrError
from pgsr.histogram import CountOfCounts
from pgsr.random import Secure, Seeded
from pgsr.synthesis.adaptive import Distribution, Fitted, fit
from pgsr.synthesis.config import SynthesisConfig
from pgsr.synthesis.domain import COUNT, SynthesisError
from pgsr.synthesis.linked_tables import to_tables
from pgsr.synthesis.mixture import Mixture
from pgsr.synthesis.random_households import RandomHouseholds
from pgsr.synthesis.sizes import RegionalPopulation, sample_to_sizes
from pgsr.synthesis.type_distribution import TypeDistribution

if TYPE_CHECKING:
    import pandas as pd

HOUSEHOLDS, PERSONS, MODEL, TRANSCRIPT = "households.parquet", "persons.parquet", "model.npz", "transcript.json"
FORMAT = "pgsr synthesis 1"
REHEARSAL = "-rehearsal"
"""What is appended to the output folder of a rehearsal."""

Tables = tuple["pd.DataFrame", "pd.DataFrame"]


def synthesize(
    config: SynthesisConfig,
    *,
    rehearse: bool = False,
    sizes: str | PathLike[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
    progress: bool = False,
) -> Path:
    """Read, fit, sample and write; the folder that was made.

    What can be refused is refused before noise is drawn. Nothing is charged to a ledger: the statement of privacy is
    of this run alone.

    Args:
        config: what to synthesise.
        rehearse: use seeded noise. The folder gets another name and says that it is not private.
        sizes: release folder or table of counts (`read_sizes`), whose households per region and size the sample gets.
        say: is told in a few words what is going on.
        progress: show a bar of rounds.

    Raises:
        PgsrError: the tables, the configuration or the place are not right; no noise was drawn.
        SynthesisError: something failed afterwards; the message says where the model lies.
    """
    folder = config.output.with_name(config.output.name + REHEARSAL) if rehearse else config.output
    require_place(folder)
    release = None if sizes is None else read_sizes(sizes)
    if release is not None:
        _require_fitting(config, release)
    say("reading the tables")
    population, workload = config.population(), config.workload()
    groups = population.n_groups if config.groups is None else config.groups
    say(f"measuring {config.budget.rounds:,} of {workload.n_queries:,} queries")
    fitted = fit(
        population,
        workload,
        config.family(),
        config.budget,
        source=Seeded("rehearsal") if rehearse else Secure(),
        neighbours=config.neighbours,
        seed=config.seed,
        n_persons=config.n_persons,
        name=config.data_set,
        progress=progress,
    )
    del population
    hidden = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        fitted.distribution.save(hidden / MODEL)
        (hidden / TRANSCRIPT).write_text(json.dumps(transcript_fields(config, fitted, release), indent=1) + "\n")
        say("sampling and writing")
        _write(hidden, sampled(fitted.distribution, groups, config.seed, release))
        _publish(hidden, folder)
    except (PgsrError, OSError, MemoryError) as error:
        raise SynthesisError(
            f"sampling or writing failed after the noise was drawn, so epsilon {config.budget.epsilon} is spent; what "
            f"was written lies in {str(hidden)!r}: {error}"
        ) from None
    return folder


def resample(
    model: str | PathLike[str],
    groups: int | None,
    seed: int,
    output: str | PathLike[str],
    sizes: str | PathLike[str] | None = None,
) -> Path:
    """Sample a saved model again, which costs no privacy; the folder that was made.

    Raises:
        SynthesisError: the file holds no model, the place is not right, or neither `groups` nor `sizes` is given.
    """
    folder = Path(output)
    require_place(folder)
    if groups is None and sizes is None:
        raise SynthesisError("say how many households to sample with --groups, or give --sizes")
    tables = sampled(load_model(model), groups or 0, seed, None if sizes is None else read_sizes(sizes))
    hidden = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _write(hidden, tables)
        _publish(hidden, folder)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return folder


def load_model(path: str | PathLike[str]) -> Distribution:
    """What any distribution of this package saved.

    Raises:
        SynthesisError: the file is absent, or holds something else.
    """
    if not Path(path).is_file():
        raise SynthesisError(f"there is no file {str(path)!r}; give the {MODEL} of a synthesis")
    for kind in (Mixture, TypeDistribution, RandomHouseholds):
        try:
            return kind.load(path)
        except SynthesisError:
            continue
    raise SynthesisError(f"{str(path)!r} holds no model; give the {MODEL} of a synthesis")


def read_sizes(path: str | PathLike[str]) -> CountOfCounts:
    """Households by region and size: the folder of a release, or a long table of counts (Parquet or CSV).

    Raises:
        TableError: a file that is no table of counts, or is not consistent over regions.
    """
    from pgsr.release.artefact import COUNTS
    from pgsr.tables import read_long

    place = Path(path)
    return read_long(place / COUNTS if place.is_dir() else place).counts()


def sampled(model: Distribution, groups: int, seed: int, release: CountOfCounts | None = None) -> Tables:
    """Households and persons as tables. With a release, households have a column per level, level_0 the root.

    Households of size 0 are in a release, and a model knows nothing about them: their attributes are missing.

    Raises:
        SynthesisError: the model is not a mixture, and sizes are to be fixed; or the release has other sizes.
    """
    if release is None:
        return to_tables(model.sample(groups, seed))
    if not isinstance(model, Mixture):
        raise SynthesisError("sizes can be fixed for mixtures only; use the method hpd-fixed or hpd-gen")
    regional = sample_to_sizes(model, release, seed)
    homes, persons = regional.to_tables()
    return _with_empty(homes, regional), persons


def transcript_fields(config: SynthesisConfig, fitted: Fitted, release: CountOfCounts | None) -> dict[str, Any]:
    """Everything that was learned from the data, and what it cost. It may be published with the model."""
    transcript, privacy, domain = fitted.transcript, fitted.transcript.privacy, config.domain
    return {
        "format": FORMAT,
        "data_set": config.data_set,
        "privacy_claim": privacy.claim,
        "of_this_run_alone": "other releases of the same persons add to epsilon; no ledger was charged",
        "neighbours": privacy.neighbours,
        **{name: str(getattr(privacy, name)) for name in ("epsilon", "delta", "rho", "alpha", "conversion")},
        "rounds": privacy.rounds,
        "households": transcript.n_groups,
        "persons": transcript.n_persons,
        "domain": asdict(domain),
        "method": str(config.method),
        "settings": {name: value for name, value in vars(config.family()).items() if name != "device"},
        "k": config.k,
        "seed": config.seed,
        "sizes_from": None if release is None else "a count-of-counts release, which has a privacy claim of its own",
        "measured": [
            {"query": transcript.workload.describe(m.query), "number": m.query, "answer": m.value}
            for m in transcript.measured
        ],
    }


def require_place(folder: Path) -> None:
    """Raise `SynthesisError` unless the folder is absent or empty, and can be made."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise SynthesisError(f"the output {str(folder)!r} is there already; choose a folder that does not exist yet")
    if not folder.absolute().parent.is_dir():
        raise SynthesisError(f"the folder {str(folder.parent)!r} of the output does not exist; make it")


def _require_fitting(config: SynthesisConfig, release: CountOfCounts) -> None:
    if config.method == "mwem":
        raise SynthesisError("sizes can be fixed for mixtures only; use the method hpd-fixed or hpd-gen")
    tree, sizes = release.hierarchy, config.domain.sizes
    found = np.flatnonzero(release.rows(0, 1)[0]) if tree.n_regions else np.zeros(0, int)
    wrong = [int(size) for size in found if size and size not in sizes]
    if wrong:
        raise SynthesisError(
            f"the release has households of size {wrong[0]}, and the domain has sizes {sizes.start} to {sizes.stop - 1}"
            "; change max_size, or cap the release"
        )


def _with_empty(homes: "pd.DataFrame", regional: RegionalPopulation) -> "pd.DataFrame":
    """And a row per household without members."""
    import pandas as pd

    n, paths = len(regional.empty_leaf_of), regional.hierarchy.paths
    empty: dict[str, object] = {column: [None] * n for column in homes.columns}
    empty |= {"household": len(homes) + np.arange(n), COUNT: np.zeros(n, np.int64)}
    for level in range(regional.hierarchy.n_levels):
        empty[f"level_{level}"] = [paths[leaf][level] for leaf in regional.empty_leaf_of]
    return pd.concat([homes, pd.DataFrame(empty)], ignore_index=True) if n else homes


def _write(folder: Path, tables: Tables) -> None:
    for frame, name in zip(tables, (HOUSEHOLDS, PERSONS), strict=True):
        frame.to_parquet(folder / name, index=False)


def _publish(hidden: Path, folder: Path) -> None:
    hidden.chmod(0o755)  # mkdtemp makes folders that nobody else may enter
    hidden.rename(folder)  # replaces an empty folder, and fails on any other
