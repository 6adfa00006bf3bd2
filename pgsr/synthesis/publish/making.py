"""The making of a synthesis: from confidential tables to a folder with synthetic tables, their model and its cost."""

import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pgsr.privacy.accounting.zcdp import Conversion
from pgsr.privacy.neighbours import Unit
from pgsr.privacy.random import Secure, Seeded, Source
from pgsr.release.publishing import digests, signature
from pgsr.release.publishing.folder import appear, hidden_folder, name_folder, output_of
from pgsr.release.publishing.places import folder_of, only_one, require_place
from pgsr.release.publishing.saying import NOTHING_SPENT, STOPPED_CHARGING, cost_told, told_if_stopped, unfailing
from pgsr.synthesis.data.domain import Neighbours, Population, SynthesisError
from pgsr.synthesis.marginals import quality
from pgsr.synthesis.marginals.filled_households import FilledHouseholds
from pgsr.synthesis.marginals.whole_marginals import FittedMarginals
from pgsr.synthesis.publish import folder as files
from pgsr.synthesis.publish.config import SynthesisConfig
from pgsr.synthesis.publish.given_sizes import GivenSizes, read_sizes
from pgsr.synthesis.publish.preflight import (
    charge_for,
    fixed_fields,
    require_ledger,
    require_makeable,
    require_room,
    signing_key,
    sizes_of,
)
from pgsr.synthesis.publish.sampling import levels, load_model, sampled, write
from pgsr.synthesis.queries.transcript import AdaptiveBudget, RhoLedger

Say = Callable[[str], None]


def synthesize(
    config: SynthesisConfig,
    *,
    rehearse: bool = False,
    sizes: str | PathLike[str] | None = None,
    say: Say = lambda _: None,
    progress: bool = False,
) -> Path:
    """Read the tables, charge the ledger, fit, sample, write and sign; return the folder that was made.

    What can be refused is refused before the ledger is charged, and what the configuration tells before a private table
    is opened. The ledger is charged, all of rho at once, before any noise is drawn. The model and the transcript are
    kept as soon as there are any, and `finish` makes the folder of them.

    Args:
        config: what to synthesise.
        rehearse: use seeded noise, without a charge. The folder gets another name and says that it is not private. It
            is not signed.
        sizes: release folder or table of counts (`read_sizes`), whose households per region and size the sample gets.
        say: is told in a few words what is going on.
        progress: show a bar with the time that is left.

    Raises:
        PgsrError: the tables, the configuration or the place are not right, or the ledger refuses; nothing was charged.
        ReleaseError: another process makes this folder just now; nothing was charged.
        SynthesisError: something failed after the charge; the message says so, and how to go on.
    """
    folder = folder_of(config.output, rehearse)
    with only_one(folder):
        _make(config, folder, rehearse, sizes, unfailing(say), progress)
    return folder


def finish(
    hidden: str | PathLike[str],
    sign: str | PathLike[str] | None = None,
    sizes: str | PathLike[str] | None = None,
    say: Say = lambda _: None,
) -> Path:
    """Make a synthesis of the fit that was paid for and kept when `synthesize` failed. Nothing is charged or drawn.

    Args:
        hidden: the folder that the failed synthesis named; it lies beside the output and its name starts with a dot.
        sign: file of a private key, or None for a synthesis without signature.
        sizes: what the failed synthesis was tied to.
        say: is told in a few words what is going on.

    Raises:
        SynthesisError: the folder holds no complete fit, that of a rehearsal, or one that was tied to other sizes.
        PgsrError: as `synthesize`.
    """
    hidden, say = Path(hidden).absolute(), unfailing(say)
    folder = output_of(hidden)
    if folder is None:
        raise SynthesisError(f"{str(hidden)!r} is no folder that a failed synthesis kept; its message names the folder")
    require_place(folder)
    key = None if sign is None else signature.load_private(Path(sign))
    given = None if sizes is None else read_sizes(sizes)
    with only_one(folder):
        fields = _kept_fields(hidden)
        if fields["charged"] is None:
            raise SynthesisError(
                f"{hidden.name!r} is what a stopped rehearsal left, which is not private: remove it, and rehearse again"
            )
        _require_same_sizes(fields, given)
        require_place(folder)
        with _Cost(hidden, f"epsilon {fields['epsilon']}", sign, sizes).told(say):
            _complete(hidden, folder, given, key, say)
    return folder


def transcript_fields(
    config: SynthesisConfig, fitted: FittedMarginals, given: GivenSizes | None, sample: int
) -> dict[str, Any]:
    """Collect everything that was learned from the data, and its cost. It may be published with the model."""
    derived = files.derived_fields(fitted.transcript, config.neighbours, config.unit)
    return {**derived, **fixed_fields(config, given), "sampled": sample}


def _make(
    config: SynthesisConfig,
    folder: Path,
    rehearse: bool,
    sizes: str | PathLike[str] | None,
    say: Say,
    progress: bool,
) -> None:
    """Do what `synthesize` does, into a folder that no other process makes."""
    with told_if_stopped(say):
        given = sizes_of(config, sizes)
        require_makeable(config, given, rehearse=rehearse)
        key, pay = signing_key(config, rehearse), (lambda: None) if rehearse else _payment(config, folder, say)
        if config.published_exactly is not None:
            say(config.published_exactly)
        say("reading the tables")
        population = config.population()
        groups = population.n_groups if config.groups is None else config.groups
        require_room(config, given, groups)
        account = _Account(config.budget.rho, pay)
        hidden = hidden_folder(folder)
    paid = None if rehearse else f"epsilon {config.budget.epsilon}"
    try:
        with _Cost(hidden, paid, config.sign, sizes, account).told(say):
            source = Seeded("rehearsal") if rehearse else Secure()
            fitted = _fitted(config, population, account, source, say, progress)
            del population
            _keep(hidden, fitted.distribution, transcript_fields(config, fitted, given, _count(given, groups)))
            del fitted
            _complete(hidden, folder, given, key, say)
    except KeyboardInterrupt:
        if not account.charging:
            say(NOTHING_SPENT)
        raise
    finally:
        if rehearse or not (hidden / files.MODEL).exists():
            shutil.rmtree(hidden, ignore_errors=True)


@dataclass(frozen=True)
class _Cost:
    """What a failure costs, and what finishing takes.

    Attributes:
        hidden: folder of what is kept.
        paid: in words; None in a rehearsal.
        sign, sizes: as the user gave them.
        account: of the fit; None where it is complete.
    """

    hidden: Path
    paid: str | None
    sign: str | PathLike[str] | None
    sizes: str | PathLike[str] | None
    account: "_Account | None" = None

    def told(self, say: Say) -> AbstractContextManager[None]:
        """Tell it of every failure after the first noise."""
        smaller = "sample fewer households"
        return cost_told("synthesis", "pgsr synthesize CONFIG", smaller, SynthesisError, self._said, say)

    def _said(self) -> str | None:
        """Say what is spent, what is kept, and how to go on; None before any noise."""
        hidden = self.hidden
        if self.account is not None and not self.account.spent:
            return None
        if self.paid is None:
            return "nothing was charged"
        spent, place = f"{self.paid} is spent", shlex.quote(str(hidden.absolute()))
        if (hidden / files.TRANSCRIPT).exists():
            more = [("--sizes", self.sizes), ("--sign", self.sign)]
            flags = "".join(f" {flag} {shlex.quote(str(Path(p).absolute()))}" for flag, p in more if p is not None)
            return (
                f"{spent}; the fitted model and its transcript lie in {str(hidden)!r}, and `pgsr synthesize --finish "
                f"{place}{flags}` makes the synthesis of them at no further charge"
            )
        if (hidden / files.MODEL).exists():
            return (
                f"{spent}; the fitted model lies in {str(hidden)!r}, and `pgsr synthesize --model` samples it at no "
                "further charge, but its transcript could not be written, so that nobody can check it"
            )
        return (
            f"{spent}; the fit was not complete, and its noisy answers are lost: nothing is kept, and a new synthesis "
            "costs epsilon again"
        )


def _keep(hidden: Path, model: FilledHouseholds, fields: dict[str, Any]) -> None:
    """Put the model and then the transcript on the disk; each appears under its name when it is complete."""
    part = hidden / f"part-{files.MODEL}"
    model.save(part)
    appear(part, hidden / files.MODEL)
    part = hidden / f"{files.TRANSCRIPT}.part"
    part.write_text(files.written(fields), encoding="utf-8")
    appear(part, hidden / files.TRANSCRIPT)


def _complete(hidden: Path, folder: Path, given: GivenSizes | None, key: Ed25519PrivateKey | None, say: Say) -> None:
    """Sample the model that was kept, write, report, sign, and give the folder its name."""
    for path in hidden.iterdir():  # what an earlier attempt left
        if path.name not in (files.MODEL, files.TRANSCRIPT):
            path.unlink()
    say("sampling and writing")
    fields = _kept_fields(hidden)
    model = load_model(hidden / files.MODEL)  # as read back, so that anybody draws the same sample
    tables = sampled(model, fields["sampled"], fields["seed"], None if given is None else given.counts)
    write(hidden, tables, model.domain, levels(given))
    say("writing the report, with a rehearsal on a sample of the model, which costs nothing")
    page = quality.report(fields, model, *tables, _stand_in(fields, model))
    (hidden / files.REPORT).write_text(page, encoding="utf-8", newline="")
    (hidden / files.SUMS).write_text(digests.sums_text(hidden, files.FILES), encoding="utf-8", newline="")
    if key is not None:
        signature.sign(hidden, key)
    name_folder(hidden, folder)


def _kept_fields(hidden: Path) -> dict[str, Any]:
    """Read the transcript that was kept; it is there when the fit is complete."""
    if not (hidden / files.TRANSCRIPT).exists() or not (hidden / files.MODEL).exists():
        raise SynthesisError(
            f"{str(hidden)!r} holds no complete fit, so nothing can be made of it; a new synthesis costs epsilon again"
        )
    return files.read((hidden / files.TRANSCRIPT).read_bytes().decode())


def _require_same_sizes(fields: dict[str, Any], given: GivenSizes | None) -> None:
    """Raise `SynthesisError` unless these are the sizes that the failed synthesis was tied to."""
    if fields["sizes_from"] is not None and given is None:
        raise SynthesisError("the failed synthesis was tied to sizes; give them again with --sizes")
    if fields["sizes_from"] is None and given is not None:
        raise SynthesisError("the failed synthesis was tied to no sizes; leave --sizes out")
    if given is not None and (given.source != fields["sizes_from"] or _count(given, 0) != fields["sampled"]):
        raise SynthesisError("these are not the sizes that the failed synthesis was tied to; give the same again")


def _fitted(
    config: SynthesisConfig,
    population: Population,
    account: "_Account",
    source: Source,
    say: Say,
    progress: bool,
) -> FittedMarginals:
    say("measuring whole marginals")
    return config.method().fit(
        population,
        config.budget,
        source=source,
        neighbours=config.neighbours,
        unit=config.unit,
        seed=config.seed,
        ledger=account,
        name=config.data_set,
        progress=progress,
    )


def _stand_in(fields: dict[str, Any], model: FilledHouseholds) -> quality.StandIn:
    """Rehearse the fit on a population of its own model."""
    method = files.method_of(fields["settings"])
    budget = AdaptiveBudget(fields["epsilon"], fields["delta"], 1, conversion=Conversion(fields["conversion"]))
    neighbours, unit = Neighbours(fields["relation"]), Unit.parse(fields["unit"])
    return quality.stand_in(model, method, budget, neighbours, unit, fields["seed"])


def _payment(config: SynthesisConfig, folder: Path, say: Say) -> Callable[[], None]:
    """Prepare the charge of the ledger: a function that makes it."""
    ledger, charge = require_ledger(config, folder), charge_for(config, folder)

    def pay() -> None:
        require_place(folder)  # somebody may have made it meanwhile
        say("charging the ledger")
        with told_if_stopped(say, STOPPED_CHARGING):
            head = ledger.charge(charge, config.data_set)
        say(f"the ledger's head is now {head}")

    return pay


@dataclass
class _Account(RhoLedger):
    """The account of rho of one fit.

    Its first charge, made after all checks and before any noise, pays for the whole fit.

    Attributes:
        pay: charges the ledger of the data set.
        charging: whether that has begun.
    """

    pay: Callable[[], None]
    charging: bool = False

    def charge(self, amount: Fraction, what: str) -> None:
        if not self.spent:
            self.charging = True
            self.pay()
        super().charge(amount, what)


def _count(given: GivenSizes | None, groups: int) -> int:
    """Count the households to sample, those without members included."""
    return groups if given is None else int(given.counts.totals[0])
