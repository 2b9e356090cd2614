"""The collector of garbage while programs are traced."""

import gc
import os
import weakref

import pytest

import tapeless as jax
from tapeless.util.garbage import Sparing
from tests.safety.children import run_program


@pytest.fixture(autouse=True)
def _same_setting():
    """Check that a test leaves the setting as it was."""
    before = gc.get_threshold()
    yield
    left = gc.get_threshold()
    gc.set_threshold(*before)
    assert left == before


def test_the_last_of_several_blocks_puts_the_setting_back():
    before = gc.get_threshold()
    first, second = Sparing(), Sparing()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert gc.get_threshold() != before
    second.__exit__()
    assert gc.get_threshold() == before


def test_a_setting_that_was_changed_in_a_block_stays():
    before = gc.get_threshold()
    with Sparing():
        gc.set_threshold(321, 3, 4)
    assert gc.get_threshold() == (321, 3, 4)
    gc.set_threshold(*before)


def test_collection_that_is_off_stays_off():
    before = gc.get_threshold()
    gc.set_threshold(0)
    with Sparing():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0
    gc.set_threshold(*before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_has_the_setting_of_before_when_another_thread_is_in_a_block():
    run_program(
        """
import gc
from tapeless.util.garbage import Sparing
before = gc.get_threshold()
entered, ended = threading.Event(), threading.Event()
def stay():
    with Sparing():
        entered.set()
        ended.wait()
thread = threading.Thread(target=stay)
thread.start()
entered.wait()
assert gc.get_threshold() != before
child = os.fork()
if not child:
    os._exit(gc.get_threshold() != before)
ended.set()
thread.join()
assert os.waitpid(child, 0)[1] == 0 and gc.get_threshold() == before
"""
    )


def test_an_error_ends_the_block():
    with pytest.raises(ZeroDivisionError), Sparing():
        _ = 1 // 0


def test_garbage_of_a_function_that_is_traced_is_found_all_the_same():
    class Cycle:
        def __init__(self):
            self.itself = self

    alive = []

    def function(x):
        cycles = [weakref.ref(Cycle()) for _ in range(300_000)]
        alive.append(sum(each() is not None for each in cycles))
        return x + 1

    jax.jit(function).trace(1.0)
    assert alive[0] < 150_000
