"""The command `pgsr release`; `pgsr.cli` registers it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsr.commands.options import MECHANISMS, SomeConfig, console_of, require_left_out
from pgsr.help import examples

if TYPE_CHECKING:
    from pgsr.release import Release

EPILOG = examples(
    ("pgsr release --example > release.toml", "a configuration to start from"),
    ("pgsr release release.toml --rehearse", "all of it on noise that protects nothing, at no charge"),
    ("pgsr release release.toml", "the release"),
    ("pgsr release release.toml --epsilon 1/2 --mechanism m_h --output other", "other terms than the file's"),
    ("pgsr release release.toml --sign publisher.key", "signed with the publisher's private key"),
)


def release(
    config: SomeConfig = None,
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Do all of it on seeded noise, without a charge. NOT private.")
    ] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration to start from.")] = False,
    epsilon: Annotated[str | None, typer.Option(help="Instead of the file's, as '1', '0.1' or '1/3'.")] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help=f"Instead of the file's: {', '.join(MECHANISMS)}.", autocompletion=lambda: list(MECHANISMS)),
    ] = None,
    max_size: Annotated[int | None, typer.Option(help="Instead of the file's: the public largest size.")] = None,
    output: Annotated[str | None, typer.Option(help="Instead of the file's: a folder that does not exist yet.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Instead of the file's: the ledger to charge.")] = None,
    sign: Annotated[
        str | None, typer.Option(metavar="KEY", help="Instead of the file's: file of the private key that signs.")
    ] = None,
    finish: Annotated[
        Path | None,
        typer.Option(
            metavar="HIDDEN",
            help="Finish a release that failed after its charge, from the hidden folder it left; no new charge.",
        ),
    ] = None,
) -> None:
    """Charge the ledger, draw secure noise, and write a folder that anybody can check."""
    from pgsr.release import ReleaseConfig, publish
    from pgsr.release import finish as complete
    from pgsr.release.configuration.example import EXAMPLE
    from pgsr.release.publishing.errors import ConfigError
    from pgsr.release.publishing.progress import Stages

    if example:
        print(EXAMPLE, end="")
        return
    flags = {
        "epsilon": epsilon,
        "mechanism": mechanism,
        "max_size": max_size,
        "output": output,
        "ledger": ledger,
        "sign": sign,
    }
    if finish is not None:
        if config is not None or rehearse:
            raise ConfigError("--finish takes no configuration: the terms lie in the folder that was kept")
        require_left_out({**flags, "sign": None}, "with --finish, whose terms and place are those that were paid for")
        _show_release(complete(finish, sign, lambda line: console_of().print(line, style="dim")))
        return
    if config is None:
        raise ConfigError("name a configuration; `pgsr release --example` prints one to start from")
    console = console_of()
    asked = ReleaseConfig.read(config, flags)
    with Stages(console) as stages:
        made = publish(asked, rehearse, stages)
    if rehearse:
        console.print("[bold red]A rehearsal: NOT private. Keep this folder as secret as the data.[/bold red]")
    _show_release(made)


def _show_release(made: "Release") -> None:
    console_of().print(f"release  {made.folder}\ndigest   {made.digest}", highlight=False, soft_wrap=True)
