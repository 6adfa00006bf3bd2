"""Noisy tables of others, made consistent exactly: a table with any columns in, the same with one column more out.

    regions         names of regions, or ids and parents, as a tree
    sizes           the sizes of rows, and which of many tables these are of
    measurements    rows as values and weights of cells
    whole_numbers   fractions and weights as integers
    layout          the tree on which these are a problem
    conditions      cells that weigh so much more than others that they are held
    problem         the problem
    adjustment      the function: it states the problem, solves it by a method and gives the table back
    result, diagnostics, variances, plausibility   what it gives: table and proof, what was moved, linear intervals
    laws, posterior, messages_kernel, draws   where the law of noise is known: exact intervals, and draws of tables

There is no second engine here: `pgsr.Problem` states what is asked, methods of `pgsr.algorithms` or `pgsr.models` solve
it, and `pgsr.certify` judges it. docs/model/reconcile.md is the page for users.
"""

from pgsr.reconciling.adjustment import reconcile

__all__ = ["reconcile"]
