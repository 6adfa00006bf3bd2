"""Check the instances of PGSR-LIB from their files alone, in exact integers. Needs NumPy and nothing else.

    python verify.py FOLDER ...

problem.npz      minimise 1/2 sum P x^2 + q x + constant,  l <= A x <= u,  lower <= x <= upper,  x[j] integer where
                 integer[j]; all its numbers are integers or infinite
certificate.npz  a solution x = solution / solution_unit and a price lambda = prices / prices_unit of every row
optimum.json     what is claimed: the objective of the solution, and a bound that no feasible point is below

Why prices are a proof: for any lambda and every feasible x,

    objective(x)  >=  sum_i min(lambda_i l_i, lambda_i u_i)  +  constant  +  sum_j min over x_j of
                      1/2 P_j x_j^2 + (q_j - (A^T lambda)_j) x_j,

where the first minimum is lambda_i l_i if lambda_i > 0 and else lambda_i u_i, and x_j keeps its bounds and
integrality. Every minimum has a closed form, so the right-hand side is computed here, as a fraction. Where all unknowns
are integers, the objective is one, too, and the bound may be rounded up.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

LARGEST = 2.0**61


class Refused(Exception):
    """What the files claim is not so."""


def require(condition, sentence):
    if not condition:
        raise Refused(sentence)


def whole(array, what):
    """The array in 64-bit integers; 0 where it is infinite."""
    array = np.where(np.isfinite(array), array, 0) if array.dtype.kind == "f" else array
    require(np.abs(array).max(initial=0) < LARGEST and (array == np.rint(array)).all(), f"{what}: not all integers")
    return array.astype(np.int64)


def dot(a, b):
    """Add up a[i] b[i] exactly: limbs of 21 bits, so that 2^18 products of two of them stay below 2^63."""
    limbs = lambda x: (x & 0x1FFFFF, (x >> 21) & 0x1FFFFF, x >> 42)  # noqa: E731
    starts = np.arange(0, len(a), 2**18)
    parts = ((i + j, p * q) for i, p in enumerate(limbs(a)) for j, q in enumerate(limbs(b)))
    return sum(sum(np.add.reduceat(pq, starts).tolist()) << 21 * place for place, pq in parts) if len(a) else 0


class Program:
    """The arrays of problem.npz as integers, with masks for what is infinite."""

    def __init__(self, path):
        with np.load(path, allow_pickle=False) as file:
            self.half = whole(file["P"], "P") // 2
            require((2 * self.half == file["P"]).all() and (self.half >= 0).all(), "P: not even and non-negative")
            self.q, self.constant, self.integer = whole(file["q"], "q"), int(str(file["constant"])), file["integer"]
            self.a, self.column, start = whole(file["A_data"], "A"), file["A_indices"], file["A_indptr"]
            self.row = np.repeat(np.arange(len(start) - 1), np.diff(start))
            self.sides = [(np.isfinite(file[k]), whole(file[k], k)) for k in ("l", "u", "lower", "upper")]
        self.n, self.m = len(self.q), len(start) - 1

    def times(self, x, to, of, size):
        """The sums of A's entries times x, by row or, transposed, by column; exact if no sum leaves 64 bits."""
        most = np.bincount(to, np.abs(self.a.astype(float) * x[of]), size).max(initial=0)
        require(most < LARGEST, "numbers are too large for this check")
        out = np.zeros(size, np.int64)
        np.add.at(out, to, self.a * x[of])
        return out

    def is_integral(self):
        """Whether some optimum is all integers: continuous unknowns are linear and have one entry, 1 or -1, each."""
        single = np.bincount(self.column, minlength=self.n) == 1
        unit = np.bincount(self.column, np.abs(self.a), self.n) == 1
        return bool((self.integer | (single & unit & (self.half == 0))).all())


def check_solution(program, x, unit):
    """Check every condition at x / unit, and give the objective there."""
    require(x.shape == (program.n,) and unit >= 1, "the solution has another shape than the problem")
    require((x[program.integer] % unit == 0).all(), "an unknown that has to be an integer is none")
    rows = program.times(x, program.row, program.column, program.m)
    for value, sides, what in ((rows, program.sides[:2], "row"), (x, program.sides[2:], "bound")):
        for (finite, side), sign in zip(sides, (1, -1), strict=True):
            require(float(np.abs(side).max(initial=0)) * unit < LARGEST, "numbers are too large for this check")
            broken = np.flatnonzero(finite & (sign * (value - side * unit) < 0))
            require(not len(broken), f"the solution breaks {what} {broken[:1]} and {len(broken) - 1} more")
    squares = sum(int(h) * dot(x[program.half == h], x[program.half == h]) for h in np.unique(program.half) if h)
    return Fraction(squares, unit**2) + Fraction(dot(program.q, x), unit) + program.constant


def check_bound(program, prices, unit):
    """The bound that the prices / unit prove."""
    require(prices.shape == (program.m,) and unit >= 1, "there has to be one price per row")
    total = Fraction(program.constant)
    for (finite, side), used in zip(program.sides[:2], (prices > 0, prices < 0), strict=True):
        require(finite[used].all(), "a price is on a side that its row does not have, so it proves nothing")
        total += Fraction(dot(prices[used], side[used]), unit)
    slope = program.q * unit - program.times(prices, program.column, program.row, program.n)
    (has_low, low), (has_high, high) = program.sides[2:]
    curve = 2 * program.half * unit
    require(max(np.abs(slope).max(initial=0), curve.max(initial=0)) < LARGEST, "numbers are too large for this check")
    some = np.maximum(curve, 1)
    down, up = -slope // some, -(slope // some)  # the minimum without bounds lies between, where there is a curve
    nearest = np.where(2 * (-slope - down * some) > some, up, down)
    flat, pushed = curve == 0, np.where(slope > 0, low, np.where(slope < 0, high, 0))
    at = np.where(flat, pushed, nearest)
    falls = flat & (((slope > 0) & ~has_low) | ((slope < 0) & ~has_high))
    require(not falls.any(), "the prices let an unknown without a bound fall for ever, so they prove nothing")
    outside = (has_low & (down < low)) | (has_high & (up > high))
    at = np.where(has_low, np.maximum(at, low), at)
    at = np.where(has_high, np.minimum(at, high), at)
    free = ~flat & ~program.integer & ~outside  # the minimum of a real unknown is -slope / curve
    for h in np.unique(program.half):
        inner, edge = free & (program.half == h), ~free & (program.half == h)
        total += int(h) * dot(at[edge], at[edge]) + Fraction(dot(slope[edge], at[edge]), unit)
        total -= Fraction(dot(slope[inner], slope[inner]), 4 * int(h) * unit**2) if h else 0
    return Fraction(-(-total.numerator // total.denominator)) if program.is_integral() else total


def verify(folder):
    """Check one instance, and give (bound, objective); raises `Refused`."""
    folder = Path(folder)
    claim, program = json.loads((folder / "optimum.json").read_text()), Program(folder / "problem.npz")
    with np.load(folder / "certificate.npz", allow_pickle=False) as file:
        objective = check_solution(program, file["solution"], int(file["solution_unit"]))
        bound = check_bound(program, file["prices"], int(file["prices_unit"]))
    require(objective == Fraction(claim["objective"]), f"the objective is {objective}, not {claim['objective']}")
    require(bound == Fraction(claim["bound"]), f"the prices prove {bound}, not {claim['bound']}")
    require((bound == objective) == (claim["status"] == "optimal"), f"it is not so that it is {claim['status']}")
    return bound, objective


def main(folders):
    wrong = 0
    for folder in folders:
        try:
            bound, objective = verify(folder)
        except (Refused, OSError, KeyError, ValueError) as error:
            wrong += 1
            print(f"WRONG     {folder}: {type(error).__name__}: {error}")
            continue
        gap = float((objective - bound) / max(1, bound))
        print(f"{'optimal ' if gap == 0 else 'interval'}  {folder}: {float(objective):.17g}, gap {gap:.1e}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
