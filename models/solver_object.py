"""A program as an object of a solver's own interface, which a solve and a user get from the same hand."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from pgsr.errors import MethodError
from pgsr.models.judge import SolverAnswer
from pgsr.models.program import LabelBlock, SolverProgram


@dataclass(frozen=True)
class ContradictingSubset:
    """Conditions of a model that contradict each other, and do not without any one of them.

    Attributes:
        rows: names.
        bounds: the unknown's place and name, "<=" or ">=", and the bound.
    """

    rows: list[str]
    bounds: list[tuple[int, str, str, float]]


class Built(ABC):
    """A program that was made in a solver's own interface.

    A subclass makes `native` from the arrays of a `SolverProgram` in its constructor, with names where the program has
    labels. `pgsr.models.adapter.SolverModel.run` makes, solves and reads one; a `pgsr.models.native.model.NativeModel`
    hands `native` to a user, who may change it.

    Attributes:
        program: what was made.
        native: the solver's own object.
        unknowns: its unknowns by place: an array of objects, or what the interface has for many.
        rows: its rows in the order of `program.rows`, in the same way.
    """

    program: SolverProgram
    native: Any
    unknowns: Any
    rows: Any

    def compile(self, time_limit: float | None) -> None:
        """Compile the program, in interfaces that have such a step."""
        del time_limit

    @abstractmethod
    def optimize(self, time_limit: float | None) -> Any:
        """Solve `native`; return the answer for `read`, or None where `native` keeps it.

        Raises:
            Stopped: the licence, or a limit before any answer.
        """

    @abstractmethod
    def read(self, solved: Any) -> SolverAnswer:
        """Read the answer of all unknowns and rows.

        Raises:
            NotSolved: nothing was solved yet.
        """

    def close(self) -> None:
        """Give the memory of the interface back, after which nothing can be read any more."""
        self.native = None

    def block(self, block: LabelBlock) -> Any:
        """Give the unknowns of a block, in its shape."""
        return self.unknowns[block.part].reshape(block.shape)

    def row_block(self, block: LabelBlock) -> Any:
        """Give the rows of a block, in its shape."""
        return self.rows[block.part].reshape(block.shape)

    def rows_by_name(self) -> dict[str, Any]:
        """List the rows of every block by its name, for models with labels."""
        labels = self.program.labels
        return {} if labels is None else {block.name: self.row_block(block) for block in labels.row_blocks}

    @abstractmethod
    def fingerprint(self, native: Any = None) -> str:
        """Give a text that tells `native` from a model with another objective, condition, bound or kind of unknown.

        To solve a model does not change it, nor do hints and starts that a modeller gives to the solver.
        """

    def takes_solved(self, solution: Any) -> bool:
        """Say whether a solution is a solved model of this interface that has the unknowns of this one."""
        del solution
        return False

    def restate(self, program: SolverProgram) -> None:
        """Give `native` the right-hand sides and bounds of another program with the same coefficients.

        Raises:
            MethodError: the interface cannot.
        """
        del program
        raise MethodError("its interface states other values anew; make a model of them, .model(problem)")

    def contradicting(self) -> ContradictingSubset | None:
        """Find conditions that contradict each other; None where the interface finds none.

        Raises:
            MethodError: the model has a solution.
        """
        return None


class NotSolved(Exception):
    """A model is read that was not solved yet."""
