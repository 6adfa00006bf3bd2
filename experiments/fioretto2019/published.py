"""The numbers that Fioretto and Van Hentenryck 2019 print, and their claims in words."""

from pgsr.experiments.engine.papers import Absent, Claim, Paper, Printed

_SCALE = {"Taxi": 10_000, "Census": 1_000}
"""Table 1 prints L1 errors divided by these."""

_TABLE: tuple[tuple[str, str, tuple[float, float, float, int], tuple[float, float, float, int]], ...] = (
    ("1/10", "M_H^r", (25.4, 158.7, 904.4, 18_206), (40.3, 54.3, 802.1, 1_966)),
    ("1/10", "M_H^dp", (26.6, 121.9, 915.7, 0), (10.3, 38.4, 825.4, 0)),
    ("1/10", "M_c^r", (47.9, 153.2, 551.6, 19_460), (23.1, 64.5, 632.2, 1_715)),
    ("1/10", "M_c^dp", (19.9, 65.6, 644.3, 0), (0.9, 23.2, 550.6, 0)),
    ("1/2", "M_H^r", (8.6, 81.2, 364.2, 18_591), (39.4, 37.9, 216.3, 1_990)),
    ("1/2", "M_H^dp", (5.5, 31.0, 408.9, 0), (2.4, 9.4, 230.8, 0)),
    ("1/2", "M_c^r", (46.7, 153.5, 450.7, 19_531), (23.1, 61.0, 494.2, 1_718)),
    ("1/2", "M_c^dp", (4.0, 16.4, 352.9, 0), (0.2, 5.8, 159.1, 0)),
    ("1", "M_H^r", (7.7, 77.2, 279.0, 18_085), (40.7, 39.2, 130.0, 1_989)),
    ("1", "M_H^dp", (3.1, 19.8, 328.5, 0), (1.2, 5.1, 128.8, 0)),
    ("1", "M_c^r", (47.1, 154.2, 447.1, 19_706), (24.1, 63.0, 494.5, 1_728)),
    ("1", "M_c^dp", (2.0, 8.7, 307.8, 0), (0.1, 3.2, 91.0, 0)),
)
_SOURCE = "table 1; levels counted from 0 here, from 1 there"

TABLE_1 = tuple(
    Printed("PG4", data, arm, epsilon, level, "l1", round(value * _SCALE[data], 6), _SOURCE, 30)
    for epsilon, arm, taxi, census in _TABLE
    for data, row in (("Taxi", taxi), ("Census", census))
    for level, value in enumerate(row[:3])
)
"""The printed L1 errors by level, in groups."""

VIOLATIONS = tuple(
    Printed("PG4", data, arm, epsilon, None, "cv", float(row[3]), _SOURCE, 30)
    for epsilon, arm, taxi, census in _TABLE
    for data, row in (("Taxi", taxi), ("Census", census))
)
"""The printed numbers of constraint violations, #CV."""

GROUPS = {"Taxi": 13_282, "Census": 117_630_445}
"""The numbers of groups, as the text of the paper prints them."""

SIZES = {"Taxi": 13_282, "Census": 1_000}
"""The numbers of sizes N."""

LARGEST_ERROR = {data: 2 * groups for data, groups in GROUPS.items()}
"""L1 error of a level at most, if counts are non-negative and a level's add up to the number of groups."""

CLAIMS = {
    "figure 8": "exact programs and the dynamic program with a solver inside do not scale, even for few sizes",
    "figure 9a": "M_H^dp is faster than M_H^r (up to 10 times, says the paper)",
    "figure 9b": "M_c^dp is faster than M_c^r (up to 100 times, says the paper)",
    "figure 9c": "M_c^r is slower than M_H^r",
    "figure 9d": "dynamic programs run faster as epsilon grows",
    "figure 9e": "M_c^dp is faster than M_H^dp",
    "figure 10a": "M_H^dp is more accurate than M_H^r",
    "figure 10b": "M_c^dp is more accurate than M_c^r",
    "figure 10c": "M_c^dp is the most accurate",
    "figure 10d": "the error falls as epsilon grows",
    "figure 10e": "cumulative mechanisms have their error at small sizes",
    "table 1a": "relaxations violate consistency, dynamic programs never do",
    "table 1b": "M_H^r keeps the public totals (faithfulness)",
    "table 1c": "errors are larger on taxi than on the census",
    "abstract": "up to two orders of magnitude faster and more accurate",
}
"""The claims of the paper in words, by figure or table."""

_JUDGED_BY = {"figure 8": "PG1", "figure 9": "PG2", "figure 10": "PG3", "table 1": "PG4", "abstract": "PG5"}

ABSENT = (
    Absent(
        "programs solved by Gurobi at the sizes of figure 9",
        "section on experiments",
        "the licence that comes with Gurobi's Python package allows 2,000 columns, and 100 of the sizes take 27,270; "
        "Gurobi is a competitor here that runs where a larger licence is, and Clarabel takes its place",
    ),
    Absent(
        "the numbers behind figures 8 to 10",
        "figures 8 to 10",
        "the figures print none, so what the text says of them is judged, and no number of theirs",
    ),
    Absent(
        "the noisy values of the running example",
        "figures 2, 4 and 6",
        "known here are those of Example 2 alone; test_cost_tables.py::test_example_of_cost_tables has its tables",
    ),
)
"""What the paper has and this project lacks."""

PAPER = Paper(
    "Fioretto and Van Hentenryck 2019",
    "Differential Privacy of Hierarchical Census Data: An Optimization Approach",
    "Ferdinando Fioretto, Pascal Van Hentenryck",
    "CP 2019; extended in Artificial Intelligence 296, 2021, arXiv 2006.15673",
    TABLE_1 + VIOLATIONS,
    tuple(Claim(_JUDGED_BY[part.rstrip("abcde")], words, part.rstrip("abcde")) for part, words in CLAIMS.items()),
    ABSENT,
)
