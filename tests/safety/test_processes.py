"""Processes: fork after use, multiprocessing, and values that travel between processes."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from types import ModuleType

import cloudpickle
import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tests.safety.children import Child, run_program

USED = """
f = jax.jit(lambda x: jnp.sin(x) + 1)
shared = jax.jit(lambda x: jnp.sin(x).sum())
x = jnp.ones(1_000_000)
expected = [float(f(1.0)), float(shared(x)), 2.0]
def work(_=None):
    return [float(f(1.0)), float(shared(x)), float(jax.jit(lambda y: jnp.cos(y) * 2)(0.0))]
"""

FORK = """
def in_child():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # ends a child that hangs
        try:
            os.write(write, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    text = os.read(read, 1000).decode()
    os.close(read)
    _, status = os.waitpid(pid, 0)
    assert status == 0 and text == repr(expected), (status, text, expected)
"""


def test_a_forked_child_runs_compiles_and_uses_its_own_workers() -> None:
    run_program(USED + FORK + "for _ in range(3): in_child()\nassert work() == expected")


def test_fork_while_other_threads_compute_and_compile() -> None:
    run_program(
        USED
        + FORK
        + """
going = True
def loop():
    while going:
        work()
threads = [threading.Thread(target=loop) for _ in range(3)]
for thread in threads: thread.start()
time.sleep(0.2)
for _ in range(5): in_child()
going = False
for thread in threads: thread.join()
"""
    )


def test_a_fork_waits_for_the_compiler() -> None:
    run_program(
        USED
        + FORK
        + """
def steps(x):
    for i in range(400):
        x = jnp.sin(x) + jnp.cumsum(x * i)
    return x
lowered = jax.jit(steps).lower(jnp.ones(10))
thread = threading.Thread(target=lowered.compile)
thread.start()
forks = 0
while thread.is_alive():
    time.sleep(0.05)
    in_child()
    forks += 1
assert forks, "the program was compiled too soon"
"""
    )


def test_a_fork_waits_for_a_function_that_is_compiled_when_it_is_called(
    tmp_path: Path,
) -> None:
    run_program(
        """
from tapeless.compiler import generate
f, g = jax.jit(jnp.sin), jax.jit(lambda x: jnp.sin(x) * 2)
large = jnp.full(100, 1e9)
f(jnp.ones(100)), g(jnp.ones(100))
begun, compiled = threading.Event(), generate._object_of
def slowly(*args):
    begun.set()
    time.sleep(1)
    return compiled(*args)
generate._object_of = slowly
first = threading.Thread(target=lambda: f(large))
first.start()
begun.wait()
# Their stacks are not those of the threads that the child makes.
others = [threading.Thread(target=time.sleep, args=(2,)) for _ in range(6)]
for thread in others: thread.start()
pid = os.fork()
generate._object_of = compiled
if pid == 0:
    signal.alarm(10)  # ends a child that hangs
    assert abs(g(large)[0] - 2 * np.sin(1e9)) < 1e-5
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
""",
        TAPELESS_CACHE_DIR=str(tmp_path),  # another test may have compiled it
    )


def test_a_fork_waits_for_code_that_is_freed() -> None:
    run_program(
        """
from llvmlite.binding import ffi
f = jax.jit(lambda x: x * 3)
f(jnp.ones(3))
begun = threading.Event()
def slowly():
    if threading.current_thread() is first:
        begun.set()
        time.sleep(0.5)
def drop():
    global f
    del f
    jax.clear_caches()
    jax.jit(lambda x: x * 4 + 1)(2.0)  # links, and frees what was dropped before
first = threading.Thread(target=drop)
ffi.register_lock_callback(slowly, lambda: None)
first.start()
begun.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(10)  # ends a child that hangs
    assert float(jax.jit(lambda x: x * 5 + 1)(2.0)) == 11
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )


def test_a_fork_waits_for_parts_that_other_threads_import(tmp_path) -> None:
    (tmp_path / "slow_part.py").write_text(
        "import time\nfrom tapeless.util import lazy\ntime.sleep(0.5)\n"
        "engine = lazy.now('tapeless.compiler.engine')\nVALUE = 7\n"
    )
    run_program(
        f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from tapeless.util import lazy
part = lazy.load("slow_part")
first = threading.Thread(target=lambda: part.VALUE)
first.start()
while "slow_part" not in sys.modules: time.sleep(0.001)
pid = os.fork()
if pid == 0:
    signal.alarm(10)  # ends a child that hangs
    assert lazy.load("slow_part").VALUE == 7
    assert float(jax.jit(lambda x: x * 5 + 1)(2.0)) == 11
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
first.join()
assert float(jax.jit(lambda x: x * 5 + 2)(2.0)) == 12
"""
    )


def test_a_fork_during_an_import_of_its_own_does_not_wait(tmp_path) -> None:
    (tmp_path / "forking_part.py").write_text(
        "import os\npid = os.fork()\nif pid == 0:\n    os._exit(5)\n"
        "STATUS = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
    )
    run_program(
        f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from tapeless.util import lazy
begun = time.monotonic()
assert lazy.load("forking_part").STATUS == 5
assert time.monotonic() - begun < 8
"""
    )


def test_a_fork_while_another_thread_looks_something_up() -> None:
    run_program(
        """
from tapeless.runtime.eager import one_operation
jnp.ones(3) + 1
held = threading.Thread(target=one_operation._lock.acquire)
held.start()
held.join()
pid = os.fork()
if pid == 0:
    signal.alarm(10)  # ends a child that hangs
    assert float(lax.cumsum(jnp.ones(3))[2]) == 3
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_a_forked_child_starts_workers_of_its_own() -> None:
    run_program(
        """
def threads():
    return len(os.listdir("/proc/self/task"))
before = threads()
f = jax.jit(lambda x: jnp.sin(jnp.sin(x)).sum())
x = jnp.ones(2_000_000)
f(x)
while threads() > before + 2:  # those that compiled end
    time.sleep(0.01)
assert threads() == before + 2
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        assert threads() == 1
        f(x)
        os._exit(threads())
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3, status
""",
        TAPELESS_NUM_THREADS="3",
    )


def test_a_forked_child_watches_over_its_own_memory() -> None:
    """The thread that returns memory ends before a fork; both processes have one afterwards."""
    run_program(
        """
from tapeless.runtime import memory
def use():
    return [memory.allocate(5 << 20) for _ in range(20)]
blocks = use()
assert threading.active_count() == 2
pid = os.fork()
if pid == 0:
    alone = threading.active_count() == 1
    more = use()
    os._exit(0 if alone and threading.active_count() == 2 and more else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert threading.active_count() == 2
del blocks
while memory.pooled_bytes() > 32 << 20:
    time.sleep(0.05)
"""
    )


def test_a_forked_child_watches_also_if_others_allocate_during_the_fork() -> None:
    """What watches since the thread was ended for the fork is not taken for alive in the child."""
    program = """
from tapeless.runtime import memory
blocks = []
def use():
    blocks.extend(memory.allocate(5 << 20) for _ in range(20))
pid = os.fork()
if pid == 0:
    alone = threading.active_count() == 1
    use()
    blocks.clear()
    while memory.pooled_bytes() > 32 << 20:
        time.sleep(0.05)
    os._exit(0 if alone else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    # what is registered first goes last before a fork
    first = "import os\nos.register_at_fork(before=lambda: use())\n"
    with Child(program, 30.0, first) as child:
        code, _, errors = child.end()
    assert code == 0, errors


def test_a_signal_reaches_a_loop_in_a_forked_child() -> None:
    run_program(
        """
f = jax.jit(lambda n: lax.while_loop(lambda i: i != n, lambda i: (i + 3) & 1023, jnp.int32(0)))
f(6)
def fork():
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, lambda number, frame: os._exit(7))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        f(-1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    done.append(pid)
done = []
fork()
thread = threading.Thread(target=fork)  # which is the main thread of the child
thread.start()
thread.join()
assert len(done) == 2
""",
        limit=20.0,
    )


def test_a_child_of_a_child_works() -> None:
    run_program(
        USED + FORK + "plain = work\nwork = lambda: (in_grandchild(), plain())[1]\n"
        "def in_grandchild():\n    global work\n    work = plain\n    in_child()\nin_child()"
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method: str, tmp_path: object) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import multiprocessing
import numpy as np
import tapeless as jax
from tapeless import numpy as jnp

f = jax.jit(lambda x: jnp.sin(x) * 2)

def work(x):
    assert isinstance(x, jax.Array)
    return {{"y": f(x)}}

if __name__ == "__main__":
    inputs = [jnp.arange(3.0) + n for n in range(4)]
    expected = [f(x) for x in inputs]
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        found = pool.map(work, inputs)
    assert all((a == b["y"]).all() and type(b["y"]) is type(a) for a, b in zip(expected, found))
    print("well")
"""
    )
    text = f"import runpy\nrunpy.run_path({str(program)!r}, run_name='__main__')"
    if method == "fork":
        assert run_program(text) == "well"
    else:
        assert (
            run_program(f"os.execv(sys.executable, [sys.executable, {str(program)!r}])") == "well"
        )


TREE = {"a": jnp.arange(3.0), "b": [jnp.ones((2, 0), int), (jnp.asarray(True), None)]}


@pytest.mark.parametrize(
    "through",
    [
        *(lambda x, n=n: pickle.loads(pickle.dumps(x, n)) for n in range(6)),
        lambda x: cloudpickle.loads(cloudpickle.dumps(x)),
        copy.deepcopy,
    ],
    ids=[*(f"pickle{n}" for n in range(6)), "cloudpickle", "deepcopy"],
)
def test_arrays_and_trees_travel(through: object) -> None:
    found = through(TREE)
    assert jax.tree.structure(found) == jax.tree.structure(TREE)
    assert through(jax.tree.structure(TREE)) == jax.tree.structure(TREE)
    for ours, theirs in zip(jax.tree.leaves(TREE), jax.tree.leaves(found), strict=True):
        assert isinstance(theirs, jax.Array)
        assert ours is not theirs
        assert jax.typeof(ours) == jax.typeof(theirs)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64", "int4", "float8_e4m3fn"])
def test_every_kind_of_dtype_travels(dtype: str) -> None:
    x = jnp.arange(4).astype(dtype)
    found = pickle.loads(pickle.dumps(x))
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found, np.complex64), np.asarray(x, np.complex64))


def test_weak_types_and_keys_travel() -> None:
    weak = pickle.loads(pickle.dumps(jnp.asarray(2.0)))
    assert jax.typeof(weak).weak_type
    key = jax.random.key(7)
    found = pickle.loads(pickle.dumps(key))
    assert found.dtype == key.dtype
    assert jax.random.normal(found) == jax.random.normal(key)


@pytest.mark.parametrize("library", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_results_of_compiled_functions_travel(library: ModuleType) -> None:
    results = jax.jit(lambda x: {"sin": jnp.sin(x), "parts": (x > 1, jax.random.key(3))})(X)
    found = library.loads(library.dumps(results))
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(results), strict=True):
        assert ours.aval == theirs.aval
        assert (ours == theirs).all()


X = np.arange(3, dtype=np.float32)


def test_jitted_functions_travel_by_cloudpickle_and_can_be_copied() -> None:
    f = jax.jit(lambda x: jnp.sin(x) + 1)
    assert cloudpickle.loads(cloudpickle.dumps(f))(0.0) == 1
    assert cloudpickle.loads(cloudpickle.dumps(jax.grad(lambda x: x * x)))(1.0) == 2
    assert copy.deepcopy(f)(0.0) == 1


def test_a_copy_is_not_changed_by_donation_of_the_original() -> None:
    x = jnp.arange(1000.0)
    y = copy.deepcopy(x)
    jax.jit(lambda x: x * 2, donate_argnums=0)(x)
    np.testing.assert_array_equal(y, np.arange(1000.0, dtype=np.float32))


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy])
def test_tracers_can_be_copied_in_containers(transform: object, take: object) -> None:
    x = jnp.ones(3) if transform is jax.vmap else 1.0
    found = transform(lambda x: take({"a": x * 3})["a"] * 2)(x)
    np.testing.assert_array_equal(found, np.full(np.shape(found), 6))


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_tracers_cannot_be_pickled(transform: object) -> None:
    for dump in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(jax.errors.ConcretizationTypeError, match="was to be pickled"):
            transform(lambda x, dump=dump: dump([x]) and x)(
                jnp.ones(()) if transform is not jax.vmap else jnp.ones(3)
            )
