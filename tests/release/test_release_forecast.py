"""What `pgsr plan` computes: errors of the configured release on a public stand-in, and the epsilon of a target."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from made_tables import TABLES, left, write_config, write_tables

from pgsr import PgsrError, View
from pgsr.bounds import lower_bound
from pgsr.data.stand_in import geometric_law
from pgsr.errors import ArgumentError
from pgsr.estimators import Matching
from pgsr.machine import progress
from pgsr.methods import metrics
from pgsr.methods.expected_errors import shown
from pgsr.methods.mechanism import Mechanism
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.release import ReleaseConfig, epsilon_for, forecast
from pgsr.release.make.forecast import Forecast, stand_in_for
from pgsr.release.publishing.errors import ConfigError

NAMES = {"level_names": '["nation", "state", "county"]'}
PRIVATE = {"totals": '"noisy"', "tables": TABLES.replace("[regions]", "private = true\n[regions]")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Public tables of 600 groups; there is no private table, so that nothing can open it."""
    folder = tmp_path_factory.mktemp("public")
    write_tables(folder, n_groups=600)
    (folder / "entities.parquet").unlink()
    return folder


def config(folder: Path, mechanism: str = "kuo", **keys: str) -> ReleaseConfig:
    return ReleaseConfig.read(write_config(folder, mechanism, **(NAMES | {"max_size": "20"} | keys)))


@pytest.fixture(scope="module")
def found(folder) -> Forecast:
    return forecast(config(folder), replicates=3)


def test_errors_are_those_of_releases_of_the_stand_in(folder, found):
    """By the parts of the library: the same made-up groups, noise bits and distance."""
    stand_in, _ = stand_in_for(config(folder), None, 3.0, None)
    assert stand_in.totals.tolist() == [600, 300, 300, 150, 150, 150, 150]
    mechanism = Mechanism(Geometric(View.CUMULATIVE, 1, totals="regions"), Matching())
    runs = [mechanism.release(stand_in, Seeded("plan", turn)).estimate for turn in range(3)]
    errors = [metrics.level_means(stand_in, metrics.emd(stand_in, run)) for run in runs]
    np.testing.assert_allclose(found.errors.mean, np.mean(errors, axis=0))
    assert left(folder) == 100


def test_shares_and_mechanism_are_the_configured_ones(folder, found):
    asked = config(folder, "posterior", threshold='"root"', shares='"root"')
    told: list[tuple[int, int]] = []
    with progress.told(lambda done, total: told.append((done, total))):
        split = forecast(asked, replicates=2)
    leaves = forecast(config(folder, shares='["1/20", "1/20", "9/10"]'), replicates=3)
    assert (split.errors.mean > 0).all()
    assert split.sentence.endswith("The noisy root chose the shares of epsilon, as yours will.")
    assert leaves.errors.mean[2] < found.errors.mean[2]
    assert told == [(1, 2), (2, 2)]


def test_no_release_is_below_the_bound(folder, found):
    stand_in, _ = stand_in_for(config(folder), None, 3.0, None)
    bound = metrics.level_means(stand_in, lower_bound(stand_in, 1).emd)
    assert found.bound == tuple(bound)
    assert (found.errors.mean > bound).all()
    assert "no release of epsilon 1, by whatever mechanism, has a smaller error than nation " in found.limit
    assert f"county {bound[2]:,.3g}, even" in found.limit
    assert forecast(config(folder, epsilon=None, rho='"1/10"'), replicates=2).limit == ""


FORMS = {
    "by level": {"max_size": "{nation = 9, state = 4, county = 2}"},
    "ranks": {"threshold": "4"},
    "by root": {"threshold": '"root"', "shares": '["1/5", "2/5", "2/5"]'},
    "least size": {"min_size": "1"},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_its_errors_and_an_epsilon_for_them(folder, form):
    asked = config(folder, **FORMS[form])
    assert (forecast(asked, replicates=2).errors.mean > 0).all()
    reached = epsilon_for(asked, {"county": 30.0}, replicates=2)
    assert reached.tried[reached.epsilon].mean[2] <= 30


def test_the_table(found):
    frame = found.to_frame()
    assert list(frame.columns) == ["level", "regions", "expected error", "s.e."]
    assert list(frame["level"]) == ["nation", "state", "county"]
    assert list(frame["regions"]) == [1, 2, 4]
    assert (frame["s.e."] > 0).all()
    assert "600 groups, as many in each region as are public" in found.sentence
    assert "GiB of memory" in found.effort


@pytest.mark.parametrize("mean_size", [0.5, 2.5, 8.0, 50.0])
def test_the_stand_in_has_the_mean_that_its_text_states(folder, mean_size):
    """Larger groups count as K, as in a release: the law is that of min(size, K), here by adding up its long tail."""
    found, stated = geometric_law(mean_size, 8), config(folder, **(PRIVATE | {"max_size": "8"}))
    ratio, sizes = mean_size / (1 + mean_size), np.arange(20_000)
    chance = (1 - ratio) * ratio**sizes
    np.testing.assert_allclose(found, [*chance[:8], chance[8:].sum()], atol=1e-12)
    mean = float(np.minimum(sizes, 8) @ chance)
    stand_in, about = stand_in_for(stated, None, mean_size, 200_000)
    drawn = float(stand_in.counts[0] @ np.arange(9)) / 200_000
    assert drawn == pytest.approx(mean, abs=0.05)
    reached = re.search(
        r"a geometric law of mean [0-9.]+(?: in which groups above 8 count as 8, so of mean ([0-9.]+))?$", about
    )
    assert float(reached[1] or mean_size) == pytest.approx(mean, rel=0.005)


def test_a_private_table_of_groups_needs_a_guess(folder):
    asked = config(folder, **PRIVATE)
    with pytest.raises(ConfigError, match=r"private table of groups .* --groups"):
        forecast(asked)
    assert "50 groups, a guess" in forecast(asked, replicates=2, groups=50).sentence
    stand_in, _ = stand_in_for(asked, None, 3.0, 50)
    assert stand_in.totals[3:].tolist() == [13, 13, 12, 12]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"groups": 50}, "leave out --groups"),
        ({"mean_size": 0}, "give a number above 0"),
        ({"size_law": [1, 1]}, "need one each"),
        ({"replicates": 1}, "from 2 up"),
    ],
)
def test_arguments_that_are_none(folder, arguments, said):
    with pytest.raises(PgsrError, match=said):
        forecast(config(folder), **arguments)


# The epsilon of a target error


def test_the_smallest_epsilon_that_reaches_the_target(folder):
    told: list[tuple[int, int]] = []
    asked = config(folder, epsilon='"1/3"')
    with progress.told(lambda done, total: told.append((done, total))):
        found = epsilon_for(asked, {"county": 30.0}, replicates=2)
    mean = {epsilon: errors.mean[2] for epsilon, errors in found.tried.items()}
    assert mean[found.epsilon] <= 30
    below = max(epsilon for epsilon in mean if epsilon < found.epsilon)
    assert mean[below] > 30
    assert found.epsilon / below <= Fraction(11, 10)
    alone = forecast(config(folder, epsilon=f'"{shown(found.epsilon)}"'), replicates=2)
    np.testing.assert_allclose(alone.errors.mean, found.tried[found.epsilon].mean)
    assert f'epsilon = "{shown(found.epsilon)}" has expected errors of county' in found.sentence
    assert "at most 30 was asked" in found.sentence
    assert list(found.to_frame()["epsilon"]) == [shown(epsilon) for epsilon in sorted(found.tried)]
    assert told
    assert left(folder) == 100


def test_another_budget_than_a_pure_epsilon_is_refused(folder):
    with pytest.raises(ConfigError, match="searches a pure epsilon of entities, and the configured budget is rho 1/10"):
        epsilon_for(config(folder, epsilon=None, rho='"1/10"'), {"county": 30.0})


def test_a_target_out_of_reach_is_a_sentence(folder):
    """Made so by noise that no epsilon brings to nothing: a large bound on a quantity, and small shares below."""
    tuples = TABLES.replace("[entities]\n", "[tuples]\nmax_quantity = 5000\n")
    asked = config(folder, "kuo", tables=tuples, epsilon='"50"', shares='["49/50", "1/100", "1/100"]')
    with pytest.raises(ArgumentError, match=r"not even epsilon 100 reaches an error of 0\.1 at .county., where it is"):
        epsilon_for(asked, {"county": 0.1}, replicates=2)
