"""A short table of facts about an object, for notebooks."""

from collections.abc import Mapping
from html import escape


def facts_table(title: str, facts: Mapping[str, object]) -> str:
    """Write an HTML table with one line per fact; facts that are None are left out.

    Example:
        >>> facts_table("Hierarchy", {"regions": 1200, "levels": None})
        '<table><caption>Hierarchy</caption><tr><th>regions</th><td>1,200</td></tr></table>'
    """
    lines = (
        f"<tr><th>{escape(name)}</th><td>{escape(_shown(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    return f"<table><caption>{escape(title)}</caption>{''.join(lines)}</table>"


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
