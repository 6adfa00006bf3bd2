"""Says how much of the counted tests runs; `instances.scale` decides it."""

from instances import FULL


def pytest_report_header() -> str:
    return "pgsr: full counts" if FULL else "pgsr: CI share of the counts; set PGSR_FULL=1 for the full ones"
