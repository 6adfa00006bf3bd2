"""The commands `pgsr key new` and `pgsr key show`; `pgsr.cli` registers them."""

from pathlib import Path
from typing import Annotated

import typer

from pgsr.commands.options import console_of

app = typer.Typer(
    help="Make the publisher's key pair, with which releases are signed and checked.", no_args_is_help=True
)


@app.command(epilog="Examples:  pgsr key new publisher  |  pgsr release release.toml --sign publisher.key")
def new(
    name: Annotated[Path, typer.Argument(metavar="NAME", help="The pair is written to NAME.key and NAME.pub.")],
) -> None:
    """Make a key pair: NAME.key signs (keep it secret), NAME.pub is announced to readers."""
    from pgsr.release.publishing.signature import fingerprint, load_public, new_key

    private, public = new_key(name)
    _print(f"private key  {private}  (keep it secret: whoever has it can sign in your name)")
    _print(f"public key   {public}  (announce it, or its fingerprint)\nfingerprint  {fingerprint(load_public(public))}")


@app.command(epilog="Example:  pgsr key show publisher.pub")
def show(
    key: Annotated[Path, typer.Argument(metavar="KEY.pub", help="A public key.", dir_okay=False)],
) -> None:
    """Print the fingerprint of a public key, to be compared with the one that the publisher announced."""
    from pgsr.release.publishing.signature import fingerprint, load_public

    _print(fingerprint(load_public(key)))


def _print(text: str) -> None:
    console_of().print(text, highlight=False, soft_wrap=True)
