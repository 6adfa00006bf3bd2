"""The text that identifies a region: its path of names."""

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from pgsr.errors import HierarchyError


def like(name: str, names: Iterable[str]) -> str:
    """Say which name differs from this by zeros before it, by blanks or by case alone; "" if none does."""
    plain = name.strip().casefold().lstrip("0")
    near = next((each for each in names if each.strip().casefold().lstrip("0") == plain), None)
    return "" if near is None else f" ({near!r} is there)"


def region_id(path: Sequence[str]) -> str:
    """Write the names from the root down to a region, joined by "/".

    A "/" or "%" inside a name is written as %2F or %25, so that different paths have different ids. The id of a region
    does not depend on which other regions there are.

    Example:
        >>> region_id(("US", "GA", "Fulton")), region_id(("US", "n/a"))
        ('US/GA/Fulton', 'US/n%2Fa')
    """
    text = "/".join(path)
    if "%" not in text and text.count("/") == len(path) - 1:
        return text
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in path)


def path_of_id(text: str) -> tuple[str, ...]:
    """Read the path that `region_id` wrote.

    Raises:
        HierarchyError: the text is not one that `region_id` writes.

    Example:
        >>> path_of_id("US/n%2Fa")
        ('US', 'n/a')
    """
    names = text.split("/")
    if "%" not in text and all(names):
        return tuple(names)
    try:
        path = tuple(unquote(name, errors="strict") if "%" in name else name for name in names)
    except UnicodeDecodeError:  # such as %FF, which is no character
        path = ()
    if not path or not all(path) or region_id(path) != text:
        raise HierarchyError(f"{text!r} is no id of a region; names are joined by '/', and a '/' in a name is %2F")
    return path
