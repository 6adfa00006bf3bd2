"""The experiments on the paper that releases group sizes by optimisation and dynamic programming.

Ferdinando Fioretto, Pascal Van Hentenryck: Differential Privacy of Hierarchical Census Data: An Optimization Approach.
CP 2019; extended version in Artificial Intelligence 296, 2021; arXiv 2006.15673.

One file per table or figure; `published` has what the paper prints, `data` the data sets that stand for its own.
"""
