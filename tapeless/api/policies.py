"""Checkpoint policies: which results of a checkpointed function are stored for the backward pass.

A policy is a function `(primitive, *avals, **params) -> bool`; True keeps the results of that
operation, False has them computed again.  The names are those of `jax.checkpoint_policies`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tapeless.core.primitive import Primitive
from tapeless.prims.dot import dot_general_p
from tapeless.prims.naming import name_p

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "offload_dot_with_no_batch_dims",
    "save_and_offload_only_these_names",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]

Policy = Callable[..., bool]


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Store everything: no recomputation.

    >>> everything_saveable(dot_general_p)
    True
    """
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Store nothing but the inputs: the default.

    >>> nothing_saveable(dot_general_p)
    False
    """
    return False


def dots_saveable(prim: Primitive, *_: Any, **__: Any) -> bool:
    """Store results of matrix products.

    >>> dots_saveable(dot_general_p)
    True
    """
    return prim is dot_general_p


checkpoint_dots = dots_saveable


def dots_with_no_batch_dims_saveable(prim: Primitive, *args: Any, **params: Any) -> bool:
    """Store results of matrix products without batch dimensions.

    >>> numbers = (((1,), (0,)), ((), ()))
    >>> dots_with_no_batch_dims_saveable(dot_general_p, dimension_numbers=numbers)
    True
    """
    return prim is dot_general_p and not any(params["dimension_numbers"][1])


checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def _named(prim: Primitive, params: dict[str, Any]) -> str | None:
    """Return the name that an operation gives its operand, or None."""
    return params["name"] if prim is name_p else None


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Return the policy that stores values with one of these names.

    >>> save_only_these_names("hidden")(name_p, name="hidden")
    True
    """
    names = frozenset(names_which_can_be_saved)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        """Store named values."""
        return _named(prim, params) in names

    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Return the policy that stores named values with any other name.

    >>> save_any_names_but_these("hidden")(name_p, name="hidden")
    False
    """
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        """Store named values but these."""
        name = _named(prim, params)
        return name is not None and name not in names

    return policy


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Return the policy that stores everything but values with one of these names.

    >>> save_anything_except_these_names("hidden")(dot_general_p)
    True
    """
    names = frozenset(names_not_to_save)

    def policy(prim: Primitive, *_: Any, **params: Any) -> bool:
        """Store all but these."""
        return _named(prim, params) not in names

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Return the policy that stores what either of two stores.

    >>> save_from_both_policies(dots_saveable, nothing_saveable)(dot_general_p)
    True
    """

    def policy(prim: Primitive, *args: Any, **params: Any) -> bool:
        """Store what one of them stores."""
        return policy_1(prim, *args, **params) or policy_2(prim, *args, **params)

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> NoReturn:
    """Refuse: there is one memory.

    >>> offload_dot_with_no_batch_dims("device", "pinned_host")
    Traceback (most recent call last):
        ...
    NotImplementedError: offloading moves residuals to the host's memory, ...
    """
    _no_offloading()


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Any,
    names_which_can_be_offloaded: Any,
    offload_src: str,
    offload_dst: str,
) -> NoReturn:
    """Refuse: there is one memory.

    >>> save_and_offload_only_these_names(
    ...     names_which_can_be_saved=["a"],
    ...     names_which_can_be_offloaded=["b"],
    ...     offload_src="device",
    ...     offload_dst="pinned_host",
    ... )
    Traceback (most recent call last):
        ...
    NotImplementedError: offloading moves residuals to the host's memory, ...
    """
    _no_offloading()


def _no_offloading() -> NoReturn:
    """Raise the error of policies that move values to another memory."""
    raise NotImplementedError(
        "offloading moves residuals to the host's memory, and the CPU has no other; use "
        "save_only_these_names, or nothing_saveable"
    )
