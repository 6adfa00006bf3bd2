"""The conditions of a release folder's privacy claim: functions that raise AssertionError where one does not hold.

`test_assurance_mutants` runs them on the code as it is and on the bugs of `planted_publications`.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from exact_law import noise_by
from forging import Target
from instances import scale
from made_tables import contents, left, release, write_config, write_tables
from parquet_footers import HIDING

from pgsr import PgsrError
from pgsr.privacy import Secure
from pgsr.privacy.accounting import PureEpsilon
from pgsr.privacy.laws import DoubleGeometric
from pgsr.privacy.random import ByteStream, StreamId
from pgsr.release import ReleaseConfig, check
from pgsr.release.folder import artefact
from pgsr.release.folder.datapackage import package_text
from pgsr.release.ledger import LedgerFile
from pgsr.release.ledger.charge import Charge

N_REGIONS = 7
LEVEL = {"level", "name", "regions", "view", "share", "epsilon", "sensitivity", "noise_scale"}
PUBLISHED = {
    "format": None,
    "data_set": None,
    "publication": {"group_name", "entity_name", "publisher", "contact", "licence"},
    "privacy_claim": None,
    "epsilon": None,
    "delta": None,
    "neighbours": None,
    "levels": LEVEL,
    "totals": {"public", "share", "epsilon"},
    "max_size": None,
    "max_quantity": None,
    "invariants": None,
    "mechanism": None,
    "method": None,
    "status": None,
    "certificate": {"problem", "objective", "bound", "bound_by", "violations"},
    "distance": {"sum", "squares"},
    "measurement": {"values", "sum"},
    "versions": {"python", "pgsr", "numpy", "scipy", "numba", "pyarrow"},
    "files": {
        "counts.csv",
        "counts.parquet",
        "datapackage.json",
        "measurement.parquet",
        "README.txt",
        "regions.csv",
        "summary.html",
    },
}
"""Every field that a manifest of M_H may have, and the fields of those that are tables; written down once more here."""


@contextmanager
def place(mechanism: str = "m_h", **keys: str) -> Iterator[Path]:
    """A folder with confidential tables and a configuration, epsilon 1 of 100, K = 3; some groups are larger.

    `mechanism` and `keys` are those of `write_config`.
    """
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        write_config(Path(folder), mechanism, **keys)
        yield Path(folder)


def made(folder: Path, rehearse: bool = False) -> Path:
    """The release; a refusal by its own check is a failure of the check that asks for it."""
    try:
        return release(ReleaseConfig.read(folder / "release.toml"), rehearse)
    except PgsrError as error:
        raise AssertionError(f"no release: {error}") from error


def assert_files_follow_from_noisy_values(mechanism: str = "m_h", **keys: str) -> None:
    """Data that differ by a row and happen to get the same noisy values are published byte for byte alike.

    Fixed bits and several rows of every size: a leak may by chance be the same for one pair and one noise.
    """
    with place(mechanism, **keys) as folder:
        people = pq.read_table(folder / "entities.parquet")
        group = people["group"].to_numpy()
        size = np.bincount(group)[group]
        drawn: list[np.ndarray] = []
        add_to = DoubleGeometric.add_to

        def record(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
            del stream
            add_to(law, values, ByteStream(len(drawn).to_bytes(32, "big")))
            drawn.append(values.copy())

        with noise_by(record):
            first = contents(made(folder))
        rows = [row for members in range(1, size.max() + 1) for row in np.flatnonzero(size == members)[: scale(2, 3)]]
        assert len(rows) >= 6
        for row in rows:
            shutil.rmtree(folder / "release")
            pq.write_table(people.filter(np.arange(len(people)) != row), folder / "entities.parquet")
            again = iter(drawn)

            def replay(law: DoubleGeometric, values: np.ndarray, stream: ByteStream, again: Iterator = again) -> None:
                del law, stream
                values[:] = next(again)

            with noise_by(replay):
                second = contents(made(folder))
            assert first == second, f"{[name for name in first if first[name] != second.get(name)]} tell of row {row}"


def fields_are_those_that_may_be_published() -> None:
    """Check against a list of its own; and nothing else lies in the folder, nor a column in a table."""
    with place() as folder:
        found = made(folder)
        names = PUBLISHED["files"] | {"manifest.json", "SHA256SUMS"}
        assert {path.name for path in found.iterdir()} == names
        manifest = json.loads((found / "manifest.json").read_text())
        assert manifest.keys() == PUBLISHED.keys(), manifest.keys() ^ PUBLISHED.keys()
        for name, fields in PUBLISHED.items():
            tables = manifest[name] if isinstance(manifest[name], list) else [manifest[name]]
            assert fields is None or all(table.keys() == fields for table in tables), name
        for table in ("counts.parquet", "measurement.parquet"):
            assert len(pq.read_schema(found / table).names) == 9
            facts = {b"format", b"table", b"data_set", b"privacy_claim", b"epsilon"}
            assert pq.read_schema(found / table).metadata.keys() == facts


def noisy_values_are_published_as_drawn() -> None:
    """One vector per region is drawn, with bytes of the operating system, and these vectors are what is published.

    Of few sizes and of many, so that no rule for many sizes changes a region.
    """
    for max_size in ("1", "3", "60", "700"):
        with place(max_size=max_size) as folder, _secure_draws() as drawn:
            published = pq.read_table(made(folder) / "measurement.parquet")["noisy_count"].to_numpy()
            assert len(drawn) == N_REGIONS, f"{len(drawn)} vectors are drawn for {N_REGIONS} regions"
            assert published.tolist() == np.concatenate(drawn).tolist(), "other values are published than were drawn"


def nothing_hides_in_parquet_files() -> None:
    """A folder with bytes that no reader shows is refused, wherever they lie and however consistent all else is.

    They lie between two columns or after a column's last page, and digests and descriptions are written anew.
    """
    with place() as folder:
        found, asked = made(folder), ReleaseConfig.read(folder / "release.toml")
        assert check(found).passed
        for name, hide, column in product(("counts.parquet", "measurement.parquet"), HIDING, (0, 4, 8)):
            shutil.copytree(found, folder / "forged")
            target = Target(folder / "forged", asked)
            hide(target / name, b"rows of persons", column)
            assert pq.read_table(target / name).equals(pq.read_table(found / name)), "the forged table is another"
            target.fix_digests()
            (target / artefact.PACKAGE).write_text(package_text(target.folder, target.fields))
            target.fix_digests()
            wrong = [finding.sentence for finding in check(target.folder).findings if not finding.passed]
            assert wrong == [f"{name} holds bytes that belong to no column"], f"{hide.__name__} {column}: {wrong}"
            shutil.rmtree(target.folder)


def split_views_are_those_of_the_file() -> None:
    """Thresholds are the stated ones, whatever the private rows are.

    The manifest states them, the table has as many sizes per region, and columns and ranks are published as drawn.
    """
    for keys, expected in (
        ({"threshold": "2"}, [2] * 7),
        ({"threshold": "3"}, [3] * 7),
    ):
        for every in (1, 2):
            with place("kuo", max_size="5", **keys) as folder, _secure_draws() as drawn:
                people = pq.read_table(folder / "entities.parquet")
                pq.write_table(people.filter(np.arange(len(people)) % every == 0), folder / "entities.parquet")
                found = made(folder)
                stated = [level["threshold"] for level in json.loads((found / "manifest.json").read_text())["levels"]]
                by_region = [one for one, regions in zip(stated, (1, 2, 4), strict=True) for _ in range(regions)]
                assert by_region == expected, f"{by_region} are stated"
                table = pq.read_table(found / "measurement.parquet").to_pandas()
                columns = table["group_size"].notna().groupby(table["region_id"], sort=False).sum()
                assert columns.tolist() == expected, f"{columns.tolist()} sizes are in the table"
                noisy = table["noisy_cumulative_count"].fillna(table["noisy_excess"])
                assert len(drawn) == 2 * N_REGIONS, f"{len(drawn)} vectors are drawn for {N_REGIONS} regions"
                assert noisy.tolist() == np.concatenate(drawn).tolist(), "other values are published than were drawn"


def noise_is_secure_and_fresh() -> None:
    """Two releases of the same tables have different noise, from keys that nobody is told."""
    with place() as folder, _secure_draws() as drawn:
        values = []
        for _ in range(2):
            found = made(folder)
            values.append(pq.read_table(found / "measurement.parquet")["noisy_count"].to_pylist())
            shutil.rmtree(found)
        assert len(drawn) == 2 * N_REGIONS, "noise was drawn from another source"
        assert values[0] != values[1], "two releases have the same noise"


def epsilon_is_charged_before_noise() -> None:
    """All of it, once, and whatever happens afterwards."""
    with place() as folder:

        def fail(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
            del law, values, stream
            raise PgsrError(f"{left(folder)} is left")

        with noise_by(fail):
            said = _refusal(folder)
        assert "99 is left" in said, f"noise is drawn before it is paid for: {said}"
        assert left(folder) == 99, "a charge is given back after noise was drawn"
        made(folder)
        assert left(folder) == 98, "a release costs its epsilon, once"


def refusals_cost_nothing() -> None:
    """Check that nothing is drawn or charged where the output cannot be written, or the ledger lacks epsilon."""
    with place() as folder:
        drawn: list[int] = []
        with noise_by(lambda law, values, stream: drawn.append(1)):
            (folder / "release").mkdir()
            (folder / "release" / "mine").touch()
            _refusal(folder)
            shutil.rmtree(folder / "release")
            earlier = Charge(PureEpsilon(Fraction(199, 2)), "earlier releases")
            LedgerFile(folder / "ledger.jsonl").charge(earlier, "made")
            _refusal(folder)
        assert not drawn, "noise was drawn for a release that is refused"
        assert left(folder) == Fraction(1, 2), "a refused release was charged"


def rehearsals_say_so() -> None:
    """Check the folder's name, the manifest, both tables and README.txt; and rehearsals cost nothing."""
    with place() as folder:
        found = made(folder, rehearse=True)
        assert found.name == "release-rehearsal"
        assert left(folder) == 100, "a rehearsal was charged"
        assert json.loads((found / "manifest.json").read_text())["privacy_claim"] == "none (seeded)"
        for table in ("counts.parquet", "measurement.parquet"):
            claim = pq.read_schema(found / table).metadata[b"privacy_claim"]
            assert claim == b"none (seeded)", f"{table} of a rehearsal claims {claim}"
        assert "NOT PRIVATE" in (found / "README.txt").read_text()


@contextmanager
def _secure_draws() -> Iterator[list[np.ndarray]]:
    """Every vector after noise from `Secure` was added to it. The check draws others, of rehearsals."""
    drawn: list[np.ndarray] = []
    streams: list[ByteStream] = []
    add_to, stream_of = DoubleGeometric.add_to, Secure.stream

    def record(law: DoubleGeometric, values: np.ndarray, stream: ByteStream) -> None:
        add_to(law, values, stream)
        if any(stream is known for known in streams):
            drawn.append(values.copy())

    def noted(source: Secure, identity: StreamId) -> ByteStream:
        streams.append(stream_of(source, identity))
        return streams[-1]

    with noise_by(record), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Secure, "stream", noted)
        yield drawn


def _refusal(folder: Path) -> str:
    try:
        release(ReleaseConfig.read(folder / "release.toml"))
    except (PgsrError, OSError) as error:
        return str(error)
    raise AssertionError("a release that cannot be made was not refused")
