"""Declare the tables of a configuration: every key once, for the check of a file and for its JSON schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pgsr.release.configuration.forms import Form, nearest
from pgsr.release.configuration.toml import kind_of, shown
from pgsr.release.publishing.errors import ConfigError, listed

REQUIRED: Any = object()
"""The default of a key that has none, and so must be there."""


@dataclass(frozen=True)
class Key:
    """A key that is followed by a value.

    Attributes:
        name: of the key.
        form: what the value has to be.
        description: one sentence for those who write the file.
        default: the value if the key is left out; None if the description says what happens then.
    """

    name: str
    form: Form
    description: str
    default: Any = REQUIRED


@dataclass(frozen=True)
class DeclaredTable:
    """A table with its keys, and tables in it. The table without a name is the whole file.

    Attributes:
        name: as in [name].
        description: one sentence for those who write the file.
        members: keys and tables, in the order in which the schema lists them.
        one_of: choices, each a tuple of sets of keys of which exactly one is given.
        not_both: keys that exclude each other.
        apart: keys that only the reading code knows.

    Example:
        >>> from pgsr.release.configuration.forms import COUNT, TEXT
        >>> file = DeclaredTable("", "A file.", (Key("name", TEXT, "A name."), Key("size", COUNT, "A size.", 1)))
        >>> faults(file, {"nam": "a", "size": 0})
        ["the key 'nam' is unknown; did you mean 'name', which is missing?",
         "the key 'size' is 0; write an integer from 1 up"]
    """

    name: str
    description: str
    members: "tuple[Key | DeclaredTable, ...]"
    one_of: tuple[tuple[tuple[str, ...], ...], ...] = ()
    not_both: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def known(self) -> "dict[str, Key | DeclaredTable]":
        """The keys and tables in it, by name."""
        return {member.name: member for member in self.members}

    @property
    def required(self) -> list[str]:
        """The names of the keys that have to be there."""
        return [member.name for member in self.members if isinstance(member, Key) and member.default is REQUIRED]


def require(table: DeclaredTable, values: Mapping[str, Any]) -> None:
    """Raise `ConfigError` unless all keys are known, there and of their form; the error lists everything at once."""
    found = faults(table, dict(values))
    if found:
        raise ConfigError(listed(found))


def complete(table: DeclaredTable, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the defaults of all keys that are left out, after `require`; arrays become tuples.

    A table that is left out is None; those that are there are complete, too.

    Example:
        >>> from pgsr.release.configuration.forms import COUNT, TEXT
        >>> file = DeclaredTable("", "A file.", (Key("name", TEXT, "A name."), Key("size", COUNT, "A size.", 1)))
        >>> complete(file, {"name": "a"})
        {'name': 'a', 'size': 1}
    """
    found = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    for name, member in table.known.items():
        if isinstance(member, Key):
            found.setdefault(name, None if member.default is REQUIRED else member.default)
        else:
            found[name] = complete(member, values[name]) if name in values else None
    return found


def faults(table: DeclaredTable, values: object, root: DeclaredTable | None = None) -> list[str]:
    """List all that is wrong with a table's keys, a sentence each, in the order of the file; missing keys last."""
    if not isinstance(values, dict):
        is_no_table = f"{table.name} is {shown(values)}, {kind_of(values)}"
        return [f"{is_no_table}; write a table, [{table.name}] on a line of its own"]
    root, known = root or table, table.known
    missing = [name for name in table.required if name not in values]
    unknown = [key for key in values if key not in known and key not in table.apart]
    choices = [key for sets in table.one_of for key in chain(*sets) if values.keys().isdisjoint(chain(*sets))]
    meant = {near: key for key in unknown if (near := nearest(key, missing + choices))}
    found: list[str] = []
    for key, value in values.items():
        member = known.get(key)
        if key in unknown:
            found.append(f"{shown_key(key, table.name)} is unknown{_hint(key, table, root, meant)}")
        elif isinstance(member, DeclaredTable):
            found += faults(member, value, root)
        elif member is not None:
            fault = member.form.fault(value)
            found += [f"{shown_key(key, table.name)} {fault}"] if fault else []
    found += [_missing(name, table) for name in missing if name not in meant]
    return found + list(_contradictions(table, values | dict.fromkeys(meant)))


def shown_key(key: str, table: str) -> str:
    """A key as messages name it."""
    return f"the key {key!r}" + (f" of [{table}]" if table else "")


def json_schema(table: DeclaredTable) -> dict[str, Any]:
    """The JSON schema of a table and everything in it (draft 2020-12)."""
    properties = {member.name: _property(member) for member in table.members}
    schema: dict[str, Any] = {"description": table.description, "type": "object", "properties": properties}
    if table.required:
        schema["required"] = table.required
    schema["additionalProperties"] = False
    choices = [{"oneOf": [_alone(keys, sets) for keys in sets]} for sets in table.one_of]
    if len(choices) == 1:
        schema |= choices[0]
    elif choices:
        schema["allOf"] = choices
    if table.not_both:
        schema["not"] = {"required": list(table.not_both)}
    return schema


def _property(member: Key | DeclaredTable) -> dict[str, Any]:
    if isinstance(member, DeclaredTable):
        return json_schema(member)
    default = {} if member.default is REQUIRED or member.default is None else {"default": member.default}
    return {"description": member.description, **member.form.schema, **default}


def _alone(keys: tuple[str, ...], all_sets: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    others = [key for other in all_sets for key in other if key not in keys]
    return {"required": list(keys), "not": {"anyOf": [{"required": [key]} for key in others]}}


def _hint(key: str, table: DeclaredTable, root: DeclaredTable, meant: dict[str, str]) -> str:
    """Say what to do about an unknown key: a missing key, another name or another table may be meant."""
    for name, written in meant.items():
        if written == key:
            return f"; did you mean {name!r}, which is missing?"
    homes = [home for home in (root, *root.members) if isinstance(home, DeclaredTable) and key in home.known]
    near = nearest(key, table.known)
    if near or not homes:
        return f"; did you mean {near!r}?" if near else f"; known are {', '.join(table.known)}"
    if homes[0] is root:
        return " there; move it up, above the first line that starts with '['"
    return f" there; it is a key of {' and '.join(f'[{home.name}]' for home in homes)}"


def _missing(name: str, table: DeclaredTable) -> str:
    member = table.known[name]
    assert isinstance(member, Key), "no table has to be there"
    return f"{shown_key(name, table.name)} is missing; write {name} = ... with {member.form.wanted}"


def _contradictions(table: DeclaredTable, values: dict[str, Any]) -> Iterator[str]:
    where = f" in [{table.name}]" if table.name else ""
    for sets in table.one_of:
        given = {key for key in chain(*sets) if key in values}
        if not any(given == set(keys) for keys in sets):
            shown = " or ".join(" and ".join(_named(key, table) for key in keys) for keys in sets)
            have = " and ".join(_named(key, table) for key in sorted(given)) or "none"
            yield f"write either {shown}{where}; {have} {'is' if len(given) < 2 else 'are'} there"
    if table.not_both and all(key in values for key in table.not_both):
        both = " and ".join(map(repr, table.not_both))
        of_table = f" of [{table.name}]" if table.name else ""
        yield f"the keys {both}{of_table} exclude each other; leave one out"


def _named(key: str, table: DeclaredTable) -> str:
    return f"[{key}]" if isinstance(table.known[key], DeclaredTable) else f"{key} = ..."
