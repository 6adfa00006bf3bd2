"""The files of a conversion: the raw ones by name, wherever they lie, and the table that is made of them."""

import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pgsr.errors import DataError
from pgsr.machine.whole_files import replacing

if TYPE_CHECKING:
    import pandas as pd

Reader = Callable[[], bytes]


def members(raw: Sequence[Path]) -> Mapping[str, Reader]:
    """Find all files of folders, of the zip archives in them, and of archives and files named by themselves.

    They are called by their own names in small letters, without folders; where two are called the same, an unpacked one
    goes before one in an archive.

    Raises:
        DataError: something named is absent, or is no zip archive though it is called so.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> with zipfile.ZipFile(folder / "algeo_uf1.zip", "w") as archive:
        ...     archive.writestr("ALgeo.uf1", b"uSF1  AL")
        >>> found = members([folder])
        >>> sorted(found), found["algeo.uf1"]()
        (['algeo.uf1', 'algeo_uf1.zip'], b'uSF1  AL')
    """
    files = [file for path in raw for file in _listed(path)]
    found: dict[str, Reader] = {}
    for file in files:
        found.setdefault(file.name.lower(), file.read_bytes)
    for file in files:
        if file.suffix.lower() == ".zip":
            for name in _names(file):
                found.setdefault(Path(name).name.lower(), partial(_read, file, name))
    return found


def member(raw: Sequence[Path], name: str) -> bytes:
    """Read the file of this name, in small letters, from folders, zip archives and files.

    Raises:
        DataError: it is not there, or cannot be read.

    Example:
        >>> from tempfile import mkdtemp
        >>> folder = Path(mkdtemp())
        >>> _ = (folder / "HHPUB.csv").write_text("HOUSEID")
        >>> member([folder], "hhpub.csv")
        b'HOUSEID'
    """
    return reader(members(raw), name, raw)()


def reader(found: Mapping[str, Reader], name: str, raw: Sequence[Path]) -> Reader:
    """Find the reader of a file among the members of what is named, or raise a `DataError`.

    Example:
        >>> reader({"hhpub.csv": lambda: b"HOUSEID"}, "hhpub.csv", [])()
        b'HOUSEID'
    """
    if name not in found:
        raise DataError(f"{', '.join(map(str, raw))}: there is no {name}; download it, and name its folder")
    return found[name]


def write_parquet(frame: "pd.DataFrame", path: Path) -> Path:
    """Write a table whole, and return its path.

    Example:
        >>> from tempfile import mkdtemp
        >>> import pandas as pd
        >>> write_parquet(pd.DataFrame({"size": [1, 2]}), Path(mkdtemp()) / "sizes.parquet").name
        'sizes.parquet'
    """
    with replacing(path, DataError) as file:
        frame.to_parquet(file, index=False, compression="zstd")
    return path


def _listed(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(file for file in path.iterdir() if file.is_file())
    elif path.is_file():
        yield path
    else:
        raise DataError(f"{path} does not exist; name the folder or the files of the download")


def _names(archive: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return [name for name in opened.namelist() if not name.endswith("/")]
    except (OSError, zipfile.BadZipFile) as fault:
        raise DataError(f"{archive} cannot be read as a zip archive ({fault}); download it again") from fault


def _read(archive: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.read(name)
    except (OSError, NotImplementedError, zipfile.BadZipFile) as fault:
        raise DataError(f"{name} of {archive} cannot be read ({fault}); download the archive again") from fault
