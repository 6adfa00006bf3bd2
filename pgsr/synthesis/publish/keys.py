"""The keys of the configuration of `pgsr synthesize`, each declared once for the check of a file."""

from pgsr.release.publishing.configuration import forms
from pgsr.release.publishing.configuration.declared import DeclaredTable, Key
from pgsr.release.publishing.configuration.forms import Form, choice
from pgsr.release.publishing.configuration.sources import FILE_OR_QUERY, SOURCE, SOURCE_APART
from pgsr.synthesis.data.domain import Neighbours

_ATTRIBUTE = Form(
    "an array of its values (strings or integers), or {bins = [0, 18, 65]}",
    {
        "anyOf": [
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            {"type": "object"},
        ]
    },
)


KEYS = DeclaredTable(
    "",
    "What to synthesize, of which tables, and where to.",
    (
        Key("data_set", forms.TEXT, "A public name."),
        Key("epsilon", forms.TEXT, "The privacy budget in quotes, so that it stays exact."),
        Key("delta", forms.TEXT, "The probability of failure in quotes, so that it stays exact."),
        Key("k", forms.INTEGER, "Attributes of a marginal at most.", 3),
        Key("components", forms.INTEGER, "Components of the mixture.", 100),
        Key("impossible", forms.TABLES, "Values of persons that do not occur together.", None),
        Key("implied", forms.TABLES, "What some values of persons imply of another.", None),
        Key("neighbours", choice(tuple(Neighbours)), "What is protected.", "add_remove"),
        Key("unit", forms.TEXT, "Whose values are protected: a person's, or a household's (group).", "entity"),
        Key("groups", forms.INTEGER, "Households to sample; as many as there are if left out.", None),
        Key("seed", forms.INTEGER, "Of the method's own, public randomness.", 0),
        Key("ledger", forms.TEXT, "The file of what was spent on this data set; a rehearsal needs none.", None),
        Key("sign", forms.TEXT, "The file of the private key that signs the synthesis; unsigned if left out.", None),
        Key(
            "public_household_attributes",
            forms.BOOLEAN,
            "Whether attributes of households are public, as they are published exactly.",
            False,
        ),
        Key("output", forms.TEXT, "A folder that does not exist yet or is empty."),
        Key("max_size", forms.INTEGER, "Persons per household at most.", None),
        Key("max_children", forms.INTEGER, "Children per household at most, with a head and perhaps a spouse.", None),
        DeclaredTable(
            "households",
            "One row per household.",
            (*SOURCE, Key("key", forms.TEXT, "The column that both tables share.", "household")),
            required=True,
            one_of=FILE_OR_QUERY,
            apart=SOURCE_APART,
        ),
        DeclaredTable(
            "persons",
            "Private: one row per person.",
            (*SOURCE, Key("role", forms.TEXT, "The column of roles.", "role")),
            required=True,
            one_of=FILE_OR_QUERY,
            apart=SOURCE_APART,
        ),
        DeclaredTable("household_attributes", "Public values of the attributes of households.", (), free=_ATTRIBUTE),
        DeclaredTable("person_attributes", "Public values of the attributes of persons.", (), free=_ATTRIBUTE),
    ),
)
"""The keys of the file."""
