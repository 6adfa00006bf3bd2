"""The arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from pgsr.experiments.engine.experiment import Profile
from pgsr.experiments.registry import EXPERIMENTS

NamesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="Experiments, such as K8 (`list` shows them), or files that define one, such as mine.py.",
        autocompletion=lambda: [experiment.id for experiment in EXPERIMENTS],
    ),
]
SomeNamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Experiments, or files that define one; all experiments if none is named.",
        autocompletion=lambda: [experiment.id for experiment in EXPERIMENTS],
    ),
]
ProfileOption = Annotated[
    Profile,
    typer.Option(help="smoke: seconds; quick: minutes; reduced: hours, where there is one; paper: the papers' sizes."),
]
ResultsOption = Annotated[Path, typer.Option("--out", help="Folder of all results.")]
