"""Print errors of the posterior in the worlds of X6 and on data, one line per release.

    python docs/tools/posterior_errors.py --draws 5 > errors.csv

Earth mover's distances, means over the regions of a level, root first. Truths of worlds are draws that nothing was
chosen on. Data are those of X2 whose files are at hand.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import product

import numpy as np

from pgsr import CountOfCounts, View
from pgsr.datasets import census_like
from pgsr.datasets.worlds import world
from pgsr.errors import PgsrError
from pgsr.estimators import Posterior
from pgsr.experiments.fioretto2019.data import FLIGHTS
from pgsr.methods import Mechanism, metrics
from pgsr.noise import Geometric, SplitByRoot
from pgsr.privacy import Seeded
from pgsr.release.plan.planning import recommended_split

FIRST_DRAW = 7_000
WORLDS = ("household", "power law", "spikes", "sparse", "abrupt ends")
EPSILONS = ("1/10", "1")


def truths(name: str, draws: int) -> Iterator[CountOfCounts]:
    """Draw truths of a world, or repeat the data."""
    if name in WORLDS:
        yield from (world(name).draw(FIRST_DRAW + draw) for draw in range(draws))
        return
    data = FLIGHTS.load() if name == "flights" else census_like("states", 1_000, 6_000_000)
    yield from [data] * draws


def noises(levels: int, epsilon: str) -> dict[str, Geometric]:
    """List the noise steps: cumulative counts with equal shares and of leaves only, and the recommended release."""
    leaves = (*(0,) * (levels - 1), 1)
    return {
        "equal": Geometric(View.CUMULATIVE, epsilon, totals="regions"),
        "leaves": Geometric(View.CUMULATIVE, epsilon, leaves, totals="regions"),
        "recommended": Geometric(SplitByRoot(), epsilon, recommended_split(levels), totals="regions"),
    }


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--data", nargs="*", default=[*WORLDS, "flights", "census"])
    asked = parser.parse_args()
    print("data,epsilon,noise,draw,root,middle,leaves,seconds,reason")
    for name, epsilon in product(asked.data, EPSILONS):
        try:
            for draw, truth in enumerate(truths(name, asked.draws)):
                for label, noise in noises(truth.hierarchy.n_levels, epsilon).items():
                    started = time.process_time()
                    result = Mechanism(noise, Posterior(intervals=False)).release(truth, Seeded("posterior", draw))
                    seconds = time.process_time() - started
                    errors = metrics.level_means(truth, metrics.emd(truth, result.estimate))
                    errors = [errors[0], errors[len(errors) // 2] if len(errors) > 2 else np.nan, errors[-1]]
                    shown = ",".join(f"{error:.2f}" for error in errors)
                    print(f"{name},{epsilon},{label},{draw},{shown},{seconds:.2f},{result.reason}", flush=True)
        except PgsrError as error:
            print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
