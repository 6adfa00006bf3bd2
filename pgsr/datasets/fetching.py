"""The downloading of raw files, with the standard library alone: whole or not at all, and never without an end."""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pgsr.datasets.recipes import Download
from pgsr.errors import DataError
from pgsr.replacing import replacing

SECONDS = 30
"""How long a server may be silent before the download is given up."""

CHUNK = 2**20
"""Bytes that are read at a time."""


def download(
    items: Sequence[Download],
    folder: Path,
    *,
    seconds: float = SECONDS,
    tell: Callable[[Download, int], None] = lambda item, size: None,
) -> list[Path]:
    """Download files to a folder, which is made if need be; what lies there already is kept.

    A file takes its name once all of it is there: as many bytes as the server announced, with the checksum that is
    known. So a download that was cut off goes on with the files that are missing.

    Args:
        items: what to download.
        folder: where to.
        seconds: how long a server may be silent.
        tell: is told of every file that was downloaded, and its number of bytes.

    Raises:
        DataError: an address cannot be reached, gives up in the middle, or has another file than is known.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "there.csv").write_text("size,n_groups")
        >>> item = Download((folder / "there.csv").as_uri())
        >>> [path.name for path in download([item], folder / "raw")]
        ['there.csv']
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise DataError(f"{folder} cannot be made ({fault}); name another folder") from fault
    paths = []
    for item in items:
        path = folder / item.file
        if not path.is_file():
            tell(item, _save(item, path, seconds))
        paths.append(path)
    return paths


def _save(item: Download, path: Path, seconds: float) -> int:
    """Download one file, and count its bytes."""
    digest, size = hashlib.sha256(), 0
    with _opened(item, path, seconds) as answer, replacing(path, DataError) as file:
        announced = answer.headers.get("Content-Length")
        while chunk := _chunk(answer, item, path):
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        if announced is not None and size != int(announced):
            raise DataError(f"{item.url} gave {size:,} of {int(announced):,} bytes; fetch again, to go on")
        if item.sha256 not in (None, digest.hexdigest()):
            raise DataError(
                f"{item.url} has another file than is known: its SHA-256 is {digest.hexdigest()}, not {item.sha256}; "
                "ask its publisher what changed"
            )
    return size


def _opened(item: Download, path: Path, seconds: float) -> Any:
    try:
        return urllib.request.urlopen(item.url, timeout=seconds)
    except urllib.error.HTTPError as fault:
        raise DataError(f"{item.url} answers {fault.code} {fault.reason}; {_by_hand(path)}") from fault
    except (OSError, http.client.HTTPException) as fault:
        reason = fault.reason if isinstance(fault, urllib.error.URLError) else fault
        raise DataError(f"{item.url} cannot be reached ({reason}); {_by_hand(path)}") from fault


def _chunk(answer: Any, item: Download, path: Path) -> bytes:
    """Read what comes next; errors of the server must not look like those of the disk, which `replacing` tells."""
    try:
        return answer.read(CHUNK)
    except (OSError, http.client.HTTPException) as fault:
        raise DataError(f"{item.url} broke off ({fault}); {_by_hand(path)}") from fault


def _by_hand(path: Path) -> str:
    return f"fetch again where there is a connection, or download it by hand into {path.parent}, and fetch again"
