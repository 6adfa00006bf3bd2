"""The catalogue of bad input: every row with the tests that show it, and bad tables once more through a release."""

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_tables import TABLES, make_ledger, release, write_config, write_tables
from parsed import ROOT
from test_house_names import functions

from pgsr import PgsrError
from pgsr.errors import HierarchyError, TableError
from pgsr.release import ReleaseConfig, outline

CATALOGUE = {
    "test_data_hierarchy::test_bad_trees_are_refused[parent -2]": "orphan region, unknown parent",
    "test_data_hierarchy::test_bad_trees_are_refused[two roots]": "two roots",
    "test_data_hierarchy::test_bad_trees_are_refused[cycle]": "cycle",
    "test_data_hierarchy::test_bad_trees_are_refused[own parent]": "self-parent",
    "test_data_hierarchy::test_bad_trees_are_refused[two parents]": "two parents",
    "test_data_hierarchy::test_bad_trees_are_refused[same path]": "duplicate region id",
    "test_tables_regions::test_tables_of_regions_that_are_no_tree": "no tree",
    "test_tables_regions::test_level_columns_that_are_no_tree": "no tree",
    "test_data_hierarchy::test_same_name_in_two_branches": "same name in two branches",
    "test_data_hierarchy::test_bad_trees_are_refused[ragged]": "ragged depth",
    "test_data_hierarchy::test_padding_repeats_short_branches": "ragged depth",
    "test_noise_step::test_padded_regions_are_not_measured": "ragged depth",
    "test_release::test_branches_of_different_depth": "ragged depth",
    "test_noise_step::test_single_child_is_drawn_independently_of_its_parent": "single child",
    "test_noise_step::test_empty_region_is_measured": "empty region",
    "test_tables_regions::test_regions_without_groups_stay": "empty region",
    "test_tables::test_rows_that_fit_nowhere_or_twice": "group spanning two leaves; entity with null or unknown group",
    "test_tables::test_private_groups_are_not_quoted": "group spanning two leaves",
    "test_tables::test_groups_without_entities_count_as_size_0": "size-0 groups",
    "test_data_counts::test_empty_regions_and_size_0_are_kept": "size-0 groups",
    "test_tables::test_without_a_table_of_groups_the_totals_must_be_paid_for": "absent group table",
    "test_tables_regions::test_regions_of_entities_have_to_agree": "entity with null or unknown region",
    "test_data_hierarchy::test_bad_trees_are_refused[number as id]": "region ids read as numbers",
    "test_tables_ids::test_numbers_that_refer_to_text_are_refused": "region ids read as numbers",
    "test_tables_ids::test_csv_ids_keep_their_zeros": "region ids read as numbers",
    "test_tables_csv_files::test_csv_rows_are_those_of_pythons_csv_module": "misleading rows",
    "test_tables_hostile::test_every_way_in_agrees_and_one_row_more_is_one_group_one_size_up": "misleading rows",
    "test_publishing_sources::test_what_is_written_is_none_of_the_tables": "a table that is the log or the output",
    "test_data_hierarchy::test_bad_trees_are_refused[two spellings]": "unicode ids that collide after NFC",
    "test_tables_ids::test_ids_that_collide_after_normalisation": "unicode ids that collide after NFC",
    "test_data_hierarchy::test_bad_trees_are_refused[zero byte]": "control characters",
    "test_tables_ids::test_control_characters": "control characters",
    "test_data_counts::test_bad_counts_are_refused_by_name": "counts that are none",
    "test_data_counts::test_totals_beyond_2_to_the_62_are_refused_not_wrapped": "counts that are none",
    "test_data_counts::test_kinds_of_numbers_that_are_no_counts": "counts that are none",
    "test_data_counts::test_bad_tables_are_refused": "counts that are none",
    "test_tables::test_sizes_above_the_largest_are_clipped_and_the_number_stays_private": "size > K",
    "test_tables::test_largest_sizes_that_are_none": "K < 1",
    "test_release_configuration::test_every_error_of_a_configuration_names_its_key": "K < 1",
    "test_data_counts::test_too_large_a_table_is_refused_at_once": "K x regions over memory",
    "test_release_preflight::test_an_oversized_request_is_refused_at_once": "K x regions over memory",
    "test_privacy_budget::test_malformed_epsilon_is_refused_everywhere": "epsilon <= 0, NaN, inf, bool, 1e-320",
    "test_privacy_budget::test_shares_that_do_not_fit_are_refused": "shares that do not sum",
    "test_privacy_budget::test_budget_cannot_be_spent_twice": "budget spent twice",
    "test_ledger_file::test_two_processes_cannot_both_spend_the_last": "budget spent twice; two writers",
    "test_models_availability::test_a_missing_package_is_a_sentence": "solver missing",
    "test_models_availability::test_a_licence_file_that_is_none_is_a_sentence": "solver unlicensed",
    "test_models_availability::test_gurobi_beyond_its_bundled_licence": "solver over its size limit",
    "test_models_adapter::test_time_limits_end_in_an_honest_status": "solver timing out",
    "test_models_adapter::test_a_time_limit_below_any_solver_is_a_status": "solver timing out",
    "test_models::test_answers_that_are_wrong_are_refused": "solver returning NaN",
    "test_models::test_a_false_solved_is_a_failed_row": "solver with a false 'solved'",
    "test_models_adapter::test_whatever_a_solver_does_is_a_status": "solver with a false 'solved'",
    "test_cost_tables::test_windows_that_cannot_reach_the_total_are_widened": "infeasible window",
    "test_cost_tables::test_malformed_windows_are_sentences": "infeasible window",
    "test_experiments_runner::test_nothing_finished_is_lost_to_sigkill": "killed mid-sweep",
    "test_release_making::test_killed_after_the_charge": "killed mid-sweep",
    "test_experiments_store::test_what_cannot_be_written_is_a_sentence": "disk full",
    "test_release_making::test_a_full_disk_is_refused_beforehand": "disk full",
    "test_ledger_file::test_a_full_disk_charges_nothing": "disk full",
    "test_experiments_store::test_a_read_only_folder_is_a_sentence": "read-only folder",
    "test_release_making::test_a_read_only_folder_is_refused": "read-only folder",
    "test_ledger_file::test_a_folder_that_cannot_be_written": "read-only folder",
    "test_experiments_store::test_two_writers_leave_whole_files": "two writers",
    "test_tables::test_only_own_errors": "whatever else",
    "test_data_hierarchy::test_garbage_is_refused_or_a_tree": "whatever else",
    "test_data_counts::test_garbage_is_refused_or_adds_up": "whatever else",
    "test_assurance_garbage::test_garbage_is_refused_in_our_words": "whatever else",
}
"""Test, as file::function[case] -> what it shows."""


def test_every_row_is_shown_by_tests_that_exist():
    """A function of that name, and a case of that name in its file; a renamed or deleted test is missed here."""
    for shown, row in CATALOGUE.items():
        file, _, test = shown.partition("::")
        function, _, case = test.removesuffix("]").partition("[")
        assert function in (functions(file) or ()), f"{row}: there is no {shown}"
        text = next((ROOT / "tests").glob(f"*/{file}.py")).read_text()
        assert not case or f'"{case}"' in text, f"{row}: {function} has no case {case}"


Spoil = Callable[[Path], object]
"""What is done to the tables of a folder."""


def line(text: str) -> Spoil:
    """One line more in the table of regions."""

    def spoil(folder: Path) -> None:
        with (folder / "regions.csv").open("a") as file:
            file.write(text + "\n")

    return spoil


def row(table: str, **values: object) -> Spoil:
    """One row more in a table."""

    def more(found: pa.Table) -> pa.Table:
        added = {name: pa.array([values.get(name)], found.schema.field(name).type) for name in found.column_names}
        return pa.concat_tables([found, pa.table(added)])

    return changed(table, more)


def changed(table: str, change: Callable[[pa.Table], pa.Table]) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / f"{table}.parquet"
        pq.write_table(change(pq.read_table(path)), path)

    return spoil


def torn(folder: Path) -> None:
    path = folder / "entities.parquet"
    path.write_bytes(path.read_bytes()[:-20])


SPOILED = {
    "orphan": (line("US/XX/1,US/XX"), HierarchyError, "orphan"),
    "control character": (line("US/G\u200bA,US"), HierarchyError, "control"),
    "group in two leaves": (row("groups", group=0, region="US/MI/MI1"), TableError, "lies in"),
    "entity in an unknown group": (row("entities", entity=987_654, group=123_456), TableError, "does not list"),
    "entity listed twice": (row("entities", entity=0, group=1), TableError, "more than one row"),
    "no column of groups": (changed("entities", lambda t: t.drop_columns("group")), TableError, "no column 'group'"),
    "torn entities": (torn, TableError, "cannot be read"),
}
"""One fault of each kind; whatever else the tables' own tests refuse comes the same way."""


@pytest.mark.parametrize("name", SPOILED)
def test_a_release_of_bad_tables_is_refused_and_costs_nothing(tmp_path, name):
    """A typed error that names the fault and the remedy, no charge, no folder, and no private id.

    Only the private log may be there, for the operator alone.
    """
    spoil, kind, word = SPOILED[name]
    write_tables(tmp_path)
    spoil(tmp_path)
    config = write_config(tmp_path)
    before, lines = {path.name for path in tmp_path.iterdir()}, (tmp_path / "ledger.jsonl").read_bytes()
    with pytest.raises(kind, match=word) as caught:
        release(ReleaseConfig.read(config))
    assert len(str(caught.value)) > 40
    assert "987654" not in str(caught.value).replace(",", "")
    assert "123456" not in str(caught.value).replace(",", "")
    log = tmp_path / "release-private.log"
    assert {path.name for path in tmp_path.iterdir()} - {log.name} == before | {"ledger.jsonl.lock"}
    assert not log.exists() or log.stat().st_mode & 0o077 == 0
    assert (tmp_path / "ledger.jsonl").read_bytes() == lines


def csv(table: str, text: str, keys: str = "") -> Callable[[Path], str]:
    """A table as a CSV file of this text, and the tables of a configuration that reads it."""

    def write(folder: Path) -> str:
        (folder / "spoiled.csv").write_text(text)
        pattern = rf'(\[{table}\]\nfile = ")[^"]*"'
        return re.sub(pattern, rf'\1spoiled.csv"\n{keys}'.replace("\n", "\\n"), TABLES)

    return write


def users(text: str) -> Callable[[Path], str]:
    """A table of what users do, in place of entities."""

    def write(folder: Path) -> str:
        tables = csv("entities", f"user,group,quantity\n{text}\n", "cast = {group = 'integer'}")(folder)
        terms = 'max_quantity = 2\nunit = "group"\n[groups]'
        return tables.replace("[entities]", "[tuples]").replace("[groups]", terms)

    return write


IN_TOML = {
    "repeated entity": (csv("entities", "entity,group\n1,0\n1,1\n", "cast = {group = 'integer'}"), 'entity = ""'),
    "quote signs": (csv("regions", 'region,parent\nUS,\nGA "x",US\n'), 'quote = ""'),
    "no header line": (csv("regions", ""), "header = false"),
    "ragged": (csv("regions", "region,parent\nUS,\nGA,US\nMI,US\nA,MI\n"), "pad_ragged = true"),
    "text and numbers": (csv("entities", "entity,group\n1,0\n"), 'cast = {column = "integer"}'),
    "repeated user": (users("1,0,1\n1,1,1"), 'user = ""'),
    "too much": (users("1,0,9"), "clip = true"),
}


@pytest.mark.parametrize("name", IN_TOML)
def test_a_remedy_is_spelled_as_a_configuration_has_it(tmp_path, name):
    """Whoever wrote a TOML file is told what to write there, beside the Python of the same."""
    spoil, word = IN_TOML[name]
    write_tables(tmp_path)
    asked = write_config(tmp_path, tables=spoil(tmp_path))
    with pytest.raises(PgsrError) as caught:
        release(ReleaseConfig.read(asked))
    assert word in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "word"),
    [
        (TABLES.replace('[regions]\nfile = "regions.csv"', ""), "no public regions"),
        (TABLES.replace('[groups]\nfile = "groups.parquet"', ""), 'totals = "noisy"'),
    ],
)
def test_an_absent_public_table_is_refused(tmp_path, tables, word):
    write_tables(tmp_path)
    for asked in (outline, release):
        with pytest.raises(PgsrError, match=word):
            asked(ReleaseConfig.read(write_config(tmp_path, tables=tables)))
    assert not make_ledger(tmp_path).entries
