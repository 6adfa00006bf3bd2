"""The application with all its commands, which are added when their modules are imported."""

from pgsr.experiments.commands import benchmarks, comparison, experiments, results
from pgsr.experiments.commands.app import app
from pgsr.experiments.data import command as data_command
from pgsr.experiments.lib import command as lib_command

__all__ = ["app", "benchmarks", "comparison", "experiments", "results"]

app.add_typer(data_command.app, name="data")
app.add_typer(lib_command.app, name="lib")
