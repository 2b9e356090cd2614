"""Bodies: tracing on trees, promotion of weak values, and reports of mismatches."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless import numpy as jnp
from tapeless.control.bodies import carry_name, check_carry, promote_weak, trace_body
from tapeless.core.aval import shaped
from tapeless.tree.flatten import tree_structure

SCALAR = shaped((), np.float32)
WEAK = shaped((), np.int32, True)


def test_captured_values_become_leading_inputs():
    array = np.ones(3, np.float32)
    body = trace_body(
        lambda d: {"y": d["x"] * array}, tree_structure(({"x": 0},)), [SCALAR], "scan"
    )
    assert body.consts == [array]
    assert [aval.shape for aval in body.jaxpr.in_avals] == [(3,), ()]
    assert body.out_tree == tree_structure({"y": 0})


def test_results_that_are_no_values_are_refused_by_path():
    with pytest.raises(TypeError, match=r"traced for scan returned a value of type <class 'str'>"):
        trace_body(lambda x: (x, "a"), tree_structure((0,)), [SCALAR], "scan")


def test_only_weak_values_of_another_dtype_are_promoted():
    values, changed = promote_weak([1, np.float32(2)], [WEAK, SCALAR], [SCALAR, SCALAR])
    assert changed
    assert values[0].dtype == np.float32
    assert values[1].dtype == np.float32
    assert promote_weak([1], [WEAK], [WEAK]) == ([1], False)


def test_the_carry_has_the_name_of_the_parameter():
    assert carry_name(lambda state, x: x) == "state"
    assert carry_name(lambda i, value: i, 1) == "value"
    assert carry_name(jnp.add.__call__) != ""


def test_a_report_lists_every_component_that_differs():
    tree = tree_structure({"a": 0, "b": 0})
    wanted, got = [SCALAR, SCALAR], [shaped((2,), np.float32), shaped((), np.complex64)]
    with pytest.raises(TypeError) as caught:
        check_carry("scan", "c", tree, wanted, tree, got)
    lines = str(caught.value).splitlines()
    assert lines[2] == (
        "  * the input carry component c['a'] has type float32[] but the corresponding output "
        "carry component has type float32[2], so the shapes do not match;"
    )
    assert lines[3].endswith("type complex64[], so the dtypes do not match.")
