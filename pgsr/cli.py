"""The command `pgsr`: its commands, and what becomes of errors, one sentence and exit code 2.

Each of `pgsr.commands` is a command, which makes values of text and tells what was made of them.
"""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from pgsr import __version__
from pgsr.commands import check, intervals, keys, ledger, plan, release, selftest, validate
from pgsr.errors import PgsrError
from pgsr.help import examples, shown

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"pgsr {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples(
        ("pgsr release --example > release.toml", "a configuration to start from; name your tables in it"),
        ("pgsr validate release.toml", "what would be released; opens no private table"),
        ("pgsr plan release.toml", "what errors to expect; opens no private table"),
        ("pgsr selftest release.toml", "whether the noise is right on this machine"),
        ("pgsr release release.toml", "charges the ledger and writes the folder"),
        ("pgsr check release", "verifies the folder, as anybody can"),
        ("pgsr intervals release", "how far its counts may be from the truth"),
        after="Exit codes: 0 done, 1 a check failed, 2 refused (one sentence on stderr), 130 interrupted.",
    )
)
def pgsr(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from; it may quote data.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_tell_version)
    ] = False,
) -> None:
    """Release numbers of groups by region and size with differential privacy, and check such releases."""
    del debug, version  # `main` looks for the first anywhere among the arguments


RELEASE, LOOK, MACHINE = "Release", "Look at a release", "This machine"
"""The groups of commands in the help."""

app.command(epilog=validate.EPILOG, rich_help_panel=RELEASE)(validate.validate)
app.command(epilog=plan.EPILOG, rich_help_panel=RELEASE)(plan.plan)
app.command(epilog=release.EPILOG, rich_help_panel=RELEASE)(release.release)
app.command(epilog=check.EPILOG, rich_help_panel=LOOK)(check.check)
app.command(epilog=intervals.EPILOG, rich_help_panel=LOOK)(intervals.intervals)
app.command(epilog=selftest.EPILOG, rich_help_panel=MACHINE)(selftest.selftest)


@app.command(
    rich_help_panel=MACHINE,
    epilog=examples(
        ("pgsr warmup", "a quarter of a minute, once per machine and version; later calls take seconds"),
        ("NUMBA_CACHE_DIR=/shared/pgsr pgsr warmup", "into a folder that several machines of one kind share"),
    ),
)
def warmup() -> None:
    """Compile everything beforehand, so that no first call does: every method, noise and readers, on toys."""
    from pgsr.warming import warm_up

    for name, seconds in warm_up():
        print(f"{seconds:6.2f} s  {name}", flush=True)


app.add_typer(keys.app, name="key", rich_help_panel=RELEASE)
app.add_typer(ledger.app, name="ledger", rich_help_panel=RELEASE)


def main() -> None:
    """Run the command line; every error is one sentence on stderr and exit code 2, with --debug a traceback."""
    try:
        app([argument for argument in sys.argv[1:] if argument != "--debug"])
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        _refuse(str(error) if isinstance(error, PgsrError | OSError) else _unexpected(error))
        raise SystemExit(2) from None


def _unexpected(error: Exception) -> str:
    """Describe an unexpected error by its kind alone, because its text may quote data."""
    return f"{type(error).__name__}, which no command should raise; add --debug to see where it comes from"


def _refuse(text: str) -> None:
    Console(stderr=True).print(f"[bold red]error:[/bold red] {escape(shown(text))}", highlight=False, soft_wrap=True)
