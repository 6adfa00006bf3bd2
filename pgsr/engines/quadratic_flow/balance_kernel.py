"""The compiled loop of `balance`: sets of vertices are moved, one after another, to where each is balanced.

Arguments that occur everywhere; those of `newton_kernel` have its meaning:

    around      the arrays (start, end, first, first_in, start_in, arc_in) that `exchange_kernel` explains
    share       an arc goes from k to k + 1 over this share of the way, around k + 1/2 (`balance.nearly_whole`)
    group[v]    the number of the set that v belongs to; members[firsts[g]] .. members[firsts[g + 1] - 1] belong to g
"""

import numpy as np

from pgsr.machine.compilation import inlined, uncounted

_ENOUGH = 1e-3
"""Units by which a set may be off."""

_MOST_TRIES = 20
_SLIGHTLY = 1e-6
"""How far a price goes beyond a bend of the dual, so that it is on the side that has a slope."""

_NEVER = 1e30


@uncounted
def balance(around, y, w, free, supply, share, group, members, firsts, price):
    """Add to the prices of every set what balances it while all others stay.

    What a set lacks or has left over is monotone and piecewise linear in the number that is added. Newton's method
    finds where it is 0, within the interval that earlier tries have left, and goes to the next bend where it is flat. A
    set that is not balanced after some tries moves as far as is known to lower the dual.
    """
    for g in range(len(firsts) - 1):
        first, after = firsts[g], firsts[g + 1]
        move, low, high, before = 0.0, -_NEVER, _NEVER, 0.0
        for _ in range(_MOST_TRIES):
            excess, rate = _look(around, y, w, free, supply, share, group, members[first:after], price, move)
            before = before if before != 0.0 else excess
            if abs(excess) <= _ENOUGH:
                low = high = move
                break
            # What a set has left over rises with its prices: where it is above 0, the root lies lower.
            low, high = (low, move) if excess > 0.0 else (move, high)
            # A step of Newton's method, or to where the slope begins; halved where that leaves the interval.
            if rate > 0.0:
                target = move - excess / rate
            else:
                up = excess < 0.0
                way = _to_bend(around, y, w, free, share, group, members[first:after], price, move, up) + _SLIGHTLY
                target = move + (way if up else -way)
            if not low < target < high:
                target = 0.5 * (low + high)
            if abs(target) >= 0.25 * _NEVER:
                break
            move = target
        # Between 0 and the end of the interval on its side what is left over, the dual's derivative, has one sign: the
        # dual falls all the way.
        move = high if before > 0.0 else low
        if abs(move) < 0.25 * _NEVER:
            for v in members[first:after]:
                price[v] += move


@uncounted
def _look(around, y, w, free, supply, share, group, members, price, move):
    """Compute inflow - outflow + supply of a set moved by so much, and how fast it grows."""
    _, end, first, first_in, start_in, arc_in = around
    excess, rate = 0.0, 0.0
    for v in members:
        excess += supply[v]
        # An arc carries x(f), f = y + (price[end] - price[start]) / 2w: out of the set less, the higher its prices, and
        # into it more. Within the set both ends move.
        here, g = price[v] + move, group[v]
        for a in range(first[v], first[v + 1]):
            if group[end[a]] != g:
                c = 0.5 / w[a]
                flow, slope = _carried(y[a] + c * (price[end[a]] - here), free[a], share)
                excess -= flow
                rate += slope * c
        for i in range(first_in[v], first_in[v + 1]):
            if group[start_in[i]] != g:
                a = arc_in[i]
                c = 0.5 / w[a]
                flow, slope = _carried(y[a] + c * (here - price[start_in[i]]), free[a], share)
                excess += flow
                rate += slope * c
    return excess, rate


@uncounted
def _to_bend(around, y, w, free, share, group, members, price, move, up):
    """Compute how far a set, moved by so much, has to go up or down until some arc begins to carry more or less."""
    _, end, first, first_in, start_in, arc_in = around
    least = _NEVER
    for v in members:
        here, g = price[v] + move, group[v]
        for a in range(first[v], first[v + 1]):
            if group[end[a]] != g:
                c = 0.5 / w[a]
                least = min(least, _flat(y[a] + c * (price[end[a]] - here), free[a], share, not up) / c)
        for i in range(first_in[v], first_in[v + 1]):
            if group[start_in[i]] != g:
                a = arc_in[i]
                c = 0.5 / w[a]
                least = min(least, _flat(y[a] + c * (here - price[start_in[i]]), free[a], share, up) / c)
    return least


@inlined
def _carried(flow, free, share):
    """Compute what an arc carries whose best flow in real numbers is `flow`, and how fast it grows with that."""
    slope = 1.0
    if share < 1.0:
        # x = k + min(1, max(0, 1/2 + (f - k - 1/2) / share)), as in `balance.nearly_whole`.
        whole = np.floor(flow)
        part = 0.5 + (flow - whole - 0.5) / share
        slope = 1.0 / share if 0.0 < part < 1.0 else 0.0
        flow = whole + min(1.0, max(0.0, part))
    if flow <= 0.0 and not free:
        flow, slope = 0.0, 0.0
    return flow, slope


@inlined
def _flat(flow, free, share, up):
    """Compute how much `flow` of `_carried`, where that is flat, has to rise or fall until it is so no longer."""
    # x(f) grows where f - k is between these two; below 0 nowhere, if the arc is not free.
    lowest, highest = 0.5 - 0.5 * share, 0.5 + 0.5 * share
    part = flow - np.floor(flow)
    if up:
        way = lowest - part if part <= lowest else 1.0 + lowest - part
        if flow < 0.0 and not free:
            way = lowest - flow
    else:
        way = part - highest if part >= highest else part + 1.0 - highest
        if flow <= lowest and not free:
            way = _NEVER
    return way
