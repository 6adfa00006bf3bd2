"""The small tables that the tests of reading tables change and count."""

from typing import Any

import pandas as pd

from pgsr import CountOfCounts
from pgsr.tables import Entities, Groups, Limits, Parents, count_groups

REGIONS = pd.DataFrame({"region": ["US", "GA", "MI"], "parent": [None, "US", "US"]})
HOMES = pd.DataFrame({"group": ["g1", "g2", "g3"], "region": ["GA", "MI", "MI"]})
PEOPLE = pd.DataFrame({"entity": ["secretA", "secretB", "secretC"], "group": ["g1", "g1", "g2"]})
ONE = Limits(gibibytes=1, threads=1)


def counted(people: Any = PEOPLE, homes: Any = HOMES, regions: Any = REGIONS, **options: Any) -> CountOfCounts:
    options = {"max_size": 3, "limits": ONE, **options}
    homes = Groups(homes) if isinstance(homes, pd.DataFrame) else homes
    regions = Parents(regions) if isinstance(regions, pd.DataFrame) else regions
    people = Entities(people) if isinstance(people, pd.DataFrame) else people
    return count_groups(people, homes, regions, **options)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def with_row(table: pd.DataFrame, *row: Any) -> pd.DataFrame:
    return pd.concat([table, pd.DataFrame([row], columns=table.columns)], ignore_index=True)
