"""Small releases of random terms and tables, so that whatever may fail after a charge fails in a rehearsal first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from instances import rng_of

from pgsr.release import ReleaseConfig, Terms
from pgsr.release.stated.kinds import Kind
from pgsr.release.stated.publication import Publication
from pgsr.tables import Entities, Groups, Levels, Limits, Quantities

NAMES = ("North", "a,b", 'the "Old" Town', "Ü ber", "-5", "x/y", "01", "it's", "[new]", "*", "?", "NULL", "nan")


def drawn_configuration(seed: int, folder: Path) -> ReleaseConfig:
    """Draw tables and terms; the configuration of a release of them into `folder`.

    Raises:
        PgsrError: the terms contradict each other; another seed may have better ones.
    """
    rng = rng_of(seed)
    paths, depth = _paths(rng)
    levels = [f"level {n}" for n in range(depth)]
    largest = int(rng.choice([1, 2, 3, 6, 30]))
    n_groups = int(rng.choice([0, 1, 3, 20, 80]))
    homes = np.sort(rng.integers(0, len(paths), n_groups)) if n_groups else np.zeros(0, int)
    sizes = np.minimum(rng.geometric(rng.choice([0.2, 0.5, 0.9]), n_groups) - 1, largest + 3)
    kind = Kind(rng.choice(list(Kind)))
    about = _terms(rng, kind, depth, largest)
    noisy = about["totals"] == "noisy"
    private = noisy and bool(rng.integers(2))
    listed = sizes > 0 if noisy and not private else np.ones(n_groups, bool)
    columns = {name: [(*paths[home], *[None] * depth)[n] for home in homes] for n, name in enumerate(levels)}
    groups = pd.DataFrame({"group": np.arange(n_groups), **{n: pd.array(c, "string") for n, c in columns.items()}})
    places = pd.DataFrame(
        {name: pd.array([(*path, *[None] * depth)[n] for path in paths], "string") for n, name in enumerate(levels)}
    )
    quantities = rng.integers(5) == 0
    rows = groups.iloc[np.repeat(np.arange(n_groups), sizes)].reset_index(drop=True)
    rows.insert(0, "entity", np.arange(len(rows)))
    entities: Entities | Quantities = Entities(rows, region=tuple(levels))
    if quantities:
        rows["quantity"] = rng.integers(0, 4, len(rows))
        entities = Quantities(rows, 3, False, "entity", "group", tuple(levels))
    return ReleaseConfig(
        terms=Terms(f"drawn {seed}", kind=kind, **about),
        entities=entities,
        groups=Groups(groups[listed], region=tuple(levels)) if not noisy or private else None,
        regions=Levels(places, tuple(levels), pad_ragged=True),
        private_groups=noisy,
        output=folder / f"out{seed}",
        ledger=folder / "ledger.jsonl",
        limits=Limits(1, 1),
    )


def _paths(rng: np.random.Generator) -> tuple[list[tuple[str, ...]], int]:
    """Draw the paths of the leaves, of different depth in one of three trees."""
    depth, ragged = int(rng.integers(1, 4)), rng.integers(3) == 0
    paths: list[tuple[str, ...]] = [("US",)]
    for _ in range(depth - 1):
        longer = []
        for path in paths:
            names = rng.permutation(NAMES)[: rng.integers(1, 4)].tolist()
            ends = ragged and longer and rng.integers(3) == 0
            longer += [path] if ends else [(*path, name) for name in names]
        paths = longer
    return paths, depth


def _terms(rng: np.random.Generator, kind: Kind, depth: int, largest: int) -> dict[str, Any]:
    def pick(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    split = kind.takes_thresholds and rng.integers(2) == 0
    about: dict[str, Any] = {
        "max_size": largest,
        "min_size": pick(0, 0, 0, 1, largest - 1) if largest > 1 else 0,
        "epsilon": pick("1/50", "1/2", "1", "20"),
        "totals": pick(None, None, *kind.totals),
        "shares": pick(None, None, *_shares(rng, depth)),
        "intervals": pick(None, "1/2", "9/10", "9999/10000") if kind is Kind.POSTERIOR else None,
        "unit": pick("entity", "entity", "entity", "group", "entity in 3 groups"),
        "relation": pick(None, None, None, "add_remove", "replace", "move"),
        "publication": Publication(group_name=pick("groups", "=households")),
    }
    if rng.integers(4) == 0:
        about |= {"rho": "1/10", "epsilon": None}  # accounting of epsilon with delta takes its time
    if rng.integers(5) == 0 and not split:
        about["max_size"] = tuple(sorted(rng.integers(1, largest + 1, depth).tolist(), reverse=True))
        about["min_size"] = 0
    if split:
        about["threshold"] = pick(int(rng.integers(0, largest + 2)), "root")
        about["shares"] = about["shares"] or pick(*_shares(rng, depth))
    return about


def _shares(rng: np.random.Generator, depth: int) -> list[Sequence[str]]:
    parts = rng.integers(1, 6, depth)
    zeros = parts * (rng.integers(3, size=depth) > 0)
    drawn = [p for p in (parts, zeros) if p.sum()]
    return [[f"{n}/{p.sum()}" for n in p.tolist()] for p in drawn]
