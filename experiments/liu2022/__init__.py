"""The experiments on the paper that makes whole synthetic households with their members.

Terrance Liu, Zhiwei Steven Wu: Private Synthetic Data with Hierarchical Structure. arXiv 2206.05942, 2022.

One file per pair of figures; `published` has what the paper says, `data` the populations that stand for its own.
"""
