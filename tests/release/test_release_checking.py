"""A release is checked from its folder alone: whatever is changed in it is found.

Half of the tamperers also write the digests anew, in SHA256SUMS and in the manifest. What nobody can find without the
publisher's digest is a forgery that is consistent as a whole; the last tests show two and that the digest tells them.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from instances import rng_of, scale
from made_tables import release, write_config, write_tables
from planned import planned

from pgsr import CountOfCounts, Hierarchy
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.release import ReleaseConfig, Terms, check
from pgsr.release.checks.rehearsals import _log_cdf, is_rehearsal
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.folder.columns import Columns
from pgsr.release.publishing import digests
from pgsr.release.publishing.digests import digest_of
from pgsr.release.publishing.findings import Outcome
from pgsr.release.stated.kinds import Kind

Tamper = Callable[[Path, np.random.Generator], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[Kind, Path]:
    folder = tmp_path_factory.mktemp("made")
    write_tables(folder)
    return {kind: release(ReleaseConfig.read(write_config(folder, kind, name=kind))) for kind in Kind}


def change_number(path: Path, column: str, rng: np.random.Generator) -> None:
    """Another whole number in one cell of a table."""
    table = pq.read_table(path)
    values = table[column].to_numpy().copy()
    values[rng.integers(len(values))] += rng.choice([-1, 1]) * rng.integers(1, 30)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(values)), path, compression="zstd")


def counts_number(folder: Path, rng: np.random.Generator) -> None:
    change_number(folder / "counts.parquet", "n_groups", rng)


def counts_size(folder: Path, rng: np.random.Generator) -> None:
    change_number(folder / "counts.parquet", "group_size", rng)


def noisy_number(folder: Path, rng: np.random.Generator) -> None:
    path = folder / "measurement.parquet"
    change_number(path, pq.read_schema(path).names[-1], rng)


def noisy_size(folder: Path, rng: np.random.Generator) -> None:
    change_number(folder / "measurement.parquet", "group_size", rng)


def drop_row(folder: Path, rng: np.random.Generator) -> None:
    path = folder / str(rng.choice(["counts.parquet", "measurement.parquet"]))
    table = pq.read_table(path)
    gone = int(rng.integers(len(table)))
    pq.write_table(pa.concat_tables([table.slice(0, gone), table.slice(gone + 1)]), path, compression="zstd")


def moved_region(folder: Path, rng: np.random.Generator) -> None:
    """A row is said to be of another region."""
    path = folder / str(rng.choice(["counts.parquet", "measurement.parquet"]))
    table = pq.read_table(path)
    names = table["level_2"].to_pylist()
    there = [place for place, name in enumerate(names) if name is not None]
    place = int(rng.choice(there))
    names[place] = str(rng.choice([name for name in {*names, "elsewhere"} if name not in (None, names[place])]))
    pq.write_table(table.set_column(5, table.schema.field(5), pa.array(names)), path, compression="zstd")


def table_metadata(folder: Path, rng: np.random.Generator) -> None:
    path = folder / str(rng.choice(["counts.parquet", "measurement.parquet"]))
    table = pq.read_table(path)
    facts = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    facts[str(rng.choice(sorted(facts)))] += "x"
    pq.write_table(table.replace_schema_metadata(facts), path, compression="zstd")


def public_total(folder: Path, rng: np.random.Generator) -> None:
    path = folder / "regions.csv"
    lines = path.read_text().splitlines()
    known = [i for i, line in enumerate(lines[1:], 1) if not line.endswith(",")]
    place = int(rng.choice(known))
    *names, total = lines[place].split(",")
    lines[place] = ",".join([*names, str(max(0, int(total) + int(rng.choice([-1, 1]) * rng.integers(1, 9))))])
    if lines[place].endswith(f",{total}"):
        lines[place] = ",".join([*names, str(int(total) + 1)])
    path.write_text("\n".join(lines) + "\n")


def region_name(folder: Path, rng: np.random.Generator) -> None:
    path = folder / "regions.csv"
    lines = path.read_text().splitlines()
    place = int(rng.integers(len(lines)))
    lines[place] = lines[place].replace("US", "UK", 1) if place else lines[place].replace("groups", "people")
    path.write_text("\n".join(lines) + "\n")


def leaves_of(node: object, at: tuple = ()) -> list[tuple]:
    if isinstance(node, dict):
        return [path for key in node for path in leaves_of(node[key], (*at, key))]
    if isinstance(node, list):
        return [path for i, part in enumerate(node) for path in leaves_of(part, (*at, i))]
    return [at]


def manifest_value(folder: Path, rng: np.random.Generator) -> None:
    """Any one number or text of the manifest: epsilon, a share, the certificate, a digest, the method, a version ..."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    paths = leaves_of(fields)
    *above, last = paths[int(rng.integers(len(paths)))]
    node = fields
    for key in above:
        node = node[key]
    old = node[last]
    node[last] = other_value(old, rng)
    assert node[last] != old
    path.write_text(manifest.written(fields))


def other_value(old: object, rng: np.random.Generator) -> object:
    if old is None:
        return int(rng.integers(100))
    if isinstance(old, int):
        return old + int(rng.integers(1, 5))
    assert isinstance(old, str)
    if old[:1].isdigit() and len(old) < 5:
        return str(int(rng.integers(2, 50))) + "/51"
    return old[:-1] + ("0" if not old.endswith("0") else "1")


def manifest_field(folder: Path, rng: np.random.Generator) -> None:
    """A field more, anywhere, or one less."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_text())
    tables = [fields, *(value for value in fields.values() if isinstance(value, dict)), *fields["levels"]]
    table = tables[int(rng.integers(len(tables)))]
    if rng.random() < 0.5 or not table:
        table[str(rng.choice(["seed", "true_error", "clipped", "input_sha256", "seconds"]))] = 17
    else:
        del table[str(rng.choice(sorted(table)))]
    path.write_text(manifest.written(fields))


def readme_word(folder: Path, rng: np.random.Generator) -> None:
    path = folder / "README.txt"
    words = path.read_text().split(" ")
    words[int(rng.integers(len(words)))] += "not"
    path.write_text(" ".join(words))


def file_removed(folder: Path, rng: np.random.Generator) -> None:
    (folder / str(rng.choice(artefact.FILES))).unlink()


def file_added(folder: Path, rng: np.random.Generator) -> None:
    (folder / str(rng.choice(["truth.parquet", ".hidden", "manifest.json.bak"]))).write_text("x")


def file_cut(folder: Path, rng: np.random.Generator) -> None:
    path = folder / str(rng.choice(artefact.FILES))
    data = path.read_bytes()
    path.write_bytes(data[: int(rng.integers(len(data)))])


TAMPERS: list[Tamper] = [
    counts_number,
    counts_size,
    noisy_number,
    noisy_size,
    drop_row,
    moved_region,
    table_metadata,
    public_total,
    region_name,
    manifest_value,
    manifest_value,
    manifest_value,
    manifest_field,
    readme_word,
    file_removed,
    file_added,
    file_cut,
]


def fix_digests(folder: Path) -> bool:
    """Make all digests those of the files as they are now, as a careful tamperer does.

    Return False where that is not possible, because a file is gone or the manifest is no longer readable.
    """
    path = folder / "manifest.json"
    try:
        fields = json.loads(path.read_text())
        fields["files"] = {name: digests.digest(folder / name) for name in fields["files"]}
        path.write_text(manifest.written(fields))
        (folder / "SHA256SUMS").write_text(digests.sums_text(folder, artefact.FILES))
    except (OSError, ValueError, TypeError):
        return False
    return True


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_change_is_found(made, tmp_path):
    """Rounds of all tamperers, each in another order; digests stay as they were in one, and are fixed in the next."""
    rng = rng_of(20260)
    kinds = cycle(Kind)
    found: Counter = Counter()
    fixed: Counter = Counter()
    n_rounds = scale(2, 25)
    for n in range(n_rounds):
        fixes = n % 2 == 1
        for tamper in (TAMPERS[i] for i in rng.permutation(len(TAMPERS))):
            kind, folder = next(kinds), tmp_path / "copy"
            shutil.copytree(made[kind], folder)
            tamper(folder, rng)
            if fixes:
                fixed[tamper.__name__] += fix_digests(folder)
            same = snapshot(folder) == snapshot(made[kind])  # a digest that was changed and then fixed again
            assert check(folder).passed is same, f"round {n}: {tamper.__name__} in {kind}, digests fixed: {fixes}"
            found[tamper.__name__] += not same
            shutil.rmtree(folder)
    assert set(found) == {tamper.__name__ for tamper in TAMPERS}
    assert found.total() > 0.9 * n_rounds * len(TAMPERS)
    assert {name for name, times in fixed.items() if not times} <= {file_removed.__name__}, "digests were never fixed"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("tamper", "names"),
    [
        (counts_number, {"certificate", "replay"}),
        (noisy_number, {"certificate"}),
        (manifest_field, {"manifest"}),
        (readme_word, {"descriptions"}),
    ],
)
def test_the_right_check_finds_it(made, tmp_path, tamper, names):
    folder = tmp_path / "copy"
    shutil.copytree(made[Kind.KUO], folder)
    tamper(folder, rng_of(3))
    assert fix_digests(folder)
    failed = {finding.name for finding in check(folder).findings if finding.outcome is Outcome.FAILED}
    assert names <= failed


def test_consistent_counts_that_the_method_did_not_give(made, tmp_path):
    """One group moved from one size to another in a leaf and above it: all four conditions hold, the replay differs."""
    folder = tmp_path / "copy"
    for kind in Kind:
        shutil.copytree(made[kind], folder)
        plan, secure = manifest.plan_of(json.loads((folder / "manifest.json").read_text()))
        columns, facts = Columns.of(plan), manifest.facts(plan.terms, secure, "counts")
        tree, _ = released_tables.read_regions(folder / "regions.csv", plan, columns)
        counts = released_tables.read_counts(folder / "counts.parquet", tree, plan, columns, facts)
        leaves = counts.values[tree.leaves].copy()
        size = int(leaves[0].argmax())
        leaves[0, size] -= 1
        leaves[0, (size + 1) % 4] += 1
        table = released_tables.counts_table(CountOfCounts(tree, leaves), plan, columns, facts)
        for name in ("counts.parquet", "counts.csv"):
            released_tables.write_counts(folder / name, table)
        assert fix_digests(folder)
        outcome = {finding.name: finding.outcome for finding in check(folder).findings}
        assert all(outcome[name] is Outcome.PASSED for name in ("integrality", "sign", "consistency", "totals"))
        assert outcome["replay"] is Outcome.FAILED
        shutil.rmtree(folder)


@pytest.mark.few(6)
@pytest.mark.parametrize("totals", ["usual", "noisy"])
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("mean", [1, 3_000], ids=["few", "many"])
def test_noise_of_rehearsals_is_told_from_other_noise(kind, totals, mean):
    """The counts are large, so they do not become negative without any noise: that alone says nothing."""
    tree = Hierarchy.from_paths([("US", f"s{i}", f"s{i}c{j}") for i in range(6) for j in range(3)])
    truth = CountOfCounts(tree, rng_of(5).poisson(mean, (18, 10)), "d")
    terms = Terms("d", 9, Fraction(1), kind, totals=kind.totals[totals == "noisy"])
    plan = planned(terms, 3)
    noise = plan.mechanism.noise
    for _ in range(scale(20, 200)):
        assert not is_rehearsal(plan, noise.measure(truth, Secure()))
    found = is_rehearsal(plan, noise.measure(truth, Seeded(manifest.REHEARSAL_KEY)))
    # Leaves alone, large counts, and no public number of groups: there is nothing to hold the noise against.
    assert found or (kind is Kind.BOTTOM_UP and totals == "noisy" and mean == 3_000)


@pytest.mark.parametrize("law", [DoubleGeometric(Fraction(3)), DiscreteGaussian(Fraction(12))], ids=str)
def test_the_chance_of_a_look_alike_is_that_of_the_law(law):
    pmf = np.exp(law.log_pmf(np.arange(-200, 201)))
    assert pmf.sum() == pytest.approx(1)
    at = np.arange(-12, 21)
    np.testing.assert_allclose(np.exp(_log_cdf(law, at)), np.cumsum(pmf)[at + 200], rtol=1e-9)


def test_what_only_the_announced_digest_tells(made, tmp_path):
    """A second release of other noise is as good as the first, and so is one of made-up values."""
    config = made[Kind.M_H].parent / "m_h.toml"
    other = release(ReleaseConfig.read(config, {"output": str(tmp_path / "other")}))
    announced = digest_of(made[Kind.M_H])
    assert check(other).passed
    assert not check(other, announced).passed
    assert check(made[Kind.M_H], announced).passed
    assert check(made[Kind.M_H], announced.upper() + "\n").passed


def test_folders_that_are_none(tmp_path):
    for folder in (tmp_path / "absent", tmp_path):
        report = check(folder)
        assert not report.passed
        assert report.findings[0].outcome is Outcome.FAILED
        assert {finding.outcome for finding in report.findings} <= {Outcome.FAILED, Outcome.SKIPPED}
