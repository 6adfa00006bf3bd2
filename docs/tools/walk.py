"""The walk of a release's configuration through the code: `python docs/tools/walk.py`.

A small release is made by the command `pgsr release`. Every function of pgsr that is entered with the configuration, or
with an object made from it, is noted the first time: as an argument or as `self`. A stay is a row of such functions in
one module, and a return a stay in a module that was left before, so there are as many stays as modules and returns.
Whoever asks what a release does reads about that much, in about that order.

The check that a release passes before it gets its name reads the folder as a stranger would. It is a walk of its own,
`python docs/tools/walk.py --check`.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd

import pgsr
from pgsr import cli
from pgsr.privacy.accounting import PureEpsilon
from pgsr.release.ledger import LedgerFile

HERE = Path(pgsr.__file__).parent
CARRIERS = {"ReleaseConfig", "Terms", "Plan", "LevelPlan"}
"""The classes of the configuration: what its file says, its public terms, and their plan, level by level.

Tables of the file are dictionaries.
"""

OF_A_FILE = "entities"
"""A key that the values of a configuration's file have."""


def walk(run: Callable[[], Any], of_check: bool = False) -> list[tuple[str, str]]:
    """List the functions that a run enters with the configuration, as module and name, in the order of first entries.

    Args:
        run: what to follow.
        of_check: follow what the check of the folder enters, and nothing else; otherwise all but that.
    """
    found: dict[tuple[str, str], None] = {}
    checks: list[FrameType] = []
    tables: list[object] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        if not path.is_relative_to(HERE):
            return
        if code.co_qualname == "check" and path.name == "release_check.py":
            (checks.append if event == "call" else checks.remove)(frame)
        if event != "call" or code.co_name.startswith("<") or bool(checks) is not of_check:
            return
        n_arguments = code.co_argcount + code.co_kwonlyargcount
        given = [frame.f_locals.get(name) for name in code.co_varnames[:n_arguments]]
        for value in given:
            if isinstance(value, dict) and OF_A_FILE in value:  # with the tables in it
                tables.extend((value, *(each for each in value.values() if isinstance(each, dict))))
        if any(_carries(value) or any(value is table for table in tables) for value in given):
            found.setdefault((".".join(path.relative_to(HERE).with_suffix("").parts), code.co_qualname))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(found)


def _carries(value: object) -> bool:
    """Tell whether a value is of the configuration, or an object that holds some of it."""
    if type(value).__name__ in CARRIERS:
        return True
    held = getattr(value, "__dict__", {}) if type(value).__module__.startswith("pgsr.") else {}
    return any(type(each).__name__ in CARRIERS for each in held.values())


def small_release() -> None:
    """Make a small release by the command, in a folder that is removed again."""
    homes = pd.DataFrame({"group": range(60), "region": ["GA", "MI", "MI"] * 20})
    people = pd.DataFrame({"entity": range(90), "group": [*range(60), *range(0, 60, 2)]})
    areas = pd.DataFrame({"region": ["US", "GA", "MI"], "parent": [None, "US", "US"]})
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, frame in (("groups", homes), ("entities", people)):
            frame.to_parquet(f"{name}.parquet")
        areas.to_csv("regions.csv", index=False)
        LedgerFile.create("ledger.jsonl", "households 2026", PureEpsilon(2))
        Path("release.toml").write_text(TOML, encoding="utf-8")
        cli.app(["release", "release.toml"], standalone_mode=False)
        os.chdir("/")


TOML = """
data_set = "households 2026"
max_size = 5
epsilon = "1"
mechanism = "posterior"
output = "release"
ledger = "ledger.jsonl"
[entities]
file = "entities.parquet"
[groups]
file = "groups.parquet"
[regions]
file = "regions.csv"
"""


def main() -> None:
    """Print the walk, module by module, and its counts."""
    small_release()  # compiles all loops, which nobody needs to follow
    functions = walk(small_release, "--check" in sys.argv)
    stays = [(module, [name for _, name in each]) for module, each in groupby(functions, lambda each: each[0])]
    for module, names in stays:
        print(f"{module}: {', '.join(names)}")
    modules = len({module for module, _ in stays})
    print(
        f"{len(functions)} functions, {len(stays)} stays in {modules} modules, {len(stays) - modules} returns to a "
        "module that was left"
    )


if __name__ == "__main__":
    main()
