"""The conversion of the papers' tables (entities, groups, regions) to counts, and back to long tables, by DuckDB."""

from pgsr.machine.extras import extra

with extra("release"):
    from pgsr.data.region_ids import path_of_id, region_id
    from pgsr.tables.group_counts import count_groups
    from pgsr.tables.inputs import Entities, Groups, PrivateLog, Quantities
    from pgsr.tables.long import read_long, to_long, write_long
    from pgsr.tables.regions import Levels, Parents
    from pgsr.tables.session import Limits
    from pgsr.tables.source import Csv, Database, Frame, Parquet, Query, source

__all__ = [
    "Csv",
    "Database",
    "Entities",
    "Frame",
    "Groups",
    "Levels",
    "Limits",
    "Parents",
    "Parquet",
    "PrivateLog",
    "Quantities",
    "Query",
    "count_groups",
    "path_of_id",
    "read_long",
    "region_id",
    "source",
    "to_long",
    "write_long",
]
