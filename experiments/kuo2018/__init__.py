"""The experiments on the paper that introduced count-of-counts histograms with differential privacy.

Yu-Hsuan Kuo, Cho-Chun Chiu, Daniel Kifer, Michael Hay, Ashwin Machanavajjhala: Differentially Private Hierarchical
Count-of-Counts Histograms. Proceedings of the VLDB Endowment 11(11), 2018; arXiv 1804.00370.

One file per table, figure or claim; `published` has what the paper prints, `data` the data sets that stand for its own.
"""
