"""Caches keyed on identity, and caches of bounded size."""

import gc
import signal
import threading
import weakref

import pytest

from tapeless.util import cache


class Subject:
    """Something that equals all of its kind, to tell equality from identity."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.fixture
def counted():
    """A cached function and the list of its calls."""
    calls = []

    @cache.weak_identity_cache
    def function(subject, *args, **kwargs):
        """Describe."""
        calls.append((args, kwargs))
        return len(calls)

    return function, calls


def test_a_result_that_is_the_argument_does_not_keep_it_alive():
    same = cache.weak_identity_cache(lambda subject: subject)
    subject = Subject()
    assert same(subject) is subject
    assert same(subject) is subject
    assert same.cache_size() == 1
    watch = weakref.ref(subject)
    del subject
    gc.collect()
    assert watch() is None
    assert same.cache_size() == 0


def test_results_are_remembered_by_identity_and_parameters(counted):
    function, calls = counted
    one, other = Subject(), Subject()
    assert function(one, 1) == function(one, 1) == 1
    assert function(other, 1) == 2
    assert function(one, 2, key="a") == function(one, 2, key="a") == 3
    assert len(calls) == function.cache_size() == 3


def test_results_go_with_their_subject(counted):
    function, _ = counted
    subject = Subject()
    function(subject)
    watcher = weakref.ref(subject)
    del subject
    gc.collect()
    assert watcher() is None
    assert function.cache_size() == 0


def test_a_new_subject_in_an_old_place_starts_afresh(counted):
    function, calls = counted
    for _ in range(100):
        function(Subject())
    assert len(calls) == 100


def test_errors_are_not_remembered():
    calls = []

    @cache.weak_identity_cache
    def function(subject):
        calls.append(subject)
        raise ZeroDivisionError

    subject = Subject()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            function(subject)
    assert len(calls) == 2


def test_all_caches_can_be_cleared(counted):
    function, calls = counted
    subject = Subject()
    function(subject)
    cache.clear_caches()
    function(subject)
    assert len(calls) == 2


def test_wrapped_functions_keep_their_names(counted):
    function, _ = counted
    assert (function.__name__, function.__doc__) == ("function", "Describe.")


def test_one_key_has_one_result_in_all_threads():
    gate = threading.Barrier(4)

    @cache.weak_identity_cache
    def function(subject):
        gate.wait(10)
        return object()

    subject, results = Subject(), []
    threads = [threading.Thread(target=lambda: results.append(function(subject))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, results))) == 1


def test_a_bounded_cache_forgets_the_least_recently_used():
    calls = []

    @cache.bounded_cache(2)
    def double(x):
        calls.append(x)
        return 2 * x

    assert [double(x) for x in (1, 2, 1, 3, 1, 2)] == [2, 4, 2, 6, 2, 4]
    assert calls == [1, 2, 3, 2]
    assert double.cache_size() == 2
    assert (double.info.hits, double.info.misses) == (2, 4)


def test_a_bounded_cache_may_call_itself():
    @cache.bounded_cache(100)
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    assert fibonacci(50) == 12586269025


class Ringing:
    """A key that is interrupted by a signal while it is looked up."""

    def __hash__(self):
        signal.raise_signal(signal.SIGALRM)
        return 1


def test_a_signal_handler_may_use_the_cache_that_it_interrupts():
    double = cache.bounded_cache(2)(lambda key: object())
    handled = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(double(len(handled) % 5)))
    try:
        key = Ringing()
        assert double(key) is not None
    finally:
        signal.signal(signal.SIGALRM, before)
    assert handled
    assert double.cache_size() == 2


def test_locks_that_another_thread_held_can_be_renewed():
    one = cache.bounded_cache(2)(lambda key: key)
    taken = threading.Thread(target=one._lock.acquire)
    taken.start()
    taken.join()
    cache.renew_locks()
    assert one(3) == 3
