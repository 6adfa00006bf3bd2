"""Releases in every currency, law and unit: made, charged, checked by anybody, and forgeries of what they state."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from forging import LEAVES
from made_tables import TABLES, write_config, write_tables
from planned import planned

from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.privacy.accounting.loss import Loss
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import ReleaseConfig, check, outline, publish
from pgsr.release.folder import artefact, manifest
from pgsr.release.ledger import LedgerFile
from pgsr.release.terms.plan import Plan

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
    "households by level": (
        "kuo",
        {
            "max_size": "{nation = 6, state = 3, county = 2}",
            "shares": '["1/5", "1/5", "3/5"]',
            "epsilon": None,
            "rho": '"1/10"',
            "unit": '"group"',
        },
        Rho("1/10"),
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
    plan = planned(shown.terms, 3)
    law = plan.levels[2].law
    assert law is not None
    assert f"standard deviation {law.deviation:,.1f}" in said[plan.names[2]]
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
