"""The command `pgsr validate`; `pgsr.cli` registers it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import SomeConfig, console_of, require_left_out
from pgsr.help import examples

EPILOG = examples(
    ("pgsr validate release.toml", "the configuration, and what it would release"),
    ("pgsr validate synthesis.toml --sizes release", "of a synthesis, what it would make"),
    ("pgsr validate --schema > release.schema.json", "the keys as JSON schema, for editors"),
)


def validate(
    config: SomeConfig = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a release's configuration.")
    ] = False,
    sizes: Annotated[
        Path | None, typer.Option(help="Of a synthesis: release folder or table of counts that fixes its sizes.")
    ] = None,
) -> None:
    """Say what would be released or synthesised: reads the configuration and public tables, opens no private one.

    A configuration with a table [households] or [persons] is one of `pgsr synthesize`. Nothing is charged.
    """
    from pgsr.release import outline
    from pgsr.release.configuration.schema import schema_text
    from pgsr.release.publishing.configuration.toml import read_toml
    from pgsr.release.publishing.errors import ConfigError
    from pgsr.release.publishing.saying import told_if_stopped
    from pgsr.synthesis.publish.config import SynthesisConfig, is_synthesis
    from pgsr.synthesis.publish.outline import outline as outline_of_synthesis

    if schema:
        print(schema_text(), end="")
        return
    if config is None:
        raise ConfigError("name a configuration, or print the schema of all with --schema")
    console = console_of()
    with told_if_stopped(console.print):
        if is_synthesis(read_toml(config, "`pgsr release --example` and `pgsr synthesize --example` print one")):
            verb, facts = "synthesise", outline_of_synthesis(SynthesisConfig.read(config), sizes)
        else:
            require_left_out({"sizes": sizes}, "with the configuration of a release")
            verb, facts = "release", outline(config).facts
    table = Table(title=f"What {config.name} would {verb}", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, said in facts:
        table.add_row(escape(name), escape(said))
    console.print(table)
