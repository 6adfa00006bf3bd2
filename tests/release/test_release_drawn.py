"""Releases of random terms and tables: what a release refuses it refuses before the charge, whatever noise is drawn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn_configurations import drawn_configuration
from instances import FULL, rng_of

from pgsr import PgsrError, View
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, check, outline, publish, read_release
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.stated.kinds import Kind
from pgsr.tables import Entities, Groups, Parents

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
