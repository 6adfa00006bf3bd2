"""The copy of a release that a forger works on, and what several forgeries do to it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from planned import planned

from pgsr import Hierarchy
from pgsr.noise import Measurement
from pgsr.release import ReleaseConfig, Terms
from pgsr.release.folder import artefact, manifest, released_tables
from pgsr.release.make.files import UNFINISHED, _write, write_measurement
from pgsr.release.publishing import digests

Forgery = Callable[["Target"], None]
LEAVES = [("US", f"s{i}", f"s{i}c{j}") for i in range(6) for j in range(3)]


class Target:
    """A copy of a release that a forger works on."""

    def __init__(self, folder: Path, config: ReleaseConfig) -> None:
        self.folder, self.config = folder, config

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    @property
    def fields(self) -> dict:
        return json.loads((self / artefact.MANIFEST).read_text())

    def known(self) -> tuple[Terms, Hierarchy, np.ndarray, np.ndarray]:
        """Terms, regions, totals and noisy values, as they stand in the folder."""
        plan, secure = manifest.plan_of(self.fields)
        tree, totals = released_tables.read_regions(self / artefact.REGIONS, plan)
        cells = released_tables.read_measurement(self / artefact.MEASUREMENT, tree, totals, plan, secure)
        found = plan.measured(tree, cells, totals, secure)
        if found.has_ranks:
            return plan.terms, tree, totals, found.rows
        return plan.terms, tree, totals, found.matrix if found.sizes.equal else found.tables

    def fix_digests(self) -> None:
        fields = self.fields
        fields["files"] = {name: digests.digest(self / name) for name in fields["files"]}
        (self / artefact.MANIFEST).write_text(manifest.written(fields))
        (self / digests.SUMS).write_text(digests.sums_text(self.folder, artefact.FILES))

    def remake(self, measurement: Measurement, terms: Terms) -> None:
        """Write everything anew from these noisy values and terms."""
        plan = planned(terms, measurement)
        if terms.by_root:
            plan = plan.completed(measurement)
        write_measurement(self.folder, plan, measurement)
        _write(self.folder, plan, measurement, plan.mechanism.post_process(measurement))
        (self / UNFINISHED).unlink()


def reordered(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(10), table.slice(0, 10)])


def unsigned(target: Target) -> None:
    (target / digests.SIGNATURE).unlink()
