"""The commands of `python -m pgsr.experiments data`: real data in files and packages, and how files are made."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pgsr.errors import DataError
from pgsr.experiments.data.contents import FileContents, contents
from pgsr.experiments.data.downloads import download
from pgsr.experiments.data.files import VARIABLE, home_of
from pgsr.experiments.data.package_table import Packaged, in_words
from pgsr.experiments.data.packages import PACKAGED, packaged_row
from pgsr.experiments.data.recipes import RECIPES, Recipe, recipe_of
from pgsr.help import examples

app = typer.Typer(
    help="Data files of the papers: what there is, and how to fetch, convert and check them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A file, such as census2000_tract_hhsize; `list` shows all.",
        autocompletion=lambda: [recipe.data.name for recipe in RECIPES],
    ),
]
SomeNameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="A file, or a data set of a package; all if none is named.",
        autocompletion=lambda: [*(recipe.data.name for recipe in RECIPES), *_PACKAGED_NAMES],
    ),
]
_PACKAGED_NAMES = [row.name for row in PACKAGED]
FolderOption = Annotated[
    Path | None, typer.Option("--out", help=f"Folder of the files; by default the one that {VARIABLE} names.")
]


@app.callback(
    epilog=examples(
        ("python -m pgsr.experiments data list", "all files and all data sets of packages"),
        ("python -m pgsr.experiments data list nhts2001_persons", "one of them, with source, licence and checksum"),
        ("python -m pgsr.experiments data fetch nhts2001_persons", "download, convert and check it"),
        ("python -m pgsr.experiments data convert nhts2001_persons Ascii.zip --out data", "make it of what you have"),
        ("python -m pgsr.experiments data check", "whether all files are those of the published results"),
        after="Exit codes: 0 done, 1 a check failed, 2 refused (one sentence on stderr).",
    )
)
def datasets() -> None:
    """Tell, make and check the real data, which are not in the repository. docs/study/data.md says more."""


@app.command("list")
def list_files(name: SomeNameArgument = None) -> None:
    """List files and data sets of packages; of one tell all: source, licence, how to get it, totals."""
    if name is not None:
        _print((packaged_row(name) if name in _PACKAGED_NAMES else recipe_of(name)).describe())
        return
    home = os.environ.get(VARIABLE)
    table = Table(title="files of real data")
    for column in ("name", "there", "what", "needed by"):
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for recipe in RECIPES:
        there = "yes" if home and (Path(home) / recipe.data.file).is_file() else "no"
        table.add_row(recipe.data.name, there, escape(recipe.what), escape(recipe.needed_by))
    _console().print(table)
    packages = Table(title="data sets of packages")
    for column in ("name", "there", "package", "what", "licence"):
        packages.add_column(column, overflow="fold", no_wrap=column == "name")
    for row in PACKAGED:
        there = "yes" if row.is_installed else "no"
        packages.add_row(row.name, there, row.package, escape(row.what), escape(row.licence))
    _console().print(packages)


@app.command()
def fetch(
    name: NameArgument,
    out: FolderOption = None,
    raw: Annotated[
        Path | None, typer.Option("--raw", help="Folder of the downloads, which are kept; by default raw/ in --out.")
    ] = None,
) -> None:
    """Download what a file is made of, convert it, and check it.

    Downloads that are there already are not repeated.
    """
    recipe = _file(name)
    folder = _folder(out, recipe)
    files = download(
        recipe.downloads,
        folder / "raw" if raw is None else raw,
        tell=lambda file, size: _print(f"{file}  {size:,} bytes"),
    )
    _convert(recipe, files, folder)


@app.command()
def convert(
    name: NameArgument,
    raw: Annotated[list[Path], typer.Argument(metavar="RAW...", help="What was downloaded: files, archives, folders.")],
    out: FolderOption = None,
) -> None:
    """Make a file of what was downloaded, and check it."""
    recipe = _file(name)
    _convert(recipe, raw, _folder(out, recipe))


@app.command()
def check(name: SomeNameArgument = None, out: FolderOption = None) -> None:
    """Say whether the files that are there have the totals and the checksum that they must have. Exit 1 if one has not.

    The checksum is of the columns that count, whatever the format and the order of rows. A data set of a package is
    checked where it is named, by its totals.
    """
    if name in _PACKAGED_NAMES:
        if not _right(packaged_row(name)):
            raise typer.Exit(1)
        return
    recipes = RECIPES if name is None else [recipe_of(name)]
    folder, wrong = home_of(out, "the data"), 0
    for recipe in recipes:
        path = folder / recipe.data.file
        if not path.is_file():
            _print(f"absent     {path}")
            wrong += name is not None
            continue
        try:
            wrong += not _told(contents(recipe.data, folder))
        except DataError as fault:
            _print(f"WRONG      {fault}")
            wrong += 1
    if wrong:
        raise typer.Exit(1)


def _file(name: str) -> Recipe:
    if name in _PACKAGED_NAMES:
        row = packaged_row(name)
        raise DataError(f"{name} is no file of its own, the package {row.package} brings it; {row.install}")
    return recipe_of(name)


def _right(row: Packaged) -> bool:
    """Print what was found in a package, and say whether it is what it should be."""
    found = row.found()
    _print(f"{'right' if found == row.declared else 'WRONG':<11}{row.path()}")
    if found != row.declared:
        _print(f"           {in_words(found)}; there must come out: {row.totals}")
    return found == row.declared


def _folder(out: Path | None, recipe: Recipe) -> Path:
    """Find where to write, before hours of downloads."""
    folder = home_of(out, recipe.data.file)
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; make it first, or name another by --out")
    return folder


def _convert(recipe: Recipe, raw: list[Path], folder: Path) -> None:
    recipe.convert(raw, folder)
    if not _told(contents(recipe.data, folder)):
        raise typer.Exit(1)


def _told(found: FileContents) -> bool:
    """Print what was found in a file, and say whether it is what it should be."""
    known = found.data.content is not None
    state = "WRONG" if found.differences else "right" if known else "unknown"
    _print(f"{state:<11}{found.path}")
    for difference in found.differences:
        _print(f"           {difference}")
    if not known:
        _print(f"           nobody here has had this file, so its content {found.content} is not compared")
    return not found.differences


def _print(text: str) -> None:
    _console().print(text, highlight=False, soft_wrap=True, markup=False)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 150)
