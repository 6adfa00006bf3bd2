"""Check traps of PGSR-LIB from their files alone, in exact fractions. Needs Python and nothing else.

    python verify_trap.py FILE.json ...

A file states a program by the names of its unknowns,

    minimise  sum squares x^2 + sum linear x + constant,   least <= sum of terms <= most in every row,
              lower <= x <= upper,   x whole where integer says so,

a solution, the optimum, and a proof: a tree that splits the values of a whole unknown at a number, below and above,
until every case has prices of rows. Prices lambda bound every point of a case from below,

    objective(x)  >=  constant + sum over rows min(lambda least, lambda most)
                      + sum over unknowns  min of  squares x^2 + (linear - sum of lambda terms) x,

where each minimum is over the values of the case. The least bound of all cases is the optimum if it is the objective
of the solution.
"""

import json
import sys
from fractions import Fraction
from math import floor


class Refused(Exception):
    """What the file claims is not so."""


def require(condition, sentence):
    if not condition:
        raise Refused(sentence)


def number(text):
    """A fraction, or None for no bound."""
    return None if text is None else Fraction(text)


def objective(trap, x):
    """The exact objective of a point."""
    cost = sum(
        Fraction(one["squares"]) * x[name] ** 2 + Fraction(one["linear"]) * x[name] for name, one in unknowns(trap)
    )
    return cost + Fraction(trap["constant"])


def unknowns(trap):
    return trap["unknowns"].items()


def broken(trap, x):
    """Name the first condition that a point breaks, or None."""
    for name, one in unknowns(trap):
        low, high = number(one["lower"]), number(one["upper"])
        if (low is not None and x[name] < low) or (high is not None and x[name] > high):
            return f"the bounds of {name}"
        if one["integer"] and x[name].denominator != 1:
            return f"that {name} is whole"
    for name, row in trap["rows"].items():
        value = sum((Fraction(factor) * x[which] for which, factor in row["terms"].items()), Fraction(0))
        low, high = number(row["least"]), number(row["most"])
        if (low is not None and value < low) or (high is not None and value > high):
            return f"row {name}"
    return None


def bound(trap, proof, box):
    """The bound that a proof gives of the points whose unknowns lie in a box, {name: (lower, upper)}."""
    if "split" in proof:
        name, at = proof["split"], Fraction(proof["at"])
        require(trap["unknowns"][name]["integer"] and at.denominator == 1, f"{name} is not split between whole numbers")
        low, high = box[name]
        return min(
            bound(trap, proof["below"], box | {name: (low, at if high is None else min(at, high))}),
            bound(trap, proof["above"], box | {name: (at + 1 if low is None else max(at + 1, low), high)}),
        )
    total = Fraction(trap["constant"])
    slope = {name: Fraction(one["linear"]) for name, one in unknowns(trap)}
    for name, text in proof["prices"].items():
        price, row = Fraction(text), trap["rows"][name]
        side = row["least"] if price > 0 else row["most"]
        require(side is not None, f"the price of {name} is on a side that it does not have")
        total += price * Fraction(side)
        for which, factor in row["terms"].items():
            slope[which] -= price * Fraction(factor)
    for name, one in unknowns(trap):
        require(Fraction(one["squares"]) >= 0, f"{name} has a negative square")
        total += least(Fraction(one["squares"]), slope[name], box[name], one["integer"])
    return total


def least(square, slope, box, whole):
    """The minimum of square x^2 + slope x over low <= x <= high, in whole numbers if so."""
    low, high = box
    if square == 0:
        end = low if slope > 0 else high
        require(slope == 0 or end is not None, "the prices let an unknown without a bound fall for ever")
        return Fraction(0) if slope == 0 else slope * end
    vertex = -slope / (2 * square)
    options = [Fraction(floor(vertex)), Fraction(floor(vertex) + 1)] if whole else [vertex]
    inside = [x if low is None else max(x, low) for x in options]
    inside = [x if high is None else min(x, high) for x in inside]
    return min(square * x * x + slope * x for x in inside)


def verify(trap):
    """Check a trap, or raise `Refused`; give its optimum."""
    names = set(trap["unknowns"])
    require(set(trap["solution"]) == names, "the solution has other unknowns than the program")
    x = {name: Fraction(value) for name, value in trap["solution"].items()}
    what = broken(trap, x)
    require(what is None, f"the solution breaks {what}")
    value, claimed = objective(trap, x), Fraction(trap["optimum"])
    require(value == claimed, f"the solution has {value}, not {claimed}")
    box = {name: (number(one["lower"]), number(one["upper"])) for name, one in unknowns(trap)}
    proved = bound(trap, trap["proof"], box)
    require(proved == claimed, f"the proof gives {proved}, not {claimed}")
    return claimed


def main(files):
    """Print a line per file; 0 if all is so, 1 if something is not, 2 if no file is named."""
    if not files:
        print("usage: python verify_trap.py FILE.json ...", file=sys.stderr)
        return 2
    wrong = 0
    for file in files:
        try:
            with open(file, encoding="utf-8") as text:
                print(f"optimal   {file}: {verify(json.load(text))}")
        except (Refused, OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as reason:
            wrong = 1
            print(f"WRONG     {file}: {reason}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
