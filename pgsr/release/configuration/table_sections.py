"""The TOML tables of a release that say where rows are: [entities], [tuples], [groups], [regions], [limits]."""

from pathlib import Path

from pgsr.publishing.configuration.sections import Section
from pgsr.publishing.configuration.sources import read_source
from pgsr.publishing.errors import ConfigError
from pgsr.tables import Entities, Groups, Levels, Limits, Parents, Quantities

Tables = tuple[Entities | Quantities, Groups | None, Parents | Levels | None, bool]


def read_tables(top: Section, folder: Path) -> Tables:
    """Read entities or tuples, groups, regions, and whether groups are private; file names are relative to `folder`.

    Raises:
        ConfigError: a key is missing, unknown or of the wrong kind.
    """
    rows, tuples = top.section("entities"), top.section("tuples")
    if (rows is None) == (tuples is None):
        raise ConfigError("write one of the tables [entities] and [tuples]")
    if rows is not None:
        source, entity = read_source(rows, folder), rows.text("entity", "entity", empty=True) or None
        entities = Entities(source, entity, rows.text("group", "group"), rows.columns("region", None))
        rows.done()
    else:
        assert tuples is not None
        source, user = read_source(tuples, folder), tuples.text("user", "user", empty=True) or None
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
        groups = Groups(read_source(listed, folder), listed.text("group", "group"), listed.columns("region", "region"))
        private = listed.flag("private", False)
        listed.done()
    return entities, groups, _regions(top.section("regions"), folder), private


def read_limits(section: Section | None) -> Limits | None:
    """Read the limits on memory and threads; None if the configuration sets none."""
    if section is None:
        return None
    limits = Limits(section.number("gibibytes", 6), section.number("threads", None), section.text("folder", None))
    section.done()
    return limits


def _regions(section: Section | None, folder: Path) -> Parents | Levels | None:
    if section is None:
        return None
    source, levels = read_source(section, folder), section.texts("levels", None)
    ragged = section.flag("pad_ragged", False)
    if levels is not None:
        regions = Levels(source, levels, section.text("region", None), ragged)
    else:
        regions = Parents(source, section.text("region", "region"), section.text("parent", "parent"), ragged)
    section.done()
    return regions
