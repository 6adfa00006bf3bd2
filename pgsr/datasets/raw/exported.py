"""Tables in CSV as their publishers export them: flights of Houston, and networks of Twitch as lists of edges."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from pgsr.datasets.files import require_columns
from pgsr.datasets.hflights import FILE as FLIGHTS
from pgsr.datasets.raw.files import member, members, reader, write_parquet
from pgsr.datasets.twitch import FILE as DEGREES
from pgsr.datasets.twitch import FRIENDSHIPS
from pgsr.errors import DataError
from pgsr.machine.extras import extra
from pgsr.machine.replacing import replacing


def hflights(raw: Sequence[Path], folder: Path) -> Path:
    """Write hflights2011.parquet from hflights.csv, the table as R writes it.

    Args:
        raw: the file, or a folder with it.
        folder: where to write.

    Raises:
        DataError: no such file, or one without columns Origin and TailNum.
    """
    with extra("release"):
        import pandas as pd

    columns = _columns(member(raw, "hflights.csv"), "hflights.csv", FLIGHTS.text, str)
    return write_parquet(pd.DataFrame(columns), folder / FLIGHTS.file)


def twitch(raw: Sequence[Path], folder: Path) -> Path:
    """Write musae_twitch_degrees.csv from DE_edges.csv and five more, or musae_DE_edges.csv, or an archive of these.

    Args:
        raw: files, archives or folders; each of the six files has a line per friendship with the columns from and to.
        folder: where to write.

    Raises:
        DataError: a file is missing, or has something else in it.
    """
    found, lines = members(raw), ["language,size,n_groups\n"]
    for language in FRIENDSHIPS:
        names = [f"{prefix}{language}_edges.csv".lower() for prefix in ("musae_", "")]
        name = next((name for name in names if name in found), names[-1])
        ends = _columns(reader(found, name, raw)(), name, ("from", "to"), "int64")
        degrees = np.unique(np.concatenate(list(ends.values())), return_counts=True)[1]
        lines += [f"{language},{size},{n}\n" for size, n in zip(*np.unique(degrees, return_counts=True), strict=True)]
    path = folder / DEGREES.file
    with replacing(path, DataError) as file:
        file.write("".join(lines).encode())
    return path


def _columns(content: bytes, name: str, columns: Sequence[str], dtype: type | str) -> dict[str, np.ndarray]:
    with extra("release"):
        import pandas as pd

    try:
        require_columns(columns, list(pd.read_csv(BytesIO(content), nrows=0).columns), Path(name))
        frame = pd.read_csv(BytesIO(content), usecols=list(columns), dtype=dtype)
        return {column: frame[column].to_numpy() for column in columns}
    except ValueError as fault:
        if isinstance(fault, DataError):
            raise
        raise DataError(f"{name} cannot be read ({fault}); download or export it again") from fault
