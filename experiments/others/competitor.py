"""The competitor of the benchmark: an arm that makes a release of a trial in its own way."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pgsr import Result
from pgsr.experiments.engine.experiment import Arm, Trial
from pgsr.experiments.engine.release_record import released


@dataclass(frozen=True)
class Competitor(Arm):
    """A competitor: an arm with a function from a trial to its release.

    Attributes:
        release: measures with all of the cell's epsilon and post-processes; by the arm's noise step and post-processing
            if left out. It may use the truth for noise alone, and besides it public facts: regions, K, numbers of
            groups.
        made_by: whose it is, for the page.
        assumes: what must be so for it to do well, for the page; its privacy never hangs on it.
        trust: who sees the true sizes.
    """

    release: Callable[[Trial], Result] = field(default=released, repr=False)
    made_by: str = ""
    assumes: str = "nothing"
    trust: str = "curator"
