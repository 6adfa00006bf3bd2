"""The extract of IPUMS USA, from the file that one downloads there to ours: New York in 2019, our columns."""

from collections.abc import Sequence
from pathlib import Path

from pgsr.errors import DataError
from pgsr.experiments.data.acs2019 import FILE
from pgsr.machine.extras import extra
from pgsr.machine.replacing import replacing

YEAR, NEW_YORK = 2019, 36
"""The year, and the state's code in STATEFIP."""


def new_york(raw: Sequence[Path], folder: Path) -> Path:
    """Write ipums_acs2019_ny.csv from an extract in CSV, rectangular by person; .gz is decompressed.

    Other states and years are left out where the extract has columns STATEFIP and YEAR.

    Args:
        raw: the file, such as usa_00001.csv.gz.
        folder: where to write.

    Raises:
        DataError: it is not one file, cannot be read, or lacks a column.
    """
    with extra("release"):
        import duckdb

    if len(raw) != 1:
        raise DataError(f"{len(raw)} files of an extract of IPUMS USA; name one, such as usa_00001.csv.gz")
    with duckdb.connect() as connection:
        try:
            rows = connection.read_csv(str(raw[0]), all_varchar=True)
            missing = [column for column in FILE.columns if column not in rows.columns]
            if missing:
                raise DataError(f"{raw[0]} has no column {', '.join(missing)}; select it in the extract")
            for column, value in (("STATEFIP", NEW_YORK), ("YEAR", YEAR)):
                if column in rows.columns:
                    rows = rows.filter(f"CAST({column} AS INTEGER) = {value}")
            found = rows.select(", ".join(FILE.columns)).order("CAST(SERIAL AS BIGINT), CAST(PERNUM AS INTEGER)").df()
        except duckdb.Error as fault:
            raise DataError(
                f"{raw[0]} cannot be read as CSV ({str(fault).splitlines()[0]}); download it again"
            ) from fault
    path = folder / FILE.file
    with replacing(path, DataError) as file:
        found.to_csv(file, index=False)
    return path
