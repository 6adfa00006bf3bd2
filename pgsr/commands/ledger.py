"""The commands `pgsr ledger init | show | verify`; `pgsr.cli` registers them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pgsr.commands.options import console_of
from pgsr.privacy.accounting import Approximate, Rho
from pgsr.privacy.accounting.loss import epsilon_delta
from pgsr.privacy.accounting.odometer import Odometer
from pgsr.privacy.neighbours import IN_WORDS, Relation, Unit

if TYPE_CHECKING:
    from pgsr.release.ledger.contents import LedgerContents

app = typer.Typer(
    help="Make, show and verify the ledger of a data set: what may be spent on it in all, and every charge.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file, such as ledger.jsonl.")]


@app.command(
    epilog="Examples:  pgsr ledger init ledger.jsonl --data-set 'households 2026' --total 2  |  "
    "pgsr ledger init ledger.jsonl --data-set 'households 2026' --total 2 --delta 1e-8  |  "
    "pgsr ledger init ledger.jsonl --data-set 'households 2026' --rho 1/2"
)
def init(
    ledger: LedgerArgument,
    data_set: Annotated[
        str, typer.Option(help="Public name of the data set, the value of data_set in every configuration.")
    ],
    total: Annotated[str | None, typer.Option(help="Epsilon of all charges together, as '2' or '1/3'.")] = None,
    delta: Annotated[str | None, typer.Option(help="Delta of all charges together, beside --total.")] = None,
    rho: Annotated[str | None, typer.Option(help="Rho (zCDP) of all charges together, instead of --total.")] = None,
    relation: Annotated[
        Relation, typer.Option(help="Which data sets are neighbours: add_remove, replace or move one unit.")
    ] = Relation.ADD_REMOVE,
    unit: Annotated[
        str, typer.Option(help="Unit of privacy: entity, group, or such as 'entity in 5 groups'.")
    ] = "entity",
) -> None:
    """Make the ledger of a new data set. One data set has one ledger: a second one would be a second budget."""
    from pgsr.release.ledger import LedgerFile
    from pgsr.release.ledger.charge import LedgerError

    if (total is None) == (rho is None) or (delta is not None and total is None):
        raise LedgerError("say what may be spent: --total EPSILON, --total EPSILON --delta DELTA, or --rho RHO")
    amount = Rho(rho) if rho is not None else epsilon_delta(total or "", delta or 0)
    made = LedgerFile.create(ledger, data_set, amount, relation, Unit.parse(unit))
    _show(made.path.name, made.read())


@app.command(epilog="Examples:  pgsr ledger show ledger.jsonl  |  pgsr ledger show ledger.jsonl --delta 1e-8")
def show(
    ledger: LedgerArgument,
    delta: Annotated[
        str | None, typer.Option(help="Also show the epsilon of all charges together at this delta, such as 1e-8.")
    ] = None,
) -> None:
    """Show what was charged in every currency, what is left, and the head to note elsewhere. It is verified first.

    The last charge that fits is decided by the ledger's own currency; the others are for reading.
    """
    from pgsr.release.ledger import LedgerFile

    file = LedgerFile(ledger)
    contents = file.read()
    if contents.entries:
        console_of().print(_charges(contents))
    _show(file.path.name, contents, delta)


@app.command(epilog="Examples:  pgsr ledger verify ledger.jsonl  |  pgsr ledger verify ledger.jsonl --head 3f5a...")
def verify(
    ledger: LedgerArgument,
    head: Annotated[
        str | None, typer.Option(help="A head that was printed by an earlier charge; it must be in the ledger.")
    ] = None,
) -> None:
    """Verify that no line was edited, removed or moved. Exit 1 if one was.

    A ledger that was put back as a whole to an earlier state, with its .head file, looks fine; a head that was noted
    after a later charge tells.
    """
    from pgsr.release.ledger import LedgerFile
    from pgsr.release.ledger.charge import BrokenLedgerError

    file = LedgerFile(ledger)
    try:
        contents = file.read()
        found = _where(contents, head, file.path.name)
    except BrokenLedgerError as error:
        console_of().print(f"[bold red]broken[/bold red]  {escape(str(error))}", highlight=False, soft_wrap=True)
        raise SystemExit(1) from None
    n = len(contents.entries)
    console_of().print(
        f"[green]whole[/green]   {n} {'charge' if n == 1 else 'charges'}, every line follows the one before it{found}\n"
        f"head    {contents.head}",
        highlight=False,
        soft_wrap=True,
    )


def _where(contents: "LedgerContents", head: str | None, name: str) -> str:
    """Find the number of the line that a noted head belongs to."""
    from pgsr.release.ledger.charge import BrokenLedgerError

    if head is None:
        return ""
    noted = head.strip().lower()
    if noted not in contents.hashes:
        raise BrokenLedgerError(
            f"no line of the ledger {name} has the noted head {noted[:12]}...: charges were removed since, or it is "
            "another ledger; restore it from a copy"
        )
    after = len(contents.hashes) - 1 - contents.hashes.index(noted)
    return f"; {after} came after the noted head" if after else "; the noted head is the last"


def _show(name: str, contents: "LedgerContents", delta: str | None = None) -> None:
    table = Table(title=escape(f"Ledger {name}"), show_header=False)
    for key, value in {
        "data set": contents.data_set,
        "total": contents.total,
        "spent": contents.spent,
        "left": contents.left,
        **_in_every_currency(contents, delta),
        "relation": f"{contents.relation} ({IN_WORDS[contents.relation]})",
        "unit": str(contents.unit),
        "head": contents.head,
    }.items():
        table.add_row(key, escape(str(value)))
    console_of().print(table)


def _in_every_currency(contents: "LedgerContents", delta: str | None) -> dict[str, object]:
    """Say what all charges come to; epsilon with delta at the delta that is asked for, or else the ledger's."""
    if not contents.entries:
        return {}
    odometer = Odometer(contents.counted)
    told: dict[str, object] = {
        "all as epsilon": odometer.pure or "none: something charged is not pure",
        "all as rho": odometer.rho or "none: a charge with a delta has no rho",
    }
    if delta is not None or isinstance(contents.total, Approximate):
        at = delta or contents.total.parts[1]
        told["all as epsilon with delta"] = odometer.approximate(at) or "none: the charges' deltas exceed this delta"
    return told


def _charges(contents: "LedgerContents") -> Table:
    table = Table(title="Charges")
    for column in ("time (UTC)", "what", "charged", "relation", "counted as"):
        table.add_column(column, overflow="fold")
    for entry, counted in zip(contents.entries, contents.counted, strict=True):
        charge = entry.charge
        cells = (entry.at, charge.what, charge.loss, charge.relation, counted)
        table.add_row(*(escape(str(cell)) for cell in cells))
    return table
