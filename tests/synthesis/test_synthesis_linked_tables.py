"""Linked tables: read, refused and written."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from instances import rng_of, scale

from pgsr.experiments.others.simulators import households, referrals, related_households
from pgsr.synthesis import Attribute, Domain, Population
from pgsr.synthesis.data.linked_tables import Binning, LinkedTableError, read_population, to_tables

AREA, SEX, ROOMS = Attribute("area", ("urban", "rural")), Attribute("sex", ("f", "m")), Attribute("rooms", (1, 2, 3))
PLAIN = Domain.plain([AREA, ROOMS], [SEX], max_size=2)
FAMILY = Domain.household([AREA], [SEX], max_children=1)


def plain_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    homes = pd.DataFrame({"household": ["a", "b", "c"], "area": ["rural", "urban", "urban"], "rooms": [3, 1, 2]})
    people = pd.DataFrame({"household": ["c", "a", "b", "a"], "sex": ["f", "m", "f", "f"]})
    return homes, people


def family_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    homes = pd.DataFrame({"household": [7, 8], "area": ["rural", "urban"]})
    people = pd.DataFrame(
        {"household": [8, 7, 7, 7], "sex": ["f", "m", "f", "f"], "role": ["head", "child", "spouse", "head"]}
    )
    return homes, people


def same(a: Population, b: Population) -> bool:
    fields = ("groups", "persons", "group_of", "role_of")
    return a.domain == b.domain and all(np.array_equal(getattr(a, f), getattr(b, f)) for f in fields)


def test_read_equals_a_loop_over_rows() -> None:
    rng = rng_of(61)
    for _ in range(scale(15, 300)):
        n = int(rng.integers(1, 12))
        keys = rng.permutation(100)[:n]
        homes = pd.DataFrame(
            {"household": keys, "area": rng.choice(["urban", "rural"], n), "rooms": rng.integers(1, 4, n)}
        )
        of = rng.permutation(np.concatenate([keys, keys[rng.random(n) < 0.5]]))
        people = pd.DataFrame({"household": of, "sex": rng.choice(["f", "m"], len(of))})
        population = read_population(homes, people, PLAIN)
        members = 0
        for g in range(n):
            home = homes.iloc[g]
            assert population.groups[g].tolist() == [AREA.values.index(home["area"]), home["rooms"] - 1]
            theirs = [SEX.values.index(p["sex"]) for _, p in people.iterrows() if p["household"] == home["household"]]
            assert population.persons[population.group_of == g].ravel().tolist() == theirs
            members += len(theirs)
        assert members == population.n_persons == len(people)


@pytest.mark.parametrize("ending", [".parquet", ".csv.gz"])
def test_written_populations_read_back(tmp_path: Path, ending: str) -> None:
    for population in (households(50, seed=1), related_households(50, seed=2), referrals(50, seed=3)):
        paths = tmp_path / f"households{ending}", tmp_path / f"persons{ending}"
        for frame, path in zip(to_tables(population), paths, strict=True):
            (frame.to_parquet if path.suffix == ".parquet" else frame.to_csv)(path, index=False)
        assert same(read_population(*paths, population.domain), population)
        assert same(read_population(*to_tables(population), population.domain), population)


def test_tables_have_keys_sizes_and_person_numbers() -> None:
    population = read_population(*family_tables(), FAMILY)
    homes, people = to_tables(population)
    assert homes.to_dict("list") == {"household": [0, 1], "area": ["rural", "urban"], "COUNT": [3, 1]}
    assert people.to_dict("list") == {
        "household": [0, 0, 0, 1],
        "person": [1, 2, 3, 1],
        "role": ["head", "spouse", "child", "head"],
        "sex": ["f", "f", "m", "f"],
    }
    cooks = Domain.plain([], [Attribute("role", ("cook", "guest"))], max_size=1)
    with pytest.raises(LinkedTableError, match="role is an attribute and a column"):
        to_tables(Population(cooks, np.zeros((1, 0), int), np.array([[0]]), np.array([0]), np.array([0])))


def test_whole_numbers_are_one_value_however_they_are_written(tmp_path: Path) -> None:
    homes, people = plain_tables()
    expected = read_population(homes, people, PLAIN)
    for kind in ("int8", "float64", "str", "Int16", "object"):
        assert same(read_population(homes.astype({"rooms": kind}), people, PLAIN), expected)
    homes.to_csv(tmp_path / "h.csv", index=False)
    assert same(read_population(tmp_path / "h.csv", people, PLAIN), expected)
    ambiguous = Domain.plain([Attribute("rooms", (1, "1"))], [SEX], 2)
    with pytest.raises(LinkedTableError, match="rooms: two values"):
        read_population(homes, people, ambiguous)


def changed(table: pd.DataFrame, row: int, column: str, value: object) -> pd.DataFrame:
    table = table.astype(object)
    table.loc[row, column] = value
    return table


def more(table: pd.DataFrame, *rows: dict[str, object]) -> pd.DataFrame:
    return pd.concat([table, pd.DataFrame(list(rows))], ignore_index=True)


HOMES, PEOPLE = plain_tables()
REFUSED = {
    "orphan": (HOMES, changed(PEOPLE, 1, "household", "z"), "persons: some rows have a key household that no house"),
    "repeated key": (changed(HOMES, 2, "household", "a"), PEOPLE, "households: some rows repeat a key"),
    "missing key": (changed(HOMES, 0, "household", None), PEOPLE, "households: key household is missing in some"),
    "person without key": (HOMES, changed(PEOPLE, 3, "household", None), "persons: key household is missing in some"),
    "over M": (HOMES, more(PEOPLE, {"household": "a", "sex": "m"}), "some have more members than M = 2;"),
    "no members": (HOMES, PEOPLE.drop(0), "some have no members at all;"),
    "outside": (changed(HOMES, 1, "area", "moon"), PEOPLE, "column area .* its domain; the domain has urban, rural"),
    "outside number": (changed(HOMES, 1, "rooms", 1.5), PEOPLE, "column rooms has values outside its domain"),
    "null": (changed(HOMES, 1, "area", None), PEOPLE, "households: column area has rows without a value"),
    "column": (HOMES.drop(columns="area"), PEOPLE, "households: column area is needed"),
    "key column": (HOMES, PEOPLE.drop(columns="household"), "persons: column household is needed"),
    "count": (HOMES.assign(COUNT=[2, 2, 1]), PEOPLE, "than its column COUNT says;"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tables_are_refused_by_name(case: str) -> None:
    homes, people, message = REFUSED[case]
    with pytest.raises(LinkedTableError, match=message):
        read_population(homes, people, PLAIN)


def test_roles_are_checked() -> None:
    homes, people = family_tables()
    for table, message in (
        (changed(people, 1, "role", "lodger"), "column role has values outside"),
        (changed(people, 1, "role", None), "column role has rows without a value"),
        (changed(people, 0, "role", "spouse"), "some have fewer than 1 members of role head;"),
        (changed(people, 1, "role", "spouse"), "some have more than 1 members of role spouse;"),
        (people.drop(columns="role"), "column role is needed"),
    ):
        with pytest.raises(LinkedTableError, match=message):
            read_population(homes, table, FAMILY)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    homes, people = plain_tables()
    (tmp_path / "bad.parquet").write_text("no table")
    for path in (tmp_path / "none.csv", tmp_path / "none.parquet"):
        with pytest.raises(LinkedTableError, match="households: there is no file"):
            read_population(path, people, PLAIN)
    with pytest.raises(LinkedTableError, match="households cannot be read"):
        read_population(tmp_path / "bad.parquet", people, PLAIN)
    with pytest.raises(LinkedTableError, match=r"persons: .* neither \.parquet nor \.csv"):
        read_population(homes, tmp_path / "persons.xlsx", PLAIN)


def test_texts_that_look_missing_are_values(tmp_path: Path) -> None:
    domain = Domain.plain([], [Attribute("code", ("NA", "None"))], 1)
    pd.DataFrame({"household": [0, 1]}).to_csv(tmp_path / "h.csv", index=False)
    (tmp_path / "p.csv").write_text("household,code\n0,NA\n1,None\n")
    assert read_population(tmp_path / "h.csv", tmp_path / "p.csv", domain).persons.tolist() == [[0], [1]]
    (tmp_path / "p.csv").write_text("household,code\n0,NA\n1,\n")
    with pytest.raises(LinkedTableError, match="column code has rows without a value"):
        read_population(tmp_path / "h.csv", tmp_path / "p.csv", domain)


def test_bins_equal_a_search_by_hand() -> None:
    rng = rng_of(62)
    for _ in range(100):
        lower = np.unique(rng.integers(-5, 40, rng.integers(1, 6)))
        bins = Binning("age", tuple(lower), missing="unknown")
        values = rng.integers(lower[0], int(lower[-1]) + 21, 30)
        codes = bins.codes([*values, None, np.nan])
        assert codes[-2:].tolist() == [len(lower)] * 2
        for value, code in zip(values, codes, strict=False):
            assert [i for i, low in enumerate(lower) if low <= value][-1] == code
        assert bins.labels(values).tolist() == [bins.attribute.values[c] for c in bins.codes(values)]
    assert Binning("age", (0, 1, 5, 65)).attribute.values == ("0", "1-4", "5-64", "65+")
    assert Binning("change", (-10, 0), missing="?").attribute.values == ("-10 to -1", "0+", "?")
