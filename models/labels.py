"""The names of a program's unknowns and rows, and the blocks in which a modeller sees them."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class LabelBlock:
    """A run of unknowns or rows with a name of its own, such as consistency[0].

    Attributes:
        name: as a modeller would write it.
        part: where it is among all unknowns, or among all rows.
        shape: in which a modeller sees it, (regions, sizes) or (entries,).
        least, most: the names of its lower and upper bounds, of unknowns.
    """

    name: str
    part: slice
    shape: tuple[int, ...]
    least: str = ""
    most: str = ""


@dataclass(frozen=True, eq=False)
class Labels:
    """The names of a program's unknowns and rows.

    Attributes:
        title: of the program.
        unknowns, rows: names, in order; equalities come before inequalities.
        unknown_blocks, row_blocks: which together are all of them, in order.
        upward: the inequalities that are stated as lower limits; bool, shape (inequalities,).
        n_links: the number of last equalities that are z = up - down; up and down are the last unknowns, as many each.
    """

    title: str
    unknowns: tuple[str, ...]
    rows: tuple[str, ...]
    unknown_blocks: tuple[LabelBlock, ...]
    row_blocks: tuple[LabelBlock, ...]
    upward: np.ndarray
    n_links: int = 0

    def with_rows(self, keep: np.ndarray) -> "Labels":
        """Leave all other rows out, as whole blocks; bool, shape (rows,)."""
        before = np.append(0, np.cumsum(keep))
        parts = [(block, int(before[block.part.start]), int(before[block.part.stop])) for block in self.row_blocks]
        n_equal = len(self.rows) - len(self.upward)
        return replace(
            self,
            rows=tuple(name for name, kept in zip(self.rows, keep.tolist(), strict=True) if kept),
            row_blocks=tuple(replace(block, part=slice(a, b)) for block, a, b in parts if b > a),
            upward=self.upward[keep[n_equal:]],
        )
