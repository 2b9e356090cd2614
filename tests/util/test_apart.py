"""Calls that another thread makes, and what they ask of the thread that waits."""

from __future__ import annotations

import _thread
import signal
import threading
import time
import weakref

import pytest

from tapeless.util.apart import apart, in_waiting_thread, not_apart


class Alarm(Exception):
    """What the handler raises."""


@pytest.fixture
def alarm():
    """Let SIGALRM raise."""

    def ring(number, frame):
        raise Alarm

    old = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def test_the_call_is_made_by_another_thread_and_its_questions_are_answered_here():
    def run():
        return threading.current_thread(), in_waiting_thread(threading.current_thread)

    there, here = apart(run)
    assert there is not threading.main_thread()
    assert here is threading.main_thread()


def test_without_a_thread_that_waits_questions_are_answered_at_once():
    assert in_waiting_thread(lambda: 3) == 3
    found = []
    thread = threading.Thread(target=lambda: found.append(apart(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


def test_whoever_holds_a_lock_makes_the_call_itself():
    with not_apart():
        assert apart(threading.get_ident) == threading.get_ident()
    assert apart(threading.get_ident) != threading.get_ident()


def test_without_threads_the_call_is_made_here(monkeypatch):
    def refuse(function, arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    assert apart(threading.get_ident) == threading.get_ident()


def test_a_thread_that_ends_later_does_not_hold_the_result(monkeypatch):
    start, may_end = _thread.start_new_thread, threading.Event()

    def start_slow(function, arguments):
        def run():
            function()
            may_end.wait(60)

        return start(run, arguments)

    class Result:
        """What can be referred to."""

    monkeypatch.setattr("_thread.start_new_thread", start_slow)
    result = weakref.ref(apart(Result))
    assert result() is None
    may_end.set()


def test_exceptions_go_both_ways():
    def ask():
        with pytest.raises(ZeroDivisionError):
            in_waiting_thread(lambda: 1 // 0)
        raise LookupError

    with pytest.raises(LookupError):
        apart(ask)


def test_calls_may_be_nested():
    def inner():
        return in_waiting_thread(lambda: 1) + 1

    def outer():
        return in_waiting_thread(lambda: apart(inner)) + 1

    assert apart(outer) == 3


def test_a_call_that_is_left_is_told_so(alarm):
    said, ended = [], threading.Event()

    def run():
        try:
            time.sleep(0.3)
            in_waiting_thread(lambda: said.append("asked"))
        finally:
            ended.set()

    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Alarm):
        apart(run, lambda thread, is_left: said.append(is_left))
    assert said == [True]
    assert ended.wait(5)
    end = time.monotonic() + 5
    while len(said) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert said == [True, False]


def test_a_handler_that_raises_while_a_question_is_answered_ends_the_call(alarm):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Alarm):
        apart(lambda: in_waiting_thread(lambda: time.sleep(5)))
