"""The conversion of the papers' tables (entities, groups, regions) to counts, and back to long tables, by DuckDB."""

from pgsr.machine.extras import extra

with extra("release"):
    from pgsr.tables.group_counts import count_groups
    from pgsr.tables.inputs import Entities, Groups, Quantities
    from pgsr.tables.regions import Levels, Parents
    from pgsr.tables.session import Limits
    from pgsr.tables.source import Csv, Database, Parquet

__all__ = [
    "Csv",
    "Database",
    "Entities",
    "Groups",
    "Levels",
    "Limits",
    "Parents",
    "Parquet",
    "Quantities",
    "count_groups",
]
