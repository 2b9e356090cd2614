"""`jax.extend.core.primitives`: the operations themselves, which programs name.  Names only."""

from typing import Any

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


def _by_name() -> dict[str, Any]:
    """Return the operations of the registry whose names JAX has in this module."""
    wanted = public_names(_MODULE) or frozenset()
    found = {f"{n.replace('-', '_')}_p": p for n, p in primitive.registry.items()}
    return {name: prim for name, prim in found.items() if name in wanted}


globals().update(_by_name() | {name: globals()[name] for name in __all__})

__dir__ = listed_names(_MODULE, globals())
__getattr__ = missing_attribute(_MODULE)
