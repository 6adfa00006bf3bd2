"""No release is refused after its charge: whatever its terms, the ledger is untouched or the folder is checked."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from instances import scale

from pgsr import PgsrError
from pgsr.privacy.accounting import Approximate, PureEpsilon, Rho
from pgsr.release import ReleaseConfig, Terms, check, publish
from pgsr.release.ledger import LedgerFile
from pgsr.tables import Entities, Groups, Levels, Quantities

KINDS = ("m_h", "m_c_dp", "kuo", "bottom_up", "posterior", "two_stage")
LEVELS = ("nation", "state", "county")
USUAL: dict[str, Any] = {"kind": "m_h", "max_size": 3, "epsilon": "1", "n_levels": 2, "n_groups": 9}
UNUSUAL: dict[str, list[Any]] = {
    "max_size": [1, 2, 7, 2**40, (4, 2), (3, 3), (5, 3, 2), (2, 4), {"nation": 5, "state": 2}],
    "min_size": [1, 2, 6],
    "epsilon": ["1/1000", "1e-9", "30", "1000000000", "0." + "3" * 5000],
    "delta": ["1e-8", "1e-100", "0.9"],
    "rho": ["1/10", "1e-9", "1e9"],
    "shares": [("1/2", "1/2"), ("0", "1"), ("1", "0"), ("1/3", "1/3", "1/3"), ("1/999999999", "999999998/999999999")],
    "totals": ["root", "regions", "noisy"],
    "threshold": [0, 1, 2, 9, (3, 1), "root"],
    "intervals": ["9/10", "1/2", "9999/10000"],
    "unit": ["group", "entity in 2 groups", "entity in 99 groups"],
    "relation": ["replace", "add_remove", "move", "add_remove_or_empty_group"],
    "max_quantity": [2, 5],
    "level_names": [("nation", "state"), ("lower", "upper"), ("size", "count"), ("a", "a"), ("nation", "state", "x")],
    "private_groups": [True],
    "quantities": [True],
    "data_set": ["made", "ü <b>", "a\tb", "a" * 300],
    "output": ["out", "a" * 250, "a" * 240, "no/where", "ü", "a b'c"],
    "n_levels": [1, 2, 3],
    "n_groups": [0, 1, 9],
}


@st.composite
def releases(draw: st.DrawFn) -> dict[str, Any]:
    """Terms of which a few are unusual; sizes, shares and names of levels may not be as many as levels."""
    keys = dict(USUAL, kind=draw(st.sampled_from(KINDS)))
    for key in draw(st.sets(st.sampled_from(sorted(UNUSUAL)), max_size=5)):
        keys[key] = draw(st.sampled_from(UNUSUAL[key]))
    if draw(st.booleans()):  # what goes together
        keys |= {"epsilon": None} if "rho" in keys else {}
        keys |= {"totals": "noisy"} if keys.get("private_groups") else {}
        keys |= {"private_groups": True} if keys.get("totals") == "noisy" else {}
    return keys


def configured(place: Path, keys: dict[str, Any]) -> tuple[ReleaseConfig, LedgerFile]:
    """Make the configuration and its ledger, of a total that is large and in the currency of the terms."""
    keys = dict(keys)
    n_levels, n_groups, output = keys.pop("n_levels"), keys.pop("n_groups"), keys.pop("output", "out")
    private, quantities = keys.pop("private_groups", False), keys.pop("quantities", False)
    region = {name: [f"{name}{group % (level + 1)}" for group in range(n_groups)] for level, name in enumerate(LEVELS)}
    region["county"] = [f"c{group % 2}{group % 3}" for group in range(n_groups)]
    columns = LEVELS[:n_levels]
    homes = pd.DataFrame({"group": range(n_groups), **{name: region[name] for name in columns}})
    homes = homes.astype(dict.fromkeys(columns, str))
    member_of = [group for group in range(n_groups) for _ in range(group % 4)]
    where = {name: [region[name][group] for group in member_of] for name in columns} if private else {}
    people = pd.DataFrame({"entity": range(len(member_of)), "group": member_of, **where}).astype(
        dict.fromkeys(where, str)
    )
    within = columns if private else None
    terms = Terms(**{"data_set": "made", **keys})
    if quantities:
        rows = people.rename(columns={"entity": "user", "group": "unit"}).assign(quantity=1)
        entities = Quantities(rows, terms.max_quantity, region=within)
    else:
        entities = Entities(people, region=within)
    listed = (
        pd.DataFrame([{name: f"{name}0" for name in columns}])
        if not n_groups
        else homes[list(columns)].drop_duplicates()
    )
    config = ReleaseConfig(
        terms=terms,
        entities=entities,
        groups=None if private else Groups(homes, region=columns),
        regions=Levels(listed, columns) if private else None,
        output=place / output,
        ledger=place / "ledger.jsonl",
        private_groups=private,
    )
    large = Rho(10**12) if terms.rho else PureEpsilon(10**12) if terms.delta is None else Approximate(10**12, "0.99")
    return config, LedgerFile.create(place / "ledger.jsonl", terms.data_set, large, terms.relation, terms.unit)


HEALTH = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much)


@pytest.mark.slow
@settings(max_examples=scale(60, 3_000), deadline=None, suppress_health_check=HEALTH, print_blob=True)
@example(USUAL)
@example(USUAL | {"kind": "posterior", "intervals": "9/10"})
@example(USUAL | {"kind": "kuo", "max_size": (4, 2)})
@example(USUAL | {"kind": "kuo", "totals": "noisy", "private_groups": True})
@example(USUAL | {"n_groups": 0})
@given(releases())
def test_a_release_is_refused_before_the_charge_or_not_at_all(keys: dict[str, Any]) -> None:
    with TemporaryDirectory() as name:
        place = Path(name)
        try:
            config, ledger = configured(place, keys)
        except PgsrError:
            return
        made = refused = None
        try:
            made = publish(config)
        except PgsrError as error:
            refused = str(error)
        assert not [path for path in place.iterdir() if path.name.startswith(".")]
        if made is None:
            assert not ledger.entries, f"charged, and then: {refused}"
            return
        assert len(ledger.entries) == 1
        report = check(made.folder)
        assert report.passed, report
