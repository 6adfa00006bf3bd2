"""Releases in every currency, law and unit: made, charged, checked by anybody, and forgeries of what they state."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from forging import LEAVES, Target
from made_measurements import cells_of
from made_tables import TABLES, write_config, write_tables
from planned import planned

from pgsr.privacy import Seeded
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import ReleaseConfig, check, forecast, outline, publish
from pgsr.release.folder import artefact, manifest
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing import digests
from pgsr.release.stated.plan import Plan

PRIVATE_GROUPS = TABLES.replace("[regions]", "private = true\n[regions]")

CASES: dict[str, tuple[str, dict[str, str | None], Loss]] = {
    "rho": ("m_h", {"epsilon": None, "rho": '"1/10"'}, Rho("1/10")),
    "delta": ("posterior", {"delta": '"1e-6"'}, Approximate(1, "1e-6")),
    "households": ("posterior", {"epsilon": None, "rho": '"1/2"', "unit": '"group"'}, Rho("1/2")),
    "private households": (
        "m_h",
        {"unit": '"group"', "totals": '"noisy"', "tables": PRIVATE_GROUPS},
        PureEpsilon(1),
    ),
    "customers": ("two_stage", {"unit": '"entity in 3 groups"'}, PureEpsilon(1)),
    "private customers": (
        "kuo",
        {"unit": '"entity in 3 groups"', "totals": '"noisy"', "tables": PRIVATE_GROUPS},
        PureEpsilon(1),
    ),
    "moved": ("bottom_up", {"relation": '"move"', "epsilon": None, "rho": '"1/2"'}, Rho("1/2")),
    "with intervals": ("posterior", {"epsilon": None, "rho": '"1/2"', "intervals": '"9/10"'}, Rho("1/2")),
}


def configured(folder: Path, case: str, n_groups: int = 1_000, **more: str) -> ReleaseConfig:
    """The configuration of a case, with tables and a ledger that fit."""
    mechanism, keys, total = CASES[case]
    write_tables(folder, n_groups=n_groups, leaves=LEAVES)
    unit = Unit.parse(str(keys.get("unit", "entity")).strip('"'))
    noisy = keys.get("totals") == '"noisy"'
    relation = Relation.REPLACE if unit.is_group and not noisy else Relation.ADD_REMOVE
    relation = Relation.MOVE if "relation" in keys else relation
    plenty = {Rho: Rho(10), PureEpsilon: PureEpsilon(10), Approximate: Approximate(10, "1e-3")}[type(total)]
    LedgerFile.create(folder / "ledger.jsonl", "made", plenty, relation, unit)
    return ReleaseConfig.read(write_config(folder, mechanism, **(keys | more)))  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=CASES)
def made(request, tmp_path_factory) -> tuple[str, ReleaseConfig]:
    """A release of every case."""
    config = configured(tmp_path_factory.mktemp("made"), request.param)
    publish(config)
    return request.param, config


@pytest.mark.few(1)
def test_a_release_states_and_keeps_its_budget(made) -> None:
    case, config = made
    terms, total = config.terms, CASES[case][2]
    assert terms.total == total
    report = check(config.output)
    assert report.passed, repr(report)
    fields = json.loads((config.output / artefact.MANIFEST).read_text())
    assert fields["noise"]["budget"] == total.spelled
    assert fields["noise"]["unit"] == str(terms.unit)
    assert [level["noise"] for level in fields["levels"]] == [
        level.law.spelling if level.law else {} for level in planned(terms, 3).levels
    ]
    plan = Plan.of(terms, [level["regions"] for level in fields["levels"]])
    shares = tuple(level.share for level in plan.levels)
    found, _ = manifest.plan_of(fields)
    assert found.terms == replace(terms, shares=shares, level_names=plan.names)
    assert found.levels == plan.levels
    spent = LedgerFile(config.ledger).read().entries
    assert [entry.charge.loss for entry in spent] == [total]
    assert (spent[0].charge.unit, spent[0].charge.relation) == (terms.unit, terms.relation)
    assert total.spelled in (config.output / "README.txt").read_text().replace("\n", " ")


@pytest.mark.few(2)
def test_what_is_said_before_anything_is_spent(made) -> None:
    _, config = made
    shown = ReleaseConfig.read(config.output.parent / "release.toml", {"output": str(config.output.parent / "other")})
    said = dict(outline(shown).facts)
    assert said["budget"] == f"{shown.terms.total} in all"
    law = planned(shown.terms, 3).levels[2].law
    assert law is not None
    assert f"standard deviation {law.deviation:,.1f}" in said["level_2"]
    assert str(shown.terms.unit) in said["neighbours"]


def test_the_laws_written_out(tmp_path) -> None:
    """Scales and variances of four cases, by hand: Delta_1 / epsilon_level and Delta_2^2 / (2 rho_level)."""
    laws, of_totals = {}, {}
    for case in ("rho", "households", "customers", "private households", "private customers"):
        (tmp_path / case).mkdir()
        terms = configured(tmp_path / case, case).terms
        plan = planned(terms, 3)
        laws[case], of_totals[case] = tuple(level.law for level in plan.levels), plan.totals_law
    assert laws["rho"] == (DiscreteGaussian(Fraction(30)),) * 3
    assert laws["households"] == (DiscreteGaussian(Fraction(6)),) * 3
    assert laws["customers"] == (DoubleGeometric(Fraction(9)),) * 3
    assert of_totals["private households"] == DoubleGeometric(Fraction(30))
    assert laws["private customers"] == (DoubleGeometric(Fraction(10)),) * 3
    assert of_totals["private customers"] == DoubleGeometric(Fraction(90))  # who leaves may take three groups along
    assert laws["private households"] == (DoubleGeometric(Fraction(10, 3)),) * 3  # of 9/10 of epsilon, one cell by one


def test_a_budget_in_rho_is_forecast(tmp_path) -> None:
    found = forecast(configured(tmp_path, "rho"), mean_size=1.5, replicates=2)
    assert (found.errors.mean > 0).all()
    assert found.bound is None


FORGERIES = {
    "less rho": {"rho": Fraction(1, 1_000)},
    "more rho": {"rho": Fraction(5)},
    "another unit": {"unit": Unit.entity_in_groups(12)},
    "epsilon instead": {"rho": None, "epsilon": Fraction(1, 10)},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("forgery", FORGERIES)
def test_another_budget_for_the_same_noise_is_found(tmp_path, forgery) -> None:
    """All files are written anew under other terms; the noise that is there gives them away."""
    config = configured(tmp_path, "rho")
    publish(config)
    target = Target(Path(shutil.copytree(config.output, tmp_path / "forged")), config)
    terms, tree, totals, values = target.known()
    other = replace(terms, **FORGERIES[forgery])
    target.remake(planned(other, tree).measured(tree, cells_of(values), totals, True), other)
    report = check(target.folder)
    assert not report.passed
    assert [finding.name for finding in report.findings if finding.outcome.name == "FAILED"] == ["noise"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("noise", "budget"), "rho 1/20"),
        (("noise", "budget"), "rho 0.1"),
        (("noise", "budget"), "epsilon 1"),
        (("noise", "unit"), "group"),
        (("noise", "relation"), "move"),
        (("levels", 1, "spent"), "rho 1/60"),
        (("levels", 1, "noise", "sigma_squared"), "29"),
        (("levels", 0, "sensitivity", "l2_squared"), 1),
        (("totals", "spent"), "rho 1/10"),
        (("privacy_claim",), "epsilon-differentially private (secure noise)"),
        (("epsilon",), "1"),
        (("delta",), "1/10"),
    ],
    ids=str,
)
@pytest.mark.few(2)
def test_a_manifest_that_contradicts_itself_is_refused(tmp_path, path, value) -> None:
    config = configured(tmp_path, "rho")
    publish(config)
    target = Target(config.output, config)
    fields = target.fields
    node = fields
    for key in path[:-1]:
        node = node[key]
    assert node[path[-1]] != value
    node[path[-1]] = value
    (target / artefact.MANIFEST).write_text(manifest.written(fields))
    (target / digests.SUMS).write_text(digests.sums_text(target.folder, artefact.FILES))
    assert not check(target.folder).passed


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["rho", "delta", "households"])
def test_a_rehearsal_passed_off_for_a_release_is_found(tmp_path, case) -> None:
    """Its Gaussian noise can be drawn again by anybody."""
    config = configured(tmp_path, case, n_groups=60, max_size="30")
    publish(config)
    target = Target(config.output, config)
    truth = config.count()
    noisy = planned(config.terms, 3).mechanism.noise.measure(truth, Seeded(manifest.REHEARSAL_KEY))
    terms = target.known()[0]
    target.remake(planned(terms, truth.hierarchy).measured(truth.hierarchy, noisy.cells, noisy.totals, True), terms)
    report = check(target.folder)
    assert not report.passed
    assert "rehearsal" in repr(report)
