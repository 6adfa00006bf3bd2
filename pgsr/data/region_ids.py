"""The text that identifies a region: its path of names, and when two spellings are one name."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import unquote

from pgsr.errors import HierarchyError

ABOVE_ALL = "(all)"
"""The name of the region that is put above the regions of the first column where there are several."""

BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\u2060\ufeff" + "".join(map(chr, range(0x2000, 0x200E)))
"""Spaces, line ends and signs without a width, which say nothing at the ends of a name."""

_ALIKE = str.maketrans("аеорсухіјѕвкмнтαβεζηικμνορτυχ01", "aeopcyxijsbkmhtabezhikmnoptyxol")  # noqa: RUF001
"""Letters of Cyrillic and Greek, and digits, that look like Latin letters."""


def region_name(text: str) -> str:
    """Write a name so that spellings of it are one: in Unicode's normal form C, without `BLANKS` at its ends.

    Example:
        >>> region_name(" A\u030angstro\u0308m\u00a0")
        'Ångström'
    """
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip(BLANKS)


def notes_of_names(spelled: Iterable[str | None]) -> list[str]:
    """Say which spellings are one name, and which names are told apart by capitals or letters that look alike alone.

    Example:
        >>> notes_of_names(["US", "US ", "us"])
        ["'US' and 'US ' are one name", "'US' and 'us' look alike and are several names; if they are one, correct them"]
    """
    given = sorted(filter(None, set(spelled)))
    several = "look alike and are several names; if they are one, correct them"
    joined = [f"{each} are one name" for each in _told_by(given, region_name)]
    return joined + [f"{each} {several}" for each in _told_by(sorted(set(map(region_name, given))), _looks)]


def _looks(name: str) -> str:
    """Write what a name looks like."""
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return " ".join(name.casefold().translate(_ALIKE).split())


def _told_by(texts: Sequence[str], key: Callable[[str], str]) -> list[str]:
    """Say which texts have one key; up to three times, in characters that differ to the eye."""
    same: dict[str, list[str]] = {}
    for text in texts:
        same.setdefault(key(text), []).append(text)
    several = [each for each in same.values() if each[1:]]
    told = [" and ".join(map(repr if "".join(each).isascii() else ascii, each)) for each in several[:3]]
    return [*told[:-1], told[-1] + f" (and {len(several) - 3:,} more)"] if several[3:] else told


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
