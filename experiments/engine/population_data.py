"""The data sets of groups and their members, for experiments on synthetic populations."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pgsr.errors import DataError
from pgsr.experiments.engine.experiment import DataSet
from pgsr.synthesis.data.domain import Population


@dataclass(frozen=True, kw_only=True)
class PopulationData(DataSet):
    """A named population. It is one region, so `levels` is (1,); `max_size` is M.

    Attributes:
        persons: number of persons in all.
        small: a tiny population over the same kind of domain, to warm up with.
    """

    persons: int
    small: Callable[[], Population] = field(repr=False)
    levels: tuple[int, ...] = (1,)

    def truth(self) -> Population:
        """Load the population.

        Raises:
            DataError: it is absent, or not what is declared here.
        """
        truth = self.load()
        found = (truth.domain.max_size, truth.n_groups, truth.n_persons)
        declared = (self.max_size, self.groups, self.persons)
        if found != declared:
            raise DataError(
                f"data set {self.name}: M, groups and persons are {found}, declared are {declared}; correct the "
                "declaration or the file"
            )
        return truth

    def toy(self) -> Population:
        return self.small()
