"""Non-interference: over one public frame, releases of very different populations leave the same behind, byte for byte.

The noisy values of the first population are put in place of those of all others, so that whatever still differs came
from the data past the noise. Compared is all that `release_traces` records. Numbers that are public choose between two
ways in large data alone (a million rows, blocks of cells), so these are made small here: otherwise no population could
choose for itself.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from blind_checks import far
from instances import rng_of
from made_tables import LEAVES, TABLES, write_config, write_tables
from planned import planned
from release_traces import FixedNoise, require_same, run_release

import pgsr.machine.blocks
import pgsr.noise.tables
import pgsr.release.folder.released_tables
import pgsr.release.terms.plan
import pgsr.tables.group_counts
import pgsr.tables.long
from pgsr import Hierarchy
from pgsr.noise import Totals
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import Terms
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.signature import new_key
from pgsr.release.terms import preflight
from pgsr.release.terms.kinds import Kind

K = 5
GROUPS = 60

PRIVATE = TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = true')
TUPLES = TABLES.replace("[entities]", "[tuples]").replace("entities.parquet", "tuples.parquet")
TUPLES = TUPLES.replace("[groups]", 'user = ""\nunit = "group"\nmax_quantity = 2\nclip = true\n[groups]')
AS_CSV = TABLES.replace("entities.parquet", "entities.csv").replace(
    "[entities]", '[entities]\nentity = ""\ncast = {group = "integer"}'
)
WORDS = '[publication]\ngroup_name = "households"\n'


@dataclass(frozen=True)
class Frame:
    """All that is public of a release: mechanism, terms, groups and regions.

    Attributes:
        mechanism, keys: as `made_tables.write_config` takes them.
        private: whether the table of groups is private, so that populations differ in it.
        small: whether tables and blocks of a few cells count as large.
        signed: whether a key signs the folder.
        total, unit: of the ledger.
    """

    mechanism: str
    keys: dict[str, Any] = field(default_factory=dict)
    private: bool = False
    small: bool = False
    signed: bool = False
    total: Loss = field(default_factory=lambda: PureEpsilon("100"))
    unit: Unit = Unit.ENTITY


FRAMES = {
    "M_H in small blocks": Frame("m_h", small=True),
    "M_H with a least size": Frame("m_h", {"min_size": "1"}),
    "M_H with sizes per level": Frame("m_h", {"max_size": "{US = 5, state = 4, county = 2}"}, small=True),
    "M_H for households, in rho": Frame(
        "m_h", {"epsilon": None, "rho": '"1/8"', "unit": '"group"'}, total=Rho("9"), unit=Unit.GROUP
    ),
    "M_c with private groups": Frame("m_c_dp", {"totals": '"noisy"', "tables": PRIVATE}, private=True, small=True),
    "M_c of CSV files": Frame("m_c_dp", {"tables": AS_CSV + WORDS}),
    "matching, signed": Frame("kuo", signed=True),
    "matching of split views": Frame("kuo", {"threshold": "2"}),
    "bottom-up of private groups": Frame("bottom_up", {"totals": '"noisy"', "tables": PRIVATE}, private=True),
    "bottom-up of split views": Frame("bottom_up", {"threshold": "2"}),
    "a posterior of split views by the root": Frame(
        "posterior", {"threshold": '"root"', "shares": '["1/20", "1/20", "9/10"]'}
    ),
    "a posterior with intervals": Frame("posterior", {"intervals": '"9/10"', "totals": '"root"'}, small=True),
    "a posterior of private groups, with Gaussian noise": Frame(
        "posterior",
        {"totals": '"noisy"', "delta": '"1e-6"', "tables": PRIVATE},
        private=True,
        total=Approximate("100", "1e-3"),
    ),
    "matching with sizes per level": Frame("kuo", {"max_size": "{US = 5, state = 5, county = 3}"}, small=True),
    "two stages of quantities": Frame("two_stage", {"tables": TUPLES}),
}
"""The forms of a release, by name: every mechanism, view, unit, kind of budget and of totals, and way of input."""


def populations(private: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield very different sizes of all groups, by name; in a private table of groups there are other groups, too."""
    usual = rng_of(0).integers(0, 5, GROUPS)
    yield "usual", usual
    yield "nobody anywhere", np.zeros(GROUPS, np.int64)
    yield "one person", np.eye(1, GROUPS, 7, dtype=np.int64)[0]
    yield "one group that has all", 3_000 * np.eye(1, GROUPS, 8, dtype=np.int64)[0]
    yield "groups above K alone", np.full(GROUPS, K + 3)
    yield "groups of one person", np.ones(GROUPS, np.int64)
    yield "one region that has all", np.where(np.arange(GROUPS) % len(LEAVES) == 2, 4, 0)
    if private:
        yield "few groups", np.array([3, 0, 1])
        yield "many groups", np.resize([0, 1, 2, 9], 700)


def releases_do_not_interfere() -> None:
    """Two frames of them all, for `mutants`; `test_assurance_interference` has every frame."""
    for name in ("M_H in small blocks", "bottom-up of split views"):
        frame_does_not_interfere(FRAMES[name])


def memory_is_asked_for_by_public_numbers() -> None:
    """Whatever the sizes are, a release asks for as much memory: what is refused for lack of it tells nothing of them.

    Of every mechanism and all kinds of totals, without rows of zeros.
    """
    tree = Hierarchy.from_paths(LEAVES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pgsr.release.terms.plan, "MOST_ROWS", 0)
        for kind, by_level in product(Kind, (False, True)):
            if by_level and kind.totals_by_level is None:
                continue
            for totals in (kind.totals_by_level,) if by_level else kind.totals:
                about: dict[str, Any] = {"max_size": (5, 4, 4) if by_level else 5, "totals": totals, "epsilon": "1"}
                plan = planned(Terms("made", kind=kind, **about), tree)
                needed = {preflight.bytes_needed(plan, tree, truth) for truth in far(tree, Totals.REGIONS)}
                assert len(needed) == 1, f"{kind}, {totals} totals: {sorted(needed)} bytes, by what the sizes are"


def frame_does_not_interfere(frame: Frame) -> int:
    """Release all populations over one frame, with the noisy values of the first, and return how many were compared."""
    noise, first, n = FixedNoise(), None, 0
    with tempfile.TemporaryDirectory() as name, _as_if_large(frame.small):
        folder = Path(name)
        write_tables(folder)
        keys = {"max_size": str(K)} | frame.keys
        if frame.signed:
            new_key(folder / "publisher")
            keys["sign"] = '"publisher.key"'
        write_config(folder, frame.mechanism, **keys)
        for what, sizes in populations(frame.private):
            _write(folder, sizes, frame.private)
            again = run_release(folder, noise, lambda folder: _ledger(folder, frame))
            if first is None:
                if not again.files:
                    raise RuntimeError(f"no release of the first population: {again.printed}")
                first = again
                continue
            require_same(first, again, what)
            n += 1
    return n


def _ledger(folder: Path, frame: Frame) -> None:
    relation = Relation.REPLACE if frame.unit.is_group else Relation.ADD_REMOVE
    LedgerFile.create(folder / "ledger.jsonl", "made", frame.total, relation, frame.unit)


def _write(folder: Path, sizes: np.ndarray, private: bool) -> None:
    """Write a population in every form of input; its rows are in an order of their own."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    order = rng_of(len(group)).permutation(len(group))
    people = pa.table({"entity": order, "group": group[order]})
    pq.write_table(people, folder / "entities.parquet", row_group_size=1 + len(group) // 3)
    pa_csv.write_csv(people, folder / "entities.csv")
    quantities = pa.table({"group": group[order], "quantity": pa.array(order % 4, pa.int64())})
    pq.write_table(quantities, folder / "tuples.parquet")
    if private:
        region = pa.array(["/".join(path) for path in LEAVES]).take(pa.array(np.arange(len(sizes)) % len(LEAVES)))
        pq.write_table(pa.table({"group": np.arange(len(sizes)), "region": region}), folder / "groups.parquet")


@contextmanager
def _as_if_large(small: bool) -> Iterator[None]:
    """Let tables and blocks of a few cells count as large, so that all ways of large data are taken."""
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(pgsr.release.terms.plan, "MOST_ROWS", 20)
            patch.setattr(pgsr.noise.tables, "BLOCK_CELLS", 4)
            patch.setattr(pgsr.machine.blocks, "BLOCK_CELLS", 8)
            patch.setattr(pgsr.release.folder.released_tables, "_BLOCK_ROWS", 12)
            for module in (pgsr.tables.group_counts, pgsr.tables.long):
                patch.setattr(module, "LARGEST_DENSE", 100)
        yield
