"""The command `pgsr validate`; `pgsr.cli` registers it."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import SomeConfig, console_of
from pgsr.help import examples

EPILOG = examples(
    ("pgsr validate release.toml", "the configuration, and what it would release"),
    ("pgsr validate --schema > release.schema.json", "the keys as JSON schema, for editors"),
)


def validate(
    config: SomeConfig = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a release's configuration.")
    ] = False,
) -> None:
    """Say what would be released: reads the configuration and public tables, opens no private one, charges nothing."""
    from pgsr.release import outline
    from pgsr.release.configuration.schema import schema_text
    from pgsr.release.publishing.console import told_if_stopped
    from pgsr.release.publishing.errors import ConfigError

    if schema:
        print(schema_text(), end="")
        return
    if config is None:
        raise ConfigError("name a configuration, or print the schema of all with --schema")
    console = console_of()
    with told_if_stopped(console.print):
        facts = outline(config).facts
    table = Table(title=f"What {config.name} would release", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, said in facts:
        table.add_row(escape(name), escape(said))
    console.print(table)
