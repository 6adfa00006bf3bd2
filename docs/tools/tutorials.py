"""The notebooks as pages, with their outputs; and their figures, which notebooks/README.md shows.

Notebooks are stored without outputs. The first build runs each of them, a few minutes in all, and keeps what it shows
in a folder under the digest of the notebook and of the code of pgsr; later builds read it there. With
PGSR_DOCS_RUN_NOTEBOOKS=0 nothing is run: a notebook that is not kept is shown without outputs, and says so.

`python docs/tools/tutorials.py` writes notebooks/README.md and its figures, docs/figures/notebooks, anew. They are kept
in the repository, so that who reads it without running anything sees what the notebooks show.
"""

import base64
import hashlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SECONDS_PER_CELL = 120
NOT_RUN = (
    "!!! note\n    This build of the site did not run the notebook, so its outputs are missing; `make docs` runs it.\n"
)

WIDGET = "application/vnd.jupyter.widget-view+json"
SLIDERS = "*Where the notebook runs, sliders stand here; a page has no kernel that could answer them.*"


def tutorials(folder: Path, kept: Path) -> Iterator[tuple[str, str | bytes]]:
    """Make the pages of all notebooks and their pictures, as paths inside the site with their contents."""
    for path, notebook, has_run in _all_with_outputs(folder, kept):
        yield from page_of(notebook, path.stem, has_run)


def write_overview(folder: Path, kept: Path, figures: Path) -> None:
    """Write README.md beside the notebooks: a row for each, its question above its figures in few colours."""
    rows = [OVERVIEW]
    figures.mkdir(parents=True, exist_ok=True)
    for old in figures.glob("*.png"):
        old.unlink()
    for path, notebook, _ in _all_with_outputs(folder, kept):
        title, question, *_ = notebook.cells[0].source.split("\n\n")
        shown = [question.removeprefix("**Question:** ")]
        for number, (heading, picture) in enumerate(_pictures(notebook), 1):
            name = f"{path.stem}-{number}.png"
            Image.open(io.BytesIO(picture)).convert("RGB").quantize(32).save(figures / name, optimize=True)
            shown.append(f"![{heading}]({os.path.relpath(figures, folder)}/{name})")
        rows.append(f"| [{title.removeprefix('# ')}]({path.name}) | {'<br>'.join(shown)} |")
    (folder / "README.md").write_text("\n".join(rows) + "\n", "utf-8")


OVERVIEW = """# Notebooks

After this page you can pick the notebook that answers your question. `make notebook` opens them to be run, and
`make docs` shows all that they print. Figures are those of one run; times depend on the machine.

| notebook | question and figures |
|---|---|"""


def _pictures(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, bytes]]:
    """List the pictures that a notebook shows, each with the heading that it stands under."""
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall(r"^#+ (?:\d+\. )?(.+)$", cell.source, re.MULTILINE)][-1]
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                yield heading, base64.b64decode(output["data"]["image/png"])


def _all_with_outputs(folder: Path, kept: Path) -> Iterator[tuple[Path, nbformat.NotebookNode, bool]]:
    kept.mkdir(parents=True, exist_ok=True)
    code = code_digest()
    for path in sorted(folder.glob("*.ipynb")):
        yield path, *with_outputs(path, kept / f"{path.stem}-{_digest(code, path.read_bytes())}.ipynb")


def with_outputs(path: Path, kept: Path) -> tuple[nbformat.NotebookNode, bool]:
    """Read the notebook as it was kept; else run it, a second time where a cell hangs, and keep it."""
    if kept.exists():
        return nbformat.read(kept, as_version=4), True
    notebook = nbformat.read(path, as_version=4)
    if os.environ.get("PGSR_DOCS_RUN_NOTEBOOKS") == "0":
        return notebook, False
    print(f"running {path.name} ...", file=sys.stderr, flush=True)
    for left in (1, 0):
        client = NotebookClient(notebook, timeout=SECONDS_PER_CELL, resources={"metadata": {"path": str(path.parent)}})
        try:
            client.execute()
            break
        except (CellTimeoutError, DeadKernelError) as error:
            print(
                f"{path.name}: {str(error).splitlines()[0]}; {'once more' if left else 'shown as it is'}",
                file=sys.stderr,
            )
            notebook = nbformat.read(path, as_version=4)
    else:
        return notebook, False
    for old in kept.parent.glob(f"{path.stem}-*.ipynb"):
        old.unlink()
    nbformat.write(notebook, kept)
    return notebook, True


def code_digest() -> str:
    """The digest of all that a notebook may import from here."""
    files = sorted(path for room in ("pgsr", "models", "experiments") for path in (ROOT / room).rglob("*.py"))
    return _digest(*(path.read_bytes() for path in files))


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return digest.hexdigest()[:16]


def page_of(notebook: nbformat.NotebookNode, stem: str, has_run: bool) -> Iterator[tuple[str, str | bytes]]:
    """Write a notebook as Markdown: the page last, its pictures before."""
    parts: list[str] = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            if not has_run and len(parts) == 1:
                parts.append(NOT_RUN)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            for place, output in enumerate(_joined(cell.outputs)):
                picture = f"{stem}-{number}-{place}.png"
                data = output.get("data", {})
                if "image/png" in data:
                    yield f"tutorials/{picture}", base64.b64decode(data["image/png"])
                    parts.append(f"![Output of the cell above]({picture})")
                else:
                    parts.append(_shown(output, data))
    parts.append(
        f"*This page is the notebook `notebooks/{stem}.ipynb`; `make notebook` opens it to be changed and run.*"
    )
    yield f"tutorials/{stem}.md", "\n\n".join(part for part in parts if part) + "\n"


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join what was printed in pieces."""
    joined: list[nbformat.NotebookNode] = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream" and output.name == joined[-1].name:
            joined[-1].text += output.text
        else:
            joined.append(output.copy())
    return joined


def _shown(output: nbformat.NotebookNode, data: dict[str, str]) -> str:
    """Write an output that is no picture."""
    if WIDGET in data:
        return SLIDERS
    if "text/html" in data:
        # A formula inside HTML is drawn by notebooks alone.
        dropped = r"<style[^>]*>(?!\.compare).*?</style>|<div>\$\$.*?\$\$</div>"
        html = re.sub(dropped, "", data["text/html"], flags=re.DOTALL)
        return '<div class="output">\n' + re.sub(r"\n\s*\n", "\n", html.strip()) + "\n</div>"
    if "text/latex" in data:
        return data["text/latex"]
    if "text/markdown" in data:
        return data["text/markdown"]
    text = data.get("text/plain") or (output.get("text", "") if output.get("name") != "stderr" else "")
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""


if __name__ == "__main__":
    write_overview(ROOT / "notebooks", ROOT / "results" / "docs" / "notebooks", ROOT / "docs" / "figures" / "notebooks")
