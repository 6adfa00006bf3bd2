"""Errors that the adversary finds and nobody has mended yet, by method and change, each with its sentence."""

WRONG: dict[tuple[str, str], str] = {}

WORDS: dict[str, str] = {}

OF_RECONCILE: dict[str, str] = {}

OF_RECONCILE_BY_SOLVERS: dict[str, str] = {}
