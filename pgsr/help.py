"""What commands print: the examples that their help ends with, and texts from elsewhere, which are only shown."""


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
    listed = [f"[cyan]{command}[/cyan]  {what}" for command, what in lines]
    return "\n\n".join(["[bold]Examples[/bold]", *listed, *([after] if after else [])])


def shown(text: str) -> str:
    r"""Write what a terminal would obey, or not show, as Python writes it; lines stay.

    Example:
        >>> print(shown("a\x1b[2J file"))
        a\x1b[2J file
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
