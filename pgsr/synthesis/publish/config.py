"""The configuration of `pgsr synthesize`, one TOML file: the tables, their public domain and the budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.privacy.neighbours import Unit
from pgsr.release.publishing.configuration import forms
from pgsr.release.publishing.configuration.declared import DeclaredTable, Key, complete, require
from pgsr.release.publishing.configuration.sources import read_source
from pgsr.release.publishing.configuration.toml import read_toml, shown
from pgsr.release.publishing.errors import ConfigError, Faults
from pgsr.synthesis.data.binning import Binning
from pgsr.synthesis.data.domain import Attribute, Domain, Neighbours, Population
from pgsr.synthesis.data.impossible import Impossible, blocks_of, implied
from pgsr.synthesis.data.linked_tables import load, read_population
from pgsr.synthesis.marginals.marginal_sensitivity import require_unit
from pgsr.synthesis.marginals.whole_marginals import WholeMarginals
from pgsr.synthesis.publish.keys import KEYS
from pgsr.synthesis.queries.transcript import AdaptiveBudget
from pgsr.tables.source import Source

if TYPE_CHECKING:
    import pandas as pd


_FILES = ("output", "ledger", "sign")
"""The keys that name files, and that a flag of the command line may replace."""


@dataclass(frozen=True, eq=False)
class SynthesisConfig:
    """The description of a synthesis to make. All of it is public but the contents of the two files.

    Attributes:
        data_set: a public name.
        households, persons: where the tables are.
        key, role: columns as in `read_population`.
        domain: attributes and roles.
        bins: numeric columns that become attributes.
        budget: epsilon and delta; whole marginals find their rounds themselves.
        components: of the mixture.
        k: attributes of a marginal at most.
        impossible: combinations that no person has.
        neighbours: what is protected.
        unit: whether it is a person, or a whole household with its members.
        groups: households to sample; as many as there are (a public number) if None.
        seed: of the method's own, public randomness.
        output: folder, absent or empty.
        ledger: the ledger file of the data set; only a rehearsal goes without.
        sign: file of the private key that signs the synthesis; None if it is not signed.
    """

    data_set: str
    households: Source
    persons: Source
    key: str
    role: str
    domain: Domain
    bins: tuple[Binning, ...]
    budget: AdaptiveBudget
    components: int
    k: int
    impossible: tuple[Impossible, ...]
    neighbours: Neighbours
    unit: Unit
    groups: int | None
    seed: int
    output: Path
    ledger: Path | None
    sign: Path | None

    def __post_init__(self) -> None:
        most = len(self.domain.group) + 1 + len(self.domain.individual)  # a marginal has no more than there are
        object.__setattr__(self, "k", min(self.k, most))

    @classmethod
    def read(cls, path: str | Path, overrides: Mapping[str, object] | None = None) -> "SynthesisConfig":
        """Read the configuration in a TOML file; names of files are relative to its folder.

        Args:
            path: of the file; `SYNTHESIS_EXAMPLE` shows every key.
            overrides: top-level keys that replace those of the file; `output`, `ledger` and `sign` are then relative to
                the working folder.

        Raises:
            ConfigError: the file is absent or no TOML; a key is missing, unknown or of the wrong kind.
            SynthesisError, BudgetError: the domain or the budget is malformed. An error lists all that was found.
        """
        path = Path(path)
        values = read_toml(path, "`pgsr synthesize --example` prints one to start from")
        given = {key: value for key, value in (overrides or {}).items() if value is not None}
        return cls.of(values | given, path.parent, {key for key in _FILES if key in given})

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: Path, here: set[str] | None = None) -> "SynthesisConfig":
        """Make the configuration from a file's values; names of files are relative to `folder`.

        Names under the keys in `here` are relative to the working folder instead.
        """
        place = {key: Path() if key in (here or ()) else folder for key in _FILES}
        require(KEYS, values)
        told = complete(KEYS, values)
        neighbours = Neighbours(told["neighbours"])
        files = {key: place[key] / told[key] for key in ("ledger", "sign") if told[key] is not None}
        faults = Faults()
        of_homes = faults.tried(lambda: _attributes(values, "household_attributes")) or ([], [])
        of_people = faults.tried(lambda: _attributes(values, "person_attributes")) or ([], [])
        domain = None if faults else faults.tried(lambda: _domain(told, of_homes[0], of_people[0]))
        impossible = domain and faults.tried(lambda: _impossible(told, domain))
        budget = faults.tried(lambda: AdaptiveBudget(told["epsilon"], told["delta"], rounds=1))
        unit = faults.tried(lambda: Unit.parse(told["unit"]))
        if unit is not None:
            faults.tried(lambda: require_unit(unit, neighbours))
        if domain is not None:
            faults.tried(lambda: _require_public(neighbours, domain, told["public_household_attributes"]))
        sources = [
            faults.tried(lambda name=name: read_source(values[name], name, folder))
            for name in ("households", "persons")
        ]
        faults.raise_all()
        # Without faults all are there.
        assert budget is not None
        assert domain is not None
        assert unit is not None
        assert impossible is not None
        assert sources[0] is not None
        assert sources[1] is not None
        return cls(
            data_set=told["data_set"],
            households=sources[0],
            persons=sources[1],
            key=told["households"]["key"],
            role=told["persons"]["role"],
            domain=domain,
            bins=(*of_homes[1], *of_people[1]),
            budget=budget,
            components=told["components"],
            k=told["k"],
            impossible=impossible,
            neighbours=neighbours,
            unit=unit,
            groups=told["groups"],
            seed=told["seed"],
            output=place["output"] / told["output"],
            ledger=files.get("ledger"),
            sign=files.get("sign"),
        )

    @property
    def published_exactly(self) -> str | None:
        """The sentence that says which facts of households are published exactly; None if none but their number is.

        Whole marginals fills the households that there are, under every relation of neighbours and for every unit: a
        sample of as many households has exactly their attributes, and the saved model lists them.
        """
        what = _published_exactly(self.neighbours, self.domain)
        return what and f"{what} are published exactly, without noise: how many households have which of them"

    def population(self) -> Population:
        """Read the tables. The population that is returned is private.

        Raises:
            TableError, SynthesisError: a table is not what the domain says.
        """
        with_role = [self.role] if len(self.domain.roles) > 1 else []
        homes = self._binned(self.households, "households", self.domain.group)
        people = self._binned(self.persons, "persons", self.domain.individual, with_role)
        return read_population(homes, people, self.domain, household_key=self.key, role=self.role)

    def method(self) -> WholeMarginals:
        """Make the method with its settings."""
        return WholeMarginals(components=self.components, k=self.k, impossible=self.impossible)

    def _binned(
        self, table: Source, name: str, attributes: Sequence[Attribute], more: Sequence[str] = ()
    ) -> "pd.DataFrame":
        frame = load(table, name, [self.key, *more, *(attribute.name for attribute in attributes)])
        labels = {b.name: b.labels(frame[b.name].to_numpy(object)) for b in self.bins if b.name in frame.columns}
        return frame.assign(**labels)


def is_synthesis(values: Mapping[str, Any]) -> bool:
    """Tell whether the values of a file are those of a synthesis, which alone has tables of households and persons.

    Example:
        >>> is_synthesis({"households": {"file": "households.parquet"}}), is_synthesis({"entities": {}, "groups": {}})
        (True, False)
    """
    return not values.keys().isdisjoint(("households", "persons", "household_attributes", "person_attributes"))


def _published_exactly(neighbours: Neighbours, domain: Domain) -> str | None:
    """Name the facts of households that are published exactly; None if all of them are measured."""
    named = ", ".join(attribute.name for attribute in domain.group)
    attributes = [f"household attributes ({named})"] if named else []
    sizes = ["household sizes"] if neighbours is Neighbours.REPLACE else []
    return " and ".join([*attributes, *sizes]) or None


def _require_public(neighbours: Neighbours, domain: Domain, public: bool) -> None:
    """Raise `ConfigError` where attributes of households are published exactly, and were not said to be public."""
    what = _published_exactly(neighbours, domain)
    if what is not None and domain.group and not public:
        raise ConfigError(
            f"a synthesis publishes {what} exactly, without noise, for it protects persons alone; if these are "
            "public anyway write public_household_attributes = true, otherwise leave them out of [household_attributes]"
        )


def _impossible(told: Mapping[str, Any], domain: Domain) -> tuple[Impossible, ...]:
    """Read the combinations that no person has, [[impossible]] and [[implied]]."""
    found = [Impossible(_values(table, "impossible")) for table in told["impossible"] or ()]
    for table in told["implied"] or ():
        if set(table) != {"when", "then"} or not all(isinstance(part, dict) for part in table.values()):
            raise ConfigError("[[implied]] has two keys; write when = {age = ['0-14']} and then = {driver = ['no']}")
        found.append(implied(domain, _values(table["when"], "implied"), _values(table["then"], "implied")))
    blocks_of(domain, found)  # raises where they do not fit the domain
    return tuple(found)


def _values(table: Mapping[str, Any], name: str) -> dict[str, list[Any]]:
    for attribute, values in table.items():
        if not isinstance(values, list):
            raise ConfigError(f"{attribute} of [[{name}]] is {shown(values)}; write an array of its values")
    return dict(table)


def _domain(told: Mapping[str, Any], of_homes: list[Attribute], of_people: list[Attribute]) -> Domain:
    """Make a plain domain if `max_size` is given, or one of head, spouse and children if `max_children` is."""
    largest, children = told["max_size"], told["max_children"]
    if (largest is None) == (children is None):
        raise ConfigError(
            "give either max_size (persons of one kind) or max_children (a head, perhaps a spouse, children)"
        )
    if children is None:
        return Domain.plain(of_homes, of_people, largest)
    return Domain.household(of_homes, of_people, children)


def _attributes(values: Mapping[str, Any], key: str) -> tuple[list[Attribute], list[Binning]]:
    """Read the attributes in the order of the file; each is a name with a list of values, or with a table of bins."""
    table = values.get(key, {})
    attributes, bins = [], []
    for name, given in table.items():
        if isinstance(given, list):
            attributes.append(Attribute(name, tuple(given)))
            continue
        lower = given.get("bins")
        if not isinstance(lower, list) or not all(type(bound) is int for bound in lower):
            raise ConfigError(
                f"{name} of [{key}] is {shown(given)}; write an array of values, or {{bins = [0, 18, 65]}}"
            )
        options = {option: value for option, value in given.items() if option != "bins"}
        declared = DeclaredTable(f"{key}.{name}", "", _OF_BINS)
        require(declared, options)
        binning = Binning(name, tuple(lower), **complete(declared, options))
        attributes.append(binning.attribute)
        bins.append(binning)
    return attributes, bins


_OF_BINS = (
    Key("last", forms.INTEGER, "The largest number of the last bin.", None),
    Key("missing", forms.TEXT, "The value of those without a number.", None),
)
"""The keys of an attribute beside its bins."""


SYNTHESIS_EXAMPLE = """\
# What `pgsr synthesize` needs to know. Names of files are relative to this file.
# Nothing here may be read off the private data: attributes, values and bounds are decided beforehand.
# Public besides: the number of households.

data_set = "households 2026"     # a public name
epsilon = "1"                    # in quotes, so that it stays exact
delta = "1e-10"                  # below 1 / (number of persons)^2, say
# k = 3                          # most attributes of a marginal
# components = 100               # of the mixture
# neighbours = "add_remove"      # one person more or less, as `pgsr release` has it; or "move"; or "replace" (other
#                                # values of one person): then the sizes of households are public, too, and come out
#                                # exactly
# unit = "entity"                # a person; with neighbours = "replace" also "group", all members of a household, at
#                                # the price of noise that grows with the largest size
# groups = 10000                 # households to sample; as many as there are if left out
# seed = 0                       # of the method, not of the noise
output = "synthetic"             # a folder that does not exist yet
ledger = "ledger.jsonl"          # of the data set, with a delta; `pgsr ledger init` makes it; a rehearsal needs none
# sign = "publisher.key"         # the publisher's private key, which `pgsr key new publisher` makes

# A synthesis publishes exactly, without noise, how many households have which area and vehicles: it protects the
# values of persons alone. Write true only if these are public anyway.
public_household_attributes = true

max_size = 5                     # persons per household at most; or, with roles head, spouse and child:
# max_children = 3

[households]                     # one row per household
file = "households.parquet"      # or .csv, read exactly as declared (keys as in `pgsr release --example`: delimiter,
#                                #   quote, encoding, nulls, ...); or connection and query of a DuckDB database file
key = "household"

[persons]                        # private: one row per person, with the key of its household
file = "persons.parquet"
# role = "role"                  # its column of roles, with max_children

[household_attributes]           # column = its values, in their order; or bins of numbers
area = ["urban", "rural"]
vehicles = {bins = [0, 1, 2]}

[person_attributes]
sex = ["female", "male"]
age = {bins = [0, 18, 65], missing = "unknown"}

# [[impossible]]                 # public facts: values of persons that do not occur together, of any attributes and
# age = ["0-17"]                 #   of role; the synthetic persons have none of them
# sex = ["male"]
# [[implied]]                    # persons with the values of `when` have one of those of `then`
# when = {age = ["unknown"]}
# then = {sex = ["female"]}
"""
