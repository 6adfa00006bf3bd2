"""The configuration of a release: the terms, the tables, and where everything goes; from a TOML file or from Python."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

from pgsr.data.counts import CountOfCounts
from pgsr.data.hierarchy import Hierarchy
from pgsr.figures.html import facts_table
from pgsr.noise.measurement import Totals
from pgsr.release.configuration.keys import complete, require
from pgsr.release.configuration.schema import CONFIGURATION
from pgsr.release.configuration.sources import require_unread, tables_of
from pgsr.release.configuration.toml import read_toml
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.publishing.places import require_outside, require_path
from pgsr.release.terms.excess import excess_counts
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.plan import terms_facts
from pgsr.release.terms.publication import USUAL, Publication
from pgsr.release.terms.terms import Terms
from pgsr.tables import Entities, Groups, Levels, Limits, Parents, Quantities, count_groups
from pgsr.tables.inputs import PrivateLog
from pgsr.tables.regions import locate, source_of
from pgsr.tables.session import Session
from pgsr.tables.sql import IdKind, id_kind

_BESIDE = Path()
"""The log's default, which names no file."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseConfig:
    """A release to be made. Names of files may be given as text.

    Attributes:
        terms: the public terms. Their `max_quantity` is that of the tuples; if they have no `level_names`, the columns
            of the levels are taken, where the table of regions or groups has one per level.
        entities, groups, regions: the tables: files, data frames or queries. `groups` is None where a group exists if
            it has a row, `regions` where the table of groups has a column per level.
        output: folder of the release, absent or empty.
        ledger: the ledger file of the data set; a rehearsal needs none.
        log: a private file, outside `output`; if left out, beside it and called as it with "-private.log".
        sign: file of the private key that signs the release, outside `output`; None if it is not signed.
        private_groups: whether which groups exist is private.
        limits: of reading.

    Raises:
        ConfigError: two of these contradict each other, or a private file would be published.

    Example:
        >>> import pandas as pd
        >>> homes = pd.DataFrame({"group": [1, 2, 3], "nation": "US", "state": ["GA", "MI", "MI"]})
        >>> people = pd.DataFrame({"entity": ["Ann", "Bob", "Cy"], "group": [1, 1, 2]})
        >>> config = ReleaseConfig(
        ...     terms=Terms("demo", max_size=3, epsilon="1", kind="m_h"),
        ...     entities=Entities(people),
        ...     groups=Groups(homes, region=("nation", "state")),
        ...     output="release",
        ...     ledger="ledger.jsonl",
        ... )
        >>> config.terms.level_names, config.log.name
        (('nation', 'state'), 'release-private.log')
        >>> config.tree().n_regions
        3
    """

    terms: Terms
    entities: Entities | Quantities
    groups: Groups | None = None
    regions: Parents | Levels | None = None
    output: Path
    ledger: Path
    log: Path = _BESIDE
    sign: Path | None = None
    private_groups: bool = False
    limits: Limits | None = None

    def __post_init__(self) -> None:
        keep = object.__setattr__
        for name in ("output", "ledger", "log", "sign"):
            if getattr(self, name) is not None:
                keep(self, name, Path(getattr(self, name)))
                if name != "log" or self.log != _BESIDE:
                    require_path(getattr(self, name), name)
        if self.log == _BESIDE:
            keep(self, "log", self.output.with_name(f"{self.output.name}-private.log"))
        most = self.entities.max_quantity if isinstance(self.entities, Quantities) else 1
        if self.terms.max_quantity not in (1, most):
            raise ConfigError(
                f"the terms have max_quantity {self.terms.max_quantity} and the tables {most}; leave it out of the "
                "terms"
            )
        names = self.terms.level_names or self._level_columns()
        keep(self, "terms", replace(self.terms, max_quantity=most, level_names=names))
        if self.private_groups != (self.terms.totals is Totals.NOISY):
            raise ConfigError(
                'a private (or absent) table of groups needs totals = "noisy", and a public one does not; change one'
            )
        require_outside(self.output, {"ledger": self.ledger, "log": self.log, "private key": self.sign})
        others = LedgerFile(self.ledger).files
        others |= {} if self.sign is None else {"private key": self.sign, "public key": self.sign.with_suffix(".pub")}
        for name in ("log", "output"):
            self._require_apart(name, others)
        written = {"log": self.log, "ledger": self.ledger, "output": self.output}
        require_unread(written, self.entities, self.groups, self.regions)

    def _require_apart(self, name: str, others: Mapping[str, Path]) -> None:
        """Raise `ConfigError` if the file under a key is one of these, which lines or a folder would spoil."""
        mine = getattr(self, name)
        for what, path in others.items():
            if path.resolve() == mine.resolve():
                raise ConfigError(f"the {name} {mine.name!r} is the {what}, which it would spoil; name another")

    @classmethod
    def read(cls, path: str | Path, overrides: Mapping[str, object] | None = None) -> "ReleaseConfig":
        """The configuration in a TOML file; names of files are relative to its folder.

        Args:
            path: of the file; `EXAMPLE` shows every key.
            overrides: keys that replace those of the file, paths relative to the working folder.

        Raises:
            ConfigError: the file is absent or no TOML, or keys are missing, unknown or of the wrong kind; the message
                lists all of these.
            BudgetError: a number of the budget is malformed.
        """
        path = Path(path)
        given = {key: value for key, value in (overrides or {}).items() if value is not None}
        values = read_toml(path) | given
        require(CONFIGURATION, values)
        told = complete(CONFIGURATION, values)
        named = ("shares", "totals", "level_names", "intervals", "rho", "unit", "relation", "threshold", "min_size")
        terms = Terms(
            told["data_set"],
            told["max_size"],
            told["epsilon"],
            Kind(told["mechanism"]),
            **{name: told[name] for name in named},
            delta=None if Fraction(told["delta"]) == 0 else told["delta"],
            publication=Publication(**told["publication"]) if told["publication"] else USUAL,
        )
        places = {
            key: told[key] and (Path() if key in given else path.parent) / told[key]
            for key in ("output", "ledger", "sign")
        }
        places["log"] = path.parent / (told["log"] or f"{places['output'].name}-private.log")
        made = cls(terms=terms, **places, **tables_of(told, values, path.parent))
        for name in ("log", "output", "ledger"):
            made._require_apart(name, {"configuration": path})
        columns = made._level_columns()
        named = made.terms.level_names
        if made.terms.max_sizes and columns and "level_names" not in values and named != columns:
            raise ConfigError(
                f"max_size names the levels {', '.join(named or ())}, and their columns are "
                f"{', '.join(columns)}; write these names, root first, or give others with level_names too"
            )
        return made

    def tree(self) -> Hierarchy:
        """The public regions. The private rows are not opened.

        Raises:
            ConfigError: the regions would have to be read off a private table.
            TableError, HierarchyError: as `count`.
        """
        regions, rows = self._given_regions(), self.groups or self.entities
        sources = source_of(regions)
        with Session(self.limits or Limits(), sources, public=sources) as session:
            return locate(regions, isinstance(rows.region, tuple), session).hierarchy

    def count(self, log: PrivateLog | None = None) -> CountOfCounts:
        """Read the tables and count groups by size, or by `pgsr.release.terms.excess` where a `min_size` is public.

        What is returned is private.
        """
        found = count_groups(
            self.entities,
            self.groups,
            self.regions,
            max_size=self.terms.max_size,
            private_groups=self.private_groups,
            name=self.terms.data_set,
            limits=self.limits,
            log=log,
        )
        return excess_counts(found, self.terms.min_size)

    def count_public(self, max_size: int = 1) -> CountOfCounts:
        """The public groups, counted as if none had a member. The private rows are not opened.

        Raises:
            ConfigError: the table of groups is private or absent, or there are no regions.
            TableError, HierarchyError: as `count`.
        """
        if self.private_groups or self.groups is None:
            why = "is private" if self.private_groups else "is missing"
            raise ConfigError(
                f"the table of groups {why}, so there are no public numbers of groups to count; where which groups "
                "exist is public, give their table with private_groups=False (in a TOML file, [groups] without "
                "private = true), and other totals than noisy ones"
            )
        self._given_regions()
        listed = self.groups.table
        with Session(self.limits or Limits(), [listed], public=[listed]) as session:
            types = session.require(listed, [self.groups.group], "the table of groups")
            kind = id_kind(types, self.groups.group, "the table of groups")
        nobody = pa.table({"group": pa.array([], pa.string() if kind is IdKind.TEXT else pa.int64())})
        return count_groups(
            Entities(nobody, entity=None), self.groups, self.regions, max_size=max_size, limits=self.limits
        )

    def _repr_html_(self) -> str:
        """Describe the terms and the places, as HTML; no table and no ledger is opened."""
        return facts_table(
            "ReleaseConfig",
            {
                **terms_facts(self.terms),
                "names of levels, root first": " / ".join(self.terms.level_names or ()) or None,
                "table of groups": "private" if self.private_groups else "public",
                "output": self.output,
                "ledger": self.ledger,
                "log, not for publication": self.log,
                "signed with": self.sign or "nothing",
            },
        )

    def _given_regions(self) -> Parents | Levels:
        """Give the table of regions, or the columns of the public table of groups that name them."""
        if self.regions is not None:
            return self.regions
        if self.groups is None or self.private_groups or isinstance(self.groups.region, str):
            raise ConfigError(
                "there are no public regions; write a table [regions], or name a column per level of a public "
                'table of groups, region = ["nation", "state"]'
            )
        return Levels(self.groups.table, self.groups.region)

    def _level_columns(self) -> tuple[str, ...] | None:
        """The columns that name regions, where there is one per level."""
        if isinstance(self.regions, Levels):
            return self.regions.levels
        if self.regions is None and self.groups is not None and isinstance(self.groups.region, tuple):
            return self.groups.region
        return None
