"""The claims of Liu and Wu 2022 in words. Their figures print no numbers."""

from pgsr.experiments.engine.papers import Absent, Claim, Paper

CLAIMS = {
    "figure 2a": "HPD-Fixed has a smaller largest error than HPD-Gen",
    "figure 2b": "MWEM has a smaller largest error than HPD-Gen",
    "figure 2c": "errors are larger on the small data (AFST) than on the large",
    "figure 3a": "largest errors of HPD-Fixed and HPD-Gen are close",
    "figure 3b": "HPD-Fixed has a smaller largest error than HPD-Gen, with relations",
    "figure 4a": "HPD-Fixed has a smaller mean error than HPD-Gen",
    "figure 4b": "MWEM has a smaller mean error than HPD-Gen",
    "figure 5a": "HPD-Gen has a smaller mean error than HPD-Fixed on Q_R alone",
    "figure 5b": "HPD-Fixed has a smaller mean error than HPD-Gen, with relations",
    "section 5": "the universe of MWEM grows exponentially with the largest size",
    "section 5b": "the parameters of HPD grow linearly with the largest size",
}
"""The claims of the paper in words, by figure."""

_JUDGED_BY = {
    "figure 2": "HP1",
    "figure 3": "HP2",
    "figure 4": "HP3",
    "figure 5": "HP3b",
    "section 5": "HP4",
}

ABSENT = (
    Absent(
        "PEP, the projection in relative entropy onto the measurements (Liu et al. 2021)",
        "the methods it builds on",
        "MWEM ends there, too: its distribution is always the start times exponentials of measured queries, and the "
        "one of that form that meets all measurements is the projection; MWEM(iterations=...) says how near it comes",
    ),
    Absent("the numbers behind figures 2 to 5", "figures 2 to 5", "the figures print none, so orders are judged alone"),
)
"""What the paper has and this project lacks."""

PAPER = Paper(
    "Liu and Wu 2022",
    "Private Synthetic Data with Hierarchical Structure",
    "Terrance Liu, Zhiwei Steven Wu",
    "arXiv 2206.05942, 2022",
    (),
    tuple(Claim(_JUDGED_BY[part.rstrip("abcde")], words, part.rstrip("abcde")) for part, words in CLAIMS.items()),
    ABSENT,
)
