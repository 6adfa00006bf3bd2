"""The watch over a solver that does not keep its time limit."""

import threading
from collections.abc import Callable
from typing import Any

LATE = 0.5
"""The seconds that a solver may take beyond its limit, to hand over what it has."""


def within(seconds: float | None, call: Callable[[], Any]) -> Any:
    """Call a solver, and return None if it is not back half a second after its limit.

    HiGHS looks at the clock between its phases only, and some solvers know no limit. A solver cannot be stopped from
    outside within a process, so it goes on in a thread of its own, for which Python waits when it ends: solvers abort a
    process that ends while they work. `compare` ends it at once. Solvers that keep Python's lock while they work
    (PySCIPOpt) are not watched, and keep limits themselves.

    Example:
        >>> import time
        >>> within(0.05, lambda: time.sleep(1)) is None, within(5.0, lambda: 7)
        (True, 7)
    """
    if seconds is None:
        return call()
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = call()
        except BaseException as error:  # raised again below, in the caller's thread
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=False)
    thread.start()
    thread.join(seconds + LATE)
    if thread.is_alive():
        return None
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
