"""Releases that keep public facts about counts."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from instances import scale
from planned import planned

from pgsr import CountOfCounts, Hierarchy, PgsrError
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, check, forecast, outline, publish
from pgsr.release.checks.fact_tests import chance_of, comparisons, judge_facts
from pgsr.release.folder import artefact, released_tables
from pgsr.release.folder.columns import Columns
from pgsr.release.ledger import LedgerFile
from pgsr.release.make.making import UNFINISHED
from pgsr.release.publishing.errors import ConfigError, ReleaseError
from pgsr.release.stated.facts import Fact
from pgsr.release.stated.kinds import Kind
from pgsr.tables import Entities, Groups, Parents

REGIONS = pd.DataFrame({"region": ["Town", "North", "South", "East"], "parent": [None, "Town", "Town", "Town"]})
GROUPS = pd.DataFrame({"group": range(300), "region": ["North", "South", "East"] * 100})
SIZES = np.minimum(np.random.default_rng(2).poisson(2.5, 300), 6)
K = 9

TRUE = {
    region: np.bincount(SIZES[(GROUPS.region == region).to_numpy()], minlength=K + 1)
    for region in ("North", "South", "East")
}


def right(shift: int = 0) -> tuple[Fact, ...]:
    """Facts that are true for a shift of 0, and wrong by it otherwise."""
    return (
        Fact("equal", int(TRUE["North"][2]) + shift, region="Town/North", sizes=(2, 2), source="published 2024"),
        Fact("equal", 0, level="level_1", sizes=(7, K)),
        Fact("at_most", int(TRUE["South"][3]) + 2, region="Town/South", sizes=(3, 3)),
        Fact("at_least", 1, sizes=(2, 2)),
    )


def config(folder: Path, output: str = "release", **terms) -> ReleaseConfig:
    ledger = folder / "ledger.jsonl"
    if not ledger.exists():
        LedgerFile.create(ledger, "town", PureEpsilon(1000))
    return ReleaseConfig(
        terms=Terms("town", **{"max_size": K, "epsilon": "1", "facts": right(), **terms}),
        entities=Entities(pd.DataFrame({"group": np.repeat(np.arange(300), SIZES)}), entity=None),
        groups=Groups(GROUPS),
        regions=Parents(REGIONS),
        output=folder / output,
        ledger=ledger,
    )


CASES = [
    *[{"kind": kind} for kind in Kind],
    *[{"kind": kind, "intervals": "9/10", "min_size": 1} for kind in Kind],
    {"kind": Kind.KUO, "view": "split", "threshold": 40, "max_size": 400},
    {"kind": Kind.POSTERIOR, "totals": "root"},
    {"kind": Kind.POSTERIOR, "view": "counts", "unit": "group", "delta": "1e-6"},
]


def named(case: dict) -> str:
    return "-".join(str(value) for value in case.values())


@pytest.mark.parametrize("case", CASES, ids=named)
@pytest.mark.drawn(2)
def test_released_counts_keep_the_facts(tmp_path, case):
    made = publish(config(tmp_path, **case), rehearse=True)
    assert made.report.passed, made.report
    found = {finding.name: finding.sentence for finding in made.report.findings}
    assert "the counts keep 4 public facts" in found["facts"]
    tree, counts = made.counts().hierarchy, made.counts().counts
    north, south = (tree.index(("Town", name)) for name in ("North", "South"))
    assert counts[north, 2] == TRUE["North"][2]
    assert not counts[:, 7 : K + 1].any()
    assert counts[south, 3] <= TRUE["South"][3] + 2
    assert (counts[:, 2] >= 1).all()
    assert np.array_equal(tree.sum_up(counts[tree.leaves]), counts)
    text = " ".join((made.folder / artefact.README).read_text().split())
    assert f"Town/North: exactly {TRUE['North'][2]} groups of size 2 (published 2024)" in text
    assert "every region of level level_1: no groups of sizes 7 to 9" in text
    written = json.loads((made.folder / artefact.MANIFEST).read_text())["facts"]
    assert [Fact.of(fields) for fields in written] == list(right())
    if case["kind"] is Kind.M_H:
        assert "proved optimal" in found["certificate"]
    if "intervals" in case:
        table = pq.read_table(made.folder / artefact.COUNTS).to_pandas()
        fixed = table[(table.region_id == "Town/North") & (table.group_size == 2)]
        assert fixed[["lower", "upper"]].to_numpy().tolist() == [[TRUE["North"][2]] * 2]
        assert not ((table.region_id != "Town") & (table.group_size >= 7) & (table.upper > 0)).any()
        assert (table[(table.region_id == "Town/South") & (table.group_size == 3)].upper <= TRUE["South"][3] + 2).all()


def test_without_facts_nothing_changes(tmp_path):
    """Facts that the counts keep by themselves leave them as they are."""
    plain = publish(config(tmp_path, kind="kuo", facts=()), rehearse=True).counts().counts
    idle = Fact("at_least", 1, region="Town", sizes=(2, 2))
    kept = publish(config(tmp_path, "other", kind="kuo", facts=(idle,)), rehearse=True).counts().counts
    assert plain[0, 2] > 1
    assert np.array_equal(plain, kept)


def table_with(counts, terms, folder):
    """Write the table of other counts into the folder of a release, with all that follows from it left as it was."""
    schema = pq.read_table(folder / artefact.COUNTS).schema
    facts = {key.decode(): value.decode() for key, value in schema.metadata.items() if not key.startswith(b"ARROW")}
    plan = planned(terms, counts.hierarchy)
    table = released_tables.counts_table(counts, plan, Columns.of(plan), facts)
    for name in (artefact.COUNTS, artefact.COUNTS_CSV):
        released_tables.write_counts(folder / name, table)


def test_a_forged_count_is_found(tmp_path):
    """Counts that add up, and break a fact, are found to break it."""
    asked = config(tmp_path, kind="kuo")
    made = publish(asked, rehearse=True)
    counts = made.counts()
    table, (north, south) = counts.counts.copy(), (counts.hierarchy.index(("Town", n)) for n in ("North", "South"))
    for region, step in ((north, 1), (south, -1)):
        table[region, 2] += step
        table[region, 1] -= step
    forged = CountOfCounts(counts.hierarchy, table)
    table_with(forged, asked.terms, made.folder)
    found = {finding.name: finding for finding in check(made.folder).findings}
    assert found["consistency"].passed
    assert found["totals"].passed
    assert not found["facts"].passed
    assert found["facts"].sentence == "1 counts contradict 4 public facts"


TREE = Hierarchy.from_paths([("US", "GA"), ("US", "MI"), ("US", "OH")])


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "terms",
    [
        {"kind": "m_h"},
        {"kind": "m_c_dp"},
        {"kind": "kuo"},
        {"kind": "bottom_up"},
        {"kind": "kuo", "delta": "1e-6"},
        {"kind": "kuo", "min_size": 1},
    ],
    ids=named,
)
def test_right_facts_raise_no_alarm_and_wrong_ones_do(terms):
    """Of many releases with right facts none is called wrong; those far more wrong than the noise all are."""
    rng = np.random.default_rng(9)
    n = scale(60, 2_000)
    for seed in range(n):
        leaves = rng.integers(0, 40, (3, 6))
        leaves[:, : terms.get("min_size", 0)] = 0
        leaves[1, 5] = 0
        truth = CountOfCounts(TREE, leaves, "demo")
        row = truth.counts[TREE.index(("US", "GA"))]
        facts = (
            Fact("equal", int(row[2]), region="US/GA", sizes=(2, 2)),
            Fact("at_least", max(1, int(row[3])), region="US/GA", sizes=(3, 3)),
            Fact("at_most", int(truth.counts[0, 4]), region="US", sizes=(4, 4)),
            Fact("equal", 0, region="US/MI", sizes=(5, 5)),
        )
        if not row[3]:
            continue
        stated = Terms("demo", 5, "1", facts=facts, **terms)
        noisy = measured(stated, truth, seed)
        verdict = judge_facts(planned(stated, TREE), noisy)
        assert verdict.n_comparisons == 4
        assert not verdict.refuted
        for place, number in ((0, 400), (1, 400), (2, 0), (3, 300)):
            wrong = replace(facts[place], number=number)
            if place == 2 and truth.counts[0, 4] < 60:
                continue
            terms_of_wrong = replace(stated, facts=(*facts[:place], wrong, *facts[place + 1 :]))
            size = {} if place != 2 else {"epsilon": "50"}
            again = replace(terms_of_wrong, **size)
            found = judge_facts(planned(again, TREE), measured(again, truth, seed))
            assert found.refuted, (place, found)
            assert found.worst is not None
            assert found.worst.fact == wrong


def measured(terms: Terms, truth: CountOfCounts, seed: int):
    from pgsr.release.stated.excess import excess_counts

    return planned(terms, 2).mechanism.measure(excess_counts(truth, terms.min_size), Seeded("demo", seed))


def test_the_chances_are_those_of_the_law():
    """The stated chance of a deviation is at least its share among many draws, and near it."""
    truth = CountOfCounts(TREE, np.full((3, 4), 9), "demo")
    for kind, region in (("m_h", "US"), ("kuo", "US/GA"), ("bottom_up", "US")):
        for relation in ("equal", "at_least", "at_most"):
            number = int(truth.counts[TREE.index(tuple(region.split("/"))), 2])
            terms = Terms("demo", 3, "1", kind, facts=(Fact(relation, number, region=region, sizes=(2, 2)),))
            plan = planned(terms, 2)
            laws = tuple(level.law for level in plan.levels)
            found = [next(comparisons(plan, measured(terms, truth, seed))) for seed in range(scale(150, 4_000))]
            chances = np.array([chance_of(each, laws) for each in found])
            for level in (0.5, 0.2):
                share = float((chances <= level).mean())
                assert share <= level + 4 * np.sqrt(level / len(found)), (kind, relation, level, share)
                assert share >= 0.3 * level, (kind, relation, level, share)


def test_a_wrong_fact_keeps_its_release_back(tmp_path):
    """The release is not published, the message names the fact, and the noisy values are kept."""
    asked = config(tmp_path, kind="kuo", epsilon="20", facts=right(40))
    with pytest.raises(ReleaseError, match=r"Town/North: exactly \d+ groups of size 2 .published 2024.") as refused:
        publish(asked)
    assert "contradict a fact" in str(refused.value)
    assert not asked.output.exists()
    [kept] = [path for path in tmp_path.iterdir() if path.name.startswith(".release.")]
    assert (kept / UNFINISHED).exists()
    shutil.rmtree(kept)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            (Fact("equal", 3, region="Town/Nort", sizes=(2, 2)),),
            r"number 1: no region '?Town/Nort'?; the nearest name",
        ),
        (
            (Fact("equal", 3, level="county", sizes=(2, 2)),),
            "1: level = 'county' is none of 'level_0', 'level_1'",
        ),
        ((Fact("equal", 301, sizes=(2, 2)),), "contradict each other, or public numbers of groups"),
        (
            (Fact("equal", 3, region="Town", sizes=(2, 2)), Fact("at_least", 4, region="Town/North", sizes=(2, 2))),
            "contradict each other",
        ),
        ((Fact("equal", 99, region="Town/North"),), "contradict each other, or public numbers of groups"),
        (tuple(Fact("at_most", 9, region="Town/North", sizes=(s, s)) for s in range(K + 1)), "contradict each other"),
    ],
)
@pytest.mark.parametrize("kind", ["kuo", "m_h"])
def test_what_cannot_be_is_refused_before_the_charge(tmp_path, facts, words, kind):
    if kind == "m_h" and (facts[0].sizes is None or len(facts) > 2):
        pytest.skip("numbers of groups of regions are not public then")
    asked = config(tmp_path, kind=kind, facts=facts)
    for run in (outline, publish):
        with pytest.raises(ConfigError, match=words):
            run(asked)
    assert LedgerFile(asked.ledger).left == PureEpsilon(1000)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".rel")] == []


def test_public_totals_agree(tmp_path):
    """A fact about all groups of a region that says what is public anyway is kept."""
    fact = Fact("equal", 100, region="Town/North")
    assert publish(config(tmp_path, kind="kuo", facts=(fact,)), rehearse=True).report.passed


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"size": 2}, "one of the keys equal, at_least and at_most"),
        ({"size": 2, "equal": 1, "at_most": 2}, "one of the keys equal, at_least and at_most"),
        ({"size": 2, "sizes": [1, 2], "equal": 0}, "the key size or the key sizes"),
        ({"sizes": [2, 1], "equal": 0}, "has no size in it"),
        ({"sizes": [1, 2, 3], "equal": 0}, "the first and the last one"),
        ({"sizes": [1, 2], "equal": 5}, "the sum over the sizes 1 to 2, which no mechanism keeps"),
        ({"sizes": [1, 2], "at_least": 5}, "the sum over the sizes 1 to 2, which no mechanism keeps"),
        ({"size": 2, "at_least": 0}, "at_least = 0 says nothing"),
        ({"size": 2, "equal": -1}, "equal is -1; write a public whole number from 0"),
        ({"size": -2, "equal": 1}, "write whole numbers from 0 up"),
        ({"size": 2, "equal": 1, "region": "US", "level": "state"}, "the key region or the key level"),
        ({"size": 2, "equal": 1, "source": "a\nb"}, "source is 'a.nb'; write plain text"),
    ],
)
def test_what_is_no_fact(fields, words):
    with pytest.raises(ConfigError, match=words):
        Fact.of(fields)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"kind": "kuo", "totals": "noisy"}, 'with totals = "noisy" numbers of groups are not public'),
        ({"kind": "kuo", "max_size": (9, 3)}, "facts want one max_size for all levels"),
        ({"kind": "m_h", "facts": (Fact("equal", 100, region="Town/North"),)}, "name a size, or take kuo"),
        ({"kind": "m_h", "facts": (Fact("equal", 0, sizes=(7, 12)),)}, "the size 12 is above max_size = 9"),
        ({"kind": "m_h", "min_size": 3}, "the size 2 is below min_size = 3"),
    ],
)
def test_what_no_mechanism_keeps_is_refused_with_the_terms(terms, words):
    with pytest.raises(ConfigError, match=rf"\[\[facts\]\] number \d: .*{words}"):
        Terms("town", **{"max_size": K, "epsilon": "1", "facts": right(), **terms})


TOML = """
data_set = "town"
max_size = 9
min_size = 1
epsilon = "1"
mechanism = "m_h"
output = "release"
ledger = "ledger.jsonl"

[entities]
file = "entities.parquet"
[groups]
file = "groups.parquet"
[regions]
file = "regions.csv"

[[facts]]
region = "Town/North"
size = 2
equal = 12
source = "published 2024"

[[facts]]
level = "level_1"
sizes = [7, 9]
equal = 0
"""


def test_the_file_of_a_configuration_has_them(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(TOML)
    assert ReleaseConfig.read(path).terms.facts == (
        Fact("equal", 12, region="Town/North", sizes=(2, 2), source="published 2024"),
        Fact("equal", 0, level="level_1", sizes=(7, 9)),
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("size = 2", "siz = 2", r"\[\[facts\]\] number 1: the key 'siz' is unknown; did you mean 'size'\?"),
        ("equal = 0", "equal = '0'", r"\[\[facts\]\] number 2: the key 'equal' is \"0\", a string"),
        ("equal = 0", "", r"\[\[facts\]\] number 2: write either equal = ... or at_least = ... or at_most"),
        ("sizes = [7, 9]", "sizes = [7]", r"number 2: the key 'sizes' is \[7\]; write an array of the first"),
        ("sizes = [7, 9]", "sizes = [9, 7]", "number 2: sizes = .9, 7. has no size in it"),
        ('level = "level_1"', 'level = "a"\nregion = "b"', "number 2: the keys 'region' and 'level' exclude each"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path, old, new, words):
    path = tmp_path / "release.toml"
    path.write_text(TOML.replace(old, new))
    with pytest.raises(PgsrError, match=words):
        ReleaseConfig.read(path)


def test_one_table_is_no_array_of_tables(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(TOML.split("[[facts]]", maxsplit=1)[0] + "[facts]\nsize = 2\nequal = 3\n")
    with pytest.raises(ConfigError, match=r"facts is .*a table; write \[\[facts\]\] before each of them"):
        ReleaseConfig.read(path)


def test_the_manifest_is_read_strictly(tmp_path):
    from pgsr.release.folder import manifest

    made = publish(config(tmp_path, kind="m_h"), rehearse=True)
    fields = json.loads((made.folder / artefact.MANIFEST).read_text())
    assert manifest.plan_of(fields)[0].terms.facts == right()
    for change in ({"equal": 1, "at_most": 2}, {"size": 2, "equal": 3, "more": 1}, {"equal": True, "size": 2}, 3):
        with pytest.raises(PgsrError):
            manifest.plan_of(fields | {"facts": [change]})


def test_plans_leave_facts_out(tmp_path):
    """A stand-in does not know them."""
    fact = Fact("equal", 100, region="Town/North")
    stated, none = (forecast(config(tmp_path, kind="kuo", facts=facts), mean_size=2.5) for facts in ((fact,), ()))
    assert (stated.errors.mean == none.errors.mean).all()


def test_facts_without_a_noisy_value_leave_the_question_open(tmp_path):
    """Facts about all groups of regions are compared with public numbers alone."""
    asked = config(tmp_path, kind="kuo", facts=(Fact("equal", 100, region="Town/North"),))
    report = publish(asked, rehearse=True).report
    [finding] = [finding for finding in report.findings if finding.name == "facts"]
    assert finding.outcome == "open"
