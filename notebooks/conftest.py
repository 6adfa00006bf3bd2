"""Makes every notebook a test: it runs from top to bottom, and shows every figure that it makes, README.md too."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nbformat import NotebookNode

SECONDS_PER_CELL = 120

COUNT_FIGURES = """
import warnings as _warnings
_warnings.filterwarnings("error", module="__main__")
import matplotlib.figure as _figure
_made, _make = [], _figure.Figure.__init__
def _counting(self, *args, **options):
    _made.append(self)
    _make(self, *args, **options)
_figure.Figure.__init__ = _counting
"""
"""Runs first, in a copy of the notebook. It loads no backend, so that figures are shown as they would be without it."""

TELL = "print(len(_made))\n_made.clear()"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "NotebookFile | None":
    return NotebookFile.from_parent(parent, path=file_path) if file_path.suffix == ".ipynb" else None


class NotebookFile(pytest.File):
    def collect(self) -> "Iterator[Notebook]":
        notebook = Notebook.from_parent(self, name="runs_and_shows_its_figures")
        notebook.add_marker(pytest.mark.timeout(600))  # the whole notebook
        if not self.path.name.startswith("01_"):
            notebook.add_marker(pytest.mark.slow)
        yield notebook


class NotShownError(AssertionError):
    """A figure was made and is no picture in the notebook."""


class Notebook(pytest.Item):
    def runtest(self) -> None:
        import nbformat  # here, because each process that only lists the tests would spend seconds on it
        from nbclient import NotebookClient

        notebook = nbformat.read(self.path, as_version=4)
        cells = notebook.cells
        notebook.cells = [nbformat.v4.new_code_cell(COUNT_FIGURES)]
        for cell in cells:
            notebook.cells.append(cell)
            if cell.cell_type == "code":
                notebook.cells.append(nbformat.v4.new_code_cell(TELL))
        resources = {"metadata": {"path": str(self.path.parent)}}
        NotebookClient(notebook, timeout=SECONDS_PER_CELL, resources=resources).execute()
        for cell, after in zip(notebook.cells[1:], notebook.cells[2:], strict=False):
            if cell.cell_type == "code" and cell.source != TELL:
                inside = _pictures_of_widgets(notebook) if _shows_widget(cell) else 0
                _require_pictures(cell, inside, made=int(after.outputs[0].text))
        _require_kept(self.path, sum(_pictures(cell) for cell in cells))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        from nbclient.exceptions import CellExecutionError

        if isinstance(excinfo.value, CellExecutionError | NotShownError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))


def _require_pictures(cell: "NotebookNode", inside: int, made: int) -> None:
    pictures = _pictures(cell) + inside
    if pictures < made:
        raise NotShownError(f"{made} figures were made and {pictures} are shown by the cell\n\n{cell.source}")


def _pictures(cell: "NotebookNode") -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


def _shows_widget(cell: "NotebookNode") -> bool:
    return any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in cell.outputs)


def _pictures_of_widgets(notebook: "NotebookNode") -> int:
    """Count the pictures that stand inside widgets, which keep what they show beside the cells."""
    state = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    shown = (output for model in state.values() for output in model["state"].get("outputs", []))
    return sum("data:image/png" in output.get("data", {}).get("text/html", "") for output in shown)


def _require_kept(path: Path, pictures: int) -> None:
    kept = (path.parent / "README.md").read_text("utf-8").count(f"notebooks/{path.stem}-")
    if kept != pictures:
        raise NotShownError(
            f"{path.name} shows {pictures} figures and README.md has {kept} of them; run python docs/tools/tutorials.py"
        )
