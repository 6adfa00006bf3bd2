"""The command `pgsr synthesize`; `pgsr.cli` registers it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pgsr.commands.options import console_of
from pgsr.help import examples

EPILOG = examples(
    ("pgsr synthesize --example > synthesis.toml", "a configuration to start from"),
    ("pgsr validate synthesis.toml", "what would be made; opens no private table"),
    ("pgsr synthesize synthesis.toml --rehearse", "all of it on noise that protects nothing"),
    ("pgsr synthesize synthesis.toml --sizes release", "with the numbers of households of a release"),
    ("pgsr synthesize synthesis.toml --sign publisher.key", "signed with the publisher's private key"),
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
    k: Annotated[
        int | None, typer.Option("--k", help="Attributes of a marginal, instead of the file's.", min=1)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the method and of the sample, not of the noise.", min=0)
    ] = None,
    output: Annotated[str | None, typer.Option(help="Instead of the file's: a folder that does not exist yet.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Instead of the file's: the ledger to charge.")] = None,
    sign: Annotated[
        str | None, typer.Option(metavar="KEY", help="Instead of the file's: file of the private key that signs.")
    ] = None,
    finish: Annotated[
        Path | None,
        typer.Option(
            metavar="HIDDEN",
            help="Finish a synthesis that failed after its charge, from the hidden folder it left; no new charge.",
        ),
    ] = None,
) -> None:
    """Charge the ledger, fit a model to households and persons with secure noise, and write a synthetic population.

    Beside the tables lie the model, the transcript of all that was measured, a report of expected errors and a data
    dictionary.
    """
    from pgsr.release.publishing.errors import ConfigError
    from pgsr.release.publishing.places import REHEARSAL
    from pgsr.synthesis.publish.config import SYNTHESIS_EXAMPLE, SynthesisConfig
    from pgsr.synthesis.publish.making import finish as complete
    from pgsr.synthesis.publish.making import synthesize as make
    from pgsr.synthesis.publish.sampling import resample

    if example:
        print(SYNTHESIS_EXAMPLE, end="")
        return
    console = console_of()
    options = {
        "CONFIG": config, "--rehearse": rehearse or None, "--model": model, "--groups": groups, "--sizes": sizes,
        "--epsilon": epsilon, "--delta": delta, "--k": k, "--seed": seed,
        "--output": output, "--ledger": ledger, "--sign": sign, "--finish": finish,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    if finish is not None:
        _require_only(given, ("--finish", "--sizes", "--sign"), "--finish, whose terms are those that were paid for")
        folder = complete(finish, sign, sizes, lambda line: console.print(line, style="dim", highlight=False))
        _show(console, folder)
        return
    if model is not None:
        allowed = ("--model", "--groups", "--sizes", "--seed", "--output")
        _require_only(given, allowed, "--model, which is fitted already")
        if output is None:
            raise ConfigError("name a folder for the sample with --output")
        folder = resample(model, groups, seed or 0, output, sizes)
        console.print(f"sample   {folder}", highlight=False, soft_wrap=True)
        return
    if config is None:
        raise ConfigError("name a configuration (`pgsr synthesize --example` prints one), or a --model")
    overrides = {
        "epsilon": epsilon, "delta": delta, "k": k, "groups": groups, "seed": seed, "output": output, "ledger": ledger,
        "sign": sign,
    }  # fmt: skip
    folder = make(
        SynthesisConfig.read(config, overrides),
        rehearse=rehearse,
        sizes=sizes,
        say=lambda line: console.print(line, style="dim", highlight=False),
        progress=True,
    )
    if rehearse:
        console.print(f"[bold red]A rehearsal ({REHEARSAL}): NOT private. Keep it as secret as the data.[/bold red]")
    _show(console, folder)


def _show(console: Console, folder: Path) -> None:
    from pgsr.release.publishing.digests import digest_of

    console.print(
        f"synthetic population  {folder}\ndigest                {digest_of(folder)}", highlight=False, soft_wrap=True
    )


def _require_only(given: Mapping[str, object], allowed: tuple[str, ...], where: str) -> None:
    """Raise `ConfigError` if an option is given that would change nothing."""
    from pgsr.release.publishing.errors import ConfigError

    unused = [name for name in given if name not in allowed]
    if unused:
        raise ConfigError(f"{unused[0]} has no meaning with {where}; leave it out")
