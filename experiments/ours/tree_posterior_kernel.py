"""Metropolis moves of groups between two sizes of a leaf, with all the regions that the leaf lies in.

Names are those of `pgsr.experiments.ours.tree_posterior`.
"""

from pgsr.machine.compilation import compiled


@compiled
def run(tree, state, moves, seen):
    """Make rows of moves one after another, and count after each row which cumulative counts the chain is at.

    A move takes k groups of a leaf from size a to size b. With a < b it lowers c[a], ..., c[b - 1] by k in the leaf and
    in every region above it, with a > b it raises c[b], ..., c[a - 1]. It is made if the leaf has these groups and
    the logarithm of the posterior changes by at least -cost, cost from the standard exponential law: Metropolis and
    others 1953, as a move and its way back are proposed equally often.

    Args:
        tree: a `Tree`.
        state: a `State`, changed.
        moves: a `Moves`.
        seen: how often c[s] was c, in the places of `tree.weights`; counted up. Of no cells if nothing is counted.
    """
    counts, cumulative = state.counts, state.cumulative
    n_regions, top = cumulative.shape[0], cumulative.shape[1] - 1
    for row in range(len(moves.leaf)):
        for i in range(moves.leaf.shape[1]):
            leaf, a, b, k = moves.leaf[row, i], moves.source[row, i], moves.target[row, i], moves.groups[row, i]
            if counts[leaf, a] < k:
                continue
            region = tree.first_leaf + leaf
            # The prior of the two counts that change.
            cells = tree.groups[region] + 1
            at_a = tree.prior_start[leaf] + a * cells + counts[leaf, a]
            at_b = tree.prior_start[leaf] + b * cells + counts[leaf, b]
            change = tree.prior[at_a - k] - tree.prior[at_a] + tree.prior[at_b + k] - tree.prior[at_b]
            # The likelihood of all noisy values of the leaf and of the regions above it.
            low, high, by = (a, b, -k) if a < b else (b, a, k)
            while region >= 0:
                if tree.measured[region]:
                    cells = tree.groups[region] + 1
                    place = tree.start[region] + low * cells
                    for s in range(low, high):
                        here = place + cumulative[region, s]
                        change += tree.weights[here + by] - tree.weights[here]
                        place += cells
                region = tree.parent[region]
            if change < -moves.cost[row, i]:
                continue
            counts[leaf, a] -= k
            counts[leaf, b] += k
            region = tree.first_leaf + leaf
            while region >= 0:
                for s in range(low, high):
                    cumulative[region, s] += by
                region = tree.parent[region]
        if len(seen):
            for region in range(n_regions):
                cells = tree.groups[region] + 1
                for s in range(top):
                    seen[tree.start[region] + s * cells + cumulative[region, s]] += 1
