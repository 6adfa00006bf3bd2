"""The modules of version 0.1 by their new names: an old name is imported with a warning, for one version."""

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "accounting": "privacy.accounting",
    "algorithms.m_c_levels": "nation",
    "algorithms.m_h_levels": "nation",
    "algorithms.matching_levels": "nation",
    "blocks": "machine.blocks",
    "budget": "privacy.budget",
    "cell_intervals": "data.cell_intervals",
    "cell_intervals_by_level": "data.cell_intervals",
    "checkout": "machine.checkout",
    "comparison_figure": "comparison.figure",
    "comparison_row": "comparison.row",
    "comparison_view": "comparison.table",
    "compilation": "machine.compilation",
    "conditions": "problems.conditions",
    "counts_by_level": "data.counts",
    "data.cell_intervals_by_level": "data.cell_intervals",
    "data.counts_by_level": "data.counts",
    "drawing": "figures.drawing",
    "enclosure": "privacy.enclosure",
    "estimate": "data.estimate",
    "group_totals": "noise.group_totals",
    "hierarchy": "data.hierarchy",
    "histogram": "data.counts",
    "html": "figures.html",
    "intervals.by_level": "intervals.cells",
    "isolation": "machine.isolation",
    "laws": "privacy.laws",
    "long_form": "data.long_form",
    "looking": "comparison.overlay",
    "measurement": "noise.measurement",
    "measurement_by_level": "noise.measurement",
    "mechanism": "methods.mechanism",
    "memory": "machine.memory",
    "method": "methods.method",
    "metrics": "methods.metrics",
    "nearest_tree": "engines.nearest_tree",
    "neighbours": "privacy.neighbours",
    "noise.by_level": "noise.step",
    "noise.measurement_by_level": "noise.measurement",
    "notebook_figure": "figures.notebook_figure",
    "parallel": "machine.parallel",
    "partitions": "machine.partitions",
    "planning": "release.planning",
    "problem": "problems.problem",
    "problem_fields": "problems.fields",
    "programs": "problems.programs",
    "quadratic_flow": "engines.quadratic_flow",
    "random": "privacy.random",
    "region_figure": "figures.region_figure",
    "region_ids": "data.region_ids",
    "release.configuration.declared": "publishing.configuration.declared",
    "release.configuration.forms": "publishing.configuration.forms",
    "release.configuration.table_sections": "publishing.configuration.sources",
    "release.configuration.toml": "publishing.configuration.toml",
    "release.errors": "publishing.errors",
    "release.findings": "publishing.findings",
    "release.folder.charts": "publishing.charts",
    "release.folder.signature": "publishing.signature",
    "release.intervals_by_level": "release.cell_intervals",
    "release.running": "publishing",
    "release.running.preflight": "release.preflight",
    "release.running.private_log": "release.private_log",
    "replacing": "machine.replacing",
    "rounding": "data.rounding",
    "sensitivity": "privacy.sensitivity",
    "size_tree": "experiments.benchmarks.size_tree",
    "solving": "methods.gate",
    "tables.long_by_level": "tables.long",
    "tolerances": "problems.tolerances",
    "toys": "methods.toys",
    "version": "machine.version",
    "views": "data.views",
    "views_by_region": "noise.by_groups",
    "zero_sizes": "methods.zero_sizes",
}
"""New names of modules by their old ones, below `pgsr`; what lay in a package moved with it."""

MOVED_NAMES: dict[str, dict[str, str]] = {}
"""New modules of single names by their old modules, below `pgsr`."""

_NO_ENTITIES = (
    "is gone; state public numbers of entities as problem.where(entities(level=1) == numbers), with "
    "pgsr.problems.conditions.entities"
)
_GENERAL = "levels may have sizes of their own in every Problem and Measurement, so take"
GONE = {
    "algorithms.posterior_levels": f"is gone; {_GENERAL} pgsr.algorithms.Posterior",
    "entities": _NO_ENTITIES,
    "noise.entities": _NO_ENTITIES,
}
"""What to do without modules of version 0.1 that have no successor, below `pgsr`."""


INSTEAD = {
    "CumulativeLevelProblem": "Problem",
    "CumulativeLevelProjection": "CumulativeProjection",
    "CumulativeLevelResult": "Result",
    "LevelCertificate": "certify",
    "LevelIsotonicTreeProjection": "IsotonicTreeProjection",
    "LevelMatching": "Matching",
    "LevelMechanism": "Mechanism",
    "LevelPrices": "certify",
    "LevelProblem": "Problem",
    "LevelRelease": "Result",
    "LevelResult": "Result",
    "LevelTreeProjection": "TreeProjection",
    "LevelTwoStage": "TwoStage",
}
"""What does the work of classes of version 0.1 for sizes per level, none of which has a successor of its own."""

RENAMED = {
    "data.cell_intervals": {"CellIntervalsByLevel": "CellIntervals"},
    "data.counts": {"CountsByLevel": "CountOfCounts"},
    "intervals": {"intervals_by_level": "cell_intervals", "replicate_by_level": "replicate_cells"},
    "intervals.cells": {"intervals_by_level": "cell_intervals", "replicate_by_level": "replicate_cells"},
    "noise.measurement": {"MeasurementByLevel": "Measurement"},
    "release": {
        "PublishedByLevel": "Published",
        "read_any_release": "read_release",
        "read_release_by_level": "read_release",
    },
    "release.reading": {
        "PublishedByLevel": "Published",
        "read_any_release": "read_release",
        "read_release_by_level": "read_release",
    },
    "tables": {"to_long_by_level": "to_long"},
    "tables.long": {"to_long_by_level": "to_long"},
}
"""New names in a module, below `pgsr`, by those of version 0.1: sizes per level are no types of their own any more."""

REPLACED = {
    "noise": {
        "blank_by_level": "noise.blank(truth)",
        "measure_by_level": "noise.noisy_tables(truth, source, name)",
        "measured_by_level": "noise.measure(truth, source, ledger)",
        "require_by_level": "noise.laws_of_sizes(max_sizes)",
        "require_view": "noise.one_view(max_sizes)",
    },
    "tables": {
        "count_groups_by_level": "count_groups(entities, groups, max_size=(1_000, 7))",
        "read_long_by_level": "read_long(table).counts()",
    },
}
"""What to write instead of names of version 0.1 that have no successor of the same arguments."""


def old_names(module: str) -> Callable[[str], object]:
    """Make the `__getattr__` of a module of which names were changed or are gone.

    Example:
        >>> old_names("pgsr.tables")("read_long_by_level")
        Traceback (most recent call last):
        ImportError: pgsr.tables.read_long_by_level is gone; write read_long(table).counts()
    """
    below = module.removeprefix("pgsr.")

    def find(name: str) -> object:
        if name in REPLACED.get(below, {}):
            raise ImportError(f"{module}.{name} is gone; write {REPLACED[below][name]}")
        new = RENAMED.get(below, {}).get(name)
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        told = f"{module}.{name} is called {new} now; the old name goes with the next version"
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(module), new)

    return find


class MovedModules(MetaPathFinder, Loader):
    """The finder of old names, which puts the new module in their place, and says so."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, rest = fullname.partition(".")
        if package == "pgsr" and rest in GONE:
            raise ModuleNotFoundError(f"{fullname} {GONE[rest]}", name=fullname)
        return None if _new_name(fullname) is None else ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make an empty module, which `exec_module` puts the new one in the place of."""

    def exec_module(self, module: ModuleType) -> None:
        new = _new_name(module.__name__)
        assert new is not None, "found"
        told = f"{module.__name__} is called {new} now; the old name goes with the next version"
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        sys.modules[module.__name__] = importlib.import_module(new)


def moved_name(module: str, name: str) -> object | None:
    """Find what a module of version 0.1 had by this name where it lies now, with a sentence; None if it did not move.

    For the `__getattr__` of modules in `MOVED_NAMES`.
    """
    new = MOVED_NAMES.get(module.removeprefix("pgsr."), {}).get(name)
    if new is None:
        return None
    told = f"{module}.{name} is pgsr.{new}.{name} now; the old name goes with the next version"
    warnings.warn(told, DeprecationWarning, stacklevel=3)
    return getattr(importlib.import_module(f"pgsr.{new}"), name)


def gone_by_level(name: str) -> ImportError | None:
    """Say what does the work of a class for sizes per level; None if this is no such class."""
    if name not in INSTEAD:
        return None
    return ImportError(f"{name} is gone; {_GENERAL} {INSTEAD[name]}")


def _new_name(old: str) -> str | None:
    """Find the new name of a module by the longest part of its old one that moved; None if it did not."""
    package, _, rest = old.partition(".")
    parts = rest.split(".")
    for n in range(len(parts), 0, -1):
        moved = MOVED.get(".".join(parts[:n])) if package == "pgsr" else None
        if moved is not None:
            return ".".join(("pgsr", moved, *parts[n:]))
    return None
