"""A problem as a strip: a mark per method at its time, with names where nothing is covered."""

from dataclasses import dataclass
from math import isnan, log10

from pgsr.comparison.items import Dot, Item, Stroke, Words
from pgsr.comparison.runs import MethodRow, ProblemRows
from pgsr.comparison.wording import count, factor, number, short_part, time

HEIGHT, MIDDLE = 48, 24
ABOVE, BELOW = 10, 45
"""Pixels down: a strip's height and its line, and the lines of text above and below."""

LEFT, AXIS = 2.0, 77.0
"""Percent across: where the axis begins and how long it is; behind it stand the factor and who has no answer."""

LETTER = 6.2
"""Pixels of a letter of a name."""

TITLES = {False: "Whole numbers: exact problems", True: "Real numbers: relaxations"}
STATUS = {"OPTIMAL": "proved optimal", "FEASIBLE": "valid, not proved", "RELAXED": "relaxation, rounded"}


@dataclass(frozen=True)
class TimeScale:
    """The logarithmic axis of times that all strips share, from `low` to `high` seconds."""

    low: float
    high: float

    @classmethod
    def of(cls, problems: list[ProblemRows]) -> "TimeScale":
        shown = [run.seconds for problem in problems for run in problem.runs if run.answered and run.seconds > 0]
        low = min(shown, default=0.01) * 0.75
        return cls(low, max(12 * low, max(shown, default=0.1) * 1.3))

    def at(self, seconds: float) -> float:
        return LEFT + AXIS * log10(seconds / self.low) / log10(self.high / self.low)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(-7, 6) if self.low <= 10.0**power <= self.high]

    def axis(self) -> list[Words]:
        """Label the powers of ten."""
        words = {tick: f"{1000 * tick:g} ms" if tick < 0.09 else f"{tick:g} s" for tick in self.ticks}
        return [
            *(Words(self.at(tick), 14, said, "tick", "middle") for tick, said in words.items()),
            Words(100, 14, "pgsr is", "tick", "end", -4),
        ]


def strip(problem: ProblemRows, scale: TimeScale, widths: dict[str, float]) -> list[Item]:
    """Draw a problem's runs; names are placed for strips of these pixels, each under a class of its own."""
    items: list[Item] = [Stroke("grid", [(x, 0), (x, HEIGHT)]) for x in map(scale.at, scale.ticks)]
    items.append(Stroke("rule", [(LEFT, MIDDLE), (LEFT + AXIS, MIDDLE)]))
    marks = _marks(problem, scale, min(widths.values()))
    for kind, width in widths.items():
        items += _names(problem, marks, width, kind)
    places = sorted(marks, key=lambda mark: (mark[0].ours, mark[0].proved))
    items += [Dot(x, y, run.solver.family, run.proved, tip(run, problem)) for run, x, y in places]
    words, look = _verdict(problem)
    items.append(Words(100, MIDDLE + 4, words, f"verdict {look}", "end", -4))
    silent = [run for run in problem.runs if not run.answered]
    if silent:
        names = [problem.label(run) for run in silent]
        short = ", ".join(names)
        said = f"✕ {short}" if len(short) < 10 else f"✕ {count(len(names), 'method')}"
        items.append(Words(100, BELOW, said, "silent", "end", -4, "\n\n".join(tip(run, problem) for run in silent)))
    return items


def spoken(problem: ProblemRows) -> str:
    """Say a strip in words: every method and its time."""
    timed = sorted((run for run in problem.runs if run.answered), key=lambda run: run.seconds)
    times = ", ".join(f"{problem.label(run)} {time(run.seconds)}" for run in timed)
    return f"{problem.name}, {short_part(problem.part)}: {times or 'no answer'}"


def tip(run: MethodRow, problem: ProblemRows) -> str:
    """Tell a run's name, status, time and objective, a line each."""
    lines = [run.method, f"{STATUS.get(run.status, run.status.lower().replace('_', ' '))}, {time(run.seconds)}"]
    if not run.answered:
        return "\n".join([run.method, lines[1].partition(",")[0], run.reason])
    if isnan(run.objective):  # of a release, or of an answer that was not judged
        return "\n".join(lines)
    lines.append(f"objective {number(run.objective)}")
    if problem.proved and not run.broken and not run.proved:
        best = problem.proved[0].objective
        lines.append(f"{100 * (run.objective - best) / max(best, 1):.2g} % above the optimum")
    return "\n".join([*lines, f"breaks {run.broken}"] if run.broken else lines)


def _verdict(problem: ProblemRows) -> tuple[str, str]:
    """Ours against the best of the others, and the class of these words."""
    if problem.duel is None:
        return ("alone" if problem.first(True) else "absent" if problem.proved else "no proof"), "mute"
    faster = problem.duel >= 1
    ratio = max(problem.duel, 1 / problem.duel)
    times = factor(ratio) if ratio < 1000 else f"{ratio / 1000:,.0f}k"
    return (f"{times}\u00d7 faster", "win") if faster else (f"{times}\u00d7 slower", "loss")


def _marks(problem: ProblemRows, scale: TimeScale, width: float) -> list[tuple[MethodRow, float, float]]:
    """Place the marks; one that would cover another steps aside by six pixels."""
    marks: list[tuple[MethodRow, float, float]] = []
    timed = [run for run in problem.runs if run.answered and run.seconds > 0]
    for run in sorted(timed, key=lambda run: (not run.ours, run.seconds)):
        x, shifts = scale.at(run.seconds), (0, -6, 6)
        near = [y - MIDDLE for _, other, y in marks if abs(other - x) * width / 100 < 9]
        free = (shift for shift in shifts if all(abs(shift - there) >= 6 for there in near))
        marks.append((run, x, MIDDLE + next(free, 0)))
    return marks


def _names(problem: ProblemRows, marks: list[tuple[MethodRow, float, float]], width: float, kind: str) -> list[Item]:
    """Name marks where nothing is covered: ours first, then the fastest and the slowest solver, then the rest."""
    order = sorted(marks, key=lambda mark: (not mark[0].ours, not mark[0].proved, mark[0].seconds))
    others = [mark for mark in order if not mark[0].ours]
    if len(others) > 1:
        slowest = max(others, key=lambda mark: mark[0].seconds)
        order.remove(slowest)
        order.insert(len(order) - len(others) + 2, slowest)
    boxes = {run.method: (x * width / 100 - 7, y - 7, x * width / 100 + 7, y + 7) for run, x, y in marks}
    taken: list[tuple[float, float, float, float]] = []
    items: list[Item] = []
    for run, x, y in order:
        label, centre = problem.label(run), x * width / 100
        wide = LETTER * len(label) * (1.1 if run.ours else 1)
        for left, line, anchor, shift in (
            (centre - wide / 2, ABOVE, "middle", 0),
            (centre - wide / 2, BELOW, "middle", 0),
            (centre + 10, y + 4, "start", 10),
            (centre - 10 - wide, y + 4, "end", -10),
        ):
            box = (left - 2, line - 11, left + wide + 2, line + 2)
            near = [other for name, other in boxes.items() if name != run.method] + taken
            if box[0] >= 0 and box[2] <= (LEFT + AXIS + 1) * width / 100 and not any(_cross(box, b) for b in near):
                taken.append(box)
                items.append(Words(x, line, label, f"name {kind}" + " ours" * run.ours, anchor, shift))
                break
    return items


def _cross(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
