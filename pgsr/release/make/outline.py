"""Tell what a configuration would release, before a private table is opened and without a charge."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.noise.measurement import Totals
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.laws.texts import law_of
from pgsr.release.configuration.release_config import ReleaseConfig
from pgsr.release.configuration.sources import is_there, name_of
from pgsr.release.folder import artefact, manifest
from pgsr.release.folder.columns import HELD, percent
from pgsr.release.folder.words import noise_phrase
from pgsr.release.ledger import LedgerFile
from pgsr.release.make.publish import charge_for
from pgsr.release.publishing import signature
from pgsr.release.publishing.errors import ConfigError, Faults
from pgsr.release.publishing.places import require_place
from pgsr.release.terms.plan import Plan, terms_facts
from pgsr.release.terms.preflight import require_publishable, require_room
from pgsr.release.terms.terms import Terms
from pgsr.tables.checks import GROUPS, REGIONS


@dataclass(frozen=True)
class Outline:
    """The outline of a release: pairs of a thing and what there is to say of it, in order.

    Attributes:
        facts: what to say.
    """

    facts: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<18} {said}" for name, said in self.facts)


def outline(config: ReleaseConfig | str | Path) -> Outline:
    """Outline what would be released. Public tables are read, private ones are not opened.

    All is refused that `publish` refuses before it opens a private table, and all of it in one error: the output's
    place, the ledger's rest, the key, public tables that are not there, and what is wrong with those that are. A
    private table or a ledger that is not there is said and not refused, so that whoever plans a release needs neither.
    Nothing is charged or written.

    Args:
        config: the configuration, or the name of its TOML file.

    Raises:
        PgsrError: the configuration, the key or a public table is wrong or absent, the output's place is taken or
            cannot be written to, too little epsilon, memory or disk space is left. Several of these are a
            `ConfigError` that lists them.
    """
    config = config if isinstance(config, ReleaseConfig) else ReleaseConfig.read(config)
    terms, faults = config.terms, Faults()
    faults.tried(lambda: require_place(config.output))
    left = faults.tried(lambda: _ledger(config))
    if config.sign is not None:
        faults.tried(lambda key=config.sign: signature.load_private(key))
    absent = [(what, name_of(table)) for what, table in _public_tables(config) if not is_there(table)]
    for what, file in absent:
        faults.keep(ConfigError(f"{what} {file!r} is not there; mend its path, or put the file there"))
    read = None if absent else faults.tried(lambda: _public(config))
    faults.raise_all()
    assert left is not None, "no fault was found"
    assert read is not None, "no fault was found"
    plan, tree, counted = read
    require_publishable(plan, tree)
    require_room(config.output, plan, tree)
    groups = f", {int(counted.totals[0]):,} {terms.publication.group_name}" if counted else ""
    about = terms_facts(terms)
    about["sizes"] += groups
    facts = [
        *about.items(),
        *_levels(plan),
        ("intervals", _intervals(terms)),
        ("neighbours", manifest.neighbours(terms)),
        ("exact", "published without noise: " + ", ".join(manifest.invariants(terms))),
        *_reads(config),
        ("tables", "rows of all sizes of every region, zeros too" if plan.zeros else _FEW_ROWS),
        ("writes", f"{config.output}: {', '.join(artefact.FILES)}"),
        ("", f"{config.log}, not for publication"),
        ("ledger", left),
        ("signed with", str(config.sign) if config.sign else "nothing"),
    ]
    return Outline(tuple(facts))


def _intervals(terms: Terms) -> str:
    if terms.intervals is None:
        return "none are published; `pgsr intervals FOLDER` computes some"
    return f"columns lower and upper, {percent(terms.intervals)}, at no cost. {HELD}"


_FEW_ROWS = "rows of sizes that occur in a region; zeros are left out"


def _public_tables(config: ReleaseConfig) -> list[tuple[str, object]]:
    """List the public tables, each after its name."""
    groups = [] if config.groups is None or config.private_groups else [(GROUPS, config.groups.table)]
    return groups + ([] if config.regions is None else [(REGIONS, config.regions.table)])


def _public(config: ReleaseConfig) -> tuple[Plan, Hierarchy, CountOfCounts | None]:
    """Read the regions, and the numbers of groups where these are public; plan the release."""
    private = config.private_groups or config.groups is None
    counted = None if private else config.count_public()
    tree = config.tree() if counted is None else counted.hierarchy
    plan = Plan.of(config.terms, tree.regions_per_level)
    return plan, tree, counted


def _levels(plan: Plan) -> list[tuple[str, str]]:
    """List epsilon, sensitivity and noise of every level, as the manifest of the release will state them."""
    fields = manifest.plan_fields(plan, True)
    least = "at least " if plan.terms.shares_by_root else ""
    facts = [(one["name"], f"{_many(one['regions'], 'region')}, {least}{_noise(one)}") for one in fields["levels"]]
    if plan.terms.totals is Totals.NOISY:
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
    said = [f"{name_of(table)} ({what}{'' if is_there(table) else '; NOT THERE'})" for table, what in tables]
    return [("reads" if place == 0 else "", line) for place, line in enumerate(said)]


def _ledger(config: ReleaseConfig) -> str:
    """Say what is left; an absent ledger is no error here, so that the rest can be read before it is made."""
    ledger = LedgerFile(config.ledger)
    if config.ledger.exists():
        ledger.require(charge_for(config.terms, config.output), config.terms.data_set)
    return ledger.rest


def _many(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
