"""The picture of the rooms, drawn from the imports: `python docs/tools/rooms.py` draws docs/figures/rooms.svg anew.

A room is a package or file at the top of pgsr/, and the folders models/ and experiments/. It stands one row above the
highest room that it imports. An arrow leads to a room that is imported; arrows that follow from others are left out.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from pgsr.experiments.report.svg import write_svg
from pgsr.figures.drawing import BLUE, head, new_figure

ROOT = Path(__file__).resolve().parents[2]

GROUND = ("errors", "checks", "help", "moved", "__init__", "__main__")
"""Files that nearly all rooms import, or that only give names, which would draw an arrow from everywhere."""

COLUMNS = {
    "experiments": -1.8,
    "cli": 1.6,
    "datasets": -0.4,
    "commands": 0.95,
    "warming": 2.3,
    "synthesis": 0.95,
    "models": -1.5,
    "release": 0.95,
    "comparison": 2.3,
    "intervals": -1.35,
    "nation": -2.7,
    "bounds": 2.3,
    "noise": -0.75,
    "ledger": 0.95,
    "engines": -1.3,
    "tables": 2.3,
    "figures": -0.75,
    "machine": 0.75,
}
"""The columns of rooms beside the middle, in inches, chosen so that no arrow passes behind a box."""

SHADES = LinearSegmentedColormap.from_list("shades", ["white", BLUE])

WIDE, TALL = 1.22, 0.34
"""A box, in inches."""


def imports() -> dict[str, set[str]]:
    """Read which rooms every room imports, by parsing all files."""
    found: dict[str, set[str]] = {}
    for folder in ("pgsr", "models", "experiments"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            room = folder if folder != "pgsr" else parts[1]
            if room in GROUND or (folder == "pgsr" and room in ("models", "experiments")):
                continue
            found.setdefault(room, set()).update(_imported(ast.parse(path.read_text("utf-8"))))
    return {room: {other for other in others if other in found and other != room} for room, others in found.items()}


def _imported(tree: ast.AST) -> Iterator[str]:
    """List the rooms that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pgsr":
            module = str(node.module)
            yield from [module.split(".")[1]] if "." in module else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("pgsr.")]


def rows(direct: dict[str, set[str]]) -> dict[str, int]:
    """Give every room its row, 0 at the bottom: one above the highest room that it imports."""
    found: dict[str, int] = {}
    while len(found) < len(direct):
        free = [room for room, below in direct.items() if room not in found and below <= found.keys()]
        if not free:
            raise ValueError(f"these rooms import each other: {sorted(direct.keys() - found.keys())}")
        found |= {room: max((found[other] + 1 for other in direct[room]), default=0) for room in free}
    return found


def reach(direct: dict[str, set[str]], room: str) -> set[str]:
    """List all rooms below a room: those that it imports, and those that they import."""
    return direct[room].union(*(reach(direct, other) for other in direct[room]))


def arrows(direct: dict[str, set[str]]) -> list[tuple[str, str]]:
    """List the imports that do not follow from others."""
    return [
        (room, other)
        for room, below in direct.items()
        for other in sorted(below)
        if not any(other in reach(direct, between) for between in below - {other})
    ]


def rooms() -> Figure:
    """Draw the rooms from the bottom up, darker the more rooms import them."""
    direct = imports()
    row = rows(direct)
    importers = {room: sum(room in reach(direct, other) for other in direct) for room in direct}
    places = {room: (COLUMNS.get(room, 0.0), 0.58 * row[room]) for room in direct}
    height = 0.58 * (max(row.values()) + 1)
    figure = new_figure(7.6, height + 0.4)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-3.7, 3.7), ylim=(-0.3, height - 0.2), aspect="equal")
    for room, other in arrows(direct):
        (x0, y0), (x1, y1) = places[room], places[other]
        style = {"arrowstyle": "-|>", "mutation_scale": 8, "color": "#555555", "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
        ends = (x0, y0 - TALL / 2), (x1, y1 + TALL / 2 + 0.02)
        axes.add_patch(FancyArrowPatch(*ends, **style))
    for room, (x, y) in places.items():
        share = importers[room] / max(importers.values())
        corner = (x - WIDE / 2, y - TALL / 2)
        box = {"boxstyle": "round,pad=0,rounding_size=0.06", "ec": BLUE, "lw": 1, "zorder": 2}
        axes.add_patch(FancyBboxPatch(corner, WIDE, TALL, fc=to_hex(SHADES(0.7 * share)), **box))
        axes.text(x, y, room, ha="center", va="center", zorder=3)
    head(figure, "The rooms of pgsr: an arrow leads to a room that is imported; darker rooms serve more others")
    return figure


if __name__ == "__main__":
    write_svg(rooms(), ROOT / "docs" / "figures" / "rooms.svg")
