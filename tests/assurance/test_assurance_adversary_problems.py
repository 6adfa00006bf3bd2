"""Every method on problems that were changed so that their optimum is known: nothing wrong is called optimal.

The adversary of all methods: `transformations` says what is changed, `adversary` what a result may then say. The
known errors of the table below are strict: a mended one fails until its line is taken out.
"""

from functools import cache

import pytest
from adversary import SECONDS, Known, is_own, known, methods, moved_optimum, rests_on_a_word, stated, wrong
from instances import FULL, scale
from known_errors import WORDS, WRONG
from plain_problems import Plain, cases, optimum, real_optimum, signed
from transformations import named

from pgsr.algorithms import TreeProjection

METHODS = methods()
CHANGES = {name: (change, k) for name, change, k in named()}
OWN = [label for label, entry in METHODS.items() if is_own(entry)]
GENERAL = [label for label in METHODS if label not in OWN]
SEEDS = scale(1, 3)
"""Of cases. Methods and changes take turns with them, so that every method and every change meets all."""

ONE_IN = {"Cvxpy": 4, "QpSolvers": 4}
"""Methods that state a problem slowly are asked about one case in so many, other ones after each change."""


@cache
def started(seed: int) -> list[tuple[Plain, Known]]:
    """All cases of a seed in integers and in reals, with their optima."""
    integers = list(cases(seed).values())
    plain = [*integers, *(one.relaxed() for one in integers if not one.choices), signed(seed)]
    return [(one, known(one)) for one in plain]


def pairs(labels: list[str]) -> list:
    """Every method with every change."""
    out = []
    for label in labels:
        for name in CHANGES:
            reason = WRONG.get((label, name))
            marks = () if reason is None else pytest.mark.xfail(strict=True, reason=reason)
            out.append(pytest.param(label, name, marks=marks, id=f"{label}-{name}"))
    return out


def found(label: str, name: str) -> tuple[list[str], list[str], int]:
    """What is wrong in a method's answers after a change, what rests on a solver's word, and how many there are."""
    entry, (change, k) = METHODS[label], CHANGES[name]
    mistakes, words, solved = [], [], 0
    one_in, turn = ONE_IN.get(label.partition("(")[0], 1), list(CHANGES).index(name)
    seed = (turn + list(METHODS).index(label)) % SEEDS
    for number, (plain, before) in enumerate(started(seed)):
        if (number + turn) % one_in:
            continue
        moved = change(plain, k)
        problem = None if moved is None else stated(moved.plain)
        if moved is None or problem is None or entry.method.supports(problem) is not None:  # pyright: ignore
            continue
        result = entry.method.solve(problem, SECONDS)  # pyright: ignore[reportAttributeAccessIssue]
        solved += 1
        mistake = wrong(entry, problem, result, moved_optimum(plain, before, moved))
        where = f"{plain.name}, seed {seed}, {'integers' if plain.integer else 'reals'}"
        mistakes += [] if mistake is None else [f"{where}: {mistake}"]
        word = rests_on_a_word(result)
        words += [] if word is None else [f"{where}: {word}"]
    return mistakes, words, solved


@pytest.mark.slow
@pytest.mark.few(18)
@pytest.mark.parametrize(("label", "name"), [*pairs(OWN), *pairs(GENERAL)])
def test_the_optimum_moves_as_it_must(label, name, counted):
    mistakes, _, solved = found(label, name)
    assert not mistakes, "\n".join(mistakes)
    if solved:
        counted(solved, "changed problems")


@pytest.mark.slow
@pytest.mark.few(3)
@pytest.mark.parametrize(
    "label",
    [
        pytest.param(label, marks=pytest.mark.xfail(strict=True, reason=WORDS[label]) if label in WORDS else ())
        for label in METHODS
    ],
)
def test_no_optimum_rests_on_a_solvers_word(label):
    _, words, _ = found(label, "regions_permuted")
    assert not words, "\n".join(words)


MOST_CELLS = 6
"""The cells of lowest regions whose points are enumerated: some half a million."""


@pytest.mark.few(4)
@pytest.mark.parametrize("name", [name for name, _, k in named((1, 2)) if k == 1 or FULL])
def test_changes_move_the_optimum_as_they_say(name):
    """The twin of the changes: small ones can be enumerated again."""
    change, k = {name: (change, k) for name, change, k in named((1, 2))}[name]
    checked = 0
    for plain, before in started(0):
        moved = change(plain, k)
        if moved is None:
            continue
        if moved.plain.integer and len(moved.plain.leaves) * moved.plain.n_sizes > MOST_CELLS:  # too many points
            continue
        where = moved_optimum(plain, before, moved)
        if moved.plain.integer:
            assert where.least * (1 - 1e-6) - 1e-6 <= optimum(moved.plain) <= where.most, (plain.name, name)
        else:
            assert real_optimum(moved.plain) == pytest.approx(where.most, rel=2e-5, abs=2e-5), (plain.name, name)
        checked += 1
    assert checked


def test_the_judge_finds_what_is_wrong():
    """Optima that are claimed to be elsewhere are mistakes, above and below."""
    plain, before = started(0)[0]
    entry, problem = METHODS[repr(TreeProjection())], plain.problem()
    result = TreeProjection().solve(problem)
    assert wrong(entry, problem, result, before) is None
    for least in (before.least - 1, before.least + 1):
        assert wrong(entry, problem, result, Known(least, least)) is not None
