"""What to release: the terms, the tables, and where everything goes. From one TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from pgsr.algorithms import Merge
from pgsr.hierarchy import Hierarchy
from pgsr.histogram import CountOfCounts
from pgsr.measurement import Totals
from pgsr.release.errors import ConfigError
from pgsr.release.sections import Section
from pgsr.release.table_sections import read_limits, read_tables, require_unread
from pgsr.release.terms import Kind, Terms
from pgsr.tables import Entities, Groups, Levels, Limits, Parents, PrivateLog, Quantities, count_groups
from pgsr.tables.regions import locate, source_of
from pgsr.tables.session import Session

REHEARSAL = "-rehearsal"
"""What is appended to the output folder of a rehearsal."""

OVERRIDES = ("epsilon", "mechanism", "max_size", "output", "ledger", "ledger_total", "sign")
"""Keys that a flag of the command line may replace."""


@dataclass(frozen=True, eq=False)
class ReleaseConfig:
    """A release to be made.

    Attributes:
        terms: the public terms.
        entities, groups, regions: the tables; `groups` is None where a group exists if it has a row, `regions` where
            the table of groups has a column per level.
        output: folder of the release, absent or empty.
        ledger, ledger_total: the ledger file of the data set, and what may be spent in all.
        log: a private file, outside `output`.
        limits: of reading.
        sign: file of the private key to sign with, if any.
    """

    terms: Terms
    entities: Entities | Quantities
    groups: Groups | None
    regions: Parents | Levels | None
    output: Path
    ledger: Path
    ledger_total: Fraction
    log: Path
    private_groups: bool = False
    limits: Limits | None = None
    sign: Path | None = None

    def __post_init__(self) -> None:
        if self.private_groups != (self.terms.totals is Totals.NOISY):
            raise ConfigError(
                "a private (or absent) table of groups needs totals = 'noisy', and a public one does not; change one"
            )
        for name in ("ledger", "log"):
            if self.output.absolute() in getattr(self, name).absolute().parents:
                raise ConfigError(f"the {name} lies inside the output folder, which is published; put it elsewhere")
        written = {"log": self.log, "ledger": self.ledger, "output": self.output}
        require_unread(written, self.entities, self.groups, self.regions)

    @classmethod
    def read(cls, path: str | Path, overrides: Mapping[str, object] | None = None) -> "ReleaseConfig":
        """The configuration in a TOML file; names of files are relative to its folder.

        Args:
            path: of the file; `EXAMPLE` shows every key.
            overrides: keys of `OVERRIDES` that replace those of the file, relative to the working folder.

        Raises:
            ConfigError: the file is absent or no TOML; a key is missing, unknown or of the wrong kind.
            BudgetError: a number of the budget is malformed.
        """
        path = Path(path)
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(
                f"the configuration {str(path)!r} cannot be read ({error.strerror}); "
                "`pgsr release --example` prints one to start from"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"the configuration {path.name} is not TOML: {error}") from None
        values |= {key: value for key, value in (overrides or {}).items() if value is not None}
        files = {key for key in ("output", "ledger", "sign") if (overrides or {}).get(key) is not None}
        return cls.of(values, path.parent, files)

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: Path, here: set[str] | None = None) -> "ReleaseConfig":
        """From the values of a file in `folder`; the names under the keys `here` are relative to the working folder."""
        top = Section("", dict(values))
        terms = _terms(top)
        place = {key: Path() if key in (here or ()) else folder for key in ("output", "ledger", "sign")}
        output = place["output"] / top.text("output")
        entities, groups, regions, private_groups = read_tables(top, folder)
        most = entities.max_quantity if isinstance(entities, Quantities) else 1
        ledger, total = place["ledger"] / top.text("ledger"), top.fraction("ledger_total")
        sign = top.text("sign", None)
        log, limits = folder / top.text("log", f"{output.name}-private.log"), read_limits(top.section("limits"))
        top.done()
        terms = replace(terms, max_quantity=most)
        key = None if sign is None else place["sign"] / sign
        return cls(terms, entities, groups, regions, output, ledger, total, log, private_groups, limits, key)

    def folder(self, rehearse: bool) -> Path:
        """Where the release, or its rehearsal, goes."""
        return self.output.with_name(self.output.name + REHEARSAL) if rehearse else self.output

    def tree(self) -> Hierarchy:
        """The public regions. The private rows are not opened.

        Raises:
            ConfigError: the regions would have to be read off a private table.
            TableError, HierarchyError: as `count`.
        """
        regions, rows = self.regions, self.groups or self.entities
        if regions is None:
            if self.groups is None or self.private_groups or isinstance(self.groups.region, str):
                raise ConfigError(
                    "there are no public regions; write a table [regions], or name a column per level of a public "
                    "table of groups, region = ['nation', 'state']"
                )
            regions = Levels(self.groups.table, self.groups.region)
        sources = source_of(regions)
        with Session(self.limits or Limits(), sources, public=sources) as session:
            return locate(regions, isinstance(rows.region, tuple), session).hierarchy

    def count(self, log: PrivateLog | None = None) -> CountOfCounts:
        """Read the tables; what is returned is private."""
        return count_groups(
            self.entities,
            self.groups,
            self.regions,
            max_size=self.terms.max_size,
            private_groups=self.private_groups,
            name=self.terms.data_set,
            limits=self.limits,
            log=log,
        )


def _terms(top: Section) -> Terms:
    if top.fraction("delta", Fraction(0), zero=True):
        raise ConfigError("the key 'delta' is above 0; every mechanism here is purely epsilon-private, leave it out")
    data_set, kind = top.text("data_set"), top.choice("mechanism", Kind)
    if not data_set.isprintable():
        raise ConfigError("the key 'data_set' holds control characters; write a plain public name")
    options = top.section("options")
    merge, norm = Merge.WEIGHTED, 1
    if options is not None:
        merge = options.choice("merge", Merge, merge) if "merge" in kind.options else merge
        norm = options.number("norm", norm) if "norm" in kind.options else norm
        options.done()
    return Terms(
        data_set,
        top.number("max_size"),
        top.fraction("epsilon"),
        kind,
        top.fractions("shares", None),
        top.choice("totals", Totals, None),
        top.fraction("totals_share", None),
        merge=merge,
        norm=norm,
        level_names=top.texts("level_names", None),
    )
