"""Forgeries of releases: of which release, what is changed, and the step of the check that must find it.

A forger rewrites all digests (SHA256SUMS, and those in the manifest). Where a forgery is "consistent", everything that
follows from what was changed is written anew, too: the post-processing, the certificate, the descriptions.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forging import LEAVES, Forgery, Target, reordered
from instances import rng_of
from made_measurements import cells_of
from made_tables import TABLES, write_config, write_tables
from parquet_footers import hide_between, hide_in_column
from planned import planned

from pgsr import Hierarchy, View
from pgsr.data import Estimate
from pgsr.noise import Measurement
from pgsr.privacy import Seeded
from pgsr.privacy.accounting import Approximate, Rho
from pgsr.privacy.neighbours import Relation, Unit
from pgsr.release import ReleaseConfig, Terms, publish
from pgsr.release.checks.judgement import broken
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.datapackage import package_text
from pgsr.release.folder.readme import readme
from pgsr.release.ledger import LedgerFile
from pgsr.release.make import files
from pgsr.release.terms.kinds import Kind

BY_LEVEL = "{nation = 9, state = 4, county = 2}"
PUBLICATION = '[publication]\ngroup_name = "households"\npublisher = "Office"\n'
RHO = {"epsilon": None, "rho": '"1/10"'}

RELEASES: dict[str, tuple[str, dict[str, str | None], tuple]] = {
    "m_h": ("m_h", {"max_size": "9"}, ()),
    **{f"small {kind}": (str(kind), {}, ()) for kind in Kind},
    **{f"{kind} by level": (kind, {"max_size": BY_LEVEL}, ()) for kind in ("m_h", "m_c_dp", "kuo")},
    "ranks": ("kuo", {"max_size": "9", "threshold": "2"}, ()),
    "by root": ("posterior", {"max_size": "9", "threshold": '"root"', "shares": '"root"'}, ()),
    "least size": ("m_h", {"max_size": "9", "min_size": "2"}, ()),
    "intervals": ("posterior", {"max_size": "6", "intervals": '"9/10"'}, ()),
    "words": ("m_h", {"tables": TABLES + PUBLICATION}, ()),
    "rho": ("m_h", RHO | {"max_size": "30"}, (Rho(10),)),
    "delta": ("posterior", {"delta": '"1e-6"'}, (Approximate(10, "1e-3"),)),
    "households": ("posterior", RHO | {"unit": '"group"'}, (Rho(10), Relation.REPLACE, Unit.GROUP)),
    **{f"large {kind}": (kind, {"max_size": "1000"}, ()) for kind in ("posterior", "two_stage")},
}
"""Releases of one population by name: mechanism, keys of the configuration, and the ledger's total, relation and unit.

The tables of a large one have more groups, and those of the one with intervals no rows of zeros.
"""

COUNTS, CSV, NOISY, MANIFEST = artefact.COUNTS, artefact.COUNTS_CSV, artefact.MEASUREMENT, artefact.MANIFEST
SHARES = (Fraction(1, 300), Fraction(1, 300), Fraction(149, 150))


def made(name: str, folder: Path) -> ReleaseConfig:
    """A release by its name, which nobody has signed."""
    mechanism, keys, ledger = RELEASES[name]
    write_tables(folder, n_groups=4_000 if name.startswith("large") else 400, leaves=LEAVES)
    if ledger:
        LedgerFile.create(folder / "ledger.jsonl", "made", *ledger)
    config = ReleaseConfig.read(write_config(folder, mechanism, **keys))  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        if name == "intervals":
            patch.setattr("pgsr.release.terms.plan.MOST_ROWS", 0)
        publish(config)
    return config


# What lies in the folder is changed


def raw(name: str, change: Callable[[bytes], bytes], target: Target) -> None:
    (target / name).write_bytes(change((target / name).read_bytes()))


def text(name: str, old: str, new: str, target: Target) -> None:
    assert old in (target / name).read_text(), f"{old!r} is not in {name}"
    raw(name, lambda data: data.replace(old.encode(), new.encode(), 1), target)


def lines(name: str, change: Callable[[list[str]], list[str]], target: Target) -> None:
    raw(name, lambda data: ("\n".join(change(data.decode().splitlines())) + "\n").encode(), target)


def one_more_in(place: int) -> Callable[[list[str]], list[str]]:
    """The last number of a line of a CSV file, one larger."""

    def changed(found: list[str]) -> list[str]:
        before, _, number = found[place].rpartition(",")
        return [*found[:place], f"{before},{int(number) + 1}", *found[place + 1 :]]

    return changed


def table(name: str, change: Callable[[pa.Table], pa.Table], target: Target) -> None:
    """A Parquet file, and what repeats it: the CSV file and the sums of the data package."""
    pq.write_table(change(pq.read_table(target / name)), target / name, compression="zstd")
    if name == COUNTS:
        (target / artefact.COUNTS_CSV).write_bytes(released_tables.csv_bytes(pq.read_table(target / name)))
    (target / artefact.PACKAGE).write_text(package_text(target.folder, target.fields), newline="")


def column(name: str, field: str, place: int, by: int | str, target: Target) -> None:
    """One value of a column, larger by a number, or a text in its place."""

    def changed(found: pa.Table) -> pa.Table:
        at, values = found.column_names.index(field), found[field].to_pylist()
        values[place] = by if isinstance(by, str) else values[place] + by
        return found.set_column(at, found.schema.field(at), pa.array(values, found.schema.field(at).type))

    table(name, changed, target)


def table_of(name: str, change: Callable[[pa.Table], pa.Table]) -> Forgery:
    return partial(table, name, change)


def rows_of(name: str, change: Callable[[list[dict]], list[dict]]) -> Forgery:
    def changed(found: pa.Table) -> pa.Table:
        return pa.Table.from_pylist(change(found.to_pylist()), schema=found.schema)

    return partial(table, name, changed)


def facts_of(name: str, **facts: str) -> Forgery:
    """Other facts in the metadata of a table."""

    def changed(found: pa.Table) -> pa.Table:
        known = {k.decode(): v.decode() for k, v in found.schema.metadata.items()}
        return found.replace_schema_metadata(known | facts)

    return partial(table, name, changed)


def dropped(found: pa.Table) -> pa.Table:
    return pa.concat_tables([found.slice(0, 4), found.slice(5)])


def repeated(found: pa.Table) -> pa.Table:
    return pa.concat_tables([found, found.slice(4, 1)])


def called_otherwise(found: pa.Table) -> pa.Table:
    names = [name.replace("noisy_count", "noisy_cumulative_count") for name in found.column_names]
    return found.rename_columns(names).replace_schema_metadata(found.schema.metadata)


def described_otherwise(found: pa.Table) -> pa.Table:
    place = found.column_names.index("n_groups")
    field = found.schema.field(place).with_metadata({"description": "True number of groups."})
    return found.set_column(place, field, found["n_groups"])


def hidden_bytes(data: bytes) -> bytes:
    """Text between the columns and the footer of a Parquet file, which no reader shows."""
    cut = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return data[:cut] + b"rows of persons" + data[cut:]


def hidden(hide: Callable[[Path, bytes, int], None], name: str, column: int = 0) -> Forgery:
    return lambda target: hide(target / name, b"rows of persons", column)


def linked(target: Target) -> None:
    elsewhere = target.folder.parent / "elsewhere.html"
    shutil.move(target / artefact.SUMMARY, elsewhere)
    (target / artefact.SUMMARY).symlink_to(elsewhere)


def fields(change: Callable[[dict], None], target: Target) -> None:
    found = target.fields
    change(found)
    assert found != target.fields
    (target / MANIFEST).write_text(manifest.written(found))


def stated(*path: Any, **to: Any) -> Forgery:
    """Another value of one field of the manifest."""

    def change(found: dict) -> None:
        for key in path[:-1]:
            found = found[key]
        found[path[-1]] = to["to"]

    return partial(fields, change)


def removed(*path: Any) -> Forgery:
    def change(found: dict) -> None:
        for key in path[:-1]:
            found = found[key]
        del found[path[-1]]

    return partial(fields, change)


def thresholds(change: Callable[[list], list]) -> Forgery:
    """The thresholds of the levels, changed."""

    def changed(found: dict) -> None:
        levels = found["levels"]
        for level, threshold in zip(levels, change([level["threshold"] for level in levels]), strict=True):
            level["threshold"] = threshold

    return partial(fields, changed)


def of_each_region(found: list[int]) -> list[list[int]]:
    """The same thresholds, as those of regions that follow from the root are stated."""
    return [[threshold] * regions for threshold, regions in zip(found, (1, 6, 18), strict=True)]


def another_view(found: dict) -> None:
    found["levels"][1]["view"] = "cumulative"
    del found["levels"][1]["threshold"]


def other_shares(found: dict) -> None:
    """All that a manifest says of them is changed."""
    for level, share in zip(found["levels"], ("1/2", "1/4", "1/4"), strict=True):
        level |= {"share": share, "epsilon": share, "noise_scale": str(1 / Fraction(share))}


def sentence_for_a_version(target: Target) -> None:
    """README.txt prints the versions, and so any sentence that stands for one."""
    stated("versions", "python", to="3.12, and the publisher has withdrawn these counts")(target)
    (target / artefact.README).write_text(readme(target.fields))


def versions_everywhere(target: Target) -> None:
    old = target.fields["versions"]["python"]
    for name in (MANIFEST, artefact.README):
        text(name, old, "3.99.0", target)


# Rows of noisy values below and beyond thresholds


def as_last_rank(rows: list[dict]) -> list[dict]:
    """The last column of the nation becomes its first rank."""
    moved = [row for row in rows if row["region_id"] == "US" and row["rank"] is None][-1]
    moved["rank"], moved["noisy_excess"] = 0, moved["noisy_cumulative_count"]
    moved["group_size"] = moved["noisy_cumulative_count"] = None
    return rows


def first_ranks(**values: int | None) -> Forgery:
    return rows_of(NOISY, lambda rows: [row | values if row["rank"] == 0 else row for row in rows])


def ranks_from_above(rows: list[dict]) -> list[dict]:
    ranks = [row for row in rows if row["region_id"] == "US" and row["rank"] is not None]
    for row in ranks:
        row["rank"] = len(ranks) - 1 - row["rank"]
    return rows


def far_off(field: str) -> Forgery:
    """The nation's last value."""

    def changed(rows: list[dict]) -> list[dict]:
        last = [row for row in rows if row["region_id"] == "US" and row[field] is not None][-1]
        last[field] += 60
        return rows

    return rows_of(NOISY, changed)


# Intervals


def an_end(field: str, by: int, target: Target) -> None:
    place = int(pq.read_table(target / COUNTS)[field].to_numpy().argmax())
    column(COUNTS, field, place, by, target)


def narrowed(found: pa.Table) -> pa.Table:
    """Intervals of no width: the counts are said to be exact, and rows that then hold 0 alone are left out."""
    first = np.arange(found.num_rows) == found["group_size"].to_pylist().index(6)
    found = found.filter((found["n_groups"].to_numpy() != 0) | (found["group_size"].to_numpy() == 0) | first)
    for field in ("lower", "upper"):
        place = found.column_names.index(field)
        found = found.set_column(place, found.schema.field(place), found["n_groups"])
    return found


def without_an_end(rows: list[dict]) -> list[dict]:
    rows[0]["upper"] = None
    return rows


def without_an_interval(rows: list[dict]) -> list[dict]:
    """A row that holds 0 groups and an interval is left out, as if its interval were 0."""
    empty = [row for row in rows[7:] if row["n_groups"] == 0 and row["upper"] and row["group_size"]]
    assert empty, "no count of this release is 0 with an interval around it"
    rows.remove(empty[0])
    return rows


def another_level_everywhere(target: Target) -> None:
    """The level of the manifest, metadata and all descriptions is another one, and the ends stay."""
    terms, tree, _, _ = target.known()
    plan = planned(terms, tree)
    ends = released_tables.read_ends(target / COUNTS, tree, plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files.CountIntervals, "of", lambda *_: type("Stated", (), {"ends": ends}))
        restated(target, intervals=Fraction(1, 5))


# Consistent forgeries: everything that follows is written anew


def measured(target: Target) -> tuple[Terms, Hierarchy, Measurement]:
    terms, tree, totals, values = target.known()
    return terms, tree, planned(terms, tree).measured(tree, cells_of(values), totals, True)


def restated(target: Target, **about: Any) -> None:
    """The same noisy values under other terms."""
    terms, tree, totals, values = target.known()
    other = replace(terms, **about)
    target.remake(planned(other, tree).measured(tree, cells_of(values), totals, True), other)


def drawn_anew(target: Target, terms: Terms, key: object, said: Terms | None = None) -> None:
    """Noise of some terms, from a key, said to be secure and of the same or other terms."""
    found = planned(terms, 3).mechanism.measure(target.config.count(), Seeded(key))
    said = said or terms
    target.remake(planned(said, found.hierarchy).measured(found.hierarchy, found.cells, found.totals, True), said)


def relabelled(drawn: str, said: str, target: Target) -> None:
    """Noise of one epsilon, and another one in the manifest, README, metadata, data package and summary alike."""
    real, other = (replace(target.known()[0], epsilon=Fraction(epsilon)) for epsilon in (drawn, said))
    drawn_anew(target, real, "forger", other)


def rehearsed(target: Target) -> None:
    """A rehearsal, of which every claim is rewritten."""
    terms = target.known()[0]
    found = planned(terms, 3).mechanism.measure(target.config.count(), Seeded(manifest.REHEARSAL_KEY))
    target.remake(replace(found, secure=True), terms)


def mechanism_renamed(target: Target) -> None:
    """Noisy counts are said to be cumulative ones."""
    restated(target, kind=Kind.M_C_DP, shares=None, epsilon=Fraction(1, 2))


def one_noisy_value(target: Target) -> None:
    terms, tree, totals, values = target.known()
    cells = cells_of(values)
    cells[-1] += 1
    target.remake(planned(terms, tree).measured(tree, cells, totals, True), terms)


def invented(target: Target) -> None:
    """Noisy values of the stated law around a truth that is nobody's."""
    terms, truth = target.known()[0], target.config.count()
    leaves = rng_of(1).permuted(truth.counts[truth.hierarchy.leaves], axis=1)
    noise = planned(terms, 3).mechanism.noise.measure(
        type(truth)(truth.hierarchy, leaves, truth.name), Seeded("invented")
    )
    target.remake(planned(terms, truth.hierarchy).measured(truth.hierarchy, noise.cells, noise.totals, True), terms)


def region_everywhere(target: Target) -> None:
    terms, tree, totals, values = target.known()
    other = Hierarchy.from_paths([tuple(name.replace("s1", "s9") for name in path) for path in tree.paths])
    target.remake(planned(terms, other).measured(other, cells_of(values), totals, True), terms)


def another_release(target: Target) -> None:
    """Another true release of the same data, by the same publisher, in its place."""
    made = publish(replace(target.config, output=target.folder.parent / "another")).folder
    for name in artefact.FILES:
        shutil.copy(made / name, target / name)
    shutil.rmtree(made)


def words_everywhere(target: Target) -> None:
    restated(target, publication=replace(target.known()[0].publication, publisher="somebody else"))


def counts(change: Callable[[Any], None], target: Target) -> None:
    """Other counts, and all that follows from them: tables, certificate, descriptions.

    `change` gets the leaves' table, or with sizes per level the tables of all levels.
    """
    terms, tree, measurement = measured(target)
    plan = planned(terms, tree)
    result = plan.mechanism.post_process(measurement)
    if terms.max_sizes is None:
        leaves = result.answer.counts().counts[tree.leaves].copy()
        change(leaves)
        found = Estimate(tree, View.COUNTS, tree.sum_up(leaves))
    else:
        tables = tuple(one.copy() for one in Estimate(tree, View.COUNTS, result.estimate.as_counts).tables)
        change(tables)
        found = Estimate(tree, View.COUNTS, tables)
    with pytest.MonkeyPatch.context() as patch:  # a release writes no others
        patch.setattr(files, "answer_of", lambda _: found)
        patch.setattr(files, "broken", lambda *_: {})
        if any(broken(plan, measurement, found).values()):
            patch.setattr(Estimate, "counts", lambda estimate: estimate)
        files._write(target.folder, plan, measurement, result)


def moved(leaves: np.ndarray) -> None:
    """One group has another size in a leaf, and so in the regions above it."""
    size = int(leaves[0].argmax())
    leaves[0, size] -= 1
    leaves[0, (size + 1) % leaves.shape[1]] += 1


def negative(leaves: np.ndarray) -> None:
    """A group more of one size than a leaf has is moved to another."""
    leaves[0, 0] += leaves[0, 1] + 1
    leaves[0, 1] = -1


def exchanged(times: int, by: int, leaves: np.ndarray) -> None:
    """Children of one region exchange `by` groups of neighbouring sizes, so that cumulative counts of two change."""
    places = [(a, a + 1, s) for a in (0, 3, 6, 9, 12, 15) for s in range(0, leaves.shape[1] - 1, 2)]
    places = [(a, b, s) for a, b, s in places if leaves[a, s + 1] >= by <= leaves[b, s]]
    assert len(places) >= times
    for a, b, s in places[:times]:
        leaves[a, s : s + 2] += (by, -by)
        leaves[b, s : s + 2] += (-by, by)


def rows_of_a_rounding_reordered(target: Target) -> None:
    """Counts that the rule would allow, in tables that no release writes."""
    counts(partial(exchanged, 1, 1), target)
    table(COUNTS, reordered, target)


def moved_class(tables: list[np.ndarray]) -> None:
    """Two groups of another class in a leaf and in all above it, so that sums and totals hold.

    One might cost nothing. Costs of more grow quadratically, so two do not.
    """
    leaf, size = np.unravel_index(tables[2][:, :2].argmax(), (len(tables[2]), 2))
    for found, place in zip(tables, (0, leaf // 3, leaf), strict=True):
        found[place, size] -= 2
        found[place, 1 - size] += 2


def moved_within_a_tail(tables: list[np.ndarray]) -> None:
    """Two groups of another size in the nation alone, where the states tell no sizes apart."""
    size = 4 + int(tables[0][0, 4:].argmax())
    tables[0][0, size] -= 2
    tables[0][0, 4 if size > 4 else 5] += 2


def longer_tail(tables: list[np.ndarray]) -> None:
    """One group more in the last class of a leaf."""
    tables[2][0, 2] += 1


def longer_tail_above(tables: list[np.ndarray]) -> None:
    """One group of a size that is a tail for the level below is moved to a size that is not."""
    tables[0][0, int(tables[0][0, 4:].argmax()) + 4] -= 1
    tables[0][0, 0] += 1


def not_a_leaf(rows: list[dict]) -> list[dict]:
    return [*rows[:-1], rows[-1] | {"is_leaf": False}]


def called_larger(rows: list[dict]) -> list[dict]:
    return [row | {"size_class": row["size_class"].replace("2 or more", "3 or more")} for row in rows]


def below_the_least_size(rows: list[dict]) -> list[dict]:
    return [row | {"n_groups": 1} if row["group_size"] == 0 else row for row in rows]


FORGERIES: list[tuple[str, str, Forgery, str | None]] = [
    # Files
    ("m_h", "a file added", lambda target: (target / "truth.parquet").write_bytes(b"x"), "files"),
    ("m_h", "a file removed", lambda target: (target / artefact.COUNTS_CSV).unlink(), "files"),
    ("m_h", "a file that is a link", linked, "files"),
    ("m_h", "a file cut", partial(raw, NOISY, lambda data: data[: len(data) // 2]), "measurement"),
    ("m_h", "bytes hidden in a Parquet file", partial(raw, NOISY, hidden_bytes), "counts"),
    ("m_h", "bytes between columns of the counts", hidden(hide_between, COUNTS, 2), "counts"),
    ("m_h", "bytes between columns of the noisy values", hidden(hide_between, NOISY), "counts"),
    ("m_h", "bytes after the last page", hidden(hide_in_column, COUNTS, 7), "counts"),
    ("m_h", "a CSV file of other line ends", partial(raw, CSV, lambda data: data.replace(b"\n", b"\r\n")), "counts"),
    ("m_h", "a CSV file with blank lines", partial(raw, CSV, lambda data: data.replace(b"\n", b"\n\n", 3)), "counts"),
    ("m_h", "a CSV file with a byte order mark", partial(raw, CSV, lambda data: b"\xef\xbb\xbf" + data), "counts"),
    ("m_h", "a number of the CSV file", partial(lines, CSV, one_more_in(4)), "counts"),
    ("m_h", "a row of the CSV file dropped", partial(lines, CSV, lambda found: found[:6] + found[7:]), "counts"),
    # The manifest
    ("m_h", "epsilon", stated("epsilon", to="1/10"), "budget"),
    ("m_h", "delta", stated("delta", to="1/1000000"), "budget"),
    ("m_h", "the neighbours", stated("neighbours", to="data sets that differ by one million rows"), "budget"),
    ("m_h", "a share", stated("levels", 0, "share", to="1/2"), "manifest"),
    ("m_h", "epsilon of a level", stated("levels", 0, "epsilon", to="1/2"), "budget"),
    ("m_h", "the sensitivity of a level", stated("levels", 0, "sensitivity", to=1), "budget"),
    ("m_h", "the scale of a level", stated("levels", 0, "noise_scale", to="60"), "budget"),
    ("m_h", "the name of a level", stated("levels", 0, "name", to="continent"), "regions"),
    ("m_h", "the number of regions", stated("levels", 1, "regions", to=7), "budget"),
    ("m_h", "the invariants", stated("invariants", to=[]), "budget"),
    ("m_h", "the claim", stated("privacy_claim", to="perfectly private"), "manifest"),
    ("m_h", "the method", stated("method", to="BottomUp()"), "budget"),
    ("m_h", "the status", stated("status", to="FEASIBLE"), "certificate"),
    ("m_h", "the objective", stated("certificate", "objective", to=1), "certificate"),
    ("m_h", "the bound", stated("certificate", "bound", to=1), "certificate"),
    ("m_h", "who proved the bound", stated("certificate", "bound_by", to="an oracle"), "certificate"),
    ("m_h", "the violations", stated("certificate", "violations", "sign", to=3), "certificate"),
    ("m_h", "the distance to the noisy values", stated("distance", "sum", to=1), "certificate"),
    ("m_h", "the sum of the noisy values", stated("measurement", "sum", to=1), "certificate"),
    ("m_h", "one more field", stated("true_error", to=17), "budget"),
    ("m_h by level", "K of the nation", stated("levels", 0, "max_size", to=10), "budget"),
    ("m_h by level", "K of a level", stated("levels", 1, "max_size", to=5), "measurement"),
    ("m_h by level", "K of the leaves", stated("levels", 2, "max_size", to=1), "measurement"),
    ("m_h by level", "K of a level dropped", removed("levels", 1, "max_size"), "manifest"),
    ("m_h by level", "K of the first level dropped", removed("levels", 0, "max_size"), "budget"),
    ("m_h by level", "the largest K", stated("max_size", to=8), "budget"),
    ("m_h by level", "the method", stated("method", to="BottomUp()"), "budget"),
    ("m_h by level", "the objective", stated("certificate", "objective", to=1), "certificate"),
    ("ranks", "the threshold of a level", thresholds(lambda found: [*found[:2], found[2] + 1]), "budget"),
    ("ranks", "all thresholds", thresholds(lambda found: [size + 1 for size in found]), "measurement"),
    ("ranks", "thresholds of each region of a level", thresholds(lambda found: [found[:1], *found[1:]]), "manifest"),
    ("ranks", "thresholds of each region", thresholds(of_each_region), "measurement"),
    ("ranks", "too few of them", thresholds(lambda found: [*of_each_region(found)[:2], found[:1] * 17]), "regions"),
    ("ranks", "the view of a level", partial(fields, another_view), "budget"),
    ("by root", "a threshold", thresholds(lambda found: [*found[:2], [found[2][0] + 1, *found[2][1:]]]), "measurement"),
    ("by root", "all thresholds", thresholds(lambda found: [[n + 1 for n in one] for one in found]), "measurement"),
    ("by root", "the root split", thresholds(lambda found: [[4], *found[1:]]), "measurement"),
    ("by root", "one threshold for a level", thresholds(lambda found: [found[0], found[1][0], found[2]]), "manifest"),
    ("by root", "other shares", partial(fields, other_shares), "measurement"),
    ("by root", "too few first values of the root", removed("first_root", -1), "manifest"),
    ("by root", "a first value that is not whole", stated("first_root", 0, to=0.5), "manifest"),
    ("by root", "no first values", removed("first_root"), "descriptions"),
    ("intervals", "the stated level", stated("intervals", "level", to="1/2"), "counts"),
    ("intervals", "an impossible level", stated("intervals", "level", to="2"), "manifest"),
    ("intervals", "one more field of them", stated("intervals", "more", to="1"), "budget"),
    ("words", "the publisher", stated("publication", "publisher", to="somebody else"), "descriptions"),
    ("words", "no publisher", stated("publication", "publisher", to=None), "descriptions"),
    ("words", "the word for groups", stated("publication", "group_name", to="families"), "budget"),
    ("words", "a word that is a number", stated("publication", "group_name", to=7), "manifest"),
    ("words", "a publisher of two lines", stated("publication", "publisher", to="Office\nWITHDRAWN"), "manifest"),
    ("words", "one more word", stated("publication", "rows", to=17), "manifest"),
    ("rho", "half the budget", stated("noise", "budget", to="rho 1/20"), "budget"),
    ("rho", "the budget in other digits", stated("noise", "budget", to="rho 0.1"), "budget"),
    ("rho", "a budget in epsilon", stated("noise", "budget", to="epsilon 1"), "manifest"),
    ("rho", "the unit", stated("noise", "unit", to="group"), "manifest"),
    ("rho", "the relation", stated("noise", "relation", to="move"), "budget"),
    ("rho", "what a level spends", stated("levels", 1, "spent", to="rho 1/60"), "budget"),
    ("rho", "the sigma of a level", stated("levels", 1, "noise", "sigma_squared", to="29"), "budget"),
    ("rho", "the sensitivity of a level", stated("levels", 0, "sensitivity", "l2_squared", to=1), "budget"),
    ("rho", "what totals spend", stated("totals", "spent", to="rho 1/10"), "budget"),
    ("rho", "the claim", stated("privacy_claim", to="epsilon-differentially private (secure noise)"), "manifest"),
    ("rho", "epsilon", stated("epsilon", to="1"), "budget"),
    ("rho", "delta", stated("delta", to="1/10"), "budget"),
    # Regions
    ("m_h", "a public total", partial(lines, artefact.REGIONS, one_more_in(1)), "totals"),
    ("m_h", "a region dropped", partial(lines, artefact.REGIONS, lambda found: found[:-1]), "budget"),
    ("m_h", "a region renamed", partial(text, artefact.REGIONS, "s1", "s9"), "regions"),
    ("m_h", "regions reordered", partial(lines, artefact.REGIONS, lambda f: [*f[:2], *f[3:], f[2]]), "regions"),
    # Noisy values
    ("m_h", "a noisy value", partial(column, NOISY, "noisy_count", 5, 1_000), "certificate"),
    ("m_h", "a size of the noisy values", partial(column, NOISY, "group_size", 3, 1), "measurement"),
    ("m_h", "a region of the noisy values", partial(column, NOISY, "region_id", -1, "US/elsewhere"), "measurement"),
    ("m_h", "a row of the noisy values dropped", table_of(NOISY, dropped), "measurement"),
    ("m_h", "rows of the noisy values reordered", table_of(NOISY, reordered), "measurement"),
    ("m_h", "noisy counts called cumulative", table_of(NOISY, called_otherwise), "measurement"),
    ("m_h", "the claim in their metadata", facts_of(NOISY, privacy_claim="perfect"), "measurement"),
    ("ranks", "a column as a rank", rows_of(NOISY, as_last_rank), "measurement"),
    ("ranks", "both columns", first_ranks(noisy_cumulative_count=7), "measurement"),
    ("ranks", "no value", first_ranks(noisy_excess=None), "measurement"),
    ("ranks", "ranks from above", rows_of(NOISY, ranks_from_above), "measurement"),
    ("ranks", "a cumulative count far off", far_off("noisy_cumulative_count"), "certificate"),
    ("ranks", "an excess far off", far_off("noisy_excess"), "certificate"),
    # Counts
    ("m_h", "a count", partial(column, COUNTS, "n_groups", 3, 1), "consistency"),
    ("m_h", "a size of the counts", partial(column, COUNTS, "group_size", 3, 1), "counts"),
    ("m_h", "a region of the counts", partial(column, COUNTS, "region_id", -1, "US/elsewhere"), "counts"),
    ("m_h", "a level of the counts", partial(column, COUNTS, "level", 3, 1), "replay"),
    ("m_h", "is_leaf of the counts", rows_of(COUNTS, not_a_leaf), "replay"),
    ("m_h", "a row of the counts dropped", table_of(COUNTS, dropped), "consistency"),
    ("m_h", "a row of the counts repeated", table_of(COUNTS, repeated), "counts"),
    ("m_h", "rows of the counts reordered", table_of(COUNTS, reordered), "replay"),
    ("m_h", "what a column of the counts means", table_of(COUNTS, described_otherwise), "counts"),
    ("m_h", "the claim in their metadata ", facts_of(COUNTS, privacy_claim="perfect"), "counts"),
    ("m_h", "epsilon in the metadata", facts_of(COUNTS, epsilon="1/100"), "counts"),
    ("m_h", "one more fact in the metadata", facts_of(COUNTS, rows="17"), "counts"),
    ("m_h by level", "the name of a class", rows_of(COUNTS, called_larger), "replay"),
    ("m_h by level", "a count", partial(column, COUNTS, "n_groups", 3, 1), "consistency"),
    ("m_h by level", "rows of the counts reordered", table_of(COUNTS, reordered), "replay"),
    ("least size", "groups below the least size", rows_of(COUNTS, below_the_least_size), "counts"),
    ("intervals", "a lower end three more", partial(an_end, "lower", 3), "intervals"),
    ("intervals", "a lower end thirty less", partial(an_end, "lower", -30), "intervals"),
    ("intervals", "an upper end thirty more", partial(an_end, "upper", 30), "intervals"),
    ("intervals", "an upper end three less", partial(an_end, "upper", -3), "intervals"),
    ("intervals", "no width", table_of(COUNTS, narrowed), "intervals"),
    ("intervals", "no end", rows_of(COUNTS, without_an_end), "counts"),
    ("intervals", "an interval left out", rows_of(COUNTS, without_an_interval), "intervals"),
    # Descriptions
    ("m_h", "a word of README", partial(text, artefact.README, "never", "always"), "descriptions"),
    ("m_h", "a type of the data package", partial(text, artefact.PACKAGE, '"integer"', '"number"'), "descriptions"),
    ("m_h", "a sentence of the summary", partial(text, artefact.SUMMARY, "never all", "all of them"), "descriptions"),
    ("m_h", "a bar of the summary", partial(text, artefact.SUMMARY, 'height="', 'height="1'), "descriptions"),
    ("m_h", "the least error", partial(text, artefact.SUMMARY, "than level_0 ", "than level_0 1"), "descriptions"),
    # Consistent ones: other counts
    *((f"small {kind}", "counts that satisfy all conditions", partial(counts, moved), "replay") for kind in Kind),
    ("m_h", "negative counts", partial(counts, negative), "sign"),
    *(
        (f"{kind} by level", what, partial(counts, change), step)
        for kind in ("m_h", "m_c_dp", "kuo")
        for what, change, step in (
            ("groups in another class, sums kept", moved_class, "replay"),
            ("groups of another size in a tail, sums kept", moved_within_a_tail, "replay"),
            ("a tail that does not add up", longer_tail, "consistency"),
            ("a tail that does not add up from above", longer_tail_above, "consistency"),
        )
    ),
    *(
        (f"large {kind}", what, forge, step)
        for kind in ("posterior", "two_stage")
        for what, forge, step in (
            ("two cumulative counts by one", partial(counts, partial(exchanged, 1, 1)), None),
            ("two cumulative counts by two", partial(counts, partial(exchanged, 1, 2)), "replay"),
            ("four cumulative counts by one", partial(counts, partial(exchanged, 2, 1)), "replay"),
            ("sixteen cumulative counts by one", partial(counts, partial(exchanged, 8, 1)), "replay"),
            ("one group of another size, in three regions", partial(counts, moved), "replay"),
            ("two cumulative counts by one, and rows reordered", rows_of_a_rounding_reordered, "replay"),
        )
    ),
    # Consistent ones: other terms, other noise
    *(
        (name, what, forge, step)
        for name in ("m_h", "m_h by level", "m_c_dp by level", "kuo by level")
        for what, forge, step in (
            ("noise of epsilon 1 said to be of 1/10", partial(relabelled, "1", "1/10"), "noise"),
            ("noise of epsilon 10 said to be of 1/10", partial(relabelled, "10", "1/10"), "noise"),
            ("no noise said to be of 1/10", partial(relabelled, "1000000", "1/10"), "noise"),
            ("noise of epsilon 1/10 said to be of 1", partial(relabelled, "1/10", "1"), "noise"),
            ("shares of other levels", partial(restated, shares=SHARES), "noise"),
            ("one noisy value by one, and all that follows", one_noisy_value, None),
            ("another version of Python", versions_everywhere, None),
        )
    ),
    *(
        (name, "a rehearsal said to be private", rehearsed, "privacy claim")
        for name in ("m_h", "m_h by level", "m_c_dp by level", "kuo by level", "by root", "rho", "delta", "households")
    ),
    ("m_h", "another mechanism", mechanism_renamed, "noise"),
    ("m_h", "a sentence for a version of Python", sentence_for_a_version, "manifest"),
    ("rho", "less rho", partial(restated, rho=Fraction(1, 1_000)), "noise"),
    ("rho", "more rho", partial(restated, rho=Fraction(5)), "noise"),
    ("rho", "another unit", partial(restated, unit=Unit.entity_in_groups(12)), "noise"),
    ("rho", "epsilon instead", partial(restated, rho=None, epsilon=Fraction(1, 10)), "noise"),
    ("intervals", "another level everywhere", another_level_everywhere, "intervals"),
    # What only the publisher's key or the announced digest tells
    ("m_h", "invented noisy values of the stated law", invented, None),
    ("m_h", "another true release", another_release, None),
    ("m_h", "another name of the data set", partial(restated, data_set="other"), None),
    ("m_h", "other names of the levels", partial(restated, level_names=("a", "b", "c")), None),
    ("m_h", "another name of a region", region_everywhere, None),
    ("words", "another publisher, everywhere", words_everywhere, None),
]
"""The release, what is changed, how, and the step of the check that must find it; None where only a key tells."""
