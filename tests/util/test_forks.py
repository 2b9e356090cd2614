"""Forks wait for imports and locks of other threads."""

import subprocess
import sys
import threading
import time

from tapeless.util import forks


def in_thread(function):
    """Start a thread, and return it."""
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_a_fork_waits_until_other_threads_have_imported():
    begun, end, done = threading.Event(), threading.Event(), []

    def import_slowly():
        with forks.importing(), forks.importing():
            begun.set()
            end.wait()
            done.append("import")

    thread = in_thread(import_slowly)
    begun.wait()
    threading.Timer(0.1, end.set).start()
    forks._take_all()
    done.append("fork")
    forks._give_all()
    thread.join()
    assert done == ["import", "fork"]
    assert not forks._importing


def test_an_import_may_need_a_lock_for_which_forks_wait(monkeypatch):
    lock, begun = threading.RLock(), threading.Event()
    monkeypatch.setattr(forks, "_waited_for", [])
    forks.wait_for(lock)

    def import_slowly():
        with forks.importing():
            begun.set()
            time.sleep(0.05)
            with lock:
                pass

    thread = in_thread(import_slowly)
    begun.wait()
    forks._take_all()
    forks._give_all()
    thread.join(5)
    assert not thread.is_alive()


def test_imports_wait_while_a_process_forks():
    forks._take_all()
    done = []

    def import_something():
        with forks.importing():
            done.append("import")

    thread = in_thread(import_something)
    time.sleep(0.05)
    done.append("fork")
    forks._give_all()
    thread.join()
    assert done == ["fork", "import"]


def test_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr(forks, "_PATIENCE", 0.05)
    monkeypatch.setitem(forks._importing, -1, 1)
    forks._take_all()
    forks._give_all()


_FORK_DURING_THE_FIRST_IMPORT = """
import importlib, os, signal, sys, threading, time

def first_import():
    importlib.import_module("tapeless")

thread = threading.Thread(target=first_import)
thread.start()
while "tapeless.util.forks" not in sys.modules or "numpy" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    signal.alarm(30)
    import tapeless
    os._exit(int(tapeless.numpy.arange(3).sum()))
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 3)
"""


def test_a_fork_waits_for_the_package_itself():
    command = [sys.executable, "-W", "ignore", "-c", _FORK_DURING_THE_FIRST_IMPORT]
    assert subprocess.run(command, timeout=100).returncode == 0
