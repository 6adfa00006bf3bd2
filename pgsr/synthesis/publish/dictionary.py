"""The file dictionary.csv of a synthesis: what every column of its tables means, and the values it can have."""

import csv
from collections.abc import Iterator
from io import StringIO

from pgsr.synthesis.data.domain import COUNT, Attribute, Domain


def dictionary(domain: Domain, n_levels: int = 0) -> str:
    """Write the dictionary, which follows from the public domain alone; `n_levels` are those of regions.

    Example:
        >>> domain = Domain.plain([Attribute("area", ("urban", "rural"))], [Attribute("sex", ("f", "m"))], max_size=4)
        >>> for line in dictionary(domain).splitlines()[:4]:
        ...     print(line)
        table,column,type,values,meaning
        households,household,integer,,key of the household
        households,area,text,urban; rural,attribute of the household
        households,COUNT,integer,1 to 4,number of its persons
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("table", "column", "type", "values", "meaning"))
    writer.writerows(("households", *row) for row in _households(domain, n_levels))
    writer.writerows(("persons", *row) for row in _persons(domain))
    return out.getvalue()


Row = tuple[str, str, str, str]


def _households(domain: Domain, n_levels: int) -> Iterator[Row]:
    yield "household", "integer", "", "key of the household"
    for level in range(n_levels):
        yield f"level_{level}", "text", "", f"region on level {level} of the release of sizes; level 0 is the root"
    for attribute in domain.group:
        yield (*_of(attribute), "attribute of the household")
    least = 0 if n_levels else domain.min_size
    yield COUNT, "integer", f"{least} to {domain.max_size}", "number of its persons"


def _persons(domain: Domain) -> Iterator[Row]:
    yield "household", "integer", "", "key of the person's household"
    yield "person", "integer", f"1 to {domain.max_size}", "number of the person in the household; no order is meant"
    yield "role", "text", "; ".join(role.name for role in domain.roles), "role in the household"
    for attribute in domain.individual:
        yield (*_of(attribute), "attribute of the person")


def _of(attribute: Attribute) -> tuple[str, str, str]:
    whole = all(isinstance(value, int) for value in attribute.values)
    return attribute.name, "integer" if whole else "text", "; ".join(map(str, attribute.values))
