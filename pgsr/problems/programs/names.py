"""The names of unknowns and rows, x[US/GA,3], in an alphabet that every format of files takes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np

LONGEST = 255
"""Most characters of a name; Gurobi and SCIP read no longer ones."""

_SWAPPED = {"[": "(", "]": ")", "(": "{", ")": "}", "/": "~", " ": "_"}
_BACK = {inside: outside for outside, inside in _SWAPPED.items()}


def encoded(name: str) -> str:
    """Write a name so that parsers of MPS and LP files take it as one word.

    Letters, digits, "." and "," stay; "[ ] ( ) / " and a blank become "( ) { } ~ _"; every other character becomes its
    UTF-8 bytes in hexadecimal, such as %3D, and so does a digit, point or comma at the beginning. `decoded` reads it.

    Example:
        >>> encoded("x[US/North Carolina,3]"), encoded("total(US/GA) >= 9")
        ('x(US~North_Carolina,3)', 'total{US~GA}_%3E%3D_9')
    """
    word = re.sub(r"[^A-Za-z0-9.,]", lambda found: _SWAPPED.get(found[0]) or _hexadecimal(found[0]), name)
    return _hexadecimal(word[0]) + word[1:] if word[:1] in set("0123456789.,") else word


def decoded(word: str) -> str:
    """Read back a name that `encoded` wrote.

    Example:
        >>> decoded("x(US~North_Carolina,3)")
        'x[US/North Carolina,3]'
    """
    return unquote(re.sub(r"[(){}~_]", lambda found: _BACK[found[0]], word))


def _hexadecimal(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


@dataclass(frozen=True, eq=False)
class Names:
    """Many names of few parts, encoded: name j is `stems[stem[j]] + ends[end[j]]`.

    Fifteen million names are two arrays of integers so, and a file's text is made from them by indexing.

    Attributes:
        stems, ends: bytes, such as b"x(US~GA" and b",3)".
        stem, end: indices, shape (n,) each.

    Example:
        >>> names = Names.cells("x", ["US", "US/GA"], np.array([0, 1]), np.array([3, 0]))
        >>> names.words()
        ['x(US,3)', 'x(US~GA,0)']
        >>> names.texts()
        ['x[US,3]', 'x[US/GA,0]']
    """

    stems: np.ndarray
    stem: np.ndarray
    ends: np.ndarray
    end: np.ndarray

    @classmethod
    def cells(cls, kind: str, regions: Sequence[str], region: np.ndarray, cell: np.ndarray | None = None) -> "Names":
        """Make the names kind[region,cell], or kind[region] without cells, of these regions by index."""
        stems = np.array([encoded(f"{kind}[{name}") for name in regions], "S")
        if cell is None:
            return cls(stems, region.astype(np.int32), np.array([b")"]), np.zeros(len(region), np.int32))
        ends = np.array([f",{i})" for i in range(int(cell.max(initial=-1)) + 1)] or [""], "S")
        return cls(stems, region.astype(np.int32), ends, cell.astype(np.int32))

    @classmethod
    def of(cls, words: Sequence[bytes] | Sequence[str]) -> "Names":
        """Take names that are encoded already."""
        n = len(words)
        stems = np.array(words, "S") if n else np.array([b""])
        return cls(stems, np.arange(n, dtype=np.int32), np.array([b""]), np.zeros(n, np.int32))

    def __len__(self) -> int:
        return len(self.stem)

    def __add__(self, other: "Names") -> "Names":
        return Names(
            np.concatenate([self.stems, other.stems]),
            np.concatenate([self.stem, other.stem + np.int32(len(self.stems))]),
            np.concatenate([self.ends, other.ends]),
            np.concatenate([self.end, other.end + np.int32(len(self.ends))]),
        )

    def parts(self, items: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        """Give stems and ends of some names; two arrays of bytes."""
        return self.stems[self.stem[items]], self.ends[self.end[items]]

    def words(self) -> list[str]:
        """List all names, encoded, as files have them."""
        stems, ends = self.stems.astype("U").tolist(), self.ends.astype("U").tolist()
        return [stems[i] + ends[j] for i, j in zip(self.stem.tolist(), self.end.tolist(), strict=True)]

    def texts(self) -> list[str]:
        """List all names as they are written in Python: x[US/GA,3]."""
        return [decoded(word) for word in self.words()]
