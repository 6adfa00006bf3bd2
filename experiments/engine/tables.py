"""The printing of tables in the terminal."""

import re

import pandas as pd
from rich.console import Console
from rich.table import Table

STATUS_STYLES = {
    "OPTIMAL": "green", "FEASIBLE": "blue", "RELAXED": "yellow",
    "holds": "green", "fails": "red", "undecided": "yellow", "no material difference": "blue",
}  # fmt: skip
_NUMBER = re.compile(r"-?|(< )?[-+]?[\d,.]+(e[-+]?\d+)?( (s|ms|MB)|/\d+( r)?)?")
"""A number, with its unit or what it is out of, or what stands for none."""


def print_frame(console: Console, frame: pd.DataFrame, title: str) -> None:
    """Print the frame as a table: numbers to the right, words to the left."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    for column in frame.columns:
        numbers = all(_NUMBER.fullmatch(str(value)) for value in frame[column])
        head = column.replace(", ", "\n")
        table.add_column(head, justify="right" if numbers else "left", overflow="fold", no_wrap=column == "method")
    for _, row in frame.iterrows():
        cells = [str(value) for value in row]
        table.add_row(
            *(f"[{STATUS_STYLES[cell]}]{cell}[/]" if cell in STATUS_STYLES else cell for cell in map(_escaped, cells))
        )
    console.print(table)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
