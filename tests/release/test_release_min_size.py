"""Releases in which no group has fewer members than a public least size."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from exact_law import loss, truth_steps
from instances import rng_of
from neighbours import CHAIN, PAIR, joined, tables, truth_of, with_empty_group
from planned import planned
from typer.testing import CliRunner

from pgsr import CountOfCounts, Hierarchy
from pgsr.cli import app
from pgsr.errors import ArgumentError
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, forecast, outline, publish, read_release
from pgsr.release.folder import artefact
from pgsr.release.ledger import LedgerFile
from pgsr.release.make.forecast import stand_in_for
from pgsr.release.terms.excess import counts_by_size, excess_counts
from pgsr.release.terms.kinds import Kind
from pgsr.tables import Entities, Groups, Parents

REGIONS = pd.DataFrame({"region": ["Town", "North", "South", "East"], "parent": [None, "Town", "Town", "Town"]})
GROUPS = pd.DataFrame({"group": range(43), "region": ["North", "South"] * 20 + ["East"] * 3})
"""East has few groups, which are ranked where the view is by groups."""

LEAST = 2


def people(seed: int = 1) -> pd.DataFrame:
    """Members of the groups, some of which have fewer than `LEAST`: no message may depend on that."""
    sizes = rng_of(seed).integers(0, 9, len(GROUPS))
    return pd.DataFrame({"group": np.repeat(np.arange(len(GROUPS)), sizes)})


def config(folder: Path, output: str = "release", **terms) -> ReleaseConfig:
    ledger = folder / "ledger.jsonl"
    if not ledger.exists():
        LedgerFile.create(ledger, "town", PureEpsilon(1000))
    return ReleaseConfig(
        terms=Terms("town", **{"max_size": 12, "epsilon": "1", "min_size": LEAST, **terms}),
        entities=Entities(people(), entity=None),
        groups=Groups(GROUPS),
        regions=Parents(REGIONS),
        output=folder / output,
        ledger=ledger,
    )


CASES = [
    *[{"kind": kind} for kind in Kind],
    {"kind": Kind.POSTERIOR, "intervals": "9/10"},
    *[{"kind": kind, "max_size": (12, 4)} for kind in Kind if kind.totals_by_level],
    {"kind": Kind.POSTERIOR, "unit": "group", "delta": "1e-6"},
]


def named(case: dict) -> str:
    return "-".join(str(value) for value in case.values())


@pytest.mark.parametrize("case", CASES, ids=named)
@pytest.mark.few(2)
def test_smaller_sizes_are_zero_and_nothing_is_spent_on_them(tmp_path, case):
    made = publish(config(tmp_path, **case), rehearse=True)
    assert made.report.passed, made.report
    found = made.counts().tables
    assert all((table[:, :LEAST] == 0).all() for table in found)
    assert found[0][0].sum() == len(GROUPS)
    noisy = pq.read_table(made.folder / artefact.MEASUREMENT).to_pandas()
    sizes = noisy["group_size"].dropna()
    assert sizes.min() == LEAST
    assert sizes.max() == 12
    if "intervals" in case:
        table = pq.read_table(made.folder / artefact.COUNTS).to_pandas()
        small = table[table.group_size < LEAST]
        assert not small[["n_groups", "lower", "upper"]].to_numpy().any()
        assert (table[table.group_size >= LEAST].upper > 0).any()
    text = (made.folder / artefact.README).read_text()
    assert "no group has fewer members than 2" in " ".join(text.split())
    assert json.loads((made.folder / artefact.MANIFEST).read_text())["min_size"] == LEAST


@pytest.mark.few(1)
@pytest.mark.parametrize("case", [{"kind": "m_h"}, {"kind": "kuo"}, {"kind": "m_h", "max_size": (12, 4)}], ids=named)
def test_the_values_are_those_of_groups_without_their_first_members(tmp_path, case):
    """A release of what groups have beyond the least size, with a smaller K, has the same noise and the same answer."""
    made = read_release(publish(config(tmp_path, **case), rehearse=True).folder)
    sizes = np.bincount(people().group, minlength=len(GROUPS))
    beyond = pd.DataFrame({"group": np.repeat(np.arange(len(GROUPS)), np.maximum(sizes - LEAST, 0))})
    largest = {"max_size": tuple(k - LEAST for k in case.get("max_size", ())) or 12 - LEAST, "min_size": 0}
    twin = config(tmp_path, "twin", **case | largest)
    object.__setattr__(twin, "entities", Entities(beyond, entity=None))
    other = read_release(publish(twin, rehearse=True).folder)
    if not made.counts.sizes.equal:
        pairs = list(zip(made.counts.tables, other.counts.tables, strict=True))
        pairs += zip(made.measurement.tables, other.measurement.tables, strict=True)
        assert all(np.array_equal(ours[:, ours.shape[1] - theirs.shape[1] :], theirs) for ours, theirs in pairs)
        return
    assert np.array_equal(made.counts.counts[:, LEAST:], other.counts.counts)
    for region in np.flatnonzero(made.measurement.measured):
        assert np.array_equal(made.measurement.row(region), other.measurement.row(region))


@pytest.mark.parametrize("view", ["counts", "cumulative", "from above", "ranked"])
@pytest.mark.parametrize("quantity", [1, 2])
@pytest.mark.parametrize("tree", [PAIR, CHAIN], ids=["pair", "chain"])
@pytest.mark.few(3)
def test_every_neighbour(view, quantity, tree):
    """No pair of neighbours, whether it obeys the public fact or not, loses more than epsilon, and some lose it all."""
    kinds = {
        "counts": {"kind": "m_h"},
        "cumulative": {"kind": "m_c_dp"},
        "from above": {"kind": "kuo", "totals": "noisy"},
        "ranked": {"kind": "kuo"},
    }
    largest, groups = 4, (2, 1)[: tree.n_regions - tree.n_inner]
    for least in (1, 2):
        threshold = least if view == "ranked" else None
        about = {"min_size": least, "max_quantity": quantity, "threshold": threshold, **kinds[view]}
        terms = Terms("demo", largest, "1", **about)
        noise, private = planned(terms, tree).mechanism.noise, view == "from above"
        lost = []
        for table in tables(groups, largest):
            others = [*joined(table, largest, quantity), *(with_empty_group(table) if private else [])]
            for other in others:
                pair = [_steps(noise, tree, each, largest, least, quantity, private) for each in (table, other)]
                lost.append(loss(*pair))
        assert None not in lost
        assert max(lost) <= 1
        if quantity <= largest - least:
            assert max(lost) == 1 or private


def _steps(noise, tree, table, largest, least, quantity, private):
    truth = truth_of(tree, table, largest)
    truth = CountOfCounts(tree, truth.counts, "demo", max_quantity=quantity, private_groups=private)
    return truth_steps(noise, excess_counts(truth, least))


def test_counting_by_excess_and_back():
    tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
    dense = CountOfCounts(tree, [[1, 2, 3, 4], [0, 5, 6, 7]], "demo", max_quantity=2, private_groups=True)
    from scipy import sparse

    for truth in (dense, CountOfCounts(tree, sparse.csr_array(dense.counts), "demo", max_quantity=2)):
        found = excess_counts(truth, 2)
        assert found.counts.tolist() == [[17, 11], [6, 4], [11, 7]]
        assert (found.name, found.max_quantity, found.is_sparse) == ("demo", 2, truth.is_sparse)
        assert counts_by_size(found, 2).counts.tolist() == [[0, 0, 17, 11], [0, 0, 6, 4], [0, 0, 11, 7]]
        assert counts_by_size(found, 2).is_sparse == truth.is_sparse
    assert excess_counts(dense, 2).private_groups
    levels = dense.folded((3, 2))
    assert [t.tolist() for t in excess_counts(levels, 1).tables] == [[[8, 9, 11]], [[3, 7], [5, 13]]]


def test_nothing_private_steers_a_refusal(tmp_path):
    """Data that obey the fact and data that do not are refused, or released, alike, with the same words."""
    said = []
    for obeying in (True, False):
        asked = config(tmp_path, f"release-{obeying}", kind="m_h")
        sizes = np.full(len(GROUPS), LEAST if obeying else LEAST - 1)
        rows = pd.DataFrame({"group": np.repeat(np.arange(len(GROUPS)), sizes)})
        object.__setattr__(asked, "entities", Entities(rows, entity=None))
        lines: list[str] = []
        made = publish(asked, say=lines.append)
        said.append(([line for line in lines if "head" not in line], made.report.passed))
    assert said[0] == said[1]


def test_outline_and_plan_know_it(tmp_path):
    asked = config(tmp_path, kind="kuo")
    assert dict(outline(asked).facts)["sizes"].startswith("2 to 12; larger groups count as 12")
    made, about = stand_in_for(asked, None, 4.0, None)
    assert made.max_size == 10
    assert "sizes 2 to 12 by a geometric law of mean 4 from 2 up" in about
    assert abs(float(made.counts[0] @ np.arange(11)) / len(GROUPS) - 2) < 1.5
    law, _ = stand_in_for(asked, [1, 1, 1, *[0] * 10], 4.0, None)
    assert law.counts[0, 0] == len(GROUPS)
    with pytest.raises(ArgumentError, match="min_size = 2 says that no group is smaller"):
        stand_in_for(asked, None, 2.0, None)
    assert (forecast(asked, mean_size=4.0, replicates=2).errors.mean > 0).all()


@pytest.mark.few(1)
def test_intervals_of_a_folder_name_sizes(tmp_path):
    made = publish(config(tmp_path, kind="kuo"))
    for kind in ("bootstrap", "band"):
        output = tmp_path / f"{kind}.csv"
        asked = ["--statistic", "count", "--kind", kind, "--output", str(output)]
        asked += ["--replicates", "20"] if kind == "bootstrap" else ["--statistic", "mean"]
        done = CliRunner().invoke(app, ["intervals", str(made.folder), *asked])
        assert done.exit_code == 0, done.output
        frame = pd.read_csv(output).set_index(["region_id", "statistic"])
        town = frame.loc["Town"]
        assert town.loc["count:0", ["lower", "estimate", "upper"]].tolist() == [0, 0, 0]
        assert town.loc["count:2", "estimate"] == made.counts().counts[0, 2]
        if kind == "band":
            mean = town[town.index.str.startswith("mean")].iloc[0]  # which says so where a size is "12 or more"
            assert mean.estimate == pytest.approx(made.counts().counts[0] @ np.arange(13) / len(GROUPS))
            assert mean.lower >= LEAST


def test_private_groups_are_never_empty(tmp_path):
    """Where groups are known by their members alone, none is empty: the case for which min_size = 1 is made."""
    rows = people().assign(region=lambda frame: frame.group.map(GROUPS.region))
    asked = ReleaseConfig(
        terms=Terms("town", 12, "1", "kuo", totals="noisy", min_size=1),
        entities=Entities(rows, entity=None, region="region"),
        regions=Parents(REGIONS),
        output=tmp_path / "private",
        ledger=tmp_path / "ledger.jsonl",
        private_groups=True,
    )
    LedgerFile.create(tmp_path / "ledger.jsonl", "town", PureEpsilon(10), asked.terms.relation)
    made = publish(asked)
    assert made.report.passed, made.report
    assert not made.counts().counts[:, 0].any()
    assert asked.terms.totals_share == Fraction(1, 10)
