"""The making of a synthesis: from confidential tables to a folder with synthetic tables, their model and its cost."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from pgsr.accounting import Rho
from pgsr.errors import PgsrError
from pgsr.histogram import CountOfCounts
from pgsr.ledger import Charge, LedgerFile, Relation
from pgsr.random import Secure, Seeded, Source
from pgsr.release.errors import ConfigError
from pgsr.release.running.places import only_one, settle, sync
from pgsr.release.running.saying import unfailing
from pgsr.synthesis import folder as files
from pgsr.synthesis import marginal_fields, quality
from pgsr.synthesis.adaptive import Distribution, Fitted, fit
from pgsr.synthesis.config import SynthesisConfig
from pgsr.synthesis.dictionary import dictionary
from pgsr.synthesis.domain import COUNT, Domain, SynthesisError
from pgsr.synthesis.filled_households import FilledHouseholds
from pgsr.synthesis.folder import HOUSEHOLDS, MODEL, PERSONS, SUMS, TRANSCRIPT
from pgsr.synthesis.given_sizes import GivenSizes, read_sizes
from pgsr.synthesis.linked_tables import to_tables
from pgsr.synthesis.mixture import Mixture
from pgsr.synthesis.population import Population
from pgsr.synthesis.random_households import RandomHouseholds
from pgsr.synthesis.rho_budget import RhoLedger
from pgsr.synthesis.sizes import RegionalPopulation, sample_to_sizes
from pgsr.synthesis.type_distribution import TypeDistribution
from pgsr.synthesis.whole_marginals import FittedMarginals, WholeMarginals

if TYPE_CHECKING:
    import pandas as pd

REHEARSAL = "-rehearsal"
"""The ending of the name of the output folder of a rehearsal."""

Tables = tuple["pd.DataFrame", "pd.DataFrame"]


def synthesize(
    config: SynthesisConfig,
    *,
    rehearse: bool = False,
    sizes: str | PathLike[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
    progress: bool = False,
) -> Path:
    """Read the tables, charge the ledger, fit, sample and write; return the folder that was made.

    What can be refused is refused before the ledger is charged, and the ledger is charged, all of rho at once, before
    any noise is drawn.

    Args:
        config: what to synthesise.
        rehearse: use seeded noise, without a charge. The folder gets another name and says that it is not private.
        sizes: release folder or table of counts (`read_sizes`), whose households per region and size the sample gets.
        say: is told in a few words what is going on.
        progress: show a bar with the time that is left.

    Raises:
        PgsrError: the tables, the configuration or the place are not right, or the ledger refuses; nothing was charged.
        ReleaseError: another process makes this folder just now; nothing was charged.
        SynthesisError: something failed after the charge; the message says so, and where the model lies.
    """
    folder = config.output.with_name(config.output.name + REHEARSAL) if rehearse else config.output
    require_place(folder)
    with only_one(folder):
        _make(config, folder, rehearse, sizes, unfailing(say), progress)
    return folder


def charge_for(config: SynthesisConfig, folder: Path) -> Charge:
    """Make the charge of a synthesis: its cost, and the neighbours it protects."""
    what = f"{config.method} into {folder.name}"
    return Charge(Rho(config.budget.rho), what, Relation(str(config.neighbours)), config.unit)


def digest_of(folder: Path) -> str:
    """Compute the SHA-256 of SHA256SUMS, and so of the whole synthesis, to be announced elsewhere."""
    from pgsr.release.folder import artefact

    return artefact.digest_of(folder)


def resample(
    model: str | PathLike[str],
    groups: int | None,
    seed: int,
    output: str | PathLike[str],
    sizes: str | PathLike[str] | None = None,
) -> Path:
    """Sample a saved model again, which costs no privacy; return the folder that was made.

    Raises:
        SynthesisError: the file holds no model, the place is not right, or not one of `groups` and `sizes` is given.
    """
    folder = Path(output)
    require_place(folder)
    _require_one_number(groups, sizes)
    if groups is None and sizes is None:
        raise SynthesisError("say how many households to sample with --groups, or give --sizes")
    given = None if sizes is None else read_sizes(sizes)
    if given is not None and given.secure is False:
        raise SynthesisError("the sizes are those of a rehearsal, whose noise anybody can take off; give a release")
    found = load_model(model)
    tables = sampled(found, groups or 0, seed, None if given is None else given.counts)
    hidden = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _write(hidden, tables, found.domain, _levels(given))
        _publish(hidden, folder)
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


def sampled(model: Distribution, groups: int, seed: int, release: CountOfCounts | None = None) -> Tables:
    """Draw households and persons as tables. With a release, households have a column per level, level_0 the root.

    Households of size 0 are in a release, and a model knows nothing about them: their attributes are missing.

    Raises:
        SynthesisError: the model is not a mixture, and sizes are to be fixed; or the release has other sizes.
    """
    if release is None:
        return to_tables(model.sample(groups, seed))
    if not isinstance(model, Mixture | FilledHouseholds):
        raise SynthesisError("sizes can be fixed for mixtures only; use another method than mwem")
    regional = sample_to_sizes(model, release, seed)
    homes, persons = regional.to_tables()
    return _with_empty(homes, regional), persons


def transcript_fields(
    config: SynthesisConfig, fitted: Fitted | FittedMarginals, given: GivenSizes | None, sample: int
) -> dict[str, Any]:
    """Collect everything that was learned from the data, and its cost. It may be published with the model."""
    if isinstance(fitted, FittedMarginals):
        derived = marginal_fields.derived_fields(fitted.transcript, config.neighbours, config.unit)
    else:
        derived = files.derived_fields(fitted.transcript, config.neighbours)
    return {
        **derived,
        "data_set": config.data_set,
        "method": str(config.method),
        "settings": files.settings_of(config.family()),
        "k": config.k,
        "seed": config.seed,
        "sampled": sample,
        "sizes_from": None if given is None else given.source,
        "versions": files.versions(files.packages_of(config.method)),
    }


def require_place(folder: Path) -> None:
    """Raise `SynthesisError` unless the folder is absent or empty, and can be made."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise SynthesisError(f"the output {str(folder)!r} is there already; choose a folder that does not exist yet")
    if not folder.absolute().parent.is_dir():
        raise SynthesisError(f"the folder {str(folder.parent)!r} of the output does not exist; make it")


def _require_one_number(groups: int | None, sizes: str | PathLike[str] | None) -> None:
    """Raise `SynthesisError` if households are to be as many as was said, and as many as the sizes say."""
    if groups is not None and sizes is not None:
        raise SynthesisError(
            "the sizes say how many households to sample; leave out --groups, and groups in the configuration"
        )


def _make(
    config: SynthesisConfig,
    folder: Path,
    rehearse: bool,
    sizes: str | PathLike[str] | None,
    say: Callable[[str], None],
    progress: bool,
) -> None:
    """Do what `synthesize` does, into a folder that no other process makes."""
    _require_one_number(config.groups, sizes)
    pay = _nothing if rehearse else _payment(config, folder, say)
    given = None if sizes is None else read_sizes(sizes)
    if given is not None:
        given.require(config.neighbours, rehearse)
        _require_fitting(config, given.counts)
    say("reading the tables")
    population = config.population()
    groups = population.n_groups if config.groups is None else config.groups
    account = _Account(config.budget.rho, pay)
    hidden = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        fitted = _fitted(config, population, account, Seeded("rehearsal") if rehearse else Secure(), say, progress)
        del population
        fitted.distribution.save(hidden / MODEL)
        sample = _count(given, groups)
        fields = transcript_fields(config, fitted, given, sample)
        (hidden / TRANSCRIPT).write_text(files.written(fields), encoding="utf-8")
        say("sampling and writing")
        model = load_model(hidden / MODEL)  # as read back, so that anybody can draw the same sample
        tables = sampled(model, groups, config.seed, None if given is None else given.counts)
        _write(hidden, tables, model.domain, _levels(given))
        say("writing the report, with a rehearsal on a sample of the model, which costs nothing")
        page = quality.report(fields, model, *tables, _stand_in(config, model))
        (hidden / files.REPORT).write_text(page, encoding="utf-8", newline="")
        _publish(hidden, folder, files.FILES)
    except BaseException as error:
        keep = bool(account.spent) and not rehearse and any(hidden.iterdir())
        if not keep:
            shutil.rmtree(hidden, ignore_errors=True)
        if not account.spent:
            raise  # before any noise
        spent = "nothing was charged" if rehearse else f"epsilon {config.budget.epsilon} is spent"
        where = f"; what was written lies in {str(hidden)!r}" if keep else ""
        if not isinstance(error, Exception):  # somebody ends the process
            say(f"stopped after the noise was drawn, so {spent}{where}")
            raise
        known = isinstance(error, PgsrError | OSError | MemoryError)
        said = str(error) if known else f"{type(error).__name__}, which no synthesis should raise"
        raise SynthesisError(f"the synthesis failed after noise was drawn, so {spent}{where}: {said}") from error


def _fitted(
    config: SynthesisConfig,
    population: Population,
    account: "_Account",
    source: Source,
    say: Callable[[str], None],
    progress: bool,
) -> Fitted | FittedMarginals:
    method = config.family()
    if isinstance(method, WholeMarginals):
        say("measuring whole marginals")
        return method.fit(
            population,
            config.budget,
            source=source,
            neighbours=config.neighbours,
            unit=config.unit,
            seed=config.seed,
            ledger=account,
            name=config.data_set,
            progress=progress,
        )
    workload = config.workload()
    say(f"measuring {config.budget.rounds:,} of {workload.n_queries:,} queries")
    return fit(
        population,
        workload,
        method,
        config.budget,
        source=source,
        neighbours=config.neighbours,
        seed=config.seed,
        n_persons=config.n_persons,
        ledger=account,
        name=config.data_set,
        progress=progress,
    )


def _stand_in(config: SynthesisConfig, model: Distribution) -> quality.StandIn | None:
    """Rehearse a fit of whole marginals on a population of its own model; the other methods would take too long."""
    method = config.family()
    if not isinstance(method, WholeMarginals) or not isinstance(model, FilledHouseholds):
        return None
    return quality.stand_in(model, method, config.budget, config.neighbours, config.unit, config.seed)


def _require_fitting(config: SynthesisConfig, release: CountOfCounts) -> None:
    if config.method == "mwem":
        raise SynthesisError("sizes can be fixed for mixtures only; use another method than mwem")
    tree, sizes = release.hierarchy, config.domain.sizes
    found = np.flatnonzero(release.rows(0, 1)[0]) if tree.n_regions else np.zeros(0, int)
    wrong = [int(size) for size in found if size and size not in sizes]
    if wrong:
        raise SynthesisError(
            f"the release has households of size {wrong[0]}, and the domain has sizes {sizes.start} to {sizes.stop - 1}"
            "; change max_size, or cap the release"
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


def _write(folder: Path, tables: Tables, domain: Domain, n_levels: int) -> None:
    for frame, name, schema in zip(tables, (HOUSEHOLDS, PERSONS), files.schemas(domain, n_levels), strict=True):
        pq.write_table(files.table_of(frame, schema), folder / name)
    (folder / files.DICTIONARY).write_text(dictionary(domain, n_levels), encoding="utf-8", newline="")


def _levels(given: GivenSizes | None) -> int:
    return 0 if given is None else given.counts.hierarchy.n_levels


def _publish(hidden: Path, folder: Path, names: tuple[str, ...] = ()) -> None:
    """Write the digests of these files, and then give the hidden folder its name in one step."""
    if names:
        from pgsr.release.folder.artefact import sums_text

        (hidden / SUMS).write_text(sums_text(hidden, names), encoding="utf-8", newline="")
    hidden.chmod(0o755)  # mkdtemp makes folders that nobody else may enter
    settle(hidden)
    hidden.rename(folder)  # replaces an empty folder, and fails on any other
    sync(folder.parent)


def _payment(config: SynthesisConfig, folder: Path, say: Callable[[str], None]) -> Callable[[], None]:
    """Prepare the charge of the ledger: a function that makes it, or an error now if the ledger would refuse it.

    Raises:
        ConfigError, LedgerError: there is no ledger, or it refuses the charge.
    """
    if config.ledger is None:
        raise ConfigError(
            "the key 'ledger' is missing, and only a rehearsal goes without; write ledger = 'ledger.jsonl', the ledger "
            "of the data set, which `pgsr ledger init` makes"
        )
    ledger, charge = LedgerFile(config.ledger), charge_for(config, folder)
    ledger.require(charge, config.data_set)

    def pay() -> None:
        require_place(folder)  # somebody may have made it meanwhile
        say("charging the ledger")
        say(f"the ledger's head is now {ledger.charge(charge, config.data_set)}")

    return pay


def _nothing() -> None:
    pass


@dataclass
class _Account(RhoLedger):
    """The account of rho of one fit.

    Its first charge, made after all checks and before any noise, pays for the whole fit.
    """

    pay: Callable[[], None] = _nothing

    def charge(self, amount: Fraction, what: str) -> None:
        if not self.spent:
            self.pay()
        super().charge(amount, what)


def _count(given: GivenSizes | None, groups: int) -> int:
    """Count the households to sample, those without members included."""
    return groups if given is None else int(given.counts.totals[0])
