"""`apart`: a long call of a library, during which signal handlers run.

Python runs signal handlers in its main thread, between bytecodes.  A call of a library has none for
as long as it takes, and a library cannot be stopped.  So the main thread lets another one make the
call, and waits; waiting can be interrupted.  If a handler raises, the exception leaves at once; the
call goes on to its end, and what it works on stays alive until then, since the function holds it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["apart"]


def apart(function: Callable[[], Any]) -> Any:
    """Return what `function` returns; see the module's docstring.

    function: releases the interpreter lock, uses no state of the thread, and holds what it uses.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    results: list[Any] = []
    errors: list[BaseException] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        """Call, and say so."""
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - it is raised again by the main thread
            errors.append(error)
        finally:
            done.release()

    threading.Thread(target=run, name="tapeless library call", daemon=True).start()
    done.acquire()
    if errors:
        raise errors[0]
    return results[0]
