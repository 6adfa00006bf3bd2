"""The application with all its commands, which are added when their modules are imported."""

from pgsr.experiments.commands import benchmarks, comparing, registered, showing
from pgsr.experiments.commands.app import app
from pgsr.experiments.data import command as data_command
from pgsr.experiments.lib import command as lib_command

__all__ = ["app", "benchmarks", "comparing", "registered", "showing"]

app.add_typer(data_command.app, name="data")
app.add_typer(lib_command.app, name="lib")
