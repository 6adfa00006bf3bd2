"""The sizes of the house by wing, and the ceilings of tests/house_budget.toml; run as a program, it prints both."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from house_options import ROOT, options

BUDGET = Path(__file__).with_suffix(".toml")
SLACK = 0.02
"""The share by which a ceiling may stand above what is there."""
COUNTED = ("lines", "files", "words", "names", "options")


@dataclass(frozen=True)
class Wing:
    """Some files of the repository by the beginnings of their paths, with the ceilings of what is counted in them."""

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
        """What is there, of everything that has a ceiling and all else that can be counted."""
        files = self.files
        texts = [path.read_text(encoding="utf-8") for path in files]
        found = {"lines": sum(text.count("\n") for text in texts), "files": len(files)}
        if self.ending == ".md":
            return found | {"words": sum(len(text.split()) for text in texts)}
        names = set().union(
            *(_exported(text) for path, text in zip(files, texts, strict=True) if path.name == "__init__.py")
        )
        found |= {"names": len(names)} if names else {}
        n_options = sum(self.holds(option.file) for option in options())
        return found | ({"options": n_options} if n_options else {})

    def holds(self, file: str) -> bool:
        """Whether a file, by its path from the repository, belongs to the wing."""
        return _below(file, self.folders) and not _below(file, self.without)

    def faults(self) -> list[str]:
        """Say of every ceiling that is passed, or too high, or missing, what to do."""
        return [sentence for what, count in self.counts.items() if (sentence := self._fault(what, count))]

    def _fault(self, what: str, count: int) -> str:
        ceiling = self.ceilings.get(what)
        where = f"[{self.name}] {what}"
        if ceiling is None:
            return f"{where} has no ceiling; write {count}"
        if count > ceiling:
            return (
                f"{where} is {count}, above {ceiling}: remove, or write {count} and say in CHANGELOG.md what it bought"
            )
        if ceiling > count * (1 + SLACK):
            return f"{where} is {count}, and {ceiling} is too high a ceiling; write {count}"
        return ""

    def _files(self) -> Iterator[Path]:
        for folder in self.folders:
            there = ROOT / folder
            for path in [there] if there.is_file() else there.rglob(f"*{self.ending}"):
                if self.holds(path.relative_to(ROOT).as_posix()):
                    yield path


def wings() -> list[Wing]:
    """Read the wings and their ceilings."""
    return [_wing(name, row) for name, row in _budget().items() if name != "pages"]


def words_of_pages() -> dict[str, tuple[int, int | None]]:
    """Count the words of every page, by its path from the repository, beside its ceiling."""
    docs = next(wing for wing in wings() if wing.name == "docs")
    pages = {path.relative_to(ROOT).as_posix(): path for path in docs.files}
    ceilings = _budget()["pages"]
    return {name: (len(path.read_text(encoding="utf-8").split()), ceilings.get(name)) for name, path in pages.items()}


def _budget() -> dict[str, Any]:
    return tomllib.loads(BUDGET.read_text(encoding="utf-8"))


def _wing(name: str, row: dict[str, Any]) -> Wing:
    return Wing(name, tuple(row.pop("folders")), tuple(row.pop("without", ())), row.pop("ending", ".py"), row)


def _below(file: str, folders: tuple[str, ...]) -> bool:
    return any(file == folder or file.startswith(f"{folder}/") for folder in folders)


def _exported(text: str) -> set[str]:
    """Read the names that a package lists in `__all__`."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


if __name__ == "__main__":
    for wing in wings():
        counts = wing.counts
        print(f"{wing.name:<12}", *(f"{what} {counts[what]} (at most {wing.ceilings.get(what)})" for what in counts))
