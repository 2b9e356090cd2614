"""What a program leaves open is closed, once, in the thread that ran it."""

from __future__ import annotations

import threading

from tapeless.util.unfinished import close_all, closed, opened


def test_what_is_open_is_closed_once_and_what_is_closed_is_not():
    calls = []
    opened("a", lambda: calls.append("a"))
    opened("b", lambda: calls.append("b"))
    closed("a")
    closed("never opened")
    close_all()
    close_all()
    assert calls == ["b"]


def test_a_thread_closes_its_own():
    calls = []
    opened("mine", lambda: calls.append("mine"))
    thread = threading.Thread(target=close_all)
    thread.start()
    thread.join()
    assert not calls
    close_all()
    assert calls == ["mine"]
