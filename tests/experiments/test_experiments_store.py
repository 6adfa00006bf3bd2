"""The store: keys that never change, files that are whole or not there, and what is wrong in words."""

import errno
import json
import os
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sweeps
from instances import rng_of

from pgsr.experiments.engine import digest
from pgsr.experiments.engine.digest import DRAWING, code_digest
from pgsr.experiments.engine.experiment import Cell, ExperimentError, Profile
from pgsr.experiments.engine.store import CellState, Store, StoredCell, StoreError, Torn
from pgsr.experiments.registry import EXPERIMENTS

SMOKE = Profile.SMOKE
CELL = Cell("T1", "small", Fraction(1, 10), 3, "M_H, wide", (("N", 5), ("norm", "L1")))
RECORD = {
    "status": "OPTIMAL",
    "objective": 2**70 + 1,
    "levels": {"emd": [1.5, 0.1 + 0.2]},
    "violations": {"sign": 0},
    "errors": np.arange(3),
    "solve_seconds": 0.25,
}


def entry(cell=CELL, state=CellState.DONE, record=None, **fields) -> StoredCell:
    return StoredCell(cell, False, state, "", RECORD if record is None else record, "code", 60.0, 1.0, 10**8, **fields)


def test_keys_and_file_names_never_change(tmp_path):
    """Results of years would be orphaned."""
    assert CELL.key == "T1 | small | epsilon=1/10 | replicate=3 | M_H, wide | N=5 | norm=L1"
    name = "small-epsilon=1-10-replicate=3-M_H-wide-N=5-norm=L1.e3048ac1bbef62a8.json"
    assert Store(tmp_path).path(CELL, SMOKE) == tmp_path / "T1" / "smoke" / name
    assert replace(CELL, epsilon=None, parameters=()).key == "T1 | small | epsilon=none | replicate=3 | M_H, wide"
    cells = {CELL, replace(CELL, replicate=4), replace(CELL, epsilon=Fraction(1)), replace(CELL, parameters=())}
    assert len({Store().path(cell, SMOKE) for cell in cells}) == 4
    with pytest.raises(ExperimentError, match="cannot be part of a key"):
        replace(CELL, arm="a | b")


def test_what_is_saved_is_loaded(tmp_path):
    store = Store(tmp_path)
    path = store.save(entry(), SMOKE)
    found = store.load(CELL, SMOKE)
    assert isinstance(found, StoredCell)
    assert found.record["objective"] == 2**70 + 1
    assert found.record["levels"]["emd"] == [1.5, 0.1 + 0.2]
    assert found.record["errors"] == [0, 1, 2]
    assert found.content() == entry().content()
    assert "solve_seconds" not in found.content()
    assert found.cell == CELL
    assert found.versions["numpy"] == np.__version__
    assert found.host["cores"] == os.cpu_count()
    assert [p.name for p in path.parent.iterdir()] == [path.name], "no temporary file is left"
    assert store.load(replace(CELL, replicate=9), SMOKE) is None


def test_a_frame_has_a_column_for_everything(tmp_path):
    store = Store(tmp_path)
    store.save(entry(), SMOKE)
    store.save(replace(entry(state=CellState.FAILED, record={}), cell=replace(CELL, replicate=4), reason="why"), SMOKE)
    frame = store.frame("T1", SMOKE).set_index("replicate")
    columns = ["N", "emd_level1", "violations_sign", "epsilon", "epsilon_exact"]
    assert frame.loc[3, columns].tolist() == [5, 0.1 + 0.2, 0, 0.1, "1/10"]
    assert frame.loc[4, ["state", "reason"]].tolist() == ["failed", "why"]
    assert len(store.frame("T2", SMOKE)) == 0


def test_torn_files_are_told_from_whole_ones(tmp_path):
    """Cut anywhere, or any byte changed that changes what is said: never read as a result."""
    store = Store(tmp_path)
    path = store.save(entry(), SMOKE)
    whole = path.read_bytes()
    rng = rng_of(1)
    for cut in [0, 1, len(whole) - 1, *rng.integers(1, len(whole) - 1, 50)]:
        path.write_bytes(whole[:cut])
        assert isinstance(store.load(CELL, SMOKE), Torn), cut
    for place in rng.integers(0, len(whole), 200):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        found = store.load(CELL, SMOKE)
        assert isinstance(found, Torn) or found.record == plain_record()
    path.write_bytes(whole)
    assert isinstance(store.load(CELL, SMOKE), StoredCell)
    other = replace(CELL, replicate=7)
    store.path(other, SMOKE).write_bytes(whole)
    found = store.load(other, SMOKE)
    assert isinstance(found, Torn)
    assert "holds T1" in found.reason


def plain_record() -> dict:
    return json.loads(json.dumps(RECORD | {"errors": [0, 1, 2]}))


def test_two_writers_leave_whole_files(tmp_path):
    store, stop, seen = Store(tmp_path), threading.Event(), []

    def read():
        while not stop.is_set():
            seen.append(store.load(CELL, SMOKE))

    def write(number):
        for i in range(20):
            store.save(entry(record={"who": number, "i": i, "bulk": list(range(500))}), SMOKE)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(2)] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads[:2]:
        thread.join()
    stop.set()
    threads[2].join()
    assert not [found for found in seen if isinstance(found, Torn)]
    assert len(list((tmp_path / "T1" / "smoke").iterdir())) == 1


def test_what_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="return numbers, text, lists or arrays"):
        store.save(entry(record={"a": object()}), SMOKE)
    path = store.save(entry(), SMOKE)
    whole = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"No space left on device; finished cells are kept; free some space"):
        store.save(entry(), SMOKE)
    assert path.read_bytes() == whole
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    monkeypatch.undo()
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(StoreError, match="choose another folder with --out"):
        Store(blocked).check("T1", SMOKE)


def test_a_read_only_folder_is_a_sentence(tmp_path, monkeypatch):
    """For root, too, who may write anywhere."""

    def refuse(*args, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match=r"Read-only file system.*make it writable"):
        Store(tmp_path / "new").check("T1", SMOKE)


def test_leftovers_of_crashed_writers_go_when_they_are_old(tmp_path):
    store = Store(tmp_path)
    store.check("T1", SMOKE)
    old, new = (store.folder("T1", SMOKE) / f".x.json.{name}.tmp" for name in ("old", "new"))
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (1, 1))
    store.check("T1", SMOKE)
    assert not old.exists()
    assert new.exists()
    assert list(store.entries("T1", SMOKE)) == []


MODULE = '''
"""A docstring."""
import math
from pgsr.experiments.engine.experiment import Experiment
from pgsr.experiments.engine.figures import looks
# a comment
SIZE = 3
COLOUR = "red"
def measure(trial):
    """Another."""
    return {"a": SIZE}
def plot(frame):
    return COLOUR, looks, helper()
def printed(frame):
    return [({"data": "small"}, helper())]
def helper():
    return 1
E = Experiment(id="X1", plot=plot, verdicts=plot, measure=measure)
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("# a comment", "# another comment", True),
        ("A docstring.", "Other words.", True),
        ('COLOUR = "red"', 'COLOUR = "blue"', True),
        ("return COLOUR, looks", "return looks", True),
        ("return 1", "return 2", True),
        ('{"data": "small"}', '{"data": "large"}', True),
        ("SIZE = 3", "SIZE = 4", False),
        ('{"a": SIZE}', '{"b": SIZE}', False),
        ("measure=measure", "measure=measure, alone=True", False),
    ],
)
def test_the_digest_follows_numbers_and_not_looks(tmp_path, monkeypatch, old, new, same):
    """Redrawing a figure must not throw away a night of computing; changing an arm must."""
    assert old in MODULE
    digests = []
    for i, text in enumerate((MODULE, MODULE.replace(old, new))):
        name = f"mod_{i}_{abs(hash((old, new)))}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        digests.append(sorted(digest.covered(name, "X1").values()))
    assert (digests[0] == digests[1]) is same


def test_the_digest_covers_what_is_used():
    assert len(code_digest(EXPERIMENTS[0])) == 16
    files = digest.covered("pgsr.experiments.kuo2018.bottom_up", "K8")
    assert {"pgsr.data.counts", "pgsr.data.long_form"} <= set(files), "they import what draws, and count"
    assert not [name for name in files if name.removeprefix("pgsr.") in DRAWING]
    assert all(Path(f"pgsr/{name.replace('.', '/')}.py").is_file() for name in DRAWING)
    assert "pgsr.experiments.kuo2018.published" not in files
    assert "pgsr.experiments.engine.figures" not in files
    assert {
        "pgsr.experiments.kuo2018.bottom_up",
        "pgsr.experiments.engine.data",
        "pgsr.experiments.engine.experiment",
    } <= set(files)
    assert "SharedSeed" in files["pgsr.experiments.kuo2018.bottom_up"]
    assert "def plot" not in files["pgsr.experiments.kuo2018.bottom_up"]
    assert {"pgsr", "pgsr.certificates.certificate", "pgsr.privacy.laws.inversion_kernel"} <= set(files)
    assert not any(name.startswith("pgsr.models") for name in files)
    assert {"pgsr.models", "pgsr.models.judge"} <= set(digest.covered("pgsr.experiments.ours.exact_optima", "X1"))
    assert code_digest(sweeps.experiment()) != code_digest(EXPERIMENTS[0])


LIBRARY = {
    "__init__": "from pgsr.noise import draw",
    "noise": "def draw():\n    from pgsr.kernels import loops\n    return loops",
    "kernels/__init__": "",
    "kernels/loops": "from ..views import steps",
    "views": "steps = 1",
    "synthesis/__init__": "from pgsr.synthesis.rows import rows",
    "synthesis/rows": "from pgsr.noise import draw\nrows = 1",
}
USER = """
from pgsr import draw
def measure(trial):
    return draw()
E = Experiment(id="X1", measure=measure)
"""


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("synthesis/rows", "rows = 2", True),
        ("cli/__init__", "from pgsr import noise", True),
        ("views", "steps = 1  # as before", True),
        ("views", "steps = 2", False),
        ("kernels/__init__", "LOOPS = 1", False),
        ("noise", "from . import synthesis", False),
    ],
)
def test_parts_of_the_library_that_nothing_imports_do_not_count(tmp_path, monkeypatch, name, text, same):
    """A package that grows beside the others keeps results fresh; what is imported inside a function counts."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "user_of_the_library.py").write_text(USER)
    digests = []
    for i, library in enumerate((LIBRARY, LIBRARY | {name: text})):
        for place, content in library.items():
            path = tmp_path / str(i) / "pgsr" / f"{place}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        monkeypatch.setattr(digest, "ROOT", tmp_path / str(i))
        digests.append(digest.covered("user_of_the_library", "X1"))
    assert (digests[0] == digests[1]) is same
    assert {"pgsr", "pgsr.noise", "pgsr.kernels", "pgsr.kernels.loops", "pgsr.views"} < set(digests[0])


def test_all_of_a_package_counts_where_its_names_come_lazily(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(digest, "ROOT", tmp_path)
    (tmp_path / "lazy_user.py").write_text(USER)
    for place, content in (LIBRARY | {"__init__": "def __getattr__(name):\n    return 1"}).items():
        path = tmp_path / "pgsr" / f"{place}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert {"pgsr", "pgsr.synthesis", "pgsr.synthesis.rows", "pgsr.views"} < set(digest.covered("lazy_user", "X1"))
