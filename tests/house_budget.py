"""The ratchet: what is counted in every wing of the house, beside the least that it ever was.

`python tests/house_budget.py` prints both. `python tests/house_budget.py --turn` writes lower numbers into
tests/house_budget.toml where something went. No command writes a higher one.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from house_options import ROOT, options

BUDGET = Path(__file__).with_suffix(".toml")
STEPS = {"lines": 250, "words": 250, "files": 1, "names": 1, "options": 1}
"""What is counted, and the multiple that its number is rounded up to."""

Ceiling = tuple[str, str]
"""A wing, and what is counted in it."""


@dataclass(frozen=True)
class Wing:
    """Some files of the repository by the beginnings of their paths, with the most that may be counted in them."""

    name: str
    folders: tuple[str, ...]
    without: tuple[str, ...]
    ending: str
    ceilings: dict[str, int]

    @property
    def files(self) -> list[Path]:
        """The files with the wing's ending."""
        return sorted(self._files())

    @property
    def counts(self) -> dict[str, int]:
        """What is there, of everything that can be counted in files of this kind."""
        files = self.files
        texts = [path.read_text(encoding="utf-8") for path in files]
        counts = {"lines": sum(text.count("\n") for text in texts), "files": len(files)}
        if self.ending == ".md":
            return counts | {"words": sum(len(text.split()) for text in texts)}
        names = set().union(
            *(_exported(text) for path, text in zip(files, texts, strict=True) if path.name == "__init__.py")
        )
        n_options = sum(self.holds(option.file) for option in options())
        return counts | ({"names": len(names)} if names else {}) | ({"options": n_options} if n_options else {})

    @property
    def turned(self) -> dict[str, int]:
        """The counts, each rounded up to a multiple of its step: what the ratchet turns to."""
        return {what: -(-count // STEPS[what]) * STEPS[what] for what, count in self.counts.items()}

    def holds(self, file: str) -> bool:
        """Whether a file, by its path from the repository, belongs to the wing."""
        return _below(file, self.folders) and not _below(file, self.without)

    def faults(self) -> list[str]:
        """Say of every ceiling that is passed, or left behind, or missing, what to do."""
        counts, turned = self.counts, self.turned
        passed = [
            f"[{self.name}] {what} is {counts[what]:,}, above {ceiling:,}: remove as much as came in"
            for what, ceiling in self.ceilings.items()
            if counts.get(what, 0) > ceiling
        ]
        return passed + [
            f"[{self.name}] {what} is {counts[what]:,}: `python tests/house_budget.py --turn` writes {least:,}"
            for what, least in turned.items()
            if least < self.ceilings.get(what, least + 1)
        ]

    def _files(self) -> Iterator[Path]:
        for folder in self.folders:
            there = ROOT / folder
            for path in [there] if there.is_file() else there.rglob(f"*{self.ending}"):
                if self.holds(path.relative_to(ROOT).as_posix()):
                    yield path


def wings() -> list[Wing]:
    """Read the wings and their ceilings."""
    return wings_of(BUDGET.read_text(encoding="utf-8"))


def wings_of(text: str) -> list[Wing]:
    """Read the wings and their ceilings from a text in the form of house_budget.toml."""
    return [_wing(name, row) for name, row in _read(text).items()]


def pages() -> list[str]:
    """List the pages of the documentation, by their paths from the repository."""
    docs = next(wing for wing in wings() if wing.name == "docs")
    return [path.relative_to(ROOT).as_posix() for path in docs.files]


def raised(texts: list[str]) -> dict[Ceiling, tuple[int, int]]:
    """Find numbers that stand above an earlier one of the same wing, and that no repair beside them explains.

    Args:
        texts: house_budget.toml as it was once, and last as it is.

    Returns:
        The least number that was reached, and today's.
    """
    *earlier, today = [_read(text) for text in texts]
    least: dict[Ceiling, int] = {}
    for budget in earlier:
        for ceiling, count in _ceilings(budget).items():
            least[ceiling] = min(count, least.get(ceiling, count))
    return {
        (name, what): (least[name, what], count)
        for (name, what), count in _ceilings(today).items()
        if count > least.get((name, what), count) and what not in today[name].get("repairs", {})
    }


def history() -> list[str] | None:
    """Read the ratchet's file as it was at every commit, oldest first; None where there is no history to read."""
    path = BUDGET.relative_to(ROOT).as_posix()
    log = _git("log", "--reverse", "--format=%H", "--", path)
    if log is None or _git("rev-parse", "--is-shallow-repository") != "false\n":
        return None
    texts = [_git("show", f"{commit}:{path}") for commit in log.split()]
    return [text for text in texts if text and RATCHET in text]


RATCHET = "# The ratchet: for every wing"
"""How the file begins since it turns one way."""


def turn(text: str) -> str:
    """Write the lower numbers into the text of the ratchet's file; its comments stay."""
    for wing in wings_of(text):
        for what, least in wing.turned.items():
            if what not in wing.ceilings or least < wing.ceilings[what]:
                text = _replaced(text, wing.name, what, least)
    return text


def _replaced(text: str, name: str, what: str, count: int) -> str:
    head, section, rest = text.partition(f"\n[{name}]")
    body, following, tail = re.split(r"(\n(?=\[)|\Z)", rest, maxsplit=1)
    body, found = re.subn(rf"(?m)^{what} = \d+", f"{what} = {count}", body)
    return head + section + (body if found else f"{body.rstrip()}\n{what} = {count}\n") + following + tail


def _read(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def _ceilings(budget: dict[str, Any]) -> dict[Ceiling, int]:
    return {(name, what): row[what] for name, row in budget.items() for what in STEPS if what in row}


def _wing(name: str, row: dict[str, Any]) -> Wing:
    ceilings = {what: row[what] for what in STEPS if what in row}
    return Wing(name, tuple(row["folders"]), tuple(row.get("without", ())), row.get("ending", ".py"), ceilings)


def _below(file: str, folders: tuple[str, ...]) -> bool:
    return any(file == folder or file.startswith(f"{folder}/") for folder in folders)


def _exported(text: str) -> set[str]:
    """Read the names that a package lists in `__all__`."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def _git(*words: str) -> str | None:
    answer = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout if answer.returncode == 0 else None


if __name__ == "__main__":
    if sys.argv[1:] == ["--turn"]:
        BUDGET.write_text(turn(BUDGET.read_text(encoding="utf-8")), encoding="utf-8")
    for each in wings():
        print(
            f"{each.name:<12}", *(f"{what} {n:,} of {each.ceilings.get(what, n):,}" for what, n in each.counts.items())
        )
