"""The examples that the help of a command ends with."""


def examples(*lines: tuple[str, str], after: str = "") -> str:
    """Write commands and what each does, one per line, for the end of a command's help.

    Args:
        lines: pairs of a command and what it does.
        after: a sentence below them.

    Example:
        >>> print(examples(("pgsr check release", "verify it")))
        [bold]Examples[/bold]
        <BLANKLINE>
        [cyan]pgsr check release[/cyan]  verify it
    """
    shown = [f"[cyan]{command}[/cyan]  {what}" for command, what in lines]
    return "\n\n".join(["[bold]Examples[/bold]", *shown, *([after] if after else [])])
