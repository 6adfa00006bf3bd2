"""The documentation as a site: it builds without a warning and without a network, and every page is whole."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from parsed import ROOT

NEEDED = ("mkdocs", "material", "mkdocstrings_handlers", "latex2mathml", "nbclient")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{MISSING} missing; pip install '.[docs]' brings what builds the site"),
]

NO_NETWORK = """
import socket, sys
def refuse(*_, **__):
    raise OSError("the site asked for a network")
socket.socket.connect = socket.getaddrinfo = refuse
sys.argv = ["mkdocs", *sys.argv[1:]]
from mkdocs.__main__ import cli
cli()
"""


def built(folder: Path, into: Path) -> subprocess.CompletedProcess:
    """Build the site of a checkout; notebooks that have not been run before are shown without outputs."""
    command = [sys.executable, "-c", NO_NETWORK, "build", "-f", str(folder / "mkdocs.yml"), "-d", str(into)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    quick = {"PGSR_DOCS_RUN_NOTEBOOKS": "0", "NO_MKDOCS_2_WARNING": "1"}
    environment = {**os.environ, "PYTHONPATH": paths, **quick}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    into = tmp_path_factory.mktemp("site")
    done = built(ROOT, into)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return into


@cache
def pages(site: Path) -> dict[str, str]:
    return {str(path.relative_to(site)): path.read_text("utf-8") for path in site.rglob("*.html")}


def test_every_page_and_notebook_is_there(site):
    found = set(pages(site))
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert ("contents.html" if page.stem == "README" else str(place)) in found
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"tutorials/{notebook.stem}.html" in found
    others = ("index", "threats", "changelog", "contributing", "reference/pgsr", "reference/rooms")
    assert {f"{name}.html" for name in others} <= found


def test_every_link_and_picture_leads_somewhere(site):
    """The pages' own links, those that were made at build time included."""
    texts = pages(site)
    for name, text in texts.items():
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:|//", target) or name == "404.html":
                continue
            path, _, anchor = target.partition("#")
            there = (site / name).parent / path if path else site / name
            assert there.exists(), f"{name} leads to {target}"
            if anchor and there.suffix == ".html":
                where = str(there.resolve().relative_to(site.resolve()))
                assert re.search(rf'id="{re.escape(anchor)}"', texts[where]), f"{name} leads to {target}"


def test_every_export_is_explained(site):
    """What a package of the reference exports has an entry, and the doctests in it are blocks of code."""
    import pgsr
    from pgsr import algorithms, certificates, datasets, estimators, intervals, models, release

    for package in (pgsr, algorithms, estimators, models, intervals, release, datasets, certificates):
        text = (site / "reference" / f"{package.__name__}.html").read_text("utf-8")
        for name in package.__all__:
            if not name.startswith("__"):
                own = rf'id="{package.__name__}\.(?:{name}\.)?{name}"'
                elsewhere = rf'href="pgsr[\w.]*\.html#pgsr[\w.]*\.{name}"'
                assert re.search(f"{own}|{elsewhere}", text), f"{package.__name__}.{name}"
        assert "<blockquote>" not in text, f"{package.__name__}: an example is not read as one"


def test_formulas_are_drawn_and_nothing_is_loaded_from_elsewhere(site):
    assert "<math" in pages(site)["tutorials/06_matching.html"]
    for name, page in pages(site).items():
        assert "arithmatex" not in page, name
        assert "\\begin{" not in page, name
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]+src="([^"]+)"|<link[^>]+href="([^"]+)"', page)
        assert not [one for pair in loaded for one in pair if re.match(r"https?:|//", one)], name


def test_a_broken_link_stops_the_build(tmp_path):
    """Of a page alone, under the settings of the site, so that the build above says something."""
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    kept = re.findall(r"^(?:strict|validation):.*(?:\n  .*)*", settings, re.MULTILINE)
    assert len(kept) == 2
    (tmp_path / "mkdocs.yml").write_text("\n".join(["site_name: one page", *kept]), "utf-8")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "index.md"
    page.write_text("# A page\n\n[nowhere](no_such_page.md)\n", "utf-8")
    done = built(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "no_such_page.md" in done.stderr


def test_pages_and_notebooks_without_a_place_get_one(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    hooks = importlib.import_module("hooks")
    config = SimpleNamespace(nav=[{"Start here": ["index.md", "tutorials/01_one_region.md"]}])
    hooks.on_config(config)
    more = config.nav[-1]["More"]
    assert {"start.md", "model/methods.md", "tutorials/03_swap_solvers.md"} <= set(more)
    assert not {"README.md", "index.md", "tutorials/01_one_region.md"} & set(more)


def test_a_notebook_that_hangs_is_run_once_more_and_then_shown_as_not_run(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "tools"))
    monkeypatch.delenv("PGSR_DOCS_RUN_NOTEBOOKS", raising=False)
    module, hanging = importlib.import_module("tutorials"), [True]

    class Client:
        def __init__(self, *_: object, **__: object) -> None: ...

        def execute(self) -> None:
            if hanging and hanging.pop():
                raise module.DeadKernelError("it hangs")

    monkeypatch.setattr(module, "NotebookClient", Client)
    path = ROOT / "notebooks" / "02_a_hierarchy.ipynb"
    assert module.with_outputs(path, tmp_path / "run.ipynb")[1]
    hanging += [True, True]
    assert not module.with_outputs(path, tmp_path / "hung.ipynb")[1]
    assert [*tmp_path.iterdir()] == [tmp_path / "run.ipynb"]
