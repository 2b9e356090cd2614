"""Tests of `util/processors.py`."""

import os

import pytest

from tapeless.util.processors import thread_count


def test_the_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "none")
    with pytest.raises(ValueError, match="positive integer"):
        thread_count()
    monkeypatch.delenv("TAPELESS_NUM_THREADS")
    assert 1 <= thread_count() <= (os.cpu_count() or 1)
