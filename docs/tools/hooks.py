"""What MkDocs calls while it builds the site: pages that are made at build time, and links to files.

| made                  | from                                                                          |
|-----------------------|-------------------------------------------------------------------------------|
| `tutorials/*.md`      | the notebooks with their outputs, by `tutorials`                              |
| `reference/*.md`      | the docstrings of what a package exports, by `reference`                      |
| `threats.md`, ...     | pages that lie outside docs/, see `ELSEWHERE`                                 |

Formulas in dollars become MathML, which browsers draw by themselves.
"""

import os
import re
from functools import partial
from html import unescape
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference import PACKAGES, reference_page, rooms_page
from tutorials import tutorials

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "results" / "docs"

ELSEWHERE = {
    "README.md": "index.md",
    "docs/README.md": "contents.md",
    "pgsr/release/THREATS.md": "threats.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""The pages of the site that lie outside docs/, or have another name there; its first page is the repository's."""

SEARCHED_LATER = {"tutorials": 0.3, "reference": 0.05}
"""The factors of a search on what it finds in these folders."""

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")
FIGURE = re.compile(r"(!\[[^\]]*\])\(docs/")
FENCED = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
TITLED = re.compile(r"^```(\w+) ([\w.]+)$", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
TEXT = re.compile(r"\\text\{(?:[^{}]|\{\})*\}")
LONG = re.compile(r"(<code>|<td>|, )((?<=<code>)[^<>\s]{25,}(?=</code>)|(?<!<code>)test_[\w.:]{20,})")
"""Names in running text that may be broken into lines inside: in code, and those of tests in tables."""
NAME = re.compile(r'(?<!">)<code>(pgsr(?:\.\w+)+)</code>(?!</a>)')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of docs/ and the notebooks that the navigation leaves out under "More"."""
    named = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    pages = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    pages = [page for page in pages if f"docs/{page}" not in ELSEWHERE]
    pages += [f"tutorials/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")]
    left = sorted(page for page in pages if page not in named)
    if left and config.nav is not None:
        config.nav.append({"More": left})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add all that is made at build time."""
    for package in PACKAGES:
        files.append(File.generated(config, f"reference/{package}.md", content=reference_page(package)))
    files.append(File.generated(config, "reference/rooms.md", content=rooms_page()))
    for path, content in tutorials(ROOT / "notebooks", CACHE / "notebooks"):
        files.append(File.generated(config, path, content=content))
    files.remove(files.src_uris["README.md"])
    for path, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files of the repository to their pages, and give titles to blocks that are files.

    A search finds pages before notebooks, and notebooks before the reference, whose headings are the names of classes.
    """
    folder = page.file.src_uri.partition("/")[0]
    if folder in SEARCHED_LATER:
        page.meta["search"] = {"boost": SEARCHED_LATER[folder]}
    if page.file.src_uri.startswith("reference/"):
        return markdown  # formulas of docstrings look like links
    pieces = FENCED.split(TITLED.sub(r'```\1 title="\2"', markdown))
    pieces = [FIGURE.sub(r"\1(", piece) for piece in pieces]  # of the front page, which lies above docs/
    link = partial(_link, _source(page.file.src_uri), Path(page.file.src_uri).parent)
    return "".join(piece if piece.startswith("```") else LINK.sub(link, piece) for piece in pieces)


def _source(page: str) -> Path:
    """Find the folder of the repository from which a page's links lead."""
    if page.startswith("tutorials/"):
        return Path("notebooks")
    made = next((path for path, made in ELSEWHERE.items() if made == page), f"docs/{page}")
    return Path(made).parent


def _link(source: Path, folder: Path, link: re.Match[str]) -> str:
    """Write a link of a page in a folder of the site, or the bare name of a file that is no page."""
    words, target, anchor = link.groups()
    path = os.path.normpath(source / target)
    if not (ROOT / path).exists():
        raise PluginError(f"{target}: there is no such file")
    if path.startswith("notebooks/") and path.endswith(".ipynb"):
        path = f"docs/tutorials/{Path(path).stem}.md"
    elif path in ELSEWHERE:
        path = f"docs/{ELSEWHERE[path]}"
    if path.startswith("docs/"):
        return f"[{words}]({os.path.relpath(path, 'docs' / folder)}{anchor or ''})"
    return words if words.strip("`") == path else f"{words} (`{path}`)"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Draw formulas as MathML, and lead names of pgsr in code to the reference, where it has them."""
    html = FORMULA.sub(lambda formula: mathml(unescape(formula[3]).strip(), formula[2] == "["), html)
    html = NAME.sub(r'<autoref identifier="\1" optional><code>\1</code></autoref>', html)
    return LONG.sub(lambda name: name[1] + re.sub(r"([/._]|::)", r"\1<wbr>", name[2]), html)


def mathml(latex: str, block: bool) -> str:
    """Write a formula as MathML. The converter knows arrays, no `aligned`, and drops a last row that ends in &."""
    if "\\begin{aligned}" in latex:
        latex = latex.replace("\\displaystyle", "").replace("\\begin{aligned}", "\\begin{array}{rlrl}")
        latex, block = latex.replace("\\end{aligned}", "\\\\ \\end{array}"), True
    latex = TEXT.sub(lambda text: text[0].replace(r"\_", "_").replace(r"\^{}", "^"), latex)
    return convert(latex, display="block" if block else "inline")
