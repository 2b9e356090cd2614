"""Checkpoint policies: which operations each one stores."""

from __future__ import annotations

import pytest

from tapeless import checkpoint_policies as policies
from tapeless.prims.dot import dot_general_p
from tapeless.prims.naming import name_p
from tapeless.prims.trig import sin_p

PLAIN = {"dimension_numbers": (((1,), (0,)), ((), ()))}
BATCHED = {"dimension_numbers": (((2,), (1,)), ((0,), (0,)))}
EQUATIONS = {
    "sin": (sin_p, {}),
    "dot": (dot_general_p, PLAIN),
    "batched": (dot_general_p, BATCHED),
    "a": (name_p, {"name": "a"}),
    "b": (name_p, {"name": "b"}),
}


@pytest.mark.parametrize(
    ("policy", "stored"),
    [
        (policies.everything_saveable, "sin dot batched a b"),
        (policies.nothing_saveable, ""),
        (policies.dots_saveable, "dot batched"),
        (policies.dots_with_no_batch_dims_saveable, "dot"),
        (policies.save_only_these_names("a"), "a"),
        (policies.save_any_names_but_these("a"), "b"),
        (policies.save_anything_except_these_names("a"), "sin dot batched b"),
        (
            policies.save_from_both_policies(
                policies.dots_saveable, policies.save_only_these_names("b")
            ),
            "dot batched b",
        ),
    ],
)
def test_what_is_stored(policy, stored):
    found = [name for name, (prim, params) in EQUATIONS.items() if policy(prim, **params)]
    assert found == stored.split()


def test_older_names_are_the_same():
    assert policies.checkpoint_dots is policies.dots_saveable
    batch = policies.checkpoint_dots_with_no_batch_dims
    assert batch is policies.dots_with_no_batch_dims_saveable


def test_offloading_is_refused():
    with pytest.raises(NotImplementedError, match="the CPU has no other"):
        policies.offload_dot_with_no_batch_dims("device", "pinned_host")
