"""Kuo, Chiu, Kifer, Hay, Machanavajjhala 2018: PVLDB 11(11), arXiv 1804.00370, with slides and poster."""

from experiments.published.printed import Printed

_K8_DATA = ("Synthetic", "White", "Hawaiian", "Taxi")
_K8_ROWS: tuple[tuple[int, str, tuple[float, ...]], ...] = (
    (0, "BU", (78_459.0, 448_909.0, 13_968.0, 20_731.0)),
    (0, "Hc", (32_480.0, 17_000.0, 1_381.0, 10_547.0)),
    (1, "BU", (1_512.2, 8_722.0, 270.1, 10_405.5)),
    (1, "Hc", (1_000.3, 1_511.8, 117.7, 5_431.5)),
    (2, "BU", (24.9, 152.3, 4.3, 772.8)),
    (2, "Hc", (80.1, 363.8, 21.6, 1_601.8)),
)

K8 = tuple(
    Printed("K8", data, arm, "1", level, "emd", value, "slides of the VLDB talk, bottom-up table")
    for level, arm, values in _K8_ROWS
    for data, value in zip(_K8_DATA, values, strict=True)
)
"""Mean earth mover's distance per region at total epsilon 1; BU spends it at the leaves, Hc a third per level."""
