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
from pgsr.release.terms import Kind, Terms
from pgsr.tables import Csv, Entities, Groups, Levels, Limits, Parents, Parquet, PrivateLog, Quantities, count_groups
from pgsr.tables.regions import locate, source_of
from pgsr.tables.session import Session

REHEARSAL = "-rehearsal"
"""What is appended to the output folder of a rehearsal."""

OVERRIDES = ("epsilon", "mechanism", "max_size", "output", "ledger")
"""Keys that a flag of the command line may replace."""


@dataclass(frozen=True, eq=False)
class ReleaseConfig:
    """A release to be made.

    Attributes:
        terms: the public terms.
        entities, groups, regions: the tables; `groups` is None where a group exists if it has a row, `regions` where
            the table of groups has a column per level.
        output: folder of the release, absent or empty.
        ledger: the ledger file of the data set; a rehearsal needs none.
        log: a private file, outside `output`.
        limits: of reading.
    """

    terms: Terms
    entities: Entities | Quantities
    groups: Groups | None
    regions: Parents | Levels | None
    output: Path
    ledger: Path
    log: Path
    private_groups: bool = False
    limits: Limits | None = None

    def __post_init__(self) -> None:
        if self.private_groups != (self.terms.totals is Totals.NOISY):
            raise ConfigError(
                "a private (or absent) table of groups needs totals = 'noisy', and a public one does not; change one"
            )
        for name in ("ledger", "log"):
            if self.output.absolute() in getattr(self, name).absolute().parents:
                raise ConfigError(f"the {name} lies inside the output folder, which is published; put it elsewhere")

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
        files = {key for key in ("output", "ledger") if (overrides or {}).get(key) is not None}
        return cls.of(values, path.parent, files)

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: Path, here: set[str] | None = None) -> "ReleaseConfig":
        """From the values of a file in `folder`; the names under the keys `here` are relative to the working folder."""
        top = Section("", dict(values))
        terms = _terms(top)
        place = {key: Path() if key in (here or ()) else folder for key in ("output", "ledger")}
        output = place["output"] / top.text("output")
        entities, groups, regions, private_groups = _tables(top, folder)
        most = entities.max_quantity if isinstance(entities, Quantities) else 1
        if "ledger_total" in values:
            raise ConfigError(
                "the key 'ledger_total' is no longer one: the total stands in the ledger itself; make it with `pgsr "
                "ledger init LEDGER --data-set NAME --total EPSILON`, and leave the key out"
            )
        ledger = place["ledger"] / top.text("ledger")
        log, limits = folder / top.text("log", f"{output.name}-private.log"), _limits(top.section("limits"))
        top.done()
        terms = replace(terms, max_quantity=most)
        return cls(terms, entities, groups, regions, output, ledger, log, private_groups, limits)

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
        with Session(self.limits or Limits(), source_of(regions)) as session:
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
    )


def _tables(top: Section, folder: Path) -> tuple[Entities | Quantities, Groups | None, Parents | Levels | None, bool]:
    rows, tuples = top.section("entities"), top.section("tuples")
    if (rows is None) == (tuples is None):
        raise ConfigError("write one of the tables [entities] and [tuples]")
    if rows is not None:
        source, entity = _source(rows, folder), rows.text("entity", "entity", empty=True) or None
        entities = Entities(source, entity, rows.text("group", "group"), rows.columns("region", None))
        rows.done()
    else:
        assert tuples is not None
        source, user = _source(tuples, folder), tuples.text("user", "user", empty=True) or None
        most, clip = tuples.number("max_quantity"), tuples.flag("clip", False)
        unit, region, quantity = (
            tuples.text("unit", "unit"),
            tuples.columns("region", None),
            tuples.text("quantity", "quantity"),
        )
        entities = Quantities(source, most, clip, user, unit, region, quantity)
        tuples.done()
    groups, listed, private = None, top.section("groups"), True
    if listed is not None:
        groups = Groups(_source(listed, folder), listed.text("group", "group"), listed.columns("region", "region"))
        private = listed.flag("private", False)
        listed.done()
    return entities, groups, _regions(top.section("regions"), folder), private


def _regions(section: Section | None, folder: Path) -> Parents | Levels | None:
    if section is None:
        return None
    source, levels, ragged = _source(section, folder), section.texts("levels", None), section.flag("pad_ragged", False)
    if levels is not None:
        regions = Levels(source, levels, section.text("region", None), ragged)
    else:
        regions = Parents(source, section.text("region", "region"), section.text("parent", "parent"), ragged)
    section.done()
    return regions


def _source(section: Section, folder: Path) -> Parquet | Csv:
    name, integers = section.text("file"), section.texts("integers", ())
    delimiter = section.text("delimiter", ",")
    kind = section.text("kind", "csv" if name.lower().endswith((".csv", ".csv.gz")) else "parquet")
    if kind not in ("csv", "parquet"):
        raise ConfigError(f"kind = {kind!r} of the file {name!r} is unknown; write 'csv' or 'parquet'")
    if kind == "csv":
        return Csv(str(folder / name), integers, delimiter)
    if integers or delimiter != ",":
        raise ConfigError(f"the file {name!r} is Parquet, which has no delimiter and knows its integers; drop the keys")
    return Parquet(str(folder / name))


def _limits(section: Section | None) -> Limits | None:
    if section is None:
        return None
    limits = Limits(section.number("gibibytes", 6), section.number("threads", None), section.text("folder", None))
    section.done()
    return limits
