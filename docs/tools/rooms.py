"""The picture of the rooms: `python docs/tools/rooms.py` draws docs/figures/rooms.svg from the imports.

A room is a package or file at the top of pgsr/, and the folders models/ and experiments/. It stands one row above the
highest room that it imports, so an import leads downwards. The toolkit stands on the left, the wings on the right.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from pgsr.experiments.report.svg import write_svg
from pgsr.figures.drawing import BLUE, ORANGE, head, new_figure

ROOT = Path(__file__).resolve().parents[2]

GROUND = ("errors", "checks", "help", "__init__", "__main__")
"""Files that nearly all rooms import, or that only give names."""

WINGS = ("cli", "commands", "warming", "datasets", "synthesis", "release", "nation")
"""Rooms that the toolkit does not import, with the command line that serves them."""

WIDE, TALL, APART = 1.25, 0.34, 0.46
"""A box, and the distance of rows, in inches."""


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


def rooms() -> Figure:
    """Draw the rooms from the bottom up: the toolkit in blue, the wings in orange."""
    row = rows(imports())
    height = APART * (max(row.values()) + 1)
    figure = new_figure(8.2, height + 0.6)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(0, 8.2), ylim=(-0.6, height - 0.1), aspect="equal")
    for place in range(max(row.values()) + 1):
        here = sorted(room for room, its in row.items() if its == place)
        for wing, left, colour in ((False, 0.7, BLUE), (True, 4.9, ORANGE)):
            for i, room in enumerate(room for room in here if (room in WINGS) is wing):
                _box(axes, left + 1.34 * i, APART * place, room, colour)
    axes.text(0.08, -0.5, "the toolkit, with models and experiments", color=BLUE)
    axes.text(4.28, -0.5, "wings: publishing and data", color=ORANGE)
    head(figure, "The rooms of pgsr: imports lead to lower rows; no room of the toolkit imports a wing")
    return figure


def _box(axes: Axes, x: float, y: float, room: str, colour: str) -> None:
    style = {"boxstyle": "round,pad=0,rounding_size=0.06", "fc": "white", "ec": colour, "lw": 1.2}
    axes.add_patch(FancyBboxPatch((x - WIDE / 2, y - TALL / 2), WIDE, TALL, **style))
    axes.text(x, y, room, ha="center", va="center")


if __name__ == "__main__":
    write_svg(rooms(), ROOT / "docs" / "figures" / "rooms.svg")
