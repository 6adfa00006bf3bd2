"""Configurations, from a file and from Python: what they say is taken over, and every error names its key."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import TABLES, config, make_ledger, release, write_config

from pgsr.errors import BudgetError, PgsrError
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release import ReleaseConfig, Terms, check, publish
from pgsr.release.configuration.example import EXAMPLE
from pgsr.release.ledger import LedgerFile
from pgsr.release.publishing.errors import ConfigError
from pgsr.release.terms.kinds import Kind, MeasuredView
from pgsr.release.terms.plan import Plan
from pgsr.tables import Entities, Groups, Parents, Quantities

PRIVATE = TABLES.replace("[regions]", "private = true\n[regions]")


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"epsilon": None}, "write either epsilon = ... or rho = ...; none is there"),
        ({"rho": '"1/10"'}, "write either epsilon = ... or rho = ...; epsilon = ... and rho = ... are there"),
        ({"rho": '"1/10"', "epsilon": None, "delta": '"1e-6"'}, "delta goes with epsilon, and rho has none"),
        ({"unit": '"person"'}, "unit='person' is unknown; use 'entity', 'group' or 'entity in 5 groups'"),
        ({"relation": '"replace"'}, "other values of an entity that stays in its group"),
        ({"unit": '"group"', "relation": '"add_remove"'}, "number of groups changes, so it cannot be public"),
        ({"epsilon": None, "epsilom": '"1"'}, "'epsilom' is unknown; did you mean 'epsilon', which is missing"),
        ({"colour": '"red"'}, "'colour' is unknown"),
        ({"epsilon": "0.1"}, "in quotes"),
        ({"epsilon": "true"}, "in quotes"),
        ({"epsilon": '"-1"'}, "greater than 0"),
        ({"epsilon": '"inf"'}, 'is "inf"; write an exact number'),
        ({"epsilon": '""'}, "is empty; write an exact number"),
        ({"max_size": '"3"'}, 'is "3", a string; write an integer'),
        ({"max_size": "3.0"}, "is 3.0, a float; write an integer"),
        ({"max_size": "true"}, "is true; write an integer"),
        ({"max_size": "0"}, "from 1 up"),
        ({"mechanism": "M_H"}, 'write one of "m_h", "m_c_dp", .*"two_stage", perhaps "m_h"'),
        ({"mechanism": "m_c"}, 'write one of "m_h", "m_c_dp", .*"two_stage"'),
        ({"mechanism": "mean_consistency"}, "write one of"),
        ({"totals": '"regions"'}, "does not keep"),
        ({"totals": '"noisy"'}, 'needs totals = "noisy"'),
        ({"shares": '["1/2", "1/3"]'}, "add up to 5/6"),
        ({"shares": "[0.5, 0.5]"}, "in quotes"),
        ({"shares": '"1"'}, "an array"),
        ({"delta": '"2"'}, "delta is 1 or more"),
        ({"data_set": '""'}, "is empty"),
        ({"data_set": '"a\\u0007"'}, "control characters"),
        ({"data_set": "7"}, "is 7, an integer; write a string"),
        ({"ledger": '"release/ledger.jsonl"'}, "inside the output folder"),
        ({"log": '"release/log"'}, "inside the output folder"),
        ({"log": '"ledger.jsonl"'}, "the log 'ledger.jsonl' is the ledger"),
        ({"log": '"ledger.jsonl.head"'}, "the log 'ledger.jsonl.head' is the ledger"),
        ({"log": '"my.key"', "sign": '"my.key"'}, "the log 'my.key' is the private key"),
        ({"sign": '"release/key"'}, "private key lies inside the output folder"),
        ({"level_names": '["a", "A", "b"]'}, "two levels are called 'a' and 'A'"),
        ({"level_names": '["a", "a", "b"]'}, "array of different strings"),
        ({"level_names": '["a", "level", "b"]'}, "none of them region_id, level, "),
        ({"level_names": '["a", "Level", "b"]'}, "called 'Level', as another column"),
        ({"level_names": '["a", "", "b"]'}, "array of different strings"),
        ({"level_names": '["a", " ", "b"]'}, "empty or no printable text"),
        ({"level_names": '["a", "\\u2028", "b"]'}, "empty or no printable text"),
        ({"intervals": '"1"'}, "intervals is 1; write a probability of at most 9999/10000"),
        ({"intervals": "0.9"}, r'\'intervals\' is 0\.9, a float, .* in quotes, "0\.9"'),
        ({"intervals": '"9/10"'}, "only mechanism posterior publishes intervals, and this is m_h"),
        (
            {"mechanism": "posterior", "level_names": '["lower", "b"]', "intervals": '"9/10"'},
            "none of them region_id",
        ),
        (
            {"mechanism": "posterior", "totals": '"noisy"', "tables": PRIVATE, "intervals": '"9/10"'},
            "intervals are published with public numbers of groups only",
        ),
        ({"tables": ""}, r"write either \[entities\] or \[tuples\]; none is there"),
        ({"tables": TABLES + '[tuples]\nfile = "x.csv"\nmax_quantity = 1\n'}, r"\[entities\] and \[tuples\]"),
        ({"tables": TABLES.replace("[groups]", "[group]")}, "unknown"),
        (
            {"tables": TABLES.replace('file = "groups.parquet"', "")},
            r"write either file = .* in \[groups\]; none is there",
        ),
        ({"tables": TABLES.replace('"groups.parquet"', '"groups.parquet"\nkind = "xls"')}, 'one of "csv", "parquet"'),
        ({"tables": TABLES.replace('"groups.parquet"', '"groups.parquet"\ndelimiter = ";"')}, "Parquet"),
        ({"tables": TABLES.replace('"groups.parquet"', '"groups.parquet"\nprivate = 1')}, "true or false"),
        ({"tables": TABLES + "levels = []\n"}, "array of strings"),
        ({"tables": TABLES + 'levels = ["a", 1]\n'}, "array of strings"),
        ({"tables": TABLES + "[limits]\nthreads = 'two'\n"}, 'is "two", a string; write an integer'),
        (
            {"groups": '"groups.parquet"', "tables": TABLES.replace("[groups]\nfile", "[groupz]\nfile")},
            r"write a table",
        ),
    ],
)
def test_every_error_of_a_configuration_names_its_key(place, keys, word):
    with pytest.raises((ConfigError, BudgetError), match=word):
        config(place, **keys)


def test_all_errors_of_the_keys_are_listed_at_once(place):
    tables = TABLES.replace("[groups]", "clip = true\ncolor = 1\n[groups]\nepsilon = 2")
    with pytest.raises(ConfigError) as caught:
        config(place, "m_c", max_size="3.5", epsilon=None, tables=tables)
    first, *lines = str(caught.value).splitlines()
    assert first == "6 errors in the configuration:"
    for line, word in zip(
        lines,
        [
            "'max_size' is 3.5, a float",
            "'mechanism' is \"m_c\"; write one of",
            "'clip' of [entities] is unknown there; it is a key of [tuples]",
            "'color' of [entities] is unknown; known are file,",
            "'epsilon' of [groups] is unknown there; move it up",
            "write either epsilon = ... or rho = ...; none is there",
        ],
        strict=True,
    ):
        assert line.startswith("  - ")
        assert word in line


def test_configurations_that_are_no_files(tmp_path):
    with pytest.raises(ConfigError, match="--example"):
        ReleaseConfig.read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="line 1 is not in UTF-8"):
        ReleaseConfig.read(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nepsilon = = 1", 'not TOML at line 2, column 11, "epsilon = = 1": invalid value; strings stand in'),
        ("a = 1\na = 2\n", "line 2, column 6.*: cannot overwrite a value; write every key"),
        ('a = "x', "not TOML at .*: "),
        ("a = 1 b = 2", "line 1, column 7.*one key a line"),
        ("a = 1\nmax_size", "not TOML at its end: expected"),
        ("[a]\n\n[a]", "line 3.*write every key and every table once"),
    ],
)
def test_syntax_errors_name_the_line(tmp_path, text, said):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        ReleaseConfig.read(tmp_path / "bad.toml")


def test_a_mark_at_the_start_of_the_file_is_no_error(place):
    path = write_config(place)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert ReleaseConfig.read(path).terms.max_size == 3


def test_overrides_replace_keys(place):
    path = write_config(place)
    asked = ReleaseConfig.read(path, {"epsilon": "1/7", "mechanism": "kuo", "max_size": None})
    assert asked.terms.epsilon == Fraction(1, 7)
    assert asked.terms.kind is Kind.KUO
    assert asked.terms.max_size == 3


def test_level_names(place):
    """Written, else the columns of the levels, else none; as many as there are levels."""
    assert config(place).terms.level_names is None
    names = ("nation", "state", "county")
    assert config(place, level_names='["nation", "state", "county"]').terms.level_names == names
    few = config(place, level_names='["nation", "state"]')
    with pytest.raises(ConfigError, match=r"2 names of levels .'nation', 'state'., and the regions have 3 levels"):
        Plan.of(few.terms, few.tree().regions_per_level)
    with pytest.raises(ConfigError, match="2 names"):
        release(few)
    assert not LedgerFile(place / "ledger.jsonl").entries
    columns = TABLES.replace('"regions.csv"', '"regions.csv"\nregion = "id"\nlevels = ["land", "kreis"]')
    assert config(place, tables=columns).terms.level_names == ("land", "kreis")
    assert config(place, tables=columns, level_names='["a", "b"]').terms.level_names == ("a", "b")
    groups = TABLES.replace('"groups.parquet"', '"groups.parquet"\nregion = ["land", "kreis"]')
    alone = groups[: groups.index("[regions]")]
    assert config(place, tables=alone).terms.level_names == ("land", "kreis")
    with pytest.raises(ConfigError, match=r"called 'level'.*level_names ="):
        config(place, tables=alone.replace("kreis", "level"))


def test_the_key_that_signs_is_passed_on(place):
    assert config(place).sign is None
    path = write_config(place, sign='"keys/publisher.key"')
    assert ReleaseConfig.read(path).sign == place / "keys" / "publisher.key"
    assert ReleaseConfig.read(path, {"sign": "other.key"}).sign == Path("other.key")


def test_from_python_values(place):
    """Names of files and numbers as text; what contradicts the tables is refused."""
    given: dict[str, Any] = {
        "terms": Terms("made", 3, "1", "m_h"),
        "entities": Entities(pq.read_table(place / "entities.parquet").to_pandas()),
        "groups": Groups(pq.read_table(place / "groups.parquet").to_pandas()),
        "regions": Parents(str(place / "regions.csv")),
        "output": str(place / "release"),
        "ledger": str(place / "ledger.jsonl"),
    }
    make_ledger(place)
    asked = ReleaseConfig(**given)
    assert asked.log == place / "release-private.log"
    made = publish(asked)
    assert check(made.folder, made.digest).passed
    tuples = Quantities(pa.table({"unit": [1], "quantity": [1]}), 4, user=None, region=None)
    assert ReleaseConfig(**given | {"entities": tuples}).terms.max_quantity == 4
    with pytest.raises(ConfigError, match="max_quantity 2 and the tables 1"):
        ReleaseConfig(**given | {"terms": Terms("made", 3, "1", "m_h", max_quantity=2)})


SPLIT = {"threshold": 4}
BY_ROOT = {"threshold": "root", "shares": ("1/5", "2/5", "2/5")}


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"kind": "m_c"}, "the mechanism 'm_c' is unknown; .*m_h, m_c_dp, kuo, bottom_up, posterior, two_stage"),
        ({"epsilon": "many"}, "finite"),
        ({"totals": "some"}, "root, regions, noisy"),
        ({"max_size": 2.5}, "whole numbers"),
        ({"level_names": ()}, "is empty"),
        ({"unit": "entity in 999999999 groups"}, "an entity in 999,999,999 groups cannot be .*at most 1,000,000"),
        ({"min_size": -1}, "min_size is -1; write a public whole number from 0 up"),
        ({"min_size": 9}, "min_size is 9, and max_size 9; write a smaller min_size"),
        ({"min_size": 4, "max_size": (9, 4)}, "min_size is 4, and the smallest max_size of a level 4"),
        ({"min_size": True}, "min_size is True; write a public whole number from 0 up"),
        (SPLIT | {"kind": "m_h"}, "mechanism m_h does not work on split views; leave threshold out"),
        (SPLIT | {"kind": "m_c_dp"}, "mechanism m_c_dp does not work on split views; leave threshold out"),
        (SPLIT | {"kind": "posterior", "totals": "root"}, 'totals = "root" publishes .*; write totals = "regions"'),
        ({"threshold": -1}, "threshold is -1; write a public size, a whole number from 0 up"),
        ({"threshold": (4, 3)}, "threshold is .4, 3.; write a public size"),
        ({"threshold": "rot"}, "threshold is 'rot'; write a public size"),
        ({"threshold": 1, "min_size": 2}, "threshold is 1, and min_size = 2 says that no group is smaller"),
        ({"threshold": 0, "kind": "two_stage"}, "mechanism two_stage needs some cumulative counts"),
        (SPLIT | {"max_size": (9, 4)}, "a split view has the same sizes on all levels"),
        (SPLIT | {"unit": "entity in 999999999 groups"}, "at most 1,000,000"),
        (BY_ROOT | {"shares": None}, 'no share is stated; write shares = "root" with a budget of epsilon, or shares'),
        (BY_ROOT | {"shares": "leaves"}, "shares is 'leaves'; write one share per level, root first, or \"root\""),
        (BY_ROOT | {"shares": "root", "epsilon": None, "rho": "1"}, "wants a budget of epsilon alone that hides entit"),
        ({"shares": "root"}, 'wants threshold = "root"; write this, or one share per level'),
        (BY_ROOT | {"shares": ("0", "1/2", "1/2")}, "the root has a share of 0; write shares"),
        (BY_ROOT | {"kind": "bottom_up", "shares": ("0", "0", "1")}, "mechanism bottom_up measures the last level"),
        (BY_ROOT | {"kind": "two_stage"}, "two_stage needs counts that a region may not get; write kuo or posterior"),
        (BY_ROOT | {"intervals": "9/10"}, "only mechanism posterior publishes intervals, and this is kuo"),
        (BY_ROOT | {"totals": "root", "kind": "posterior"}, 'totals = "root" publishes that of the root alone'),
        (BY_ROOT | {"epsilon": None, "rho": "1", "unit": "group"}, "views that differ in sensitivity here; write one"),
    ],
)
def test_terms_that_are_refused(wrong, word):
    with pytest.raises(PgsrError, match=word):
        Terms(**{"data_set": "made", "max_size": 9, "epsilon": "1", "kind": "kuo"} | wrong)


def test_the_example_is_a_configuration(place):
    (place / "example.toml").write_text(EXAMPLE)
    LedgerFile.create(place / "ledger.jsonl", "households 2026", PureEpsilon(2))
    assert check(release(ReleaseConfig.read(place / "example.toml"))).passed


def test_the_example_names_every_key(place):
    """Uncommented, every line is a known key; those that exclude each other are tried one by one."""
    keys = "log connection query cast kind delimiter quote escape encoding header columns nulls private levels"
    for key in (*keys.split(), "pad_ragged"):
        assert f"# {key} = " in EXAMPLE
    (place / "example.toml").write_text(EXAMPLE.replace("# [limits]", "[limits]"))
    recommended = ReleaseConfig.read(place / "example.toml").terms
    assert (recommended.kind, recommended.view) == (Kind.POSTERIOR, MeasuredView.SPLIT)
    assert recommended.by_root
    assert recommended.shares_by_root


def test_numbers_of_private_groups_are_not_counted(place: Path) -> None:
    private = config(place, totals='"noisy"', tables=PRIVATE)
    with pytest.raises(ConfigError, match=r"groups is private.* is public, give their table with private_groups=False"):
        private.count_public()
