"""No synthesis is refused after its charge: what its configuration tells is found before, by `validate` too."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from instances import scale
from made_tables import write_long
from synthesis_fits import fewer_steps

from pgsr import CountOfCounts, Hierarchy, PgsrError
from pgsr.privacy.accounting import Approximate
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.configuration.toml import shown
from pgsr.synthesis.publish.check import check_synthesis
from pgsr.synthesis.publish.config import SynthesisConfig
from pgsr.synthesis.publish.making import synthesize
from pgsr.synthesis.publish.outline import outline

__all__ = ["fewer_steps"]

PLAIN = ("area", "sex", "age", "key", "a b", "ü", "count", "Role")
TAKEN = ("role", "household", "person", "level_0", "level_1")
VALUES = st.one_of(
    st.lists(st.sampled_from(["u", "r", "1", "NA", "a;b", "<b>"]), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from([0, 1, -3, 2**53 + 1, 2**63 - 1]), min_size=1, max_size=3, unique=True),
    st.sampled_from([["x", 1], ["1", 1], [""], [2**63], [10**30]]),
)
NUMBERS = (None, -1, 0, 1, 2, 3, 7)


def attributes(most: int) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Attributes with few values; some have a name or a value that no synthesis can write."""
    names = st.sampled_from(PLAIN) | st.sampled_from(TAKEN)
    return st.dictionaries(names, VALUES, max_size=most)


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """A configuration whose keys take usual and unusual values."""
    usual: dict[str, Any] = {
        "epsilon": "1",
        "delta": "1e-6",
        "k": 2,
        "components": 2,
        "neighbours": None,
        "unit": None,
        "groups": None,
        "seed": None,
        "max_size": 2,
        "max_children": None,
        "public_household_attributes": True,
        "output": "out",
        "sign": None,
        "sizes": None,
        "household_attributes": {"area": ["u", "r"]},
        "person_attributes": {"sex": ["f", "m"]},
    }
    if draw(st.booleans()):
        usual["person_attributes"] = draw(attributes(2)) or usual["person_attributes"]
    if draw(st.booleans()):
        usual["household_attributes"] = draw(attributes(2))
    unusual: dict[str, list[Any]] = {
        "epsilon": ["1/1000000", "1e-9", "50", "1000000000", "0." + "3" * 5000],
        "delta": ["1e-100", "0.9", "1e-10"],
        "k": [*NUMBERS, 100, 10**12],
        "components": [*NUMBERS, 10**12],
        "neighbours": ["replace", "move", "add_remove"],
        "unit": ["group", "entity", "entity in 2 groups"],
        "groups": [*NUMBERS, 10**13],
        "seed": [0, 5, -1, 2**63 - 1, 2**63, 2**70],
        "max_size": [*NUMBERS, 20],
        "max_children": [0, 1, 2],
        "public_household_attributes": [None, False, True],
        "output": ["out", "a" * 250, "no/where", "taken", "ledger.jsonl"],
        "sign": ["absent.key", "out/inside.key"],
        "sizes": ["small", "empty", "nobody", "large"],
    }
    for key in draw(st.sets(st.sampled_from(sorted(unusual)), max_size=2)):
        usual[key] = draw(st.sampled_from(unusual[key]))
    if usual["max_children"] is not None:
        usual["max_size"] = None
    return usual


SIZES = {
    "small": [[0, 2, 1], [1, 1, 0]],
    "empty": [[0, 0], [0, 0]],
    "nobody": [[3, 0], [1, 0]],
    "large": [[0] * 9 + [1]] * 2,
}


@contextmanager
def place_for(keys: dict[str, Any]) -> Iterator[tuple[Path, Path | None]]:
    """Write tables of twelve households for a configuration, the configuration, its ledger and its sizes."""
    with TemporaryDirectory() as name:
        place, keys = Path(name), dict(keys)
        homes_have, people_have = keys.pop("household_attributes"), keys.pop("person_attributes")
        sizes = keys.pop("sizes")
        homes = pd.DataFrame({"hh": range(12)})
        people = pd.DataFrame({"hh": [*range(12), *range(4)], "kind": ["head"] * 12 + ["spouse"] * 4})
        if keys["max_size"] == 1:
            people = people.iloc[:12]
        for frame, listed in ((homes, homes_have), (people, people_have)):
            for attribute, values in listed.items():
                column = [values[row % len(values)] for row in range(len(frame))]
                frame[attribute] = pd.Series(column, dtype=object) if len({type(v) for v in values}) > 1 else column
        homes.astype({c: str for c in homes.columns if homes[c].dtype == object}).to_parquet(place / "h.parquet")
        people.astype({c: str for c in people.columns if people[c].dtype == object}).to_parquet(place / "p.parquet")
        (place / "taken").mkdir()
        (place / "taken" / "file").write_text("")
        relation = Relation(keys["neighbours"] or "add_remove")
        unit = Unit.GROUP if keys["unit"] == "group" else Unit.ENTITY
        LedgerFile.create(place / "ledger.jsonl", "made", Approximate(10**6, "0.99"), relation, unit)
        top = {"data_set": "made", "ledger": "ledger.jsonl"} | {k: v for k, v in keys.items() if v is not None}
        lines = [f"{key} = {_toml(value)}" for key, value in top.items()]
        lines += [
            "[households]",
            'file = "h.parquet"',
            'key = "hh"',
            "[persons]",
            'file = "p.parquet"',
            'role = "kind"',
        ]
        for table, listed in (("household_attributes", homes_have), ("person_attributes", people_have)):
            lines += [f"[{table}]", *(f"{_toml(attribute)} = {_toml(values)}" for attribute, values in listed.items())]
        (place / "c.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if sizes is not None:
            tree = Hierarchy.from_parents(["US", "GA", "MI"], [-1, 0, 0])
            write_long(CountOfCounts(tree, SIZES[sizes]), place / "sizes.csv")
        yield place, None if sizes is None else place / "sizes.csv"


def _toml(value: object) -> str:
    return (
        f'"{value}"'
        if isinstance(value, str)
        else f"[{', '.join(map(_toml, value))}]"
        if isinstance(value, list)
        else shown(value)
    )


USUAL: dict[str, Any] = {
    "epsilon": "1", "delta": "1e-6", "k": 2, "components": 2,
    "neighbours": None, "unit": None, "groups": None, "seed": None, "max_size": 2, "max_children": None,
    "public_household_attributes": True, "output": "out", "sign": None, "sizes": None,
    "household_attributes": {"area": ["u", "r"]}, "person_attributes": {"sex": ["f", "m"]},
}  # fmt: skip

HEALTH = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much)


@pytest.mark.slow
@settings(
    max_examples=scale(8, 2_000), deadline=None, suppress_health_check=HEALTH, print_blob=True,
)  # fmt: skip
@example(USUAL | {"person_attributes": {"role": ["x", "y"]}})
@example(USUAL | {"person_attributes": {"household": ["x", "y"]}})
@example(USUAL | {"groups": 0})
@example(USUAL | {"k": 10**12})
@example(USUAL | {"groups": 10**13})
@example(USUAL | {"person_attributes": {"sex": [0, 2**63]}})
@example(USUAL | {"household_attributes": {"level_0": ["u"]}})
@example(USUAL | {"epsilon": "0." + "3" * 5000})
@example(USUAL | {"sizes": "nobody"})
@example(USUAL | {"sizes": "small", "household_attributes": {"level_1": ["u"]}})
@example(USUAL | {"sizes": "small"})
@example(USUAL | {"k": 1})
@example(USUAL | {"k": 7})
@example(USUAL)
@given(configurations())
def test_a_configuration_is_refused_before_the_charge_or_not_at_all(keys: dict[str, Any]) -> None:
    """Either the ledger is untouched, or there is a folder that passes its check. `validate` foretells the former."""
    with place_for(keys) as (place, sizes):
        ledger = LedgerFile(place / "ledger.jsonl")
        try:
            config = SynthesisConfig.read(place / "c.toml")
        except PgsrError:
            return
        foretold, refused = refusal(lambda: outline(config, sizes)), refusal(lambda: synthesize(config, sizes=sizes))
        assert not [path for path in place.iterdir() if path.name.startswith(".")]
        if foretold is not None:
            assert refused is not None
            assert FREE.sub("", refused) == FREE.sub("", foretold)
        if refused is not None:
            assert not ledger.entries, f"charged, and then: {refused}"
            return
        assert len(ledger.entries) == 1
        report = check_synthesis(config.output)
        assert report.passed, report


FREE = re.compile(r"[\d.]+ [KMGT]iB are ")
"""How much memory is free, which differs from one moment to the next."""


def refusal(done: Callable[[], object]) -> str | None:
    """Do something; return the words of its refusal, if it is refused."""
    try:
        done()
    except PgsrError as error:
        return str(error)
    return None
