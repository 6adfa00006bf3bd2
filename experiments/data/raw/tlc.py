"""Trips of taxis in New York, from records with coordinates to trips with the zone of the pickup; and the zones."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import DataError
from pgsr.experiments.data.raw.files import member
from pgsr.experiments.data.tlc_trips import FILE, UNKNOWN, ZONES
from pgsr.machine.extras import extra
from pgsr.machine.replacing import replacing

if TYPE_CHECKING:
    import pyarrow as pa

TAXI, ZONE, LONGITUDE, LATITUDE = "medallion", "PULocationID", "pickup_longitude", "pickup_latitude"

NOWHERE, OUTSIDE = UNKNOWN
"""The zones of trips without coordinates, and of those that no zone's polygon holds."""


def lookup(raw: Sequence[Path], folder: Path) -> Path:
    """Copy taxi_zone_lookup.csv unchanged.

    Args:
        raw: the file, or a folder with it.
        folder: where to write.

    Raises:
        DataError: no such file.
    """
    content = member(raw, ZONES.file)
    path = folder / ZONES.file
    with replacing(path, DataError) as file:
        file.write(content)
    return path


def trips(raw: Sequence[Path], folder: Path) -> Path:
    """Write tlc2014_trips.parquet, a row per trip: medallion and PULocationID.

    Args:
        raw: CSV files (.csv, .csv.gz) of trips with a medallion and either PULocationID or pickup_longitude and
            pickup_latitude; for coordinates a file .geojson with the polygons of the zones, in degrees, too.
        folder: where to write.

    Raises:
        DataError: a file cannot be read or lacks a column, or coordinates come without polygons.

    Complexity: O(trips x vertices of the few zones whose box holds the pickup); a block of a file is held at a time.
    """
    with extra("release"):
        import pyarrow as pa
        from pyarrow import parquet

    files = [path for path in raw if path.suffix != ".geojson"]
    zones = [zone for path in raw if path.suffix == ".geojson" for zone in _zones(path)]
    if not files:
        raise DataError("no file of trips is named; name CSV files, such as trip_data_1.csv")
    path, schema = folder / FILE.file, pa.schema({TAXI: pa.string(), ZONE: pa.int32()})
    with replacing(path, DataError) as stream, parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for file in files:
            for block in _blocks(file):
                columns = [block[TAXI], pa.array(_zone_of(block, zones, file), pa.int32())]
                writer.write_table(pa.table(columns, schema))
    return path


@dataclass(frozen=True)
class _Zone:
    """A zone: its number, and its polygons, each as rings of points, the outer one first."""

    number: int
    polygons: list[list[np.ndarray]]

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Say which points lie in a polygon, and in none of its holes."""
        with extra("plots"):
            from matplotlib.path import Path as Ring

        inside = np.zeros(len(points), bool)
        for outer, *holes in self.polygons:
            near = np.flatnonzero(((points >= outer.min(axis=0)) & (points <= outer.max(axis=0))).all(axis=1))
            within = Ring(outer).contains_points(points[near])
            in_hole = (Ring(hole).contains_points(points[near]) for hole in holes)
            inside[near] |= reduce(lambda left, hole: left & ~hole, in_hole, within)
        return inside


def _zones(path: Path) -> Iterator[_Zone]:
    try:
        for feature in json.loads(path.read_text("utf-8"))["features"]:
            names = {name.lower().replace("_", ""): value for name, value in feature["properties"].items()}
            shape: dict[str, Any] = feature["geometry"]
            polygons = shape["coordinates"] if shape["type"] == "MultiPolygon" else [shape["coordinates"]]
            rings = [[np.array(ring, float)[:, :2] for ring in polygon] for polygon in polygons]
            yield _Zone(int(names["locationid"]), rings)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as fault:
        raise DataError(
            f"{path} holds no polygons with a location_id ({fault}); export the taxi zones as GeoJSON again"
        ) from fault


def _blocks(file: Path) -> Iterator["pa.Table"]:
    """Read a file of trips block by block; spaces around the names of columns do not count."""
    with extra("release"):
        import pyarrow as pa
        from pyarrow import csv

    try:
        options = csv.ConvertOptions(column_types={TAXI: pa.string()})
        with csv.open_csv(file, convert_options=options) as reader:
            names = [name.strip() for name in reader.schema.names]
            missing = [name for name in ([ZONE] if ZONE in names else [LONGITUDE, LATITUDE]) if name not in names]
            if missing or TAXI not in names:
                raise DataError(f"{file} has no column {', '.join(missing or [TAXI])}, only {', '.join(names)}")
            for batch in reader:
                yield pa.table(batch.columns, names)
    except (OSError, pa.ArrowException) as fault:
        raise DataError(f"{file} cannot be read as CSV ({str(fault).splitlines()[0]}); download it again") from fault


def _zone_of(block: "pa.Table", zones: Sequence[_Zone], file: Path) -> np.ndarray:
    """Find the zone of every pickup."""
    if ZONE in block.column_names:
        return block[ZONE].cast("int64").fill_null(NOWHERE).to_numpy()
    if not zones:
        raise DataError(f"{file} has coordinates; name the taxi zones as a file .geojson, too")
    points = np.column_stack([block[name].cast("float64").to_numpy() for name in (LONGITUDE, LATITUDE)])
    found = np.where(np.isfinite(points).all(axis=1) & (points != 0).any(axis=1), OUTSIDE, NOWHERE)
    for zone in zones:
        found[zone.holds(points)] = zone.number
    return found
