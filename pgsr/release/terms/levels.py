"""The names and the largest sizes that a user gives to the levels of a release, checked."""

from collections.abc import Mapping, Sequence

from pgsr.data.long_form import OTHER_COLUMNS
from pgsr.release.publishing.errors import ConfigError

Sizes = int | Sequence[int] | Mapping[str, int]
"""K: one for all levels, one per level from the root down, or one by the name of every level."""


def sizes_and_names(
    given: Sizes, names: tuple[str, ...] | None
) -> tuple[int | tuple[int, ...], tuple[str, ...] | None]:
    """Separate the largest sizes and the names of the levels.

    Args:
        given: what stands for `max_size`.
        names: of the levels, if they are given by themselves.

    Returns:
        the largest size of all levels, or one per level, root first; the names, or None.

    Raises:
        ConfigError: a size is no whole number from 1 up, sizes rise from a level to the one below it, or there is not
            one per name.

    Example:
        >>> sizes_and_names({"nation": 50, "block": 7}, None)
        ((50, 7), ('nation', 'block'))
        >>> sizes_and_names(20, None)
        (20, None)
    """
    if isinstance(given, Mapping):
        if names is not None and tuple(given) != names:
            raise ConfigError(
                f"max_size names the levels {_quoted(tuple(given)) or 'of nothing'}, and they are called "
                f"{_quoted(names)}; write these names, root first"
            )
        names, given = tuple(given), tuple(given.values())
    if isinstance(given, Sequence) and not isinstance(given, str) and given:
        _require_falling(tuple(given), names)
        return tuple(given), names
    if type(given) is not int or given < 1:
        raise ConfigError("max_size and max_quantity are public whole numbers from 1 up")
    return given, names


def require_level_names(names: tuple[str, ...]) -> None:
    """Raise `ConfigError` unless these can be the columns of a table."""
    remedy = "write other names with level_names = [...]"
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ConfigError(f"a level has a name that is empty or no printable text; {remedy}")
        folded = name.casefold()
        if folded in seen:
            raise ConfigError(f"two levels are called {seen[folded]!r} and {name!r}; {remedy}, not in their case alone")
        if folded in OTHER_COLUMNS:
            raise ConfigError(f"a level is called {name!r}, as another column of the released tables is; {remedy}")
        seen[folded] = name
    if not names:
        raise ConfigError(f"level_names is empty; {remedy}")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _require_falling(sizes: tuple[int, ...], names: tuple[str, ...] | None) -> None:
    """Raise `ConfigError` unless these are sizes from 1 up that do not rise."""
    if names is not None and len(names) != len(sizes):
        raise ConfigError(
            f"there are {len(sizes)} largest sizes and {len(names)} names of levels ({_quoted(names)}); write one "
            "size per level, root first"
        )
    shown = tuple(map(repr, names or (f"level_{level}" for level in range(len(sizes)))))
    for level, size in enumerate(sizes):
        if type(size) is not int or size < 1:
            raise ConfigError(f"max_size of {shown[level]} is {size!r}; write a public whole number from 1 up")
        if level and size > sizes[level - 1]:
            raise ConfigError(
                f"max_size of {shown[level]} is {size:,}, and that of {shown[level - 1]} above it {sizes[level - 1]:,};"
                " sizes may only be merged from the root down: write sizes that do not rise"
            )
