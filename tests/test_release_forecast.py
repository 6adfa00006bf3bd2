"""What `pgsr plan` computes: errors of mechanisms and splits on a public stand-in, and the epsilon of a target."""

import re
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from made_tables import TABLES, left, write_config, write_tables
from planned import planned

from pgsr import Hierarchy, PgsrError, View
from pgsr.bounds import lower_bound
from pgsr.errors import ArgumentError
from pgsr.estimators import Matching, Posterior
from pgsr.methods import metrics
from pgsr.methods.mechanism import Mechanism
from pgsr.noise import Geometric
from pgsr.privacy import Seeded
from pgsr.release import ReleaseConfig, Terms, epsilon_for, forecast
from pgsr.release.plan.epsilon_for import _LAST, _next_readable, _search, readable, shown
from pgsr.release.plan.forecast import Choice, Forecast, splits_for
from pgsr.release.plan.planning import usual_splits
from pgsr.release.plan.split_reasons import split_reasons
from pgsr.release.plan.stand_ins import geometric_law, stand_in_for
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.stated.kinds import Kind

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
    return forecast(config(folder), replicates=3, progress=False)


def test_every_mechanism_by_every_split_and_view(folder, found):
    """Bottom-up has one split; split views take part where thresholds are configured."""
    leaves = usual_splits(3)[-1:]
    asked = config(folder)
    splits = splits_for(asked.terms, asked.tree())
    wanted = {(kind, split) for kind in Kind for split in (leaves if kind is Kind.BOTTOM_UP else splits)}
    assert {(choice.terms.kind, choice.shares) for choice in found.choices} == wanted
    assert len(found.choices) == len(wanted)
    assert found.labels[0] == "kuo; 1/3, 1/3, 1/3 (configured)"
    assert [choice.configured for choice in found.choices] == [True] + [False] * (len(wanted) - 1)
    assert (found.mean >= 0).all()
    assert (found.seconds > 0).all()
    assert left(folder) == 100


def test_errors_are_those_of_releases_of_the_stand_in(folder, found):
    """By the parts of the library: the same made-up groups, noise bits and distance."""
    stand_in, _ = stand_in_for(config(folder), None, 3.0, None)
    assert stand_in.totals.tolist() == [600, 300, 300, 150, 150, 150, 150]
    shares = usual_splits(3)[3]
    place = next(p for p, c in enumerate(found.choices) if (c.terms.kind, c.shares) == (Kind.KUO, shares))
    mechanism = Mechanism(Geometric(View.CUMULATIVE, 1, shares, "regions"), Matching())
    runs = [mechanism.release(stand_in, Seeded("plan", turn)).estimate for turn in range(3)]
    errors = [metrics.level_means(stand_in, metrics.emd(stand_in, run)) for run in runs]
    np.testing.assert_allclose(found.mean[place], np.mean(errors, axis=0))


def test_no_choice_is_below_the_bound(folder, found):
    stand_in, _ = stand_in_for(config(folder), None, 3.0, None)
    bound = metrics.level_means(stand_in, lower_bound(stand_in, 1).emd)
    assert found.bound == tuple(bound)
    assert (found.mean > bound).all()
    assert "no release of epsilon 1, by whatever mechanism, has a smaller error than nation " in found.limit
    assert f"county {bound[2]:,.3g}, even" in found.limit
    assert made([[1.0, 1.0], [1.0, 1.0]], 0.1).limit == ""


def test_the_table(found):
    frame = found.to_frame()
    assert list(frame.columns) == [
        *("mechanism", "split", "public totals", "nation", "nation s.e.", "state", "state s.e.", "county"),
        *("county s.e.", "worst ratio to best", "seconds", "replicates"),
        "0.9 interval, width at county:3",
    ]
    assert frame["replicates"][0] == 3  # the configured one is never dropped
    assert set(frame["replicates"]) == {1, 2, 3}
    assert (frame["county s.e."].isna() == (frame["replicates"] == 1)).all()
    assert (frame["replicates"][frame["worst ratio to best"] == frame["worst ratio to best"].min()] == 3).all()
    assert frame["mechanism"][0] == "kuo (configured)"
    assert frame["split"][0] == "1/3, 1/3, 1/3"
    assert frame["worst ratio to best"].min() >= 1


def made(mean: list[list[float]], error: float) -> Forecast:
    """Two choices of two levels."""
    shares = (Fraction(1, 2), Fraction(1, 2))
    kinds = (Kind.KUO, Kind.POSTERIOR)
    choices = tuple(Choice(Terms("d", 5, "1", kind, shares), shares, kind is Kind.KUO) for kind in kinds)
    about = "made-up groups"
    mean = np.array(mean)
    return Forecast(
        tuple(map(str, choices)), mean, mean * error, np.ones(2), choices, ("nation", "state"), about, 2**29
    )


def test_the_recommendation_is_the_least_regret():
    plan = made([[2.0, 4.0], [3.0, 1.0]], 0.01)
    said = plan.recommendation()
    assert said.startswith('Of 2 choices take mechanism = "posterior", shares = ["1/2", "1/2"].')
    assert "nation 1.50, state 1.00" in said
    assert "The configured one, kuo with 1/2, 1/2, has ratios up to 4.00" in said
    assert "Within two standard errors" not in said
    assert said.endswith(
        "All this is about the stand-in, made-up groups, and not about your data, whose sizes may differ."
    )


def test_weights_turn_the_recommendation():
    plan = made([[2.0, 4.0], [3.0, 1.0]], 0.01)
    said = plan.recommendation({"state": 0})
    assert 'take mechanism = "kuo"' in said
    assert "(nation 1, state 0)" in said
    assert "It is the configured one." in said
    assert 'take mechanism = "posterior"' in plan.recommendation({"nation": 2})  # 1.5^2 < 4


def test_chance_is_told():
    assert (
        "Within two standard errors of the recommended one: kuo with 1/2, 1/2."
        in made([[2.2, 1.0], [2.0, 1.0]], 0.2).recommendation()
    )


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"county": 1}, "no level is called 'county'; write one of nation, state"),
        ({"nation": -1}, "the weight of level .nation. is -1; give a number from 0 up"),
        ({"nation": 0, "state": 0}, "the weights of all levels are 0; give one of them a number above 0"),
        ({"nation": float("nan")}, "the weight of level .nation. is nan"),
    ],
)
def test_weights_that_are_none(weights, said):
    with pytest.raises(ArgumentError, match=said):
        made([[1.0, 1.0], [1.0, 1.0]], 0.1).recommendation(weights)


def test_weights_are_checked_before_anything_is_simulated(folder, monkeypatch):
    monkeypatch.setattr(sys.modules[Forecast.__module__], "expected_errors", lambda *_, **__: pytest.fail("simulated"))
    with pytest.raises(ArgumentError, match="no level is called 'foo'; write one of nation, state, county"):
        forecast(config(folder), weights={"foo": 1}, progress=False)


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
    plan = forecast(asked, replicates=2, groups=50, mechanisms=["posterior"], progress=False)
    assert {str(choice.terms.totals) for choice in plan.choices} == {"noisy"}
    assert "50 groups, a guess" in plan.recommendation()
    stand_in, _ = stand_in_for(asked, None, 3.0, 50)
    assert stand_in.totals[3:].tolist() == [13, 13, 12, 12]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"groups": 50}, "leave out --groups"),
        ({"mean_size": 0}, "give a number above 0"),
        ({"size_law": [1, 1]}, "need one each"),
        ({"mechanisms": ["kua"]}, "the mechanism 'kua' is unknown"),
    ],
)
def test_arguments_that_are_none(folder, arguments, said):
    with pytest.raises(PgsrError, match=said):
        forecast(config(folder), **arguments)


# The epsilon of a target error


def test_readable_epsilons_rise():
    all_of_them = [readable(place) for place in range(_LAST + 1)]
    assert all_of_them == sorted(set(all_of_them))
    assert (all_of_them[0], all_of_them[-1]) == (Fraction(1, 1000), Fraction(100))
    assert all(Fraction(shown(epsilon)) == epsilon for epsilon in all_of_them)
    assert max(b / a for a, b in pairwise(all_of_them)) <= Fraction(11, 10)
    for epsilon in (Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(99)):
        assert readable(_next_readable(epsilon)) == min(e for e in all_of_them if e >= epsilon)
    assert _next_readable(Fraction(1000)) == _LAST


@pytest.mark.parametrize("start", [0, 1, 150, 270, _LAST])
@pytest.mark.parametrize("wanted", [0, 1, 2, 99, 271, _LAST - 1, _LAST, _LAST + 1])
def test_the_search_finds_the_first(start, wanted):
    """And tries no more than a few dozen."""
    asked = []
    found = _search(lambda place: asked.append(place) or place >= wanted, start)
    assert found == (wanted if wanted <= _LAST else None)
    assert len(set(asked)) <= 30


def test_the_smallest_epsilon_that_reaches_the_target(folder):
    told: list[tuple[int, int]] = []
    asked = config(folder, epsilon='"1/3"')
    found = epsilon_for(asked, {"county": 30.0}, replicates=2, progress=lambda done, total: told.append((done, total)))
    mean = {epsilon: values[0][2] for epsilon, values in found.tried.items()}
    assert mean[found.epsilon] <= 30
    below = max(epsilon for epsilon in mean if epsilon < found.epsilon)
    assert mean[below] > 30
    assert found.epsilon / below <= Fraction(11, 10)
    alone = forecast(config(folder, epsilon=f'"{shown(found.epsilon)}"'), replicates=2, mechanisms=[], progress=False)
    np.testing.assert_allclose(alone.mean[0], found.tried[found.epsilon][0])
    assert f'epsilon = "{shown(found.epsilon)}" has expected errors of county' in found.sentence
    assert "at most 30 was asked" in found.sentence
    assert list(found.to_frame()["epsilon"]) == [shown(epsilon) for epsilon in sorted(found.tried)]
    assert told
    assert left(folder) == 100


def test_several_targets_all_hold(folder):
    found = epsilon_for(config(folder), {"county": 30, "nation": 20}, replicates=2, progress=False)
    mean = found.tried[found.epsilon][0]
    assert mean[2] <= 30
    assert mean[0] <= 20


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ({"town": 3}, "no level is called 'town'; write one of nation, state, county"),
        ({"county": 0}, "the target error of county is 0; give a number above 0"),
        ({"county": float("nan")}, "give a number above 0"),
        ({}, "there is no target"),
    ],
)
def test_targets_that_are_none(folder, targets, said):
    with pytest.raises(ArgumentError, match=said):
        epsilon_for(config(folder), targets, progress=False)


def test_a_target_out_of_reach_is_a_sentence(folder, monkeypatch):
    """Made so by noise that no epsilon brings to nothing: a large bound on a quantity, and small shares below."""
    tuples = TABLES.replace("[entities]\n", "[tuples]\nmax_quantity = 5000\n")
    asked = config(folder, "kuo", tables=tuples, epsilon='"50"', shares='["49/50", "1/100", "1/100"]')
    with pytest.raises(ConfigError, match=r"not even epsilon 100 reaches an error of 0\.1 at .county., where it is"):
        epsilon_for(asked, {"county": 0.1}, replicates=2, progress=False)


def test_the_width_of_a_cell_is_that_of_the_published_intervals(folder, found):
    """A posterior's is its own, of the first replicate alone; others have none."""
    stand_in, _ = stand_in_for(config(folder), None, 3.0, None)
    assert str(found.cell) == "county:3"
    frame = found.to_frame()
    column = "0.9 interval, width at county:3"
    shares = usual_splits(3)[1]  # equal ones
    leaves = stand_in.hierarchy.leaves
    assert np.isnan(frame[column][0])
    place = next(p for p, c in enumerate(found.choices) if (c.terms.kind, c.shares) == (Kind.POSTERIOR, shares))
    posterior = Mechanism(Geometric(View.CUMULATIVE, 1, shares, "regions"), Posterior())
    known = posterior.release(stand_in, Seeded("plan", 0)).intervals(0.9, View.COUNTS)
    assert frame[column][place] == np.median((known.upper - known.lower)[leaves, 3])


def test_a_cell_is_named_by_level_and_size(folder):
    asked = config(folder, "posterior", intervals='"99/100"', min_size="1")
    few = {"replicates": 2, "mechanisms": [], "progress": False}
    wide = forecast(asked, cell="state:1", **few).to_frame()["0.99 interval, width at state:1"]
    narrow = forecast(asked, cell="state:20", **few).to_frame()["0.99 interval, width at state:20"]
    assert (wide > narrow).all()  # a sixth of the groups are of size 1, hardly any of size 20
    for cell, words in {
        "block:2": "write one of nation, state, county",
        "county": "write LEVEL:SIZE, such as county:2",
        "county:21": "level county has the sizes 1 to 20",
        "county:0": "level county has the sizes 1 to 20",
    }.items():
        with pytest.raises(ArgumentError, match=re.escape(words)):
            forecast(asked, cell=cell, **few)


def test_noisy_totals_publish_no_intervals(folder):
    asked = config(folder, **PRIVATE)
    frame = forecast(asked, groups=600, replicates=2, mechanisms=["kuo"], progress=False).to_frame()
    assert frame["0.9 interval, width at county:3"].isna().all()


def test_an_unusual_split_has_its_reason(folder):
    """Where the leaves alone are measured, a level's variance is that of a leaf times the mean number of leaves."""
    tree = config(folder).tree()
    terms = Terms("d", 5, "1", "kuo", shares=("0", "0", "1"))
    deviations = ["2.83 (", "2 (", "1.41 ("]  # four leaves, two and one, each of variance 2 (1 / 1)^2
    said = split_reasons(terms, tree, ("nation", "state", "county"))
    assert said.startswith("Its split: nation gets no share, state gets no share, county gets 1, more than twice")
    assert all(f"{name} {text}" in said for name, text in zip(("nation", "state", "county"), deviations, strict=True))
    assert said.count("by the other levels alone") == 2
    assert split_reasons(replace(terms, shares=("1/4", "1/4", "1/2")), tree, ("nation", "state", "county")) == ""
    plan = replace(made([[2.0, 4.0], [3.0, 1.0]], 0.01), tree=Hierarchy.from_paths([("US", "GA"), ("US", "MI")]))
    assert "Its split" not in plan.recommendation()


@pytest.mark.drawn(1, pool="searched shares")
def test_searched_shares_are_a_choice_like_the_others(folder):
    """Their errors are those of the same noise, no other split of the posterior is better, and they are recommended."""
    asked, weights = config(folder, max_size="6"), {"state": 0, "county": 0}
    few = {"replicates": 2, "mechanisms": ["posterior"], "weights": weights, "progress": False}
    plain, more = forecast(asked, **few), forecast(asked, search=True, **few)
    assert more.labels[: len(plain.labels)] == plain.labels
    assert (more.mean[: len(plain.labels)] == plain.mean).all()
    (searched,) = more.choices[len(plain.choices) :]
    assert searched.searched
    assert sum(searched.shares) == 1
    assert more.labels[-1] == f"posterior; {searched.split} (searched)"
    stand_in, _ = stand_in_for(asked, None, 3.0, None)
    mechanism = planned(searched.terms, 3).mechanism
    runs = [mechanism.release(stand_in, Seeded("plan", turn)).estimate for turn in range(2)]
    errors = [metrics.level_means(stand_in, metrics.emd(stand_in, run)) for run in runs]
    np.testing.assert_allclose(more.mean[-1], np.mean(errors, axis=0))
    worst = more.worst_regret((1, 0, 0))
    assert worst[-1] < worst[:-1].min()
    assert more.recommended(weights) == searched
    assert "Its shares were searched for on the same stand-in and noise" in more.recommendation(weights)
    assert len(more.widths) == len(more.choices)
    assert more.to_frame()["mechanism"].tolist()[-1] == "posterior (searched)"


def test_nothing_is_searched_for_a_mechanism_without_shares(folder):
    asked = config(folder, "bottom_up", shares='["0", "0", "1"]')
    found = forecast(asked, replicates=2, mechanisms=[], progress=False, search=True)
    assert found.labels == ("bottom_up; 0, 0, 1 (configured)",)
