"""A release is checked from its folder alone: whatever is changed in it is found, wherever the change is.

Which step finds which change is shown by `test_release_forgeries.py`; here the places are drawn. What nobody can find
without the publisher's digest is a forgery that is consistent as a whole; a test shows that the digest tells them.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forging import Target
from instances import rng_of, scale
from made_tables import contents, release, write_config, write_tables
from planned import planned

from pgsr import CountOfCounts, Hierarchy
from pgsr.privacy import Secure, Seeded
from pgsr.privacy.laws import DiscreteGaussian, DoubleGeometric
from pgsr.release import ReleaseConfig, Terms, check
from pgsr.release.checks.rehearsals import _log_cdf, is_rehearsal
from pgsr.release.folder import artefact, manifest
from pgsr.release.publishing.digests import digest_of
from pgsr.release.publishing.findings import Outcome
from pgsr.release.terms.kinds import Kind

Tamper = Callable[[Path, np.random.Generator], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[Kind, Path]:
    folder = tmp_path_factory.mktemp("made")
    write_tables(folder)
    return {kind: release(ReleaseConfig.read(write_config(folder, kind, name=kind))) for kind in Kind}


def table_number(folder: Path, rng: np.random.Generator) -> None:
    """Another whole number in one cell of a table."""
    path = folder / str(rng.choice(["counts.parquet", "measurement.parquet"]))
    table = pq.read_table(path)
    place = table.column_names.index(str(rng.choice(["group_size", table.column_names[-1]])))
    values = table.column(place).to_numpy().copy()
    values[rng.integers(len(values))] += rng.choice([-1, 1]) * rng.integers(1, 30)
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(values)), path, compression="zstd")


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


def word(folder: Path, rng: np.random.Generator) -> None:
    path = folder / str(rng.choice([artefact.README, artefact.SUMMARY, artefact.PACKAGE]))
    words = path.read_text().split(" ")
    words[int(rng.integers(len(words)))] += "not"
    path.write_text(" ".join(words))


def file_cut(folder: Path, rng: np.random.Generator) -> None:
    path = folder / str(rng.choice(artefact.FILES))
    data = path.read_bytes()
    path.write_bytes(data[: int(rng.integers(len(data)))])


TAMPERS: list[Tamper] = [
    *(table_number, table_number, word, file_cut, manifest_field),
    *[manifest_value] * 3,
]


def test_every_change_is_found(made, tmp_path):
    """Rounds of all tamperers, each in another order; digests stay as they were in one, and are fixed in the next."""
    rng, kinds, found = rng_of(20260), cycle(Kind), Counter()
    n_rounds = scale(2, 25)
    for n in range(n_rounds):
        for tamper in (TAMPERS[i] for i in rng.permutation(len(TAMPERS))):
            kind, folder = next(kinds), tmp_path / "copy"
            shutil.copytree(made[kind], folder)
            tamper(folder, rng)
            if n % 2:
                with suppress(OSError, ValueError, TypeError):  # the manifest is no longer readable
                    Target(folder, ReleaseConfig).fix_digests()  # type: ignore[arg-type]
            same = contents(folder) == contents(made[kind])  # a digest that was changed and then fixed again
            assert check(folder).passed is same, f"round {n}: {tamper.__name__} in {kind}"
            found[tamper.__name__] += not same
            shutil.rmtree(folder)
    assert set(found) == {tamper.__name__ for tamper in TAMPERS}
    assert found.total() > 0.9 * n_rounds * len(TAMPERS)


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
