"""The command `pgsr synthesize`; `pgsr.cli` registers it."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgsr.help import examples
from pgsr.release.errors import ConfigError
from pgsr.synthesis.config import SYNTHESIS_EXAMPLE, SynthesisConfig, SynthesisMethod
from pgsr.synthesis.publish import REHEARSAL, digest_of, resample
from pgsr.synthesis.publish import synthesize as make

EPILOG = examples(
    ("pgsr synthesize --example > synthesis.toml", "a configuration to start from"),
    ("pgsr synthesize synthesis.toml --rehearse", "all of it on noise that protects nothing"),
    ("pgsr synthesize synthesis.toml --sizes release", "with the numbers of households of a release"),
    ("pgsr synthesize --model synthetic/model.npz --groups 1000 --output more", "a fitted model again, at no cost"),
)


def synthesize(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="TOML file; `pgsr synthesize --example` prints one.")
    ] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Use seeded noise. NOT private.")] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration to start from.")] = False,
    model: Annotated[Path | None, typer.Option(help="Sample this saved model again, at no cost in privacy.")] = None,
    groups: Annotated[int | None, typer.Option(help="Households to sample.", min=1)] = None,
    sizes: Annotated[
        Path | None, typer.Option(help="Release folder or table of counts that fixes households per region and size.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Instead of the file's, as '1', '0.1' or '1/3'.")] = None,
    delta: Annotated[str | None, typer.Option(help="Instead of the file's, as '1e-10'.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of the method, instead of the file's.", min=1)] = None,
    k: Annotated[int | None, typer.Option("--k", help="Attributes per query, instead of the file's.", min=1)] = None,
    method: Annotated[
        SynthesisMethod | None,
        typer.Option(metavar="METHOD", help=f"Instead of the file's: {', '.join(SynthesisMethod)}."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the method and of the sample, not of the noise.", min=0)
    ] = None,
    output: Annotated[str | None, typer.Option(help="Instead of the file's: a folder that does not exist yet.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Instead of the file's: the ledger to charge.")] = None,
) -> None:
    """Charge the ledger, fit a model to households and persons with secure noise, and write a synthetic population.

    Beside the tables lie the model, the transcript of all that was measured, a report of expected errors and a data
    dictionary.
    """
    if example:
        print(SYNTHESIS_EXAMPLE, end="")
        return
    console = Console(width=None if sys.stdout.isatty() else 150)
    if model is not None:
        fitting = {"CONFIG": config, "--epsilon": epsilon, "--delta": delta, "--rounds": rounds, "--k": k}
        fitting |= {"--method": method, "--ledger": ledger}
        unused = [name for name, value in fitting.items() if value is not None]
        if unused or rehearse:
            raise ConfigError(f"{(*unused, '--rehearse')[0]} has no meaning with --model, which is fitted already")
        if output is None:
            raise ConfigError("name a folder for the sample with --output")
        folder = resample(model, groups, seed or 0, output, sizes)
        console.print(f"sample   {folder}", highlight=False, soft_wrap=True)
        return
    if config is None:
        raise ConfigError("name a configuration (`pgsr synthesize --example` prints one), or a --model")
    given = {
        "epsilon": epsilon, "delta": delta, "rounds": rounds, "k": k, "method": method and str(method),
        "groups": groups, "seed": seed, "output": output, "ledger": ledger,
    }  # fmt: skip
    folder = make(
        SynthesisConfig.read(config, given),
        rehearse=rehearse,
        sizes=sizes,
        say=lambda line: console.print(line, style="dim", highlight=False),
        progress=True,
    )
    if rehearse:
        console.print(f"[bold red]A rehearsal ({REHEARSAL}): NOT private. Keep it as secret as the data.[/bold red]")
    console.print(
        f"synthetic population  {folder}\ndigest                {digest_of(folder)}", highlight=False, soft_wrap=True
    )
