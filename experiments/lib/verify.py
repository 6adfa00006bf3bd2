"""Check the instances of PGSR-LIB from their files alone, in exact integers. Needs NumPy and nothing else.

    python verify.py FOLDER ...

problem.npz      minimise 1/2 sum P x^2 + q x + constant,  l <= A x <= u,  lower <= x <= upper,  x[j] integer where
                 integer[j]; all its numbers are integers or infinite
                 problem_cells y, problem_weights w and what else starts with problem_ state where it comes from:
                 sum w (x - y)^2, or sum w |x - y| with x = y + up - down in two more unknowns for every w > 0
certificate.npz  a solution x = solution / solution_unit and a price lambda = prices / prices_unit of every row
optimum.json     what is claimed: the objective of the solution, a bound that no feasible point is below, and what
                 follows from them and the program; a sha256 of problem.npz and problem.mps

Why prices are a proof: for any lambda and every feasible x,

    objective(x)  >=  sum_i min(lambda_i l_i, lambda_i u_i)  +  constant  +  sum_j min over x_j of
                      1/2 P_j x_j^2 + (q_j - (A^T lambda)_j) x_j,

where the first minimum is lambda_i l_i if lambda_i > 0 and else lambda_i u_i, and x_j keeps its bounds and
integrality. Every minimum has a closed form, so the right-hand side is a fraction. Where all unknowns are integers, the
objective is one, too, and the bound may be rounded up.

All arithmetic is on Python's integers, in arrays of dtype object, so nothing overflows or is rounded. Whoever writes a
whole folder, digests included, can state another instance and prove that one; seed, data, epsilon, methods and seconds
in optimum.json are not checked.
"""

import hashlib
import json
import sys
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np

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
    except Exception:
        raise Refused(f"{path.name} is missing, damaged, or no file of an instance") from None


def whole(array, what, infinite=0.0):
    """The array in Python's integers, but for `infinite`, -inf or inf, where there may be no bound."""
    absent = array == infinite if infinite else np.zeros(array.shape, bool)
    finite = np.where(absent, 0, array)
    require((np.abs(finite) < 2.0**63).all() and (finite == np.rint(finite)).all(), f"{what}: not all integers")
    out = finite.astype(np.int64).astype(object)
    out[absent] = infinite
    return out


class ProblemArrays:
    """The arrays of problem.npz, checked to be the distance to problem_cells and to fit together."""

    def __init__(self, path):
        with reading(path), np.load(path, allow_pickle=False) as file:
            self.label, self.integer, doubled = str(file["label"]), file["integer"], whole(file["P"], "P")
            self.half, self.q, self.constant = doubled // 2, whole(file["q"], "q"), int(str(file["constant"]))
            self.a, self.column, start = whole(file["A_data"], "A"), file["A_indices"], file["A_indptr"]
            self.row, self.n, self.m = np.repeat(np.arange(len(start) - 1), np.diff(start)), len(self.q), len(start) - 1
            ends = {"l": -np.inf, "u": np.inf, "lower": -np.inf, "upper": np.inf}
            self.sides = [whole(file[name], name, end) for name, end in ends.items()]
            lengths = [len(part) for part in (*self.sides, self.half, self.integer)]
            fits = lengths == [self.m] * 2 + [self.n] * 4 and file["A_shape"].tolist() == [self.m, self.n]
            fits = fits and start[0] == 0 and len(self.row) == len(self.a) == len(self.column)
            require(fits and ((self.column >= 0) & (self.column < self.n)).all(), "the arrays do not fit together")
            require((2 * self.half == doubled).all() and (self.half >= 0).all(), "P: not even and non-negative")
            y, w = whole(file["problem_cells"], "problem_cells"), whole(file["problem_weights"], "problem_weights")
            w = np.repeat(w, np.diff(file["problem_first_cell"])) if w.ndim == 1 else w.ravel()
            require((self.integer[: y.size] == bool(file["problem_integer"])).all(), "integer is not problem_integer")
            same = y.size == w.size and self.is_distance(y, w, int(file["problem_norm"]))
            require(same, "the objective is not sum w (x - y)^2, or sum w |x - y|, as problem_norm says")

    def is_distance(self, y, w, norm):
        """Whether the objective is sum w (x - y)^2, or sum w (up + down) where the last rows are x - up + down = y."""
        if norm == 2:
            same = np.array_equal(self.half, w) and np.array_equal(self.q, -2 * w * y)
            return same and self.constant == (w * y * y).sum()
        n, links = len(y), np.flatnonzero(w)
        k, low, high = len(links), self.sides[2], self.sides[3]
        same = not self.half.any() and self.constant == 0 and not self.integer[n:].any()
        same = same and np.array_equal(self.q, np.concatenate([0 * w, w[links], w[links]]))
        same = same and (low[n:] == 0).all() and (high[n:] == np.inf).all()
        last = self.row >= self.m - k
        cells = np.column_stack([links, n + np.arange(k), n + k + np.arange(k)])
        same = same and np.array_equal(self.column[last].reshape(k, -1), cells) and (self.column[~last] < n).all()
        same = same and (self.a[last].reshape(k, -1) == (1, -1, 1)).all()
        return same and all((side[self.m - k :] == y[links]).all() for side in self.sides[:2])

    def is_integral(self):
        """Whether some optimum is all integers: continuous unknowns are linear and have one entry, 1 or -1, each."""
        single = np.bincount(self.column, minlength=self.n) == 1
        alone = single & (added(abs(self.a), self.column, self.n) == 1) & (self.half == 0)
        return bool((self.integer | alone).all())


def added(values, places, size):
    """The sums of the values at each place."""
    sums = np.zeros(size, object)
    np.add.at(sums, places, values)
    return sums


def check_solution(program, x, unit):
    """Check every condition at x / unit, and give the objective there."""
    require(x.shape == (program.n,) and unit >= 1, "the solution has another shape than the problem")
    require((x[program.integer] % unit == 0).all(), "an unknown that has to be an integer is none")
    rows = added(program.a * x[program.column], program.row, program.m)
    low, high, lower, upper = (side * unit for side in program.sides)
    for value, least, most, what in ((rows, low, high, "row"), (x, lower, upper, "the bound of unknown")):
        broken = np.flatnonzero((value < least) | (value > most))
        more = f" and {len(broken) - 1:,} more" if len(broken) > 1 else ""
        require(not len(broken), f"the solution breaks {what} {broken[:1].sum()}{more}")
    return Fraction((program.half * x * x).sum(), unit**2) + Fraction((program.q * x).sum(), unit) + program.constant


def check_bound(program, prices, unit):
    """The bound that the prices / unit prove."""
    require(prices.shape == (program.m,) and unit >= 1, "there has to be one price per row")
    low, high, lower, upper = program.sides
    used, side = prices != 0, np.where(prices > 0, low, high)
    require(np.isfinite(side[used].astype(float)).all(), "a price is on a side that its row does not have")
    total = program.constant + Fraction((prices[used] * side[used]).sum(), unit)
    slope = program.q * unit - added(program.a * prices[program.row], program.column, program.n)
    curve = 2 * program.half * unit  # minimise (curve / 2 x^2 + slope x) / unit, by its vertex -slope / curve
    bend = np.where(curve > 0, curve, 1)
    down = -slope // bend
    at = np.where(2 * (-slope - down * bend) > bend, down + 1, down)
    at = np.where(curve > 0, at, np.where(slope > 0, lower, np.where(slope < 0, upper, 0)))
    at = np.minimum(np.maximum(at, lower), upper)
    vertex = (curve > 0) & ~program.integer & (lower * bend <= -slope) & (-slope <= upper * bend)
    x, s, c = at[~vertex], slope[~vertex], curve[~vertex]
    require(np.isfinite(x.astype(float)).all(), "the prices let an unknown without a bound fall for ever")
    total += Fraction((c * x * x + 2 * s * x).sum(), 2 * unit)
    for c in set(curve[vertex].tolist()):
        total -= Fraction((slope[vertex & (curve == c)] ** 2).sum(), 2 * c * unit)
    return Fraction(-(-total.numerator // total.denominator)) if program.is_integral() else total


def proved(program, objective, bound):
    """What optimum.json says of the program and of what is proved of it."""
    kind = ("MI" if program.integer.any() else "") + ("QP" if program.half.any() else "LP")
    sizes = {"unknowns": program.n, "rows": program.m, "entries": len(program.a)}
    exact = {
        "objective": str(objective),
        "bound": str(bound),
        "status": "optimal" if bound == objective else "interval",
    }
    floats = {"objective_float": float(objective), "gap": float((objective - bound) / max(1, bound))}
    return {"problem": program.label, "kind": kind, **sizes, **exact, **floats}


def digest(path):
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(folder):
    """Check one instance, or raise `Refused`; give the line to print."""
    path = Path(folder).resolve()
    require(path.is_dir(), "there is no such folder")
    program = ProblemArrays(path / "problem.npz")
    with reading(path / "certificate.npz"), np.load(path / "certificate.npz", allow_pickle=False) as file:
        solution, prices = (whole(file[name], name) for name in ("solution", "prices"))
        objective = check_solution(program, solution, int(file["solution_unit"]))
        bound = check_bound(program, prices, int(file["prices_unit"]))
    so = proved(program, objective, bound) | {"name": path.name}
    with reading(path / "optimum.json"):
        claim = json.loads((path / "optimum.json").read_text())
        for key, value in so.items():
            require(claim[key] == value, f"{key} is {value}, but optimum.json says {claim[key]}")
        known, here = claim.get("sha256", {}), [name for name in BUILT if (path / name).exists()]
        for name in here:
            same = name not in known or digest(path / name) == known[name]
            require(same, f"{name} is not the file that was built: its sha256 is another one")
    unknown = "problem.mps" in here and "problem.mps" not in known
    note = "; mps not checked: optimum.json has no sha256 of it" if unknown else ""
    return f"{so['status']:8}  {folder}: {so['objective_float']:.17g}, gap {so['gap']:.1e}{note}"


def main(folders):
    """Print a line per folder; 0 if all is so, 1 if something is not, 2 if no folder is named."""
    if not folders:
        print("usage: python verify.py FOLDER ..., with folders of instances that have a problem.npz", file=sys.stderr)
        return 2
    wrong = 0
    for folder in folders:
        try:
            print(verify(folder))
        except Refused as reason:
            wrong = 1
            print(f"WRONG     {folder}: {reason}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
