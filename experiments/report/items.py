"""The items of the papers: every method, table, claim, number and data set of theirs, and where each lives here.

The papers' pages in docs/study are written by hand in the papers' order; a test asks that none of these items is
missing there. Nothing is listed by hand. Methods and definitions declare their source in docstrings ("Source: Kuo et
al. 2018, section 4.1."), and theorems what shows them ("Theorem 2 of Fioretto and Van Hentenryck 2019: every table is
convex. Shown by ..."); experiments declare the part of a paper that they reproduce, and `published` of every paper
declares claims, printed numbers and what is absent. What goes beyond the papers declares what it extends ("Extends:
`TreeProjection`, to one part in memory at a time."), and is no item of theirs: it has a list of its own, with the
experiments of no paper. Modules are read, not imported, so no solver is needed.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import pgsr
import pgsr.experiments
import pgsr.models
from pgsr.experiments.engine.experiment import DataSet, Experiment, Profile
from pgsr.experiments.engine.papers import Beside, Paper, StandsFor
from pgsr.experiments.report.blocks import Block, Bullets, Code, Heading, TableBlock, text
from pgsr.experiments.report.content import as_printed
from pgsr.methods.catalogue import first_sentence, paragraphs, sentences

PACKAGES = (pgsr, pgsr.models, pgsr.experiments)
"""Where methods and generated data are."""
ROOTS = {package.__name__: Path(str(package.__file__)).resolve().parent for package in PACKAGES}
TESTS = ROOTS["pgsr"].parent / "tests"

DECLARATION = r"Source|Extends|Theorem \d+ of"
"""How a paragraph of a docstring begins that declares something."""

BEYOND = "Beyond the papers"
"""What stands for the paper's name in items that are in none."""


class ItemKind(StrEnum):
    """What an item is."""

    METHOD = "method or definition"
    THEOREM = "theorem"
    TABLE = "table, figure or section"
    CLAIM = "claim"
    NUMBER = "printed numbers"
    DATA = "data set"
    EXPERIMENT = "experiment"


class ItemState(StrEnum):
    """Whether an item works here.

    YES: as in the paper. OTHER_DATA: it works, on data that stand in for the paper's. NO: it is absent, or nothing
    shows that it works; the item says why.
    """

    YES = "yes"
    OTHER_DATA = "on other data"
    NO = "no"


@dataclass(frozen=True)
class Item:
    """A checkable part of a paper, or a part of this project that is in none.

    Attributes:
        paper: its name, as "Kuo et al. 2018"; or `BEYOND`.
        kind: what it is.
        source: where in the paper; or what it extends.
        what: in a few words.
        where: where it lives here: dotted names, or an experiment.
        state: whether it works.
        why: what shows it, or the reason why not.
    """

    paper: str
    kind: ItemKind
    source: str
    what: str
    where: str
    state: ItemState
    why: str


def all_items(experiments: Sequence[Experiment]) -> list[Item]:
    """List the items of all papers behind these experiments, paper by paper."""
    papers = list(dict.fromkeys(each.paper for each in experiments if each.paper is not None))
    of_methods = [item for item in _methods([paper.name for paper in papers]) if item.paper != BEYOND]
    found: list[Item] = []
    for paper in papers:
        own = [each for each in experiments if each.paper == paper]
        found += [item for item in of_methods if item.paper == paper.name]
        found += [*_tables(paper, own), *_claims(paper, own), *_numbers(paper, own), *_data(paper, own)]
        found += [Item(paper.name, ItemKind.TABLE, a.source, a.what, "", ItemState.NO, a.why) for a in paper.absent]
    return found


def beyond(experiments: Sequence[Experiment]) -> list[Item]:
    """List what extends the papers' methods and is in none of them, and the experiments of no paper."""
    found = [item for item in _methods([]) if item.paper == BEYOND]
    own = [each for each in experiments if each.paper is None]
    return found + [
        Item(
            BEYOND,
            ItemKind.EXPERIMENT,
            each.part or "of no paper",
            each.title,
            f"experiment {each.id}",
            ItemState.YES,
            why,
        )
        for each, why in zip(own, map(_profiles, own), strict=True)
    ]


def counted(items: Iterable[Item]) -> list[dict[str, str]]:
    """Count items by paper and state, one row per paper."""
    by_paper: dict[str, Counter[ItemState]] = {}
    for item in items:
        by_paper.setdefault(item.paper, Counter())[item.state] += 1
    return [
        {"paper": paper, "items": f"{counts.total():,}"} | {state.value: f"{counts[state]:,}" for state in ItemState}
        for paper, counts in by_paper.items()
    ]


def item_blocks(items: Sequence[Item], others: Sequence[Item]) -> list[Block]:
    """Compose the page of the papers' items, and of those beyond the papers."""
    states = Counter(item.state for item in items)
    blocks: list[Block] = [
        Heading(1, "The items of the three papers, and where each lives"),
        text(
            f"{len(items):,} methods, theorems, tables, claims, numbers and data sets: {states[ItemState.YES]:,} work, "
            f"{states[ItemState.OTHER_DATA]:,} work on data that stand in for the papers', "
            f"{states[ItemState.NO]:,} do not, each with the reason. They are what methods, experiments and data sets "
            "declare. That a claim is judged does not mean that it holds: the papers' pages in docs/study say that.",
        ),
        Bullets(tuple(f"{row['paper']}: {row['items']} items, {_in_words(row)}" for row in counted(items))),
    ]
    for paper in dict.fromkeys(item.paper for item in items):
        blocks += [Heading(2, paper), *_by_kind([item for item in items if item.paper == paper], "in the paper")]
    said = f"{len(others):,} methods that extend those of the papers, and experiments; none is counted above."
    return [*blocks, Heading(2, BEYOND), text(said), *_by_kind(others, "extends")]


def _by_kind(items: Sequence[Item], source: str) -> Iterator[Block]:
    """Make a table per kind of item; `source` heads the column that says where an item is from."""
    for kind in ItemKind:
        own = [item for item in items if item.kind is kind]
        if own:
            rows = tuple(
                (_quoted(item.what), _quoted(item.source), _code(item.where), str(item.state), item.why) for item in own
            )
            heads = ("item", source, "here", "works", "shown by, or why not")
            yield TableBlock(f"{own[0].paper}: {kind} ({len(own):,})", heads, (("", rows),))


def _in_words(row: dict[str, str]) -> str:
    return f"{row[ItemState.YES]} work, {row[ItemState.OTHER_DATA]} on other data, {row[ItemState.NO]} do not"


def _code(where: str) -> tuple[str | Code, ...]:
    """Write dotted names as code."""
    return (Code(where),) if where.startswith("pgsr.") else (where,)


def _quoted(words: str) -> tuple[str | Code, ...]:
    """Write what stands between backticks as code."""
    parts = words.split("`")
    return tuple(Code(part) if i % 2 else part for i, part in enumerate(parts)) if len(parts) % 2 else (words,)


def _methods(papers: Sequence[str]) -> Iterator[Item]:
    """List what declares in a docstring a paper as its source, a theorem of one, or what it extends."""
    tests = [path.read_text("utf-8") for path in TESTS.glob("*/test_*.py")]
    for name, words in _declaring():
        yield from _declared(papers, name, words, tests)


@cache
def _declaring() -> tuple[tuple[str, str], ...]:
    """List the docstrings of all files in which something is declared, by dotted name; they are read once."""
    found: list[tuple[str, str]] = []
    for package, root in ROOTS.items():
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root).with_suffix("").parts
            code = "" if inside[0] in ("experiments", "models") else path.read_text("utf-8")
            if re.search(DECLARATION, code):
                found += _docstrings(ast.parse(code), ".".join((package, *inside)).removesuffix(".__init__"))
    return tuple(found)


def _docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """List the docstrings of a module, of its classes and functions, and of methods, by dotted name."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        words = ast.get_docstring(node)
        if words:
            yield name, words
        for child in node.body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
                yield from _docstrings(child, f"{name}.{child.name}")


def _declared(papers: Sequence[str], name: str, words: str, tests: Sequence[str]) -> Iterator[Item]:
    what, declared = first_sentence(words), list(_paragraphs(words))
    shown = _shown(name, words, tests) if declared else ""
    for label, said in declared:
        state, why = (ItemState.YES, shown) if shown else (ItemState.NO, "no test names it")
        if label.startswith("Extends"):
            yield Item(BEYOND, ItemKind.METHOD, sentences(said)[0], what, name, state, why)
        for paper in papers:
            parts = [part for each in sentences(said) for part in each.split("; ") if paper in part]
            if label.startswith("Source") and parts:
                yield Item(paper, ItemKind.METHOD, "; ".join(parts).replace(f"{paper}, ", ""), what, name, state, why)
            if label.endswith(f" of {paper}"):
                named = _named_tests(said)
                state, why = (ItemState.YES, named) if named else (ItemState.NO, "no test names it")
                yield Item(paper, ItemKind.THEOREM, label.split(" of ")[0], sentences(said)[0], name, state, why)


def _paragraphs(words: str) -> Iterator[tuple[str, str]]:
    """List the paragraphs of a docstring that declare something, as what stands before the colon and what after.

    Example:
        >>> list(_paragraphs("Count.\\n\\nSource: Liu & Wu 2022,\\nsection 3.\\n\\nTheorem 9 of Nobody: it ends."))
        [('Source', 'Liu and Wu 2022, section 3.'), ('Theorem 9 of Nobody', 'it ends.')]
    """
    return paragraphs(words.replace("Liu & Wu", "Liu and Wu"), DECLARATION)


def _shown(name: str, words: str, tests: Sequence[str]) -> str:
    """Name the tests that the docstring names; or else say whether tests use it or its package.

    Which files use it is not told: the page would change with every new test.
    """
    if named := _named_tests(words):
        return named
    if any(_uses(code, name) for code in tests):
        return "tests that use it"
    package = ".".join(name.split(".")[:-2])
    if "." in package and any(package in code for code in tests):
        return "tests that use its package"
    return "its example" if ">>>" in words else ""


def _named_tests(words: str) -> str:
    return ", ".join(dict.fromkeys(re.findall(r"\b(test_\w+\.py(?:::\w+)?)", words)))


def _uses(code: str, name: str) -> bool:
    """Tell whether a test file uses the object: by its class, by parent and name, or by its module and name.

    Example:
        >>> [_uses(s, "pgsr.methods.metrics.l1") for s in ("from pgsr.methods import metrics; metrics.l1", "l1 = 3")]
        [True, False]
    """
    *above, parent, last = name.split(".")
    if last not in code or not re.search(rf"\b{last}\b", code):  # the first is faster by far, and mostly decides
        return False
    modules = [".".join(name.split(".")[:n]) for n in range(2, len(above) + 2)]
    return last[0].isupper() or f"{parent}.{last}" in code or any(f"{module} import" in code for module in modules)


def _tables(paper: Paper, experiments: Sequence[Experiment]) -> Iterator[Item]:
    for each in experiments:
        state = ItemState.OTHER_DATA if _stands_in(each) else ItemState.YES
        yield Item(paper.name, ItemKind.TABLE, each.part, each.title, f"experiment {each.id}", state, _profiles(each))


def _profiles(experiment: Experiment) -> str:
    return f"profiles {', '.join(profile for profile in experiment.profiles if profile is not Profile.SMOKE)}"


def _claims(paper: Paper, experiments: Sequence[Experiment]) -> Iterator[Item]:
    by_id = {each.id: each for each in experiments}
    for claim in paper.claims:
        experiment = by_id.get(claim.experiment)
        if experiment is None:
            state, why = ItemState.NO, "no experiment judges it"
        else:
            state = ItemState.OTHER_DATA if _stands_in(experiment) else ItemState.YES
            why = "judged by its verdicts"
        yield Item(paper.name, ItemKind.CLAIM, claim.source, claim.words, f"experiment {claim.experiment}", state, why)


def _numbers(paper: Paper, experiments: Sequence[Experiment]) -> Iterator[Item]:
    """List the printed numbers, a table or data set of a table at a time."""
    beside: dict[object, list[Beside]] = {}
    tried = {data.name for experiment in experiments for data in tried_data(experiment)}
    for each in (each for experiment in experiments for each in experiment.printed):
        if each.where is None or each.where["data"] in tried:
            beside.setdefault(each.number, []).append(each)
    groups = dict.fromkeys((number.experiment, number.source, number.data) for number in paper.numbers)
    for identity, source, data in groups:
        numbers = [n for n in paper.numbers if (n.experiment, n.source, n.data) == (identity, source, data)]
        all_of = [each for number in numbers for each in beside.get(number, ())]
        own = [each for each in all_of if each.where is not None and not each.remark]
        other = [each for each in all_of if each.where is not None]
        reasons = (
            "; ".join(dict.fromkeys(each.remark for each in all_of if each.remark)) or "nothing stands beside them"
        )
        state = ItemState.YES if own else ItemState.OTHER_DATA if other else ItemState.NO
        several = len(numbers) > 1
        what = (
            f"{len(numbers):,} numbers of {data}" if several else f"1 number of {data}: {as_printed(numbers[0].value)}"
        )
        why = "compared with ours on the paper's own data" if own else reasons
        yield Item(paper.name, ItemKind.NUMBER, source, what, f"experiment {identity}", state, why)


def _data(paper: Paper, experiments: Sequence[Experiment]) -> Iterator[Item]:
    """List the paper's data sets, each with those of ours that are it or stand for it.

    A data set works where none of ours stands in for it; where some do, what they are is said of the nearest of them.
    """
    found: dict[str, dict[str, StandsFor]] = {}
    for data in (data for experiment in experiments for data in tried_data(experiment)):
        if data.stands_for is not None:
            found.setdefault(data.stands_for.name, {})[data.name] = data.stands_for
    for name, ours in found.items():
        others = {mine: of for mine, of in ours.items() if not of.is_the_papers}
        own = [mine for mine in ours if mine not in others]
        if not others:
            yield Item(paper.name, ItemKind.DATA, "data sets", name, "; ".join(own), ItemState.YES, "the paper's own")
            continue
        nearest = min(others.values(), key=lambda of: not of.by_recipe)
        why = f"the paper's own is {', '.join(own)}; of the rest: " if own else ""
        where = "; ".join(others)
        yield Item(paper.name, ItemKind.DATA, "data sets", name, where, ItemState.OTHER_DATA, why + nearest.why_other)


def _stands_in(experiment: Experiment) -> bool:
    """Tell whether all data of an experiment stand in for the paper's, none being its own or made by its recipe."""
    of = [data.stands_for for data in tried_data(experiment)]
    return bool(of) and all(each is not None and not each.is_the_papers and not each.by_recipe for each in of)


def tried_data(experiment: Experiment) -> list[DataSet]:
    """List the data sets of all profiles but the smallest, which only shows that everything runs, as they are here."""
    scales = [scale for profile, scale in experiment.profiles.items() if profile is not Profile.SMOKE]
    return list({data.name: data for scale in scales for data in map(_tried, scale.data)}.values())


def _tried(data: DataSet) -> DataSet:
    """Find the data set, or the first of those that stand in for it whose reader has been run on the real files."""
    return next(each for each in data.with_fallbacks() if each.stands_for is None or each.stands_for.tried)
