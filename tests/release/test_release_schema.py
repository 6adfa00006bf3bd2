"""The declared keys, the JSON schema and the reading code are one."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from made_tables import TABLES, write_config

from pgsr.errors import PgsrError
from pgsr.release import ReleaseConfig
from pgsr.release.configuration import forms, release_config, sources
from pgsr.release.configuration.example import EXAMPLE
from pgsr.release.configuration.keys import REQUIRED, DeclaredTable, Key, complete
from pgsr.release.configuration.schema import CONFIGURATION, schema_text


@cache
def validator(schema: str = "") -> Any:
    """The validator of the project's schema, or of another as JSON."""
    from jsonschema import Draft202012Validator  # three seconds, which only the process with these tests need spend

    return Draft202012Validator(json.loads(schema or schema_text()))


TUPLES = TABLES.replace("[entities]\n", "[tuples]\nmax_quantity = 2\n")
LEVELS = TABLES + 'levels = ["nation", "state"]\n'
KUO = {"mechanism": "kuo"}

TABLE_NAMES = ("entities", "tuples", "groups", "regions", "limits")


def as_schema_sees(path: Path) -> dict:
    values = tomllib.loads(path.read_text())
    return {key: value for key, value in values.items() if key not in CONFIGURATION.apart}


class Recorded(dict):
    """The completed keys of a table, which note what is read of them, by `[key]` or as arguments."""

    def __init__(self, found: dict[str, set[str]], name: str, values: dict[str, Any]) -> None:
        super().__init__({k: Recorded(found, k, v) if isinstance(v, dict) else v for k, v in values.items()})
        self.read = found.setdefault(name, set())

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def __iter__(self):  # so that arguments are read one by one
        return super().__iter__()


def keys_read(monkeypatch, read) -> dict[str, set[str]]:
    """Collect, by table, the keys that the reading code reads."""
    found: dict[str, set[str]] = {}

    def recorded(table: DeclaredTable, values: dict[str, Any]) -> Recorded:
        return Recorded(found, table.name, complete(table, values))

    with monkeypatch.context() as patched:
        for module in (release_config, sources):
            patched.setattr(module, "complete", recorded)
        read()
    return found


def keys_of(table: DeclaredTable) -> set[str]:
    """The declared keys."""
    return {member.name for member in table.members if isinstance(member, Key)}


def test_the_reading_code_reads_the_declared_keys(tmp_path, monkeypatch):
    path = write_config(tmp_path, "kuo", tables=TABLES + '[publication]\nlicence = "CC0"\n')
    found = keys_read(monkeypatch, lambda: ReleaseConfig.read(path))
    assert found[""] == set(CONFIGURATION.known)
    assert found["publication"] == keys_of(CONFIGURATION.known["publication"])
    tables = {member.name for member in CONFIGURATION.members if isinstance(member, DeclaredTable)}
    assert tables == {*TABLE_NAMES, "publication"}


@pytest.mark.parametrize("name", TABLE_NAMES)
def test_the_reading_code_reads_the_declared_keys_of_tables(tmp_path, monkeypatch, name):
    """All variants together: tuples or entities, parents or levels, CSV or Parquet."""
    texts = [TABLES, TUPLES, LEVELS]
    texts += [text.replace(".parquet", ".csv") for text in texts]
    query = 'query = "from x"\nconnection = "a.duckdb"'
    texts += [re.sub('file = ".*"', query, text) for text in texts]
    found: set[str] = set()
    for number, text in enumerate(texts):
        path = write_config(tmp_path, name=f"c{number}", tables=text + "[limits]\n")
        found |= keys_read(monkeypatch, lambda path=path: ReleaseConfig.read(path)).get(name, set())
    assert found == keys_of(CONFIGURATION.known[name])


def test_what_is_left_out_has_the_declared_default():
    told = complete(CONFIGURATION, tomllib.loads(TABLES))
    members = CONFIGURATION.known.values()
    keys_with_defaults = {member.name: member.default for member in members if isinstance(member, Key)}
    assert {name: told[name] for name, value in keys_with_defaults.items() if value is not REQUIRED} == {
        name: value for name, value in keys_with_defaults.items() if value is not REQUIRED
    }
    assert (told["publication"], told["groups"]["region"]) == (None, "region")


def test_the_file_in_the_package_is_the_schema():
    """The command `pgsr validate --schema > pgsr/release/configuration/configuration.schema.json` writes it anew."""
    assert Path(sources.__file__).with_name("configuration.schema.json").read_text("utf-8") == schema_text()
    validator().check_schema(json.loads(schema_text()))


def test_every_key_is_described():
    def walk(table: DeclaredTable):
        for member in table.members:
            yield member
            if isinstance(member, DeclaredTable):
                yield from walk(member)

    for member in walk(CONFIGURATION):
        assert member.description.endswith("."), member.name
        assert len(member.description) > 10 or member.name == "gibibytes", member.name


def test_the_example_is_valid(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(EXAMPLE)
    assert validator().is_valid(as_schema_sees(path))
    ReleaseConfig.read(path)


GOOD = [
    {},
    KUO,
    {"epsilon": "1"},
    {"epsilon": '"1/3"'},
    {"epsilon": '"1e-3"'},
    {"epsilon": '".5"'},
    {"shares": '["1/4", "1/4", "1/2"]'},
    {"shares": "[0, 0, 1]"},
    {"delta": "0"},
    {"delta": '"0"'},
    {"totals": '"root"'},
    {"level_names": '["nation", "state", "county"]'},
    {"level_names": '["région"]'},
    {"log": '"log"', "sign": '"key"'},
    {"tables": TUPLES},
    {"tables": TUPLES + '[limits]\ngibibytes = 2\nthreads = 1\nfolder = "."\n'},
    {"tables": LEVELS},
    {"tables": LEVELS + "pad_ragged = true\n"},
    {"tables": TABLES.replace("[groups]", 'entity = ""\nregion = ["a", "b"]\n[groups]')},
    {"tables": TABLES.replace('"regions.csv"', '"regions.csv"\nkind = "csv"\ndelimiter = ";"')},
    {"totals": '"noisy"', "tables": TABLES.replace("[regions]", "private = true\n[regions]")},
]


@pytest.mark.parametrize("text", GOOD)
def test_good_configurations_pass_both(tmp_path, text):
    path = write_config(tmp_path, **text)
    assert not [error.message for error in validator().iter_errors(as_schema_sees(path))]
    ReleaseConfig.read(path)


BAD = [
    *({key: None} for key in ("data_set", "max_size", "epsilon", "output", "ledger")),
    *({"max_size": value} for value in ("0", "-1", '"3"', "3.5", "true", "[3]", "{a = 0}", "2026-01-01")),
    *({"epsilon": value} for value in ("0.1", "0", '"inf"', '"-1"', '""', '"1/"', '"+1"', "true", "nan")),
    *({"mechanism": value} for value in ("m_c", "M_H", "")),
    *({"shares": value} for value in ("[]", "[0.5, 0.5]", '"1"', '["1/2", "x"]', "[true]")),
    *({"level_names": value} for value in ("[]", '["a", "a"]', '["level"]', '[""]', '["a", 1]', '"a"', '["\\u0007"]')),
    *({key: "1"} for key in ("data_set", "output", "ledger", "log", "sign")),
    *({key: '""'} for key in ("data_set", "output", "ledger", "log", "sign")),
    {"colour": '"red"'},
    {"totals": '"some"'},
    {"delta": "0.1"},
    {"groups": '"groups.parquet"', "tables": TABLES.replace("[groups]\nfile", "[groupz]\nfile")},
    {"tables": ""},
    {"tables": TABLES + '[tuples]\nfile = "x.csv"\nmax_quantity = 1\n'},
    {"tables": TUPLES.replace("max_quantity = 2", "")},
    {"tables": TUPLES.replace("max_quantity = 2", "max_quantity = 0")},
    {"tables": TABLES.replace('file = "groups.parquet"', "")},
    {"tables": TABLES.replace('file = "groups.parquet"', 'query = "select 1"')},
    {"tables": TABLES.replace("[groups]", 'query = "select 1"\n[groups]')},
    {"tables": TABLES.replace("[groups]", "clip = true\n[groups]")},
    {"tables": TABLES.replace("[groups]", "[[groups]]")},
    {"tables": TABLES.replace("[regions]", 'private = "yes"\n[regions]')},
    {"tables": TABLES.replace("[regions]", 'kind = "xls"\n[regions]')},
    {"tables": TABLES.replace("[groups]", 'delimiter = ", ,"\n[groups]')},
    {"tables": TABLES.replace("[groups]", 'cast = {group = "number"}\n[groups]')},
    {"tables": TABLES.replace("[groups]", "group = []\n[groups]")},
    {"tables": LEVELS + 'parent = "parent"\n'},
    {"tables": TABLES + "levels = []\n"},
    {"tables": TABLES + "[limits]\ngibibytes = 0\n"},
    {"tables": TABLES + "[limits]\ncolour = 3\n"},
]


@pytest.mark.parametrize("text", BAD)
def test_bad_configurations_fail_both(tmp_path, text):
    path = write_config(tmp_path, **text)
    assert not validator().is_valid(as_schema_sees(path))
    with pytest.raises(PgsrError):
        ReleaseConfig.read(path)


@pytest.mark.parametrize(
    "text",
    [
        {"epsilon": '"0"'},
        {"shares": '["1/2", "1/3"]'},
        {"max_size": "3.0"},
        {"delta": "0.0"},
        {"level_names": '["a", "A"]'},
        {"delta": '"2"'},
        {"totals": '"regions"'},
        {"log": '"release/log"'},
    ],
)
def test_what_only_the_reader_refuses(tmp_path, text):
    """Values that contradict each other, and 3.0, which is an integer in JSON."""
    path = write_config(tmp_path, **text)
    assert validator().is_valid(as_schema_sees(path))
    with pytest.raises(PgsrError):
        ReleaseConfig.read(path)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (value, form.schema)
        for form in vars(forms).values()
        if isinstance(form, forms.Form)
        for value in ("", "a", "1/3", "1\n", 0, 1, -1, 1.5, True, [], ["a"], ["a", "a"], [""], ["1/3", 0], [True], {})
    ],
)
def test_forms_are_judged_as_by_json_schema(value, schema):
    assert forms.fits(value, schema) == validator(json.dumps(schema)).is_valid(value)
