"""The command `pgsr selftest`; `pgsr.cli` registers it."""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import typer

from pgsr.commands.check import show
from pgsr.commands.options import SomeConfig, require_left_out
from pgsr.help import examples
from pgsr.privacy.budget import exact

EPILOG = examples(
    ("pgsr selftest release.toml", "at the scales of a configuration"),
    ("pgsr selftest --epsilon 1/2 --sensitivity 2 --levels 3", "at the scale 12"),
)


def selftest(
    config: SomeConfig = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Total epsilon of all levels, where no configuration is named; 1 if left out.")
    ] = None,
    sensitivity: Annotated[
        int | None, typer.Option(help="Sensitivity: 2 for counts (if left out), 1 for cumulative counts.", min=1)
    ] = None,
    levels: Annotated[
        int | None, typer.Option(help="Number of levels, instead of the configuration's; 3 without one.", min=1)
    ] = None,
) -> None:
    """Test the sampler as installed here, at the scales in use. Exit 1 if it is not to be trusted."""
    from pgsr.noise.shares_by_root import candidates
    from pgsr.privacy.laws import DoubleGeometric
    from pgsr.release import ReleaseConfig
    from pgsr.release.make.selftest import selftest as run
    from pgsr.release.terms.plan import Plan

    if config is not None:
        require_left_out({"epsilon": epsilon, "sensitivity": sensitivity}, "with a configuration, which states them")
        asked = ReleaseConfig.read(config)
        regions = [1] * levels if levels else asked.tree().regions_per_level
        plans = [Plan.of(asked.terms, regions)]
        if asked.terms.shares_by_root:  # beside the least shares of all levels those that differ most
            plans.append(Plan.of(replace(asked.terms, shares=candidates(len(regions))[-1]), regions))
        laws = [law for plan in plans for law in (*(level.law for level in plan.levels), plan.totals_law) if law]
    else:
        change = 2 if sensitivity is None else sensitivity
        laws = [DoubleGeometric(Fraction(change * (levels or 3)) / exact("1" if epsilon is None else epsilon))]
    report = run(laws)
    show(report, "Self-test of the noise")
    if not report.passed:
        raise SystemExit(1)
