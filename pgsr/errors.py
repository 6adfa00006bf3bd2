"""The errors a user can meet. Every message names the item and the remedy."""


class PgsrError(Exception):
    """The base of every error this package raises on purpose."""


class ArgumentError(PgsrError, TypeError):
    """An error of an argument of the wrong kind."""


class HierarchyError(PgsrError, ValueError):
    """An error of regions that form no tree."""


class CountError(PgsrError, ValueError):
    """An error of counts that are no non-negative integers, or do not add up over the hierarchy."""


class BudgetError(PgsrError, ValueError):
    """An error of a privacy budget that is malformed, does not add up, or is already spent."""


class NoiseError(PgsrError, ValueError):
    """An error of a malformed source of noise."""


class ProblemError(PgsrError, ValueError):
    """An error of a problem stated on a measurement that does not fit it."""


class TooLargeError(ProblemError):
    """An error of numbers that exceed what exact arithmetic in 64 bits can hold."""


class FileError(ProblemError):
    """An error of a problem's file that cannot be read or written, is damaged, or holds something else."""


class DataError(PgsrError, ValueError):
    """An error of a data set that is absent or is not what it should be."""


class TableError(PgsrError, ValueError):
    """An error of a table of entities, groups or regions that is absent, malformed or contradicts another."""


class MissingPackageError(PgsrError, ImportError):
    """An error of using what needs a package that an extra of pgsr brings, without that package."""


class MemoryNeededError(PgsrError):
    """An error of work that needs more memory than the machine has free."""


class NoEstimateError(PgsrError):
    """An error of asking a result for the estimate that it has not; the message says why there is none."""


class NoDualsError(PgsrError):
    """An error of asking a result for the prices of rows that it has not; the message says what has them."""


class MethodError(PgsrError, ValueError):
    """An error of a method that was constructed with a value it does not know, or that fails inside."""
