"""Refuse, before a private table is opened and anything is charged, a synthesis that could not be made."""

import shutil
from fractions import Fraction
from math import comb, prod
from os import PathLike
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pgsr.machine import memory
from pgsr.privacy.accounting import Rho
from pgsr.privacy.neighbours import Relation
from pgsr.privacy.random import Secure
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge
from pgsr.release.publishing import signature
from pgsr.release.publishing.configuration.sources import require_unread
from pgsr.release.publishing.errors import ConfigError, Faults
from pgsr.release.publishing.formulas import require_no_formula
from pgsr.release.publishing.places import folder_of, require_outside, require_place
from pgsr.release.publishing.strict_fields import versions
from pgsr.synthesis.data.domain import Domain, Population, SynthesisError, require_whole, torch
from pgsr.synthesis.data.linked_tables import require_free_names, to_tables
from pgsr.synthesis.marginals.filled_households import AT_ONCE
from pgsr.synthesis.publish import folder as files
from pgsr.synthesis.publish.config import SynthesisConfig
from pgsr.synthesis.publish.given_sizes import GivenSizes, read_sizes
from pgsr.synthesis.publish.sampling import levels, require_one_number
from pgsr.synthesis.queries.noise import noise_of
from pgsr.synthesis.queries.transcript import Privacy
from pgsr.synthesis.queries.workload import Level, Workload
from pgsr.tables import Groups

LARGEST_SEED = 2**63 - 1
"""The largest seed that torch takes, with a bit to spare."""

MOST_MARGINALS = 100_000
"""How many sets of attributes are listed; more take longer to list than anybody waits."""


def require_makeable(
    config: SynthesisConfig, given: GivenSizes | None = None, *, rehearse: bool = False, ledger: bool = True
) -> None:
    """Raise what a synthesis would be refused for, as far as its configuration and public tables tell.

    What this lets through can fail after the charge only by what the configuration does not tell: a full disk, a
    process that is ended. The error lists all that was found.

    Args:
        config: what to synthesise.
        given: sizes that the sample is tied to.
        rehearse: whether it is a rehearsal, which needs no ledger and may be tied to a rehearsal.
        ledger: whether the ledger is asked, too.

    Raises:
        PgsrError: something is wrong.

    Shown by `tests/test_synthesis_charge.py`.
    """
    folder, faults = folder_of(config.output, rehearse), Faults()
    faults.tried(lambda: require_place(folder))
    faults.tried(lambda: _require_files(config))
    if ledger and not rehearse:
        faults.tried(lambda: require_ledger(config, folder))
    faults.tried(lambda: signing_key(config, rehearse))
    faults.tried(lambda: require_free_names(config.domain, RENAME, levels(given)))
    faults.tried(lambda: _require_numbers(config))
    if given is not None:
        faults.tried(lambda: given.require(config.neighbours, rehearse))
        faults.tried(lambda: _require_fitting(config, given))
    faults.tried(torch)
    faults.tried(lambda: _require_method(config))
    if not faults:  # what follows would fail for the same reasons again
        faults.tried(lambda: fixed_fields(config, given))
        faults.tried(lambda: _require_writable(config.domain, given))
        faults.tried(lambda: require_room(config, given, config.groups))
    faults.raise_all(SynthesisError)


def sizes_of(config: SynthesisConfig, sizes: str | PathLike[str] | None) -> GivenSizes | None:
    """Read the sizes that the sample is tied to, if there are any.

    Raises:
        PgsrError: they cannot be read, or the configuration says how many households there are, too.
    """
    require_one_number(config.groups, sizes)
    return None if sizes is None else read_sizes(sizes)


RENAME = "give the column another name in the table and in the configuration, such as role_of_person"


def charge_for(config: SynthesisConfig, folder: Path) -> Charge:
    """Make the charge of a synthesis: its cost, and the neighbours it protects."""
    what = f"{files.METHOD} into {folder.name}"
    return Charge(Rho(config.budget.rho), what, Relation(str(config.neighbours)), config.unit)


def require_ledger(config: SynthesisConfig, folder: Path) -> LedgerFile:
    """Return the ledger of the data set.

    Raises:
        ConfigError, LedgerError: there is none, or it refuses the charge.
    """
    if config.ledger is None:
        raise ConfigError(
            "the key 'ledger' is missing, and only a rehearsal goes without; write ledger = 'ledger.jsonl', the ledger "
            "of the data set, which `pgsr ledger init` makes"
        )
    ledger = LedgerFile(config.ledger)
    ledger.require(charge_for(config, folder), config.data_set)
    return ledger


def signing_key(config: SynthesisConfig, rehearse: bool) -> Ed25519PrivateKey | None:
    """Read the key that signs; None where nothing is signed, as rehearsals are not.

    Raises:
        SignatureError: the file holds no key.
    """
    return None if config.sign is None or rehearse else signature.load_private(config.sign)


def fixed_fields(config: SynthesisConfig, given: GivenSizes | None) -> dict[str, object]:
    """Collect the fields of the transcript that the configuration fixes, all but the domain and the guarantee.

    Raises:
        SynthesisError: a number is too long to be written.
    """
    try:  # numbers of more than some thousand digits are not written
        files.facts_of(
            Privacy.of(config.budget, config.neighbours, Secure(), config.unit),
            config.domain,
            config.neighbours,
            config.unit,
        )
    except ValueError:
        raise SynthesisError("epsilon or delta has too many digits; round them") from None
    return {
        "data_set": config.data_set,
        "method": files.METHOD,
        "settings": files.settings_of(config.method()),
        "seed": config.seed,
        "sizes_from": None if given is None else given.source,
        "versions": versions(files.PACKAGES),
    }


def require_room(config: SynthesisConfig, given: GivenSizes | None, groups: int | None) -> None:
    """Raise unless memory and disk suffice for the fit and for the sample.

    Args:
        config: what to synthesise.
        given: sizes that the sample is tied to.
        groups: households to sample; None where that is not known yet.

    Raises:
        MemoryNeededError, SynthesisError: they do not.
    """
    domain = config.domain
    if given is not None:
        row = given.counts.rows(0, 1)[0].astype(np.float64)
        homes, persons = row.sum(), row @ np.arange(len(row))
    else:
        homes = groups or 0
        persons = homes * (domain.min_size + domain.max_size) / 2
    columns = len(domain.individual) + 4
    sample = int(PER_VALUE * (persons * columns + homes * (len(domain.group) + 2)))
    remedy = "lower k, components or max_size, merge values of attributes, or sample fewer households"
    memory.require(_bytes_of_fit(config) + sample, "this synthesis", remedy)
    free = shutil.disk_usage(config.output.absolute().parent).free
    if free < 2**24 + 8 * persons * columns:
        raise SynthesisError(f"there is too little room on the disk of {str(config.output)!r}; make some")


PER_VALUE = 100
"""Bytes per value of a sample while it is drawn and written."""


def _bytes_of_fit(config: SynthesisConfig) -> int:
    """Estimate the memory of a fit: answers to all queries, and tables of members by component."""
    domain, workload = config.domain, _queries(config)
    answers = 100 * workload.n_queries
    own = [prod(len(domain.individual[a]) for a in (*m.individual, *m.relative)) for m in workload.marginals]
    largest = sorted(own, reverse=True)[:AT_ONCE]
    logits = domain.max_size * sum(map(len, domain.individual)) + sum(map(len, domain.group))
    return answers + 8 * config.components * (4 * domain.max_size * sum(largest) + 8 * logits)


def _queries(config: SynthesisConfig) -> Workload:
    """Make all queries of the fit, or of the report on it.

    Raises:
        SynthesisError: there are too many sets of attributes, or fewer attributes than one set has.
    """
    domain, k = config.domain, config.k
    most = len(domain.group) + 1 + len(domain.individual)
    require_whole(k=k)
    relatives = len(domain.individual) if len(domain.roles) > 1 else 0
    n = sum(
        comb(most, j) * 2 + comb(most + relatives, j) * (relatives > 0) for j in range(1, min(k, most + relatives) + 1)
    )
    if n > MOST_MARGINALS:
        raise SynthesisError(f"there are {n:,} sets of up to {k} attributes; lower k, or use fewer attributes")
    levels = [Level.GROUP, Level.INDIVIDUAL, *([Level.RELATION] if len(domain.roles) > 1 else [])]
    return Workload.k_way(domain, k, levels)


def _require_files(config: SynthesisConfig) -> None:
    """Raise `ConfigError` if what is written is a table that is read, or would be published."""
    require_outside(config.output, {"ledger": config.ledger, "private key": config.sign})
    written = {"output": config.output} | ({} if config.ledger is None else {"ledger": config.ledger})
    require_unread(written, Groups(config.households), Groups(config.persons))


def _require_numbers(config: SynthesisConfig) -> None:
    require_whole(least=0, seed=config.seed)
    if config.seed > LARGEST_SEED:
        raise SynthesisError(f"seed is {config.seed}; give a whole number from 0 to {LARGEST_SEED}")
    require_whole(components=config.components, k=config.k)
    if config.groups is not None:
        require_whole(groups=config.groups)


def _require_method(config: SynthesisConfig) -> None:
    """Raise where the method has nothing to measure, or noise that is too wide."""
    _queries(config)
    config.method().marginals(config.domain, config.neighbours)
    # The report compares with histograms of single attributes and roles, of squared sensitivity 6 at most.
    histograms = len(config.domain.group) + len(config.domain.individual) + len(config.domain.roles)
    noise_of(Fraction(6 * histograms) / (2 * config.budget.rho))


def _require_fitting(config: SynthesisConfig, given: GivenSizes) -> None:
    """Raise `SynthesisError` unless the method can sample to these sizes, and the domain has them."""
    release, sizes = given.counts, config.domain.sizes
    found = np.flatnonzero(release.rows(0, 1)[0]) if release.hierarchy.n_regions else np.zeros(0, int)
    wrong = [int(size) for size in found if size and size not in sizes]
    if wrong:
        raise SynthesisError(
            f"the release has households of size {wrong[0]}, and the domain has sizes {sizes.start} to {sizes.stop - 1}"
            "; change max_size, or cap the release"
        )
    if not any(found):
        raise SynthesisError("the release has no household with a person, so there is nothing to sample; give another")


def _require_writable(domain: Domain, given: GivenSizes | None) -> None:
    """Raise what writing would: tables of one made-up household are made as those of the sample will be."""
    members = np.concatenate([np.full(role.least, number) for number, role in enumerate(domain.roles)])
    n = len(members)
    homes, persons = np.zeros((1, len(domain.group)), np.int64), np.zeros((n, len(domain.individual)), np.int64)
    made_up = Population(domain, homes, persons, np.zeros(n, np.int64), members.astype(np.int64))
    for attribute in (*domain.group, *domain.individual):  # their names and values stand in dictionary.csv
        require_no_formula((attribute.name, *map(str, attribute.values)), "name or value of an attribute")
    for frame, schema in zip(to_tables(made_up), files.schemas(domain), strict=True):
        files.table_of(frame, schema)
