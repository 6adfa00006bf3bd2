"""The downloading of raw files, with the standard library alone: whole or not at all, and never without an end."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pgsr.errors import DataError
from pgsr.machine.whole_files import replacing

SECONDS = 30
"""How long a server may be silent before the download is given up."""

CHUNK = 2**20
"""Bytes that are read at a time."""


def download(
    urls: Sequence[str],
    folder: Path,
    *,
    seconds: float = SECONDS,
    tell: Callable[[str, int], None] = lambda file, size: None,
) -> list[Path]:
    """Download files to a folder, which is made if need be; what lies there already is kept.

    A file takes its name, the last part of its address, once all of it is there: as many bytes as the server announced.
    So a download that was cut off goes on with the files that are missing. What is in them is checked as they are
    converted: zip archives have checksums of their own, and so has what is made of them.

    Args:
        urls: what to download.
        folder: where to.
        seconds: how long a server may be silent.
        tell: is told of every file that was downloaded, and its number of bytes.

    Raises:
        DataError: an address cannot be reached, or breaks off.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "there.csv").write_text("size,n_groups")
        >>> [path.name for path in download([(folder / "there.csv").as_uri()], folder / "raw")]
        ['there.csv']
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise DataError(f"{folder} cannot be made ({fault}); name another folder") from fault
    paths = []
    for url in urls:
        path = folder / url.rpartition("/")[2]
        if not path.is_file():
            tell(path.name, _save(url, path, seconds))
        paths.append(path)
    return paths


def _save(url: str, path: Path, seconds: float) -> int:
    """Download one file, and count its bytes."""
    size = 0
    with _opened(url, path, seconds) as answer, replacing(path, DataError) as file:
        announced = answer.headers.get("Content-Length")
        while chunk := _chunk(answer, url, path):
            file.write(chunk)
            size += len(chunk)
        if announced is not None and size != int(announced):
            raise DataError(f"{url} gave {size:,} of {int(announced):,} bytes; fetch again, to go on")
    return size


def _opened(url: str, path: Path, seconds: float) -> Any:
    try:
        return urllib.request.urlopen(url, timeout=seconds)
    except urllib.error.HTTPError as fault:
        raise DataError(f"{url} answers {fault.code} {fault.reason}; {_by_hand(path)}") from fault
    except (OSError, http.client.HTTPException) as fault:
        reason = fault.reason if isinstance(fault, urllib.error.URLError) else fault
        raise DataError(f"{url} cannot be reached ({reason}); {_by_hand(path)}") from fault


def _chunk(answer: Any, url: str, path: Path) -> bytes:
    """Read what comes next; errors of the server must not look like those of the disk, which `replacing` tells."""
    try:
        return answer.read(CHUNK)
    except (OSError, http.client.HTTPException) as fault:
        raise DataError(f"{url} broke off ({fault}); {_by_hand(path)}") from fault


def _by_hand(path: Path) -> str:
    return f"fetch again where there is a connection, or download it by hand into {path.parent}, and fetch again"
