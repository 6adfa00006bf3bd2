"""Releases of random terms and tables: what a release refuses it refuses before the charge, whatever noise is drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from instances import FULL, rng_of

from pgsr import PgsrError, View
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, check, outline, publish, read_release
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.publication import Publication
from pgsr.tables import Entities, Groups, Levels, Limits, Parents, Quantities

AFTER = "after the noise was drawn"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1_000, 100) if FULL else [0])
def test_nothing_fails_after_the_charge(tmp_path, first):
    """Every rehearsal passes its check, or is refused before any noise."""
    passed = 0
    for seed in range(first, first + (100 if FULL else 20)):
        refused = ""
        try:
            passed += publish(drawn_configuration(seed, tmp_path), rehearse=True).report.passed
        except PgsrError as error:
            refused = str(error)
        assert AFTER not in refused, f"seed {seed}: {refused}"
    assert passed > 4


# Each found by the loop above


def town(folder: Path, groups: int = 40, seed: int = 0, **about: object) -> ReleaseConfig:
    """A town with two districts; every seed has other noise in a rehearsal."""
    rng = rng_of(1)
    homes = pd.DataFrame({"group": np.arange(groups), "region": pd.array(["N", "S"] * (groups // 2), "string")})
    people = pd.DataFrame({"group": rng.integers(0, max(groups, 1), 3 * groups)})
    ledger = folder / "ledger.jsonl"
    if not ledger.exists():
        LedgerFile.create(ledger, f"town {seed}", PureEpsilon(100))
    return ReleaseConfig(
        terms=Terms(f"town {seed}", **{"max_size": 8, "epsilon": "1", "kind": Kind.POSTERIOR, **about}),
        entities=Entities(people, entity=None),
        groups=Groups(homes),
        regions=Parents(pd.DataFrame({"region": ["Town", "N", "S"], "parent": [None, "Town", "Town"]})),
        output=folder / f"release {seed}",
        ledger=ledger,
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [Kind.POSTERIOR, Kind.KUO], ids=str)
def test_the_noisy_root_may_choose_all_columns(tmp_path, kind):
    """The measurement that is read back has the form of the one that was made: a vector and a view per region."""
    about = {"threshold": "root", "shares": ("1/5", "4/5"), "max_size": 4}
    about |= {"intervals": "9/10"} if kind is Kind.POSTERIOR else {}
    for seed in range(4):
        found = read_release(publish(town(tmp_path, 400, seed, kind=kind, **about), rehearse=True).folder).measurement
        assert found.views == (View.CUMULATIVE,) * 3


RANKS_ALONE = {
    "one": {"threshold": 0},
    "least size": {"threshold": 2, "min_size": 2},
}


@pytest.mark.parametrize("about", list(RANKS_ALONE.values()), ids=RANKS_ALONE)
def test_a_posterior_of_ranks_alone_knows_no_intervals_and_says_so_before_the_charge(tmp_path, about):
    with pytest.raises(ConfigError, match="knows no intervals; leave intervals"):
        town(tmp_path, groups=40, intervals="9/10", **about)
    assert publish(town(tmp_path, groups=40, **about)).report.passed


def test_no_groups_at_all(tmp_path):
    """Cumulative counts of no groups have intervals, as all others."""
    made = publish(town(tmp_path, 0, intervals="9/10"), rehearse=True)
    assert made.counts().counts.sum() == 0


def test_sums_of_no_draws_are_no_evidence(tmp_path):
    """Members beyond the threshold of regions without groups are 0 by ranks, of which there are none."""
    for kind in (Kind.KUO, Kind.POSTERIOR):
        made = publish(town(tmp_path, 0, kind=kind, threshold=1), rehearse=True)
        assert check(made.folder).passed
        made.folder.rename(tmp_path / str(kind))


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [Kind.M_H, Kind.M_C_DP, Kind.KUO], ids=str)
@pytest.mark.parametrize("sizes", [(3, 2, 1), (2, 2, 2)])
def test_branches_of_different_depth_have_no_sizes_per_level(tmp_path, kind, sizes):
    regions = pd.DataFrame({"region": ["US", "GA", "MI", "MI1"], "parent": [None, "US", "US", "MI"]})
    wanted = ReleaseConfig(
        terms=Terms("ragged", sizes, "1", kind),
        entities=Entities(pd.DataFrame({"group": [1, 2, 2]}), entity=None),
        groups=Groups(pd.DataFrame({"group": [1, 2], "region": ["GA", "MI1"]})),
        regions=Parents(regions, pad_ragged=True),
        output=tmp_path / "release",
        ledger=tmp_path / "ledger.jsonl",
    )
    LedgerFile.create(wanted.ledger, "ragged", PureEpsilon(1))
    for made in (outline, publish):
        with pytest.raises(ConfigError, match=r"region 'US/GA' .* write one max_size for all levels"):
            made(wanted)
    assert LedgerFile(wanted.ledger).left == PureEpsilon(1)


# Random terms and tables

NAMES = ("North", "a,b", 'the "Old" Town', "Ü ber", "-5", "x/y", "01", "it's", "[new]", "*", "?", "NULL", "nan")


def drawn_configuration(seed: int, folder: Path) -> ReleaseConfig:
    """Draw tables and terms; the configuration of a release of them into `folder`.

    Raises:
        PgsrError: the terms contradict each other; another seed may have better ones.
    """
    rng = rng_of(seed)
    paths, depth = _paths(rng)
    levels = [f"level {n}" for n in range(depth)]
    largest = int(rng.choice([1, 2, 3, 6, 30]))
    n_groups = int(rng.choice([0, 1, 3, 20, 80]))
    homes = np.sort(rng.integers(0, len(paths), n_groups)) if n_groups else np.zeros(0, int)
    sizes = np.minimum(rng.geometric(rng.choice([0.2, 0.5, 0.9]), n_groups) - 1, largest + 3)
    kind = Kind(rng.choice(list(Kind)))
    about = _terms(rng, kind, depth, largest)
    noisy = about["totals"] == "noisy"
    private = noisy and bool(rng.integers(2))
    listed = sizes > 0 if noisy and not private else np.ones(n_groups, bool)
    columns = {name: [(*paths[home], *[None] * depth)[n] for home in homes] for n, name in enumerate(levels)}
    groups = pd.DataFrame({"group": np.arange(n_groups), **{n: pd.array(c, "string") for n, c in columns.items()}})
    places = pd.DataFrame(
        {name: pd.array([(*path, *[None] * depth)[n] for path in paths], "string") for n, name in enumerate(levels)}
    )
    quantities = rng.integers(5) == 0
    rows = groups.iloc[np.repeat(np.arange(n_groups), sizes)].reset_index(drop=True)
    rows.insert(0, "entity", np.arange(len(rows)))
    entities: Entities | Quantities = Entities(rows, region=tuple(levels))
    if quantities:
        rows["quantity"] = rng.integers(0, 4, len(rows))
        entities = Quantities(rows, 3, False, "entity", "group", tuple(levels))
    return ReleaseConfig(
        terms=Terms(f"drawn {seed}", kind=kind, **about),
        entities=entities,
        groups=Groups(groups[listed], region=tuple(levels)) if not noisy or private else None,
        regions=Levels(places, tuple(levels), pad_ragged=True),
        private_groups=noisy,
        output=folder / f"out{seed}",
        ledger=folder / "ledger.jsonl",
        limits=Limits(1, 1),
    )


def _paths(rng: np.random.Generator) -> tuple[list[tuple[str, ...]], int]:
    """Draw the paths of the leaves, of different depth in one of three trees."""
    depth, ragged = int(rng.integers(1, 4)), rng.integers(3) == 0
    paths: list[tuple[str, ...]] = [("US",)]
    for _ in range(depth - 1):
        longer = []
        for path in paths:
            names = rng.permutation(NAMES)[: rng.integers(1, 4)].tolist()
            ends = ragged and longer and rng.integers(3) == 0
            longer += [path] if ends else [(*path, name) for name in names]
        paths = longer
    return paths, depth


def _terms(rng: np.random.Generator, kind: Kind, depth: int, largest: int) -> dict[str, Any]:
    def pick(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    split = kind.takes_thresholds and rng.integers(2) == 0
    about: dict[str, Any] = {
        "max_size": largest,
        "min_size": pick(0, 0, 0, 1, largest - 1) if largest > 1 else 0,
        "epsilon": pick("1/50", "1/2", "1", "20"),
        "totals": pick(None, None, *kind.totals),
        "shares": pick(None, None, *_shares(rng, depth)),
        "intervals": pick(None, "1/2", "9/10", "9999/10000") if kind is Kind.POSTERIOR else None,
        "unit": pick("entity", "entity", "entity", "group", "entity in 3 groups"),
        "relation": pick(None, None, None, "add_remove", "replace", "move"),
        "publication": Publication(group_name=pick("groups", "=households")),
    }
    if rng.integers(4) == 0:
        about |= {"rho": "1/10", "epsilon": None}  # accounting of epsilon with delta takes its time
    if rng.integers(5) == 0 and not split:
        about["max_size"] = tuple(sorted(rng.integers(1, largest + 1, depth).tolist(), reverse=True))
        about["min_size"] = 0
    if split:
        about["threshold"] = pick(int(rng.integers(0, largest + 2)), "root")
        about["shares"] = about["shares"] or pick(*["root"] * (about["threshold"] == "root"), *_shares(rng, depth))
    return about


def _shares(rng: np.random.Generator, depth: int) -> list[Sequence[str]]:
    parts = rng.integers(1, 6, depth)
    zeros = parts * (rng.integers(3, size=depth) > 0)
    drawn = [p for p in (parts, zeros) if p.sum()]
    return [[f"{n}/{p.sum()}" for n in p.tolist()] for p in drawn]
