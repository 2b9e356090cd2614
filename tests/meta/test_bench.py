"""The benchmark tool: its list of workloads, its arithmetic, and one short run."""

import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

import tapeless
from dev.bench import limits, mechanisms, native, registry, report
from dev.bench.__main__ import main
from dev.bench.rivals import Runs

ROWS = registry.all_workloads()


def row(group: str, name: str, family: str = "") -> registry.Workload:
    """Return a workload that is never run."""
    return registry.Workload(group, name, family or name, "call", lambda jax: None)


def compared(workload: registry.Workload, subject: list, peer: list) -> report.Result:
    """Return the row of the table for some measurements."""
    return report.result_of(workload, Runs(values=subject), Runs(values=peer))


def test_titles_are_unique_and_every_group_has_rows():
    assert len({row.title for row in ROWS}) == len(ROWS)
    assert {row.group for row in ROWS} == set(registry.GROUPS)


@pytest.mark.parametrize("workload", ROWS, ids=[row.title for row in ROWS])
def test_every_workload_says_what_it_is(workload):
    assert workload.build.__doc__


def test_interval_of_the_median_has_ninety_percent_confidence():
    # The median lies outside [r2, r(n-1)] with a chance of 2 * (1 + n) / 2**n: 12.5 % for n = 7,
    # which is too much, and 3.9 % for n = 9.
    assert report.median_interval([3, 1, 2, 5, 4, 7, 6]) == (1, 7)
    assert report.median_interval([9, 8, 3, 1, 2, 5, 4, 7, 6]) == (2, 8)


def test_a_row_whose_interval_contains_one_is_a_draw():
    result = compared(row("loops", "a"), [1.0, 1.0, 1.0], [0.9, 1.2, 1.1])
    assert (result.ratio, result.low, result.high, result.note) == (1.1, 0.9, 1.2, "draw")


def test_different_results_are_told():
    subject, peer = Runs(values=[1.0], sum=1.0), Runs(values=[1.0], sum=1.1)
    assert "results differ" in report.result_of(row("loops", "a"), subject, peer).note


def test_a_failure_is_a_row_without_a_ratio():
    result = report.result_of(row("loops", "a"), Runs(error="no scan"), Runs(values=[1.0]))
    assert math.isnan(result.ratio)
    assert "subject: no scan" in report.format_row(result)


def test_a_family_counts_once_in_the_mean_of_its_group():
    results = [
        compared(row("loops", "a1", "a"), [1.0], [2.0]),
        compared(row("loops", "a2", "a"), [1.0], [8.0]),
        compared(row("loops", "b"), [1.0], [1.0]),
    ]
    (loops,) = report.summary(results)
    assert math.isclose(loops["mean"], 2.0)
    assert (loops["rows"], loops["failed"], loops["least"]) == (3, 0, 1.0)


def test_a_short_run_writes_its_table_and_file(tmp_path, capsys):
    out = tmp_path / "out.json"
    options = "--rounds 2 --seconds 0.01 --peer tapeless --only dispatch/noop$ --json"
    assert main([*options.split(), str(out)]) == 0
    (found,) = json.loads(out.read_text())["rows"]
    assert found["title"] == "dispatch/noop"
    assert found["ratio"] > 0
    assert "dispatch/noop" in capsys.readouterr().out


def test_the_ratio_to_the_form_in_c_has_a_column():
    runs = [Runs(values=[1.5], sum=1.0), Runs(values=[3.0], sum=1.0), Runs(values=[1.0], sum=1.0)]
    result = report.result_of(row("loops", "a"), *runs)
    assert (result.native, report.record(result)["C"]) == (1.5, 1.5)
    assert "  1.50" in report.format_row(result)


def test_a_form_in_c_that_fails_or_differs_is_told():
    runs = [Runs(values=[1.0], sum=1.0), Runs(values=[2.0], sum=1.0)]
    failed = report.result_of(row("loops", "a"), *runs, Runs(error="no symbol"))
    assert (failed.ratio, failed.note) == (2.0, "C: no symbol")
    other = report.result_of(row("loops", "a"), *runs, Runs(values=[1.0], sum=2.0))
    assert other.note == "C gives 2"


NATIVE = [row for row in ROWS if row.native]


@pytest.mark.skipif(native.compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("workload", NATIVE, ids=[row.title for row in NATIVE])
def test_forms_in_c_compute_the_same(workload):
    function, args = workload.build(tapeless)
    expected = tapeless.tree.leaves(function(*args))
    found = native.loop(tapeless, workload.name, function, args)()
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-3, atol=1e-5)


MACHINE = limits.Limits({1 << 12: 1e9, 1 << 22: 2e9}, {4: 1e11, 8: 5e10})


def test_the_nearer_limit_is_reported():
    moves = Runs(values=[4e-3], demand={"bytes": 4e6, "operations": 1e6, "itemsize": 4})
    assert report.share_of_limit(moves, MACHINE) == (pytest.approx(0.5, rel=0.01), "m")
    products = Runs(values=[4e-2], demand={"bytes": 4e3, "operations": 1e9, "itemsize": 8})
    assert report.share_of_limit(products, MACHINE) == (pytest.approx(0.5), "b")
    assert report.share_of_limit(Runs(values=[1.0]), MACHINE) is None


def test_limits_are_measured():
    speed = limits.product_speed(float)
    assert 1e8 < speed < 1e14


def test_every_mechanism_has_workloads_that_show_what_it_buys():
    for name, found in mechanisms.MECHANISMS.items():
        assert any(re.search(found.rows, row.title) for row in ROWS), name


WITHOUT = """
from dev.bench import mechanisms
import tapeless as jax, tapeless.numpy as jnp, numpy as np
for name in mechanisms.MECHANISMS:
    mechanisms.switch_off(name)
x = np.linspace(-1, 1, 40 * 48).reshape(40, 48).astype(np.float32)
f = lambda x: jax.nn.softmax(jnp.sin(x @ x.T) * 2, axis=-1).T + 1
y = 2 * np.sin(x @ x.T)
y = np.exp(y) / np.exp(y).sum(axis=-1, keepdims=True)
np.testing.assert_allclose(jax.jit(f)(x), y.T + 1, rtol=1e-4)
g = jax.grad(lambda x: jax.lax.fori_loop(0, 5, lambda i, x: x.at[i].multiply(2.0), x).sum())
np.testing.assert_array_equal(jax.jit(g)(jnp.ones(8)), [2] * 5 + [1] * 3)
"""


def test_programs_are_right_without_any_mechanism():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
