"""`jax.extend.core.primitives`: the operations themselves, which programs name.  Names only."""

from typing import Any

from tapeless import lax
from tapeless.control.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from tapeless.control.custom_vjp import custom_vjp_call_p as custom_vjp_call_p
from tapeless.control.jit import jit_p as jit_p
from tapeless.control.linear_solve import linear_solve_p as linear_solve_p
from tapeless.control.remat import remat_p as remat_p
from tapeless.core import primitive
from tapeless.extend.rules import Primitive
from tapeless.util.names import listed_names, missing_attribute, public_names

__all__ = [
    "add_jaxvals_p", "call_p", "closed_call_p", "custom_jvp_call_p", "custom_vjp_call_p", "jit_p",
    "linear_solve_p", "remat_p",
]  # fmt: skip

_MODULE = "jax.extend.core.primitives"

add_jaxvals_p = primitive.registry["add_any"]
# Keys for the tables of libraries: no program here has such an equation.
call_p = Primitive("call")
closed_call_p = Primitive("closed_call")
call_p.multiple_results = closed_call_p.multiple_results = True


__dir__ = listed_names(_MODULE, globals())
_missing = missing_attribute(_MODULE)


def __getattr__(name: str) -> Any:
    """Return the operation of a public name; it may have been made after this file was read."""
    if name in (public_names(_MODULE) or ()):
        for each in dir(lax):  # whose modules make the operations
            getattr(lax, each)
        for key in (name.removesuffix("_p"), name.removesuffix("_p").replace("_", "-")):
            if key in primitive.registry:
                return primitive.registry[key]
    _missing(name)
