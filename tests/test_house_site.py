"""The documentation as a site: it builds without a warning and without a network, and every page is whole."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = ("mkdocs", "material", "mkdocstrings_handlers", "latex2mathml", "nbclient")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(MISSING), reason=f"{MISSING} missing; pip install 'pgsr[docs]' brings what builds the site"
    ),
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
    environment = {**os.environ, "PYTHONPATH": paths, "PGSR_DOCS_RUN_NOTEBOOKS": "0", "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    into = tmp_path_factory.mktemp("site")
    done = built(ROOT, into)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return into


def pages(site: Path) -> dict[str, str]:
    return {str(path.relative_to(site)): path.read_text("utf-8") for path in site.rglob("*.html")}


def test_every_page_and_notebook_is_there(site):
    found = set(pages(site))
    for page in (ROOT / "docs").glob("*.md"):
        assert ("index.html" if page.stem == "README" else f"{page.stem}.html") in found
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"tutorials/{notebook.stem}.html" in found
    assert {
        "threats.html",
        "changelog.html",
        "contributing.html",
        "reference/pgsr.html",
        "reference/rooms.html",
    } <= found


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


def test_nothing_is_loaded_from_elsewhere(site):
    for name, text in pages(site).items():
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]+src="([^"]+)"|<link[^>]+href="([^"]+)"', text)
        assert not [one for pair in loaded for one in pair if re.match(r"https?:|//", one)], name


def test_every_export_is_explained(site):
    """What a package of the reference exports has an entry, and the doctests in it are blocks of code."""
    import pgsr
    from pgsr import algorithms, certificates, datasets, intervals, models, release

    for package in (pgsr, algorithms, models, intervals, release, datasets, certificates):
        text = (site / "reference" / f"{package.__name__}.html").read_text("utf-8")
        for name in package.__all__:
            if not name.startswith("__"):
                own, elsewhere = (
                    rf'id="{package.__name__}\.(?:{name}\.)?{name}"',
                    rf'href="pgsr[\w.]*\.html#pgsr[\w.]*\.{name}"',
                )
                assert re.search(f"{own}|{elsewhere}", text), f"{package.__name__}.{name}"
        assert "<blockquote>" not in text, f"{package.__name__}: an example is not read as one"


def test_formulas_are_drawn(site):
    text = (site / "tutorials" / "06_matching.html").read_text("utf-8")
    assert "<math" in text
    assert not [name for name, page in pages(site).items() if "arithmatex" in page or "\\begin{" in page]


def test_a_broken_link_stops_the_build_and_a_page_without_a_place_gets_one(tmp_path):
    """A copy of the site with a wrong link must fail, so the build above says something; with a page more it has it."""
    for name in ("docs", "notebooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("pgsr", "models", "experiments"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("mkdocs.yml", "CONTRIBUTING.md", "CHANGELOG.md", "README.md", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    page = tmp_path / "docs" / "start.md"
    page.write_text(page.read_text("utf-8") + "\n[nowhere](no_such_page.md)\n", "utf-8")
    (tmp_path / "docs" / "one_more.md").write_text("# One page more\n", "utf-8")
    shutil.copy(ROOT / "notebooks" / "01_one_region.ipynb", tmp_path / "notebooks" / "99_one_more.ipynb")
    done = built(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert [line for line in done.stderr.splitlines() if "WARNING" in line and "no_such_page.md" not in line] == []
    assert "no_such_page.md" in done.stderr
    for link in ('href="one_more.html"', 'href="tutorials/99_one_more.html"'):
        assert link in (tmp_path / "site" / "index.html").read_text("utf-8")
