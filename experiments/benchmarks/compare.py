"""The main job: exact, relaxed and specialised post-processing side by side on the same noisy hierarchy."""

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from pgsr import Comparison, CountOfCounts, Geometric, Measurement, Problem, Seeded, View, compare
from pgsr.algorithms import IsotonicTreeProjection, Matching, TreeProjection
from pgsr.comparison import Arm
from pgsr.datasets import census2000, census_like, flights, kuo_taxi
from pgsr.errors import DataError
from pgsr.models import Cvxpy, Flow, Gurobi, MathOpt


class Data(StrEnum):
    """The hierarchy to compare on."""

    CENSUS = "census"
    TAXI = "taxi"
    CENSUS2000 = "census2000"
    FLIGHTS = "flights"


class Size(StrEnum):
    """The size: one that general solvers can handle, or the whole nation."""

    STATES = "states"
    FULL = "full"


@dataclass(frozen=True)
class CompareExperiment:
    """The values that fix a comparison. The same values give the same noise and the same answers.

    Attributes:
        data: the hierarchy.
        size: of the census-like hierarchy, 61 regions x 31 sizes or 3,195 x 1,001; for `census2000` counties or tracts.
        epsilon: total, split equally over levels.
        seed: of the research noise.
        time_limit: seconds per arm; 30, or 600 at full size, if None.
    """

    data: Data = Data.CENSUS
    size: Size = Size.STATES
    epsilon: Fraction = Fraction(1)
    seed: str = "compare"
    time_limit: float | None = None

    @property
    def limit(self) -> float:
        return self.time_limit or (600.0 if self.size is Size.FULL else 30.0)

    @property
    def name(self) -> str:
        return re.sub(r"[^\w.-]", "_", f"{self.data}-{self.size}-epsilon-{self.epsilon}-seed-{self.seed}")

    def truth(self) -> CountOfCounts:
        return _TRUTHS[self.data, self.size]()

    def measure(self, truth: CountOfCounts, view: View) -> Measurement:
        return Geometric(view, self.epsilon).measure(truth, Seeded(self.seed))

    def arms(self, truth: CountOfCounts) -> list[Arm]:
        """List specialised, exact and relaxed methods; at full size only those that can."""
        cumulative = self.measure(truth, View.CUMULATIVE)
        specialised: list[Arm] = [
            ("IsotonicTreeProjection()  [M_c^dp]", cumulative, IsotonicTreeProjection()),
            ("Matching()  [Hc at every level]", cumulative, Matching()),
        ]
        if self.size is Size.FULL:
            return [TreeProjection(), *specialised, Cvxpy("CLARABEL")]
        return [
            TreeProjection(),
            Flow(),
            Cvxpy("CLARABEL"),
            Cvxpy("PIQP"),
            Cvxpy("OSQP"),
            MathOpt("GSCIP"),
            MathOpt("GLOP"),
            Gurobi(),
            *specialised,
        ]

    def run(self, truth: CountOfCounts) -> Comparison:
        """Compare all arms on the same noise."""
        return compare(Problem.m_h(self.measure(truth, View.COUNTS)), self.arms(truth), self.limit, truth)


def writable(folder: Path) -> Path:
    """Make the folder if need be.

    Raises:
        DataError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror}; choose another folder with --out") from None


def write(table: Comparison, folder: Path, name: str) -> tuple[Path, Path]:
    """Write the table as Parquet and its figure as PNG; returns their paths."""
    parquet, png = folder / f"{name}.parquet", folder / f"{name}.png"
    table.to_frame().to_parquet(parquet, index=False)
    table.plot().savefig(png, dpi=150)
    return parquet, png


_TRUTHS: dict[tuple[Data, Size], Callable[[], CountOfCounts]] = {
    (Data.CENSUS, Size.STATES): lambda: census_like(regions="divisions", max_size=30),
    (Data.CENSUS, Size.FULL): lambda: census_like(regions="counties", max_size=1000),
    (Data.TAXI, Size.STATES): kuo_taxi,
    (Data.TAXI, Size.FULL): kuo_taxi,
    (Data.CENSUS2000, Size.STATES): lambda: census2000(regions="counties"),
    (Data.CENSUS2000, Size.FULL): lambda: census2000(regions="tracts"),
    (Data.FLIGHTS, Size.STATES): flights,
    (Data.FLIGHTS, Size.FULL): flights,
}
