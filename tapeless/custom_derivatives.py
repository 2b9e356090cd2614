"""`custom_derivatives`: functions with derivatives of their own.  Names only."""

from tapeless.api.custom import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from tapeless.control.custom_jvp import custom_jvp_call_p
from tapeless.control.custom_vjp import custom_vjp_call_p
from tapeless.control.linear_call import linear_call
from tapeless.util.names import close_module

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]

close_module("jax.custom_derivatives", globals())
