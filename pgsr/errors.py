"""The errors a user can meet. Every message names the item and the remedy."""


class PgsrError(Exception):
    """The base of every error this package raises on purpose."""


class ArgumentError(PgsrError, TypeError):
    """An argument is of the wrong kind."""


class HierarchyError(PgsrError, ValueError):
    """The regions do not form a tree."""


class CountError(PgsrError, ValueError):
    """The counts are not non-negative integers that add up over the hierarchy."""


class BudgetError(PgsrError, ValueError):
    """A privacy budget is malformed, does not add up, or is already spent."""


class NoiseError(PgsrError, ValueError):
    """A source of noise is malformed."""


class ProblemError(PgsrError, ValueError):
    """A problem is stated on a measurement that does not fit it."""


class TooLargeError(ProblemError):
    """Numbers exceed what exact arithmetic in 64 bits can hold."""


class DataError(PgsrError, ValueError):
    """A data set is absent or is not what it should be."""


class TableError(PgsrError, ValueError):
    """A table of entities, groups or regions is absent, malformed or contradicts another."""


class MemoryNeededError(PgsrError):
    """More memory would be needed than the machine has free."""


class NoEstimateError(PgsrError):
    """A result without an estimate was asked for one; the message says why there is none."""


class MethodError(PgsrError, ValueError):
    """A method was constructed with a value it does not know, or fails inside."""
