"""Forgeries of a release, each by name: all are found with the publisher's key, and which of them without it is stated.

A forger rewrites all digests (SHA256SUMS, and those in the manifest), and where the forgery is "consistent" also
everything that follows from what was changed: the post-processing, the certificate, the descriptions.
"""

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forging import LEAVES, Forgery, Target, reordered, rows, unsigned, write_counts
from instances import rng_of
from made_measurements import cells_of
from made_tables import write_config, write_tables
from parquet_footers import hide_between, hide_in_column
from planned import planned

from pgsr import Hierarchy
from pgsr.privacy import Seeded
from pgsr.release import ReleaseConfig, check, publish
from pgsr.release.folder import artefact, manifest
from pgsr.release.folder.readme import readme
from pgsr.release.publishing import digests
from pgsr.release.publishing.signature import load_private, new_key, sign
from pgsr.release.stated.kinds import Kind

# One file is changed, and the digests are written anew


def in_table(name: str, column: str, change: Callable[[np.ndarray], np.ndarray], target: Target) -> None:
    """The values of one column, changed."""
    table = pq.read_table(target / name)
    place = table.column_names.index(column)
    values = pa.array(change(table[column].to_numpy().copy()), table.schema.field(place).type)
    pq.write_table(table.set_column(place, table.schema.field(place), values), target / name, compression="zstd")


def one_more(values: np.ndarray) -> np.ndarray:
    values[3] += 1
    return values


def far_off(values: np.ndarray) -> np.ndarray:
    values[5] += 1_000
    return values


def flipped(values: np.ndarray) -> np.ndarray:
    values[0] = ~values[0]
    return values


def renamed(values: np.ndarray) -> np.ndarray:
    values[-1] = "US/elsewhere"
    return values


def dropped(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 4), table.slice(5)])


def repeated(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(4, 1)])


def called_otherwise(table: pa.Table) -> pa.Table:
    names = [name.replace("noisy_count", "noisy_cumulative_count") for name in table.column_names]
    return table.rename_columns(names).replace_schema_metadata(table.schema.metadata)


def described_otherwise(table: pa.Table) -> pa.Table:
    field = table.schema.field("n_groups")
    place = table.column_names.index("n_groups")
    return table.set_column(place, field.with_metadata({"description": "True number of groups."}), table["n_groups"])


def with_facts(table: pa.Table, **facts: str) -> pa.Table:
    known = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    return table.replace_schema_metadata(known | facts)


def text(name: str, old: str, new: str, target: Target) -> None:
    path = target / name
    assert old in path.read_text(), f"{old!r} is not in {name}"
    path.write_text(path.read_text().replace(old, new, 1))


def csv_number(target: Target) -> None:
    lines = (target / artefact.COUNTS_CSV).read_text().splitlines()
    before, number = lines[4].rsplit(",", 1)
    lines[4] = f"{before},{int(number) + 1}"
    (target / artefact.COUNTS_CSV).write_text("\n".join(lines) + "\n")


def csv_row(target: Target) -> None:
    lines = (target / artefact.COUNTS_CSV).read_text().splitlines()
    (target / artefact.COUNTS_CSV).write_text("\n".join([*lines[:6], *lines[7:]]) + "\n")


def public_total(target: Target) -> None:
    path = target / artefact.REGIONS
    found = list(csv.reader(path.read_text().splitlines()))
    found[1][-1] = str(int(found[1][-1]) + 1)
    path.write_text("".join(",".join(row) + "\n" for row in found))


def region_lines(change: Callable[[list[str]], list[str]], target: Target) -> None:
    path = target / artefact.REGIONS
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")


def in_manifest(path: tuple, value: object, target: Target) -> None:
    fields = target.fields
    node = fields
    for key in path[:-1]:
        node = node[key]
    assert node[path[-1]] != value
    node[path[-1]] = value
    (target / artefact.MANIFEST).write_text(manifest.written(fields))


def more_in_manifest(target: Target) -> None:
    (target / artefact.MANIFEST).write_text(manifest.written(target.fields | {"true_error": 17}))


def csv_form(change: Callable[[bytes], bytes], target: Target) -> None:
    """The same numbers in another form, which other readers may take for others."""
    path = target / artefact.COUNTS_CSV
    path.write_bytes(change(path.read_bytes()))


def hidden_bytes(target: Target) -> None:
    """Text between the columns and the footer of a Parquet file, which no reader shows."""
    path = target / artefact.MEASUREMENT
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little")
    cut = len(data) - 8 - footer
    path.write_bytes(data[:cut] + b"rows of persons" + data[cut:])


def file_added(target: Target) -> None:
    (target / "truth.parquet").write_bytes(b"x")


def file_removed(target: Target) -> None:
    (target / artefact.COUNTS_CSV).unlink()


def file_linked(target: Target) -> None:
    path = target / artefact.SUMMARY
    elsewhere = target.folder.parent / "elsewhere.html"
    shutil.move(path, elsewhere)
    path.symlink_to(elsewhere)


def file_cut(target: Target) -> None:
    data = (target / artefact.MEASUREMENT).read_bytes()
    (target / artefact.MEASUREMENT).write_bytes(data[: len(data) // 2])


def sums_edited(target: Target) -> None:
    text(digests.SUMS, digests.digest(target / artefact.README)[:8], "00000000", target)


# Consistent forgeries: everything that follows is written anew


def relabelled(stated: str, drawn: str, target: Target) -> None:
    """Noise of one epsilon, and another one in the manifest, README, metadata, data package and summary alike."""
    terms, *_ = target.known()
    real, said = (replace(terms, epsilon=Fraction(epsilon)) for epsilon in (drawn, stated))
    measured = planned(real, 3).mechanism.measure(target.config.count(), Seeded("forger"))
    target.remake(
        planned(said, measured.hierarchy).measured(measured.hierarchy, measured.cells, measured.totals, True), said
    )


def without_noise(target: Target) -> None:
    relabelled("1/10", "1000000", target)


def shares_swapped(target: Target) -> None:
    terms, tree, totals, values = target.known()
    other = replace(terms, shares=(Fraction(1, 300), Fraction(1, 300), Fraction(149, 150)))
    target.remake(planned(other, tree).measured(tree, cells_of(values), totals, True), other)


def counts_moved(target: Target) -> None:
    """One group of another size in a leaf and above it: all conditions hold, but it is not what the method gives."""
    terms, tree, totals, values = target.known()
    plan = planned(terms, tree)
    result = plan.mechanism.post_process(plan.measured(tree, cells_of(values), totals, True))
    leaves = result.answer.counts().counts[tree.leaves].copy()
    size = int(leaves[0].argmax())
    leaves[0, size] -= 1
    leaves[0, (size + 1) % leaves.shape[1]] += 1
    moved = type(result.answer.counts())(tree, leaves)
    write_counts(target, moved, terms)


def rehearsed(target: Target) -> None:
    """A rehearsal, of which every claim is rewritten."""
    terms, *_ = target.known()
    measured = planned(terms, 3).mechanism.measure(target.config.count(), Seeded(manifest.REHEARSAL_KEY))
    target.remake(replace(measured, secure=True), terms)


def mechanism_renamed(target: Target) -> None:
    """Noisy counts are said to be cumulative ones."""
    terms, tree, totals, values = target.known()
    other = replace(terms, kind=Kind.M_C_DP, view=None, shares=None, epsilon=terms.epsilon / 2)
    target.remake(planned(other, tree).measured(tree, cells_of(values), totals, True), other)


def one_noisy_value(target: Target) -> None:
    """One noisy value is one larger, and everything that follows from it is written anew."""
    terms, tree, totals, values = target.known()
    values[-1, 0] += 1
    target.remake(planned(terms, tree).measured(tree, cells_of(values), totals, True), terms)


def invented(target: Target) -> None:
    """Noisy values of the stated law around a truth that is nobody's."""
    terms, _, _, _ = target.known()
    truth = target.config.count()
    leaves = rng_of(1).permuted(truth.counts[truth.hierarchy.leaves], axis=1)
    noise = planned(terms, 3).mechanism.noise.measure(
        type(truth)(truth.hierarchy, leaves, truth.name), Seeded("invented")
    )
    target.remake(planned(terms, truth.hierarchy).measured(truth.hierarchy, noise.cells, noise.totals, True), terms)


def other_terms(target: Target, **terms: object) -> None:
    known, tree, totals, values = target.known()
    changed = replace(known, **terms)
    target.remake(planned(changed, tree).measured(tree, cells_of(values), totals, True), changed)


def region_everywhere(target: Target) -> None:
    terms, tree, totals, values = target.known()
    other = Hierarchy.from_paths([tuple(name.replace("s1", "s9") for name in path) for path in tree.paths])
    target.remake(planned(terms, other).measured(other, cells_of(values), totals, True), terms)


def another_release(target: Target) -> None:
    """Another true release of the same data, by the same publisher, in its place."""
    made = publish(replace(target.config, output=target.folder.parent / "another", sign=None)).folder
    for name in artefact.FILES:
        shutil.copy(made / name, target / name)
    shutil.rmtree(made)


def versions_everywhere(target: Target) -> None:
    fields = target.fields
    old = fields["versions"]["python"]
    for name in (artefact.MANIFEST, artefact.README):
        text(name, old, "3.99.0", target)


def sentence_for_a_version(target: Target) -> None:
    """README.txt prints the versions, and so any sentence that stands for one."""
    fields = target.fields
    fields["versions"]["python"] = "3.12, and the publisher has withdrawn these counts"
    (target / artefact.MANIFEST).write_text(manifest.written(fields))
    (target / artefact.README).write_text(readme(fields))


# Signatures


def signed_by_another(target: Target) -> None:
    private, _ = new_key(target.folder.parent / "forger")
    sign(target.folder, load_private(private))
    for name in ("forger.key", "forger.pub"):
        (target.folder.parent / name).unlink()


COUNTS, NOISY = artefact.COUNTS, artefact.MEASUREMENT
ALONE: dict[str, Forgery] = {
    "a count": partial(in_table, COUNTS, "n_groups", one_more),
    "a size of the counts": partial(in_table, COUNTS, "group_size", one_more),
    "a region of the counts": partial(in_table, COUNTS, "region_id", renamed),
    "is_leaf of the counts": partial(in_table, COUNTS, "is_leaf", flipped),
    "a level of the counts": partial(in_table, COUNTS, "level", one_more),
    "a row of the counts dropped": partial(rows, COUNTS, dropped),
    "a row of the counts repeated": partial(rows, COUNTS, repeated),
    "rows of the counts reordered": partial(rows, COUNTS, reordered),
    "what a column of the counts means": partial(rows, COUNTS, described_otherwise),
    "the claim in the metadata of the counts": partial(rows, COUNTS, partial(with_facts, privacy_claim="perfect")),
    "epsilon in the metadata of the counts": partial(rows, COUNTS, partial(with_facts, epsilon="1/100")),
    "one more fact in the metadata of the counts": partial(rows, COUNTS, partial(with_facts, rows="17")),
    "a number of the CSV file": csv_number,
    "a row of the CSV file dropped": csv_row,
    "a noisy value": partial(in_table, NOISY, "noisy_count", far_off),
    "a size of the noisy values": partial(in_table, NOISY, "group_size", one_more),
    "a region of the noisy values": partial(in_table, NOISY, "region_id", renamed),
    "a row of the noisy values dropped": partial(rows, NOISY, dropped),
    "rows of the noisy values reordered": partial(rows, NOISY, reordered),
    "noisy counts called cumulative": partial(rows, NOISY, called_otherwise),
    "the claim in the metadata of the noisy values": partial(rows, NOISY, partial(with_facts, privacy_claim="perfect")),
    "a public total": public_total,
    "a region dropped": partial(region_lines, lambda lines: lines[:-1]),
    "a region renamed": partial(text, artefact.REGIONS, "s1", "s9"),
    "regions reordered": partial(region_lines, lambda lines: [*lines[:2], *lines[3:], lines[2]]),
    "epsilon": partial(in_manifest, ("epsilon",), "1/10"),
    "delta": partial(in_manifest, ("delta",), "1/1000000"),
    "the neighbours": partial(in_manifest, ("neighbours",), "data sets that differ by one million rows"),
    "a share": partial(in_manifest, ("levels", 0, "share"), "1/2"),
    "epsilon of a level": partial(in_manifest, ("levels", 0, "epsilon"), "1/2"),
    "the sensitivity of a level": partial(in_manifest, ("levels", 0, "sensitivity"), 1),
    "the scale of a level": partial(in_manifest, ("levels", 0, "noise_scale"), "60"),
    "the name of a level": partial(in_manifest, ("levels", 0, "name"), "continent"),
    "the number of regions": partial(in_manifest, ("levels", 1, "regions"), 7),
    "the invariants": partial(in_manifest, ("invariants",), []),
    "the claim": partial(in_manifest, ("privacy_claim",), "perfectly private"),
    "the method": partial(in_manifest, ("method",), "BottomUp()"),
    "the status": partial(in_manifest, ("status",), "FEASIBLE"),
    "the objective": partial(in_manifest, ("certificate", "objective"), 1),
    "the bound": partial(in_manifest, ("certificate", "bound"), 1),
    "who proved the bound": partial(in_manifest, ("certificate", "bound_by"), "an oracle"),
    "the violations": partial(in_manifest, ("certificate", "violations", "sign"), 3),
    "the distance to the noisy values": partial(in_manifest, ("distance", "sum"), 1),
    "the sum of the noisy values": partial(in_manifest, ("measurement", "sum"), 1),
    "one more field of the manifest": more_in_manifest,
    "a word of README": partial(text, artefact.README, "never", "always"),
    "a type of the data package": partial(text, artefact.PACKAGE, '"integer"', '"number"'),
    "a sentence of the summary": partial(text, artefact.SUMMARY, "never all", "all of them"),
    "a bar of the summary": partial(text, artefact.SUMMARY, 'height="', 'height="1'),
    "the CSV file with other line ends": partial(csv_form, lambda data: data.replace(b"\n", b"\r\n")),
    "the CSV file with blank lines": partial(csv_form, lambda data: data.replace(b"\n", b"\n\n", 3)),
    "the CSV file with a byte order mark": partial(csv_form, lambda data: b"\xef\xbb\xbf" + data),
    "bytes hidden in a Parquet file": hidden_bytes,
    "bytes between columns of the counts": lambda target: hide_between(target / COUNTS, b"rows of persons", 2),
    "bytes between columns of the noisy values": lambda target: hide_between(target / NOISY, b"rows of persons"),
    "bytes after the last page of a column": lambda target: hide_in_column(target / COUNTS, b"rows of persons", 7),
    "a file added": file_added,
    "a file removed": file_removed,
    "a file that is a link": file_linked,
    "a file cut": file_cut,
}
"""One change, digests written anew where they can be."""

CONSISTENT: dict[str, tuple[Forgery, bool]] = {
    "counts that satisfy all conditions": (counts_moved, True),
    "noise of epsilon 1 said to be of 1/10": (partial(relabelled, "1/10", "1"), True),
    "noise of epsilon 10 said to be of 1/10": (partial(relabelled, "1/10", "10"), True),
    "no noise said to be of 1/10": (without_noise, True),
    "noise of epsilon 1/10 said to be of 1": (partial(relabelled, "1", "1/10"), True),
    "shares of other levels": (shares_swapped, True),
    "a rehearsal said to be private": (rehearsed, True),
    "another mechanism": (mechanism_renamed, True),
    "one noisy value by one, and all that follows": (one_noisy_value, False),
    "invented noisy values of the stated law": (invented, False),
    "another true release": (another_release, False),
    "another name of the data set": (partial(other_terms, data_set="other"), False),
    "other names of the levels": (partial(other_terms, level_names=("a", "b", "c")), False),
    "another name of a region": (region_everywhere, False),
    "another version of Python": (versions_everywhere, False),
    "a sentence for a version of Python": (sentence_for_a_version, True),
}
"""Everything that follows is written anew; whether the folder itself still tells, without the publisher's key."""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, ReleaseConfig, Path]:
    folder = tmp_path_factory.mktemp("made")
    write_tables(folder, n_groups=400, leaves=LEAVES)
    _, public = new_key(folder / "publisher")
    config = ReleaseConfig.read(write_config(folder, "m_h", max_size="9", sign='"publisher.key"'))
    return publish(config).folder, config, public


@pytest.fixture
def target(made, tmp_path) -> Target:
    shutil.copytree(made[0], tmp_path / "copy")
    return Target(tmp_path / "copy", made[1])


def test_there_are_enough_kinds():
    assert len(ALONE) + len(CONSISTENT) >= 60


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.few(4)
def test_one_change_is_found(made, target, name):
    """The change is found without the key already, whether digests are written anew or not."""
    _, _, public = made
    ALONE[name](target)
    assert not check(target.folder).passed
    assert not check(target.folder, key=public).passed
    try:
        target.fix_digests()
    except OSError:
        return  # a file is gone
    assert not check(target.folder).passed
    assert not check(target.folder, key=public).passed


@pytest.mark.parametrize("name", CONSISTENT)
@pytest.mark.few(2)
def test_a_consistent_forgery_is_found_with_the_key(made, target, name):
    """The publisher's signature is left in place, removed, or replaced by another one."""
    _, _, public = made
    forge, tells = CONSISTENT[name]
    forge(target)
    target.fix_digests()
    assert not check(target.folder, key=public).passed, "the publisher's signature was left in place"
    unsigned(target)
    assert not check(target.folder, key=public).passed, "the signature was removed"
    assert check(target.folder).passed is not tells, check(target.folder)
    signed_by_another(target)
    assert not check(target.folder, key=public).passed, "the forger signed"
    assert check(target.folder).passed is not tells, "the forger's own signature proves nothing"


def test_signatures_are_judged_by_the_key(made, target):
    """Removing or replacing the signature of a true release is found with the key, too, and only with it."""
    _, _, public = made
    assert check(target.folder, key=public).passed
    for forge in (unsigned, signed_by_another):
        forge(target)
        assert not check(target.folder, key=public).passed
        assert check(target.folder).passed


def test_edited_sums(made, target):
    sums_edited(target)
    assert not check(target.folder).passed
