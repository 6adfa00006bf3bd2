"""The keys of a release's configuration, each declared once: for the check of a file, and for editors as JSON schema.

`configuration.schema.json` beside this file is written by `pgsr validate --schema`.
"""

import json

from pgsr.noise.measurement import Totals
from pgsr.noise.shares_by_root import BY_ROOT
from pgsr.privacy.neighbours import Relation
from pgsr.release.configuration import forms
from pgsr.release.configuration.forms import Form, choice
from pgsr.release.configuration.keys import DeclaredTable, Key, json_schema
from pgsr.release.configuration.sources import FILE_OR_QUERY, SOURCE, SOURCE_APART
from pgsr.release.terms.kinds import Kind
from pgsr.release.terms.levels import RESERVED_NAMES
from pgsr.release.terms.publication import LONGEST_TEXT, LONGEST_WORD


def schema_text() -> str:
    """The JSON schema of a configuration (draft 2020-12), as text.

    Example:
        >>> json.loads(schema_text())["required"]
        ['data_set', 'max_size', 'mechanism', 'output', 'ledger']
    """
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of pgsr release"}
    return json.dumps({**head, **json_schema(CONFIGURATION)}, indent=1, ensure_ascii=False) + "\n"


_LEVEL_NAMES = Form(
    f"{forms.NAMES.wanted}, none of them {', '.join(RESERVED_NAMES)}",
    {
        "type": "array",
        "items": {"type": "string", "pattern": rf"^(?!({'|'.join(RESERVED_NAMES)})$)[^\u0000-\u001f\u007f]+$"},
        "minItems": 1,
        "uniqueItems": True,
    },
)


def _text(longest: int) -> Form:
    """The form of a text that is published as it is."""
    return Form(
        f"a text of one line and at most {longest} characters",
        {"type": "string", "minLength": 1, "maxLength": longest, "pattern": r"^[^\u0000-\u001f\u007f]+$"},
    )


def _or_root(form: Form) -> Form:
    """The form of a value that may follow from the noisy root instead."""
    by_root = {"type": "string", "enum": [BY_ROOT]}
    return Form(f'{form.wanted}, or "{BY_ROOT}"', {"anyOf": [form.schema, by_root]})


_REGION = Key(
    "region",
    forms.COLUMNS,
    "The column of the region where a row lies, or a column per level, root first; it has to agree with the region of "
    "the row's group and is needed without [groups].",
    None,
)

_ENTITIES = DeclaredTable(
    "entities",
    "Private: one row per entity; a group's size is its number of rows.",
    (
        *SOURCE,
        Key("entity", forms.MAYBE_TEXT, 'The column of entity ids; "" if every row is an entity of its own.', "entity"),
        Key("group", forms.TEXT, "The column of group ids.", "group"),
        _REGION,
    ),
    one_of=FILE_OR_QUERY,
    apart=SOURCE_APART,
)

_TUPLES = DeclaredTable(
    "tuples",
    "Private, instead of [entities]: tuples of user, unit, region and quantity; a unit's size is the sum of its "
    "quantities.",
    (
        *SOURCE,
        Key("user", forms.MAYBE_TEXT, 'The column of users; "" if every tuple is an entity of its own.', "user"),
        Key("unit", forms.TEXT, "The column of group ids.", "unit"),
        _REGION,
        Key("quantity", forms.TEXT, "The column of quantities 0, 1, 2, ...", "quantity"),
        Key("max_quantity", forms.COUNT, "A public bound on a quantity; the noise grows with it."),
        Key("clip", forms.BOOLEAN, "Whether larger quantities count as the bound; else they are refused.", False),
    ),
    one_of=FILE_OR_QUERY,
    apart=SOURCE_APART,
)

_GROUPS = DeclaredTable(
    "groups",
    "One row per group, groups without entities too; public unless private = true.",
    (
        *SOURCE,
        Key("group", forms.TEXT, "The column of group ids.", "group"),
        Key(
            "region",
            forms.COLUMNS,
            "The column of the region where the group lies; or a column per level, root first, then without [regions].",
            "region",
        ),
        Key("private", forms.BOOLEAN, 'Whether which groups exist is private; then totals = "noisy".', False),
    ),
    one_of=FILE_OR_QUERY,
    apart=SOURCE_APART,
)

_REGIONS = DeclaredTable(
    "regions",
    "Public: one row per region.",
    (
        *SOURCE,
        Key("region", forms.TEXT, 'The column of region ids; "region" if left out, with `levels` none.', None),
        Key("parent", forms.TEXT, "The column of the region above, empty at the root.", "parent"),
        Key("levels", forms.TEXTS, "Instead of `parent`: a column of names per level, root first.", None),
        Key("pad_ragged", forms.BOOLEAN, "Whether branches may have different depth.", False),
    ),
    one_of=FILE_OR_QUERY,
    not_both=("parent", "levels"),
    apart=SOURCE_APART,
)

_LIMITS = DeclaredTable(
    "limits",
    "What reading the tables may use.",
    (
        Key("gibibytes", forms.COUNT, "GiB of memory.", 6),
        Key("threads", forms.COUNT, "Threads; one per core if left out.", None),
        Key("folder", forms.TEXT, "Where rows that do not fit are kept meanwhile; private ones, too.", None),
    ),
)

_PUBLICATION = DeclaredTable(
    "publication",
    "What readers are told besides the numbers; all of it is published, and no number depends on it.",
    (
        Key("group_name", _text(LONGEST_WORD), 'Your plural for groups, such as "households".', "groups"),
        Key("entity_name", _text(LONGEST_WORD), 'Your plural for the members of groups, such as "persons".', "members"),
        Key("publisher", _text(LONGEST_TEXT), "Who publishes.", None),
        Key("contact", _text(LONGEST_TEXT), "Where questions go: a mail address, a web address or a sentence.", None),
        Key("licence", _text(LONGEST_TEXT), 'The licence: its short name, such as "CC-BY-4.0", or address.', None),
    ),
)

CONFIGURATION = DeclaredTable(
    "",
    "What to release, of which tables, and where to. Names of files are relative to the configuration's folder.",
    (
        Key("data_set", forms.TEXT, "A public name; the ledger counts what is spent on it."),
        Key(
            "max_size",
            forms.COUNT_OR_COUNTS,
            "K, the public largest size; larger groups count as K. Or one for every level (all mechanisms but "
            "bottom_up), by the names of the levels, root first: {nation = 1000, county = 100, block = 7}; they may "
            "not rise.",
        ),
        Key(
            "min_size",
            forms.WHOLE,
            "A public least size: no group has fewer members, so these sizes are 0 in every region and cost nothing. "
            "A group that has fewer after all counts as min_size.",
            0,
        ),
        Key("epsilon", forms.EXACT, "The privacy budget of all levels together, exact; or rho instead.", None),
        Key("delta", forms.EXACT_OR_ZERO, "Of (epsilon, delta), exact; 0 for a pure epsilon.", "0"),
        Key("rho", forms.EXACT, "Instead of epsilon: the budget in zero-concentrated differential privacy.", None),
        Key(
            "unit",
            forms.TEXT,
            'Whose presence or values are hidden: "entity", "entity in 5 groups" (one in at most five groups), or '
            '"group".',
            "entity",
        ),
        Key(
            "relation",
            choice(Relation),
            "What may become of one unit between neighbouring data sets; add_remove for entities, replace for groups "
            "whose numbers are public, if left out.",
            None,
        ),
        Key(
            "mechanism",
            choice(Kind),
            "m_h (counts), m_c_dp, kuo, bottom_up, posterior or two_stage (cumulative counts).",
        ),
        Key(
            "threshold",
            _or_root(forms.WHOLE),
            "For kuo, bottom_up, posterior and two_stage, a public size: cumulative counts of the sizes below it are "
            'measured and, rank by rank, what groups have beyond it. Or "root": the root is measured first, in '
            "cumulative counts with its own share of epsilon, and the thresholds of all other regions follow from its "
            "noisy values. The mechanism's own view of all sizes if left out.",
            None,
        ),
        Key(
            "shares",
            _or_root(forms.EXACTS),
            'Parts of epsilon per level, root first, that add up to 1. Or "root", with threshold = "root" and a plain '
            "epsilon: the noisy root chooses them, too. Equal if left out.",
            None,
        ),
        Key(
            "totals",
            choice(Totals),
            "Whose number of groups is public: root (m_h, m_c_dp), regions (kuo, bottom_up), regions or root "
            "(posterior, two_stage), or noisy where the table of groups is private; the first of these if left out.",
            None,
        ),
        Key(
            "level_names",
            _LEVEL_NAMES,
            "Public names of the levels, root first; those of the level columns of [regions] or [groups] if left out, "
            "else level_0, level_1, ...",
            None,
        ),
        Key(
            "intervals",
            forms.EXACT,
            'The level of intervals, such as "9/10": then the released counts have columns lower and upper, from the '
            "noisy values alone, at no cost. Of posterior alone, and not with noisy totals or sizes per "
            "level. Without these columns if left out.",
            None,
        ),
        Key("output", forms.TEXT, "The folder of the release, which does not exist yet or is empty."),
        Key("ledger", forms.TEXT, "The file of what was spent on this data set; it is never published."),
        Key(
            "log",
            forms.TEXT,
            "The file of numbers that are not for publication; OUTPUT-private.log beside this file if left out.",
            None,
        ),
        Key("sign", forms.TEXT, "The file of the private key that signs the release; not signed if left out.", None),
        _PUBLICATION,
        _ENTITIES,
        _TUPLES,
        _GROUPS,
        _REGIONS,
        _LIMITS,
    ),
    one_of=((("epsilon",), ("rho",)), (("entities",), ("tuples",))),
)
"""The whole file. `test_release_schema.py` shows that the reading code reads every key of it."""
