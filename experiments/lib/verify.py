"""Check the instances of PGSR-LIB from their files alone, in exact integers. Needs NumPy and nothing else.

    python verify.py FOLDER ...

problem.npz      minimise 1/2 sum P x^2 + q x + constant,  l <= A x <= u,  lower <= x <= upper,  x[j] integer where
                 integer[j]; all its numbers are integers or infinite
                 problem_values y, problem_weights w and what else starts with problem_ state where it comes from:
                 sum w (x - y)^2, or sum w |x - y| with x = y + up - down in two more unknowns for every w > 0
certificate.npz  a solution x = solution / solution_unit and a price lambda = prices / prices_unit of every row
optimum.json     what is claimed: the objective of the solution, a bound that no feasible point is below, and what
                 follows from them and the program; a sha256 of problem.npz and problem.mps

Why prices are a proof: for any lambda and every feasible x,

    objective(x)  >=  sum_i min(lambda_i l_i, lambda_i u_i)  +  constant  +  sum_j min over x_j of
                      1/2 P_j x_j^2 + (q_j - (A^T lambda)_j) x_j,

where the first minimum is lambda_i l_i if lambda_i > 0 and else lambda_i u_i, and x_j keeps its bounds and
integrality. Every minimum has a closed form, so the right-hand side is computed here, as a fraction. Where all unknowns
are integers, the objective is one, too, and the bound may be rounded up.

Whoever writes a whole folder, digests included, can state another instance and prove that one; seed, data, epsilon,
methods and seconds in optimum.json are not checked.
"""

import hashlib
import json
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np

LARGEST = 2.0**61
BUILT = ("problem.npz", "problem.mps")


class Refused(Exception):
    """What the files claim is not so."""


def require(condition, sentence):
    if not condition:
        raise Refused(sentence)


@contextmanager
def reading(path):
    """Refuse a missing or damaged file in a sentence; whatever it holds, other folders are still checked."""
    try:
        yield
    except (Refused, MemoryError):
        raise
    except FileNotFoundError:
        raise Refused(f"{path.name} is missing") from None
    except KeyError as key:
        raise Refused(f"{path.name} has no entry {key}") from None
    except Exception:
        raise Refused(f"{path.name} is damaged or no file of an instance") from None


def whole(array, what, infinite=0.0):
    """The array in 64-bit integers; 0 where it is `infinite`, which is -inf or inf where there may be no bound."""
    absent = ~np.isfinite(array)
    require((array[absent] == infinite).all(), f"{what}: not all integers")
    array = np.where(absent, 0, array)
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
        with reading(path), np.load(path, allow_pickle=False) as file:
            self.label, self.half = str(file["label"]), whole(file["P"], "P") // 2
            require((2 * self.half == file["P"]).all() and (self.half >= 0).all(), "P: not even and non-negative")
            self.q, self.constant, self.integer = whole(file["q"], "q"), int(str(file["constant"])), file["integer"]
            self.a, self.column, start = whole(file["A_data"], "A"), file["A_indices"], file["A_indptr"]
            self.row = np.repeat(np.arange(len(start) - 1), np.diff(start))
            ends = {"l": -np.inf, "u": np.inf, "lower": -np.inf, "upper": np.inf}
            self.sides = [(np.isfinite(file[k]), whole(file[k], k, end)) for k, end in ends.items()]
            self.n, self.m = len(self.q), len(start) - 1
            sizes = [len(side) for _, side in self.sides]
            require(sizes == [self.m] * 2 + [self.n] * 2, "bounds: not one per row and unknown")
            require(self.half.shape == self.integer.shape == (self.n,), "P, q and integer differ in their lengths")
            require(file["A_shape"].tolist() == [self.m, self.n], "A_shape is not the number of rows and unknowns")
            inside = len(self.row) == len(self.a) == len(self.column) and start[0] == 0
            require(inside and ((self.column >= 0) & (self.column < self.n)).all(), "A: an entry is outside")
            self.check_distance(file)

    def check_distance(self, file):
        """Check that the objective is the distance to problem_values, weighed by problem_weights."""
        y, w = whole(file["problem_values"], "problem_values"), whole(file["problem_weights"], "problem_weights")
        per_region = file["problem_values_lengths"] if "problem_values_lengths" in file else y.shape[1]
        y, w = y.ravel(), np.repeat(w, per_region)
        require(y.shape == w.shape, "there has to be one of problem_weights per region of problem_values")
        cells, links, least = self.integer[: len(y)], np.flatnonzero(w), self.m - np.count_nonzero(w)
        require((cells == bool(file["problem_integer"])).all(), "integer is not problem_integer")
        if file["problem_norm"] == 2:
            require((np.abs(2.0 * w * y) < LARGEST).all(), "numbers are too large for this check")
            same = np.array_equal(self.half, w) and np.array_equal(self.q, -2 * w * y)
            require(same and 2 * self.constant == -dot(self.q, y), "the objective is not sum w (x - y)^2")
            return
        n, k, last = len(y), len(links), self.row >= least
        same = not self.half.any() and self.constant == 0 and not self.integer[n:].any()
        same = same and np.array_equal(self.q, np.concatenate([0 * w, w[links], w[links]]))
        entries = np.column_stack([links, n + np.arange(k), n + k + np.arange(k)])
        same = same and np.array_equal(self.column[last].reshape(k, -1), entries)
        same = same and (self.a[last].reshape(k, -1) == (1, -1, 1)).all() and (self.column[~last] < n).all()
        same = same and all(has[least:].all() and (side[least:] == y[links]).all() for has, side in self.sides[:2])
        (has_low, low), (has_high, _) = self.sides[2:]
        same = same and has_low[n:].all() and not low[n:].any() and not has_high[n:].any()
        require(same, "the objective is not sum w |x - y|")

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
    for value, sides, what in ((rows, program.sides[:2], "row"), (x, program.sides[2:], "the bound of unknown")):
        for (finite, side), sign in zip(sides, (1, -1), strict=True):
            require(float(np.abs(side).max(initial=0)) * unit < LARGEST, "numbers are too large for this check")
            broken = np.flatnonzero(finite & (sign * (value - side * unit) < 0))
            more = f" and {len(broken) - 1:,} more" if len(broken) > 1 else ""
            require(not len(broken), f"the solution breaks {what} {broken[:1].sum()}{more}")
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


def proved(program, objective, bound):
    """What optimum.json says of the program and of what is proved of it."""
    return {
        "problem": program.label,
        "kind": ("MI" if program.integer.any() else "") + ("QP" if program.half.any() else "LP"),
        "unknowns": program.n,
        "rows": program.m,
        "entries": len(program.a),
        "status": "optimal" if bound == objective else "interval",
        "objective": str(objective),
        "bound": str(bound),
        "objective_float": float(objective),
        "gap": float((objective - bound) / max(1, bound)),
    }


def digest(path):
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(folder):
    """Check one instance: give what is proved of it, and whether problem.mps has no digest; raises `Refused`."""
    folder = Path(folder).resolve()
    require(folder.is_dir(), "there is no such folder")
    program, certificate, optimum = (folder / name for name in ("problem.npz", "certificate.npz", "optimum.json"))
    program = Program(program)
    with reading(certificate), np.load(certificate, allow_pickle=False) as file:
        solution, prices = (whole(file[name], name) for name in ("solution", "prices"))
        objective = check_solution(program, solution, int(file["solution_unit"]))
        bound = check_bound(program, prices, int(file["prices_unit"]))
    with reading(optimum):
        claim, so = json.loads(optimum.read_text()), proved(program, objective, bound) | {"name": folder.name}
        for key, value in so.items():
            require(claim[key] == value, f"{key} is {value}, but optimum.json says {claim[key]}")
        known, here = claim.get("sha256", {}), [name for name in BUILT if (folder / name).exists()]
        for name in here:
            same = name not in known or digest(folder / name) == known[name]
            require(same, f"{name} is not the file that was built: its sha256 is another one")
    return so, "problem.mps" in here and "problem.mps" not in known


def main(folders):
    """Print a line per folder; 0 if all is so, 1 if something is not, 2 if no folder is named."""
    if not folders:
        print("usage: python verify.py FOLDER ..., with folders of instances that have a problem.npz", file=sys.stderr)
        return 2
    wrong = 0
    for folder in folders:
        try:
            so, unknown = verify(folder)
        except Refused as reason:
            wrong += 1
            print(f"WRONG     {folder}: {reason}")
            continue
        note = "; mps not checked: optimum.json has no sha256 of it" if unknown else ""
        print(f"{so['status']:8}  {folder}: {so['objective_float']:.17g}, gap {so['gap']:.1e}{note}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
