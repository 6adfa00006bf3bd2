"""The first sentence of a docstring is understood without its author: no pronoun in it stands for a noun elsewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from parsed import ROOT

from pgsr.methods.catalogue import first_sentence

ROOMS = ("pgsr/methods", "pgsr/algorithms", "pgsr/estimators", "pgsr/comparison", "models")
"""The rooms whose docstrings are held to this; other rooms have some left."""

SINGULAR, PLURAL = {"it"}, {"they", "them", "those", "ones"}

SAYING = re.compile("say|says|said|tells?|told|asks?|asked|knows?|known|shows?|sees?|learn|about|and|or")
"""Words after which `what` may ask a question; elsewhere it stands for a noun that is not named."""

BEFORE_A_NOUN = re.compile("an?|the|every|each|any|another|one|no|its|their|this|that|our|own")

NO_PLURALS = re.compile("its|this|is|as|was|has|does|says|less|plus|minus|across|always|unless|perhaps|thus")


def without_noun(sentence: str) -> list[str]:
    """List the pronouns of a sentence that no noun stands before.

    A noun is seen by the article or adjective before it, by its plural, or by the backticks or capital of a name.
    """
    words = re.findall(r"`[^`]*`|[\w'^|-]+", sentence)
    found = []
    for place, word in enumerate(words):
        before, after = words[:place], words[place + 1 : place + 2]
        if word.lower() == "what":
            if not (before and SAYING.fullmatch(before[-1].lower())) and after != ["to"]:
                found.append(word)
        elif word.lower() in SINGULAR | PLURAL:
            named = any(BEFORE_A_NOUN.fullmatch(each.lower()) for each in before[: place - 1])
            named |= any(each.startswith("`") or each[1:] != each[1:].lower() for each in before)
            named |= any(each.endswith("s") and not NO_PLURALS.fullmatch(each.lower()) for each in before[1:])
            if not named:
                found.append(word)
    return found


def first_sentences(tree: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """List the first sentences of a module, and of its public classes, functions and methods, by name."""
    if isinstance(tree, ast.Module | ast.ClassDef | ast.FunctionDef):
        words = ast.get_docstring(tree)
        if words:
            yield name, first_sentence(words)
        for child in tree.body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
                yield from first_sentences(child, f"{name}::{child.name}")


def riddles(folder: Path) -> dict[str, str]:
    """Find the first sentences of a folder with pronouns without their noun, by file and name."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, sentence in first_sentences(tree, path.relative_to(ROOT).as_posix()):
            if pronouns := without_noun(sentence):
                found[name] = f"{', '.join(pronouns)}: {sentence}"
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_pronouns_of_first_sentences_have_their_noun(room: str) -> None:
    assert not riddles(ROOT / room)


def test_pronouns_without_a_noun_are_found() -> None:
    for sentence in ("Estimate them", "What was recomputed", "Compute what leaves take", "Read it", "Sums as of those"):
        assert without_noun(sentence), sentence
    named = (
        "Projects noisy counts onto consistent ones",
        "Check the table, and write it",
        "`solve` asks them in order",
    )
    for sentence in (*named, "Say what to install", "Tell what a release says"):
        assert not without_noun(sentence), sentence


if __name__ == "__main__":  # the sentences of all rooms that are left, with their number by room
    for top in sorted({*(p.parent for p in ROOT.glob("pgsr/*/__init__.py")), ROOT / "experiments", ROOT / "models"}):
        left = riddles(top)
        print(f"{top.relative_to(ROOT)}: {len(left)}", *(f"  {name} | {said}" for name, said in left.items()), sep="\n")
