"""Tell what a configuration would release, before a private table is opened and without a charge."""

from dataclasses import dataclass
from fractions import Fraction
from glob import glob
from pathlib import Path
from typing import Any

from pgsr.hierarchy import Hierarchy
from pgsr.histogram import CountOfCounts
from pgsr.laws import DoubleGeometric, law_of
from pgsr.ledger import LedgerFile
from pgsr.measurement import Totals
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.folder import artefact, manifest, signature
from pgsr.release.folder.columns import held, percent
from pgsr.release.folder.wide_tables import wide_files
from pgsr.release.folder.words import noise_phrase
from pgsr.release.making import charge_for
from pgsr.release.publication import MOST_ROWS
from pgsr.release.running.preflight import require_place, require_room
from pgsr.release.terms import Terms
from pgsr.release.terms_facts import terms_facts
from pgsr.tables import Csv, Database, Parquet
from pgsr.tables.regions import source_of
from pgsr.tables.source import Frame


@dataclass(frozen=True)
class Outline:
    """The outline of a release: pairs of a thing and what there is to say of it, in order.

    Attributes:
        config: the configuration.
        tree: the public regions; None if their table is not there.
        facts: what to say.
    """

    config: ReleaseConfig
    tree: Hierarchy | None
    facts: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<18} {said}" for name, said in self.facts)


def outline(config: ReleaseConfig | str | Path) -> Outline:
    """Outline what would be released. Public tables are read where they are there, private ones are not opened.

    All is refused that `publish` refuses before it opens a private table. Nothing is charged or written.

    Args:
        config: the configuration, or the name of its TOML file.

    Raises:
        PgsrError: the configuration or a public table is wrong, the output's place is taken or cannot be written to,
            too little epsilon, memory or disk space is left.

    Example:
        >>> import pandas as pd
        >>> from pgsr.release import Terms
        >>> from pgsr.tables import Entities, Groups
        >>> homes = pd.DataFrame({"group": [1, 2, 3], "nation": "US", "state": ["GA", "MI", "MI"]})
        >>> people = pd.DataFrame({"group": [1, 1, 2]})
        >>> config = ReleaseConfig(
        ...     terms=Terms("demo", max_size=3, epsilon="1", kind="m_h"),
        ...     entities=Entities(people, entity=None),
        ...     groups=Groups(homes, region=("nation", "state")),
        ...     output="release",
        ...     ledger="ledger.jsonl",
        ... )
        >>> dict(outline(config).facts)["state"]
        '2 regions, epsilon 1/2, sensitivity 2, noise of scale 4 (standard deviation 5.6)'
    """
    config = ReleaseConfig.of(config)
    terms = config.terms
    require_place(config.output)
    left = _ledger(config)
    if config.sign is not None:
        signature.load_private(config.sign)
    counted = _counted(config)
    tree = counted.hierarchy if counted else _tree(config)
    if counted is not None:
        terms.require_possible_facts(counted.hierarchy, counted.totals)
    if tree is not None:
        require_room(config.output, terms, tree)
    groups = f", {int(counted.totals[0]):,} {terms.publication.group_name}" if counted else ""
    about = terms_facts(terms)
    about["sizes"] += groups
    facts = [
        *about.items(),
        *_levels(config, tree),
        ("intervals", _intervals(terms)),
        ("neighbours", manifest.neighbours(terms)),
        ("exact", "published without noise: " + ", ".join(manifest.invariants(terms))),
        *_reads(config),
        ("tables", _rows(terms, tree)),
        ("writes", f"{config.output}: {', '.join(artefact.files(_wide(terms, tree)))}"),
        ("", f"{config.log}, not for publication"),
        ("ledger", left),
        ("signed with", str(config.sign) if config.sign else "nothing"),
    ]
    return Outline(config, tree, tuple(facts))


def _intervals(terms: Terms) -> str:
    if terms.intervals is None or terms.construction is None:
        return "none are published; `pgsr intervals FOLDER` computes some"
    chance = held(terms.construction, terms.max_sizes is not None)
    return f"columns lower and upper, {percent(terms.intervals)}, at no cost. {chance}"


def _rows(terms: Terms, tree: Hierarchy | None) -> str:
    """Say whether tables have rows of zeros."""
    zeros = terms.publication.zeros if tree is None else terms.settled(tree.regions_per_level).publication.zeros
    if zeros is None:
        return f"rows of all sizes, zeros too, if these are at most {MOST_ROWS:,} in all"
    every = "rows of all sizes of every region, zeros too"
    return every if zeros else "rows of sizes that occur in a region; zeros are left out"


def _wide(terms: Terms, tree: Hierarchy | None) -> dict[str, int]:
    return {} if tree is None else wide_files(terms, tree.regions_per_level)


def _counted(config: ReleaseConfig) -> CountOfCounts | None:
    """The public numbers of groups, if there are any and their tables are there."""
    if config.private_groups or config.groups is None:
        return None
    tables = [config.groups.table, *(source_of(config.regions) if config.regions else [])]
    if not all(map(there, tables)):
        return None
    counted = config.count_public()
    config.terms.names(counted.hierarchy.n_levels)
    return counted


def _tree(config: ReleaseConfig) -> Hierarchy | None:
    regions = config.regions or (None if config.private_groups else config.groups)
    return None if regions is not None and not there(regions.table) else config.tree()


def _levels(config: ReleaseConfig, tree: Hierarchy | None) -> list[tuple[str, str]]:
    """List epsilon, sensitivity and noise of every level, as the manifest of the release will state them."""
    terms = config.terms
    if tree is None:
        return [("levels", "their number and noise are known once the public tables are there")]
    regions = [level.stop - level.start for level in map(tree.level, range(tree.n_levels))]
    fields = manifest.terms_fields(terms, True, regions)
    facts = [
        (name, f"{_many(level['regions'], 'region')}, {_noise(level)}")
        for name, level in zip(terms.names(tree.n_levels), fields["levels"], strict=True)
    ]
    if terms.public is Totals.NOISY:
        facts.append(("numbers of groups", _noise(fields["totals"])))
    return facts


def _noise(level: dict[str, Any]) -> str:
    phrase = noise_phrase(level)
    if phrase.endswith("not measured"):
        return phrase
    if "noise_scale" in level:
        sensitivity, law = level["sensitivity"], DoubleGeometric(Fraction(level["noise_scale"]))
    else:
        found = level["sensitivity"]
        sensitivity, law = f"{found['l1']} (L1), {found['l2_squared']} (L2 squared)", law_of(level["noise"])
    spent, _, noise = phrase.partition(", ")
    return f"{spent}, sensitivity {sensitivity}, {noise} (standard deviation {law.deviation:,.1f})"


def _reads(config: ReleaseConfig) -> list[tuple[str, str]]:
    tables = [(config.entities.table, "private, not opened here")]
    if config.groups is not None:
        tables.append((config.groups.table, "private, not opened here" if config.private_groups else "public"))
    if config.regions is not None:
        tables.append((config.regions.table, "public"))
    said = [f"{name_of(table)} ({what}{'' if there(table) else '; NOT THERE'})" for table, what in tables]
    return [("reads" if place == 0 else "", line) for place, line in enumerate(said)]


def _ledger(config: ReleaseConfig) -> str:
    """Say what is left; an absent ledger is no error here, so that the rest can be read before it is made."""
    if not config.ledger.exists():
        return f"{config.ledger}: NOT THERE; `pgsr ledger init` makes one, once per data set"
    ledger = LedgerFile(config.ledger)
    ledger.require(charge_for(config.terms, config.output), config.terms.data_set)
    return f"{config.ledger}: {ledger.left} left, of {ledger.read().total}"


def there(table: object) -> bool:
    """Tell whether the files of a table exist; nothing is opened."""
    if isinstance(table, Database):
        return Path(table.path).is_file()
    if not isinstance(table, Csv | Parquet):
        return True
    return Path(table.pattern).is_file() or any(Path(file).is_file() for file in glob(table.pattern, recursive=True))


def name_of(table: object) -> str:
    """Name the file or query that a table is read from."""
    if isinstance(table, Csv | Parquet):
        return table.pattern
    if isinstance(table, Database):
        return f"{table.path}: {table.sql}"
    return "a data frame" if isinstance(table, Frame) else "a query"


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
