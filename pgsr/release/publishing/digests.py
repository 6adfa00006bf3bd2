"""The digests of a published folder: SHA256SUMS holds those of all files, and its own stands for the whole."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
"""The names of the file of digests and of its signature."""


def digest(path: Path) -> str:
    """Compute the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_text(folder: Path, names: Iterable[str]) -> str:
    """Write the text of SHA256SUMS for the files of these names; `sha256sum -c SHA256SUMS` reads it."""
    return "".join(f"{digest(folder / name)}  {name}\n" for name in names if name != SUMS)


def digest_of(folder: Path) -> str:
    """Compute the SHA-256 of SHA256SUMS, which stands for the whole folder: to be announced elsewhere."""
    return digest(folder / SUMS)
