"""Everything that a release leaves behind is the same for any data with the same noisy values: not files alone.

Neighbours are compared, and tables of persons that have nothing in common, over the same public groups and regions;
`release_traces` says what is compared, and `interference_checks` compares far more, by every mechanism.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exact_law import noise_by
from instances import rng_of
from made_tables import TABLES, release, write_config, write_tables
from release_traces import FixedNoise, require_same, run_release

from pgsr import PgsrError
from pgsr.data.region_ids import region_id
from pgsr.privacy import Secure
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream, StreamId
from pgsr.release import ReleaseConfig


def a_release_leaves_the_same_traces() -> None:
    """M_H with public groups, and cumulative counts where the numbers of groups are private, too."""
    private = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
    for mechanism, keys in (("m_h", {}), ("m_c_dp", {"totals": '"noisy"', "tables": private})):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_tables(folder)
            write_config(folder, mechanism, **keys)
            people = pq.read_table(folder / "entities.parquet")
            noise = FixedNoise()
            first = run_release(folder, noise)
            assert first.files, f"no release: {first.printed}"
            for what, table in list(_others(people))[0 if mechanism == "m_h" else -3 :]:
                pq.write_table(table, folder / "entities.parquet")
                require_same(first, run_release(folder, noise), what)


def every_public_size_is_measured() -> None:
    """No group has more than 4 members, and K is public: each region has K + 1 noisy values, whatever sizes occur.

    Of equal sizes, and of sizes per level.
    """
    levels = "{nation = 40, state = 30, county = 20}"
    for mechanism, keys, sizes in (
        ("m_h", {"max_size": "40"}, [41, 41, 41]),
        ("kuo", {"max_size": "40"}, [41, 41, 41]),
        ("m_h", {"max_size": levels}, [41, 31, 21]),
    ):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_tables(folder, n_groups=200)
            config = ReleaseConfig.read(write_config(folder, mechanism, **keys))
            truth = config.count()
            counted = [k + 1 for k in truth.max_sizes]
            assert counted == sizes, f"{mechanism} of {keys}: {counted} sizes were counted"
            try:
                found = pq.read_table(release(config, rehearse=True) / "measurement.parquet").to_pandas()
            except PgsrError as error:
                raise AssertionError(f"no release: {error}") from error
            tree, rows = config.tree(), found.groupby("region_id").size()
            wanted = {region_id(path): sizes[len(path) - 1] for path in tree.paths}
            assert rows.to_dict() == wanted, f"{mechanism} of {keys}: numbers of noisy values {rows.to_dict()}"


def scales_are_those_that_are_published() -> None:
    """Noise is drawn with the scale of the manifest, sensitivity over epsilon of the level, that follows from epsilon.

    Of counts, and of cumulative counts of quantities up to 2 whose noisy totals are paid for.
    """
    tuples = TABLES.replace("[entities]", "[tuples]").replace("entities.parquet", "tuples.parquet")
    tuples = tuples.replace("[groups]", 'user = ""\nunit = "group"\nmax_quantity = 2\n[groups]\nprivate = true')
    noisy = {"totals": '"noisy"', "tables": tuples}
    for mechanism, keys, sensitivity in (("m_h", {}, 2), ("m_c_dp", noisy, 2), ("kuo", {}, 1)):
        with tempfile.TemporaryDirectory() as name, _secure_scales() as scales:
            folder = Path(name)
            write_tables(folder)
            group = pq.read_table(folder / "entities.parquet")["group"]
            quantity = pa.array(np.arange(len(group)) % 3)
            pq.write_table(pa.table({"group": group, "quantity": quantity}), folder / "tuples.parquet")
            try:
                found = release(ReleaseConfig.read(write_config(folder, mechanism, **keys)))
            except PgsrError as error:
                raise AssertionError(f"no release: {error}") from error
            manifest = json.loads((found / "manifest.json").read_text())
            of_totals = Fraction(1, 10) if keys else Fraction(0)
            expected = [3 / of_totals] * 7 if keys else []
            expected += [sensitivity * 3 / (1 - of_totals)] * 7
            assert scales == expected, f"{mechanism}: noise of scales {scales}"
            written = [level["noise_scale"] for level in manifest["levels"] for _ in range(level["regions"])]
            assert [str(scale) for scale in scales[-7:]] == written


def neighbouring_tables_change_one_cell() -> None:
    """A row of entities less moves one group by one size, in one region per level, and nothing else.

    Rows go one after the other until none is left, so that whatever threshold there is, it is crossed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, n_groups=10)
        config = ReleaseConfig.read(write_config(folder))
        people = pq.read_table(folder / "entities.parquet")
        order, before, moved = rng_of(9).permutation(len(people)), config.count(), 0
        for left in range(len(people) - 1, -1, -1):
            pq.write_table(people.take(np.sort(order[:left])), folder / "entities.parquet")
            after = config.count()
            tree = after.hierarchy
            assert tree.paths == before.hierarchy.paths
            assert after.counts.shape == before.counts.shape
            change = after.counts - before.counts
            for level in range(tree.n_levels):
                cells = np.abs(change[tree.level(level)]).sum()
                sizes = np.abs(np.cumsum(change[tree.level(level)], axis=1)).sum()
                assert (cells, sizes) in ((0, 0), (2, 1)), f"one of {left} rows changes level {level} by {cells}"
            moved += int(change.any())
            before = after
        assert moved > 0, "no row changes anything"


def _others(people: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield persons without one row, of groups of every size and the first and last one, and quite different ones."""
    group = people["group"].to_numpy()
    size = np.bincount(group)[group]
    rows = [int(np.flatnonzero(size == members)[0]) for members in range(1, size.max() + 1)]
    for row in dict.fromkeys([*rows, len(people) - 1]):
        yield f"row {row}", people.filter(np.arange(len(people)) != row)
    yield "all rows", people.slice(0, 0)
    n = 500
    yield "where rows are", pa.table({"entity": np.arange(n), "group": np.where(np.arange(n) < 450, 7, group.max())})
    yield "how many rows there are", pa.table({"entity": np.arange(n), "group": np.arange(n) % (group.max() + 1)})


@contextlib.contextmanager
def _secure_scales() -> Iterator[list[Fraction]]:
    """Record the scale of every vector that gets noise from `Secure`; the check of a release draws other noise."""
    scales: list[Fraction] = []
    streams: list[ByteStream] = []
    add_to, stream_of = DoubleGeometric.add_to, Secure.stream

    def record(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        if any(stream is known for known in streams):
            scales.append(law.scale)
        add_to(law, values, stream)

    def noted(source: Secure, identity: StreamId) -> ByteStream:
        streams.append(stream_of(source, identity))
        return streams[-1]

    with noise_by(record), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Secure, "stream", noted)
        yield scales
