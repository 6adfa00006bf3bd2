"""The claims of Liu and Wu 2022 in words. Their figures print no numbers."""

from pgsr.experiments.engine.printed import Paper

CLAIMS = {
    "figure 2a": "HPD-Fixed has a smaller largest error than HPD-Gen",
    "figure 2b": "MWEM has a smaller largest error than HPD-Gen",
    "figure 2c": "errors are larger on the small data (AFST) than on the large",
    "figure 3a": "largest errors of HPD-Fixed and HPD-Gen are close",
    "figure 3b": "HPD-Fixed has a smaller largest error than HPD-Gen, with relations",
    "figure 4": "mean errors of HPD-Fixed and HPD-Gen are close",
    "figure 5a": "HPD-Gen has a smaller mean error than HPD-Fixed on Q_R alone",
    "figure 5b": "mean errors of HPD-Fixed and HPD-Gen are close, with relations",
    "section 5": "the universe of MWEM grows exponentially with the largest size",
    "section 5b": "the parameters of HPD grow linearly with the largest size",
}
"""The claims of the paper in words, by figure."""

PAPER = Paper(
    "Liu and Wu 2022",
    "Private Synthetic Data with Hierarchical Structure",
    "Terrance Liu, Zhiwei Steven Wu",
    "arXiv 2206.05942, 2022",
)
