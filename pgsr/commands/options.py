"""What several commands have in common: the argument CONFIG, options that mean nothing, and the console."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

MECHANISMS = ("m_h", "m_c_dp", "kuo", "bottom_up", "posterior", "two_stage")
"""Names to complete; `pgsr.release.terms.kinds.Kind` is what decides (held equal by `test_core_cli.py`)."""

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file; `pgsr release --example` prints one.")]
SomeConfig = Annotated[
    Path | None, typer.Argument(metavar="CONFIG", help="TOML file; `pgsr release --example` prints one.")
]


def require_left_out(options: Mapping[str, object], where: str) -> None:
    """Raise `ConfigError` if an option is given that would change nothing."""
    from pgsr.release.publishing.errors import ConfigError

    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ConfigError(f"--{given[0].replace('_', '-')} has no meaning {where}; leave it out")


def console_of(quiet: bool = False) -> Console:
    """Make the console of a command, 150 columns wide where there is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 150, quiet=quiet)
