"""`jax.interpreters.partial_eval`: programs from functions, and smaller programs."""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.trace import Value, context, under
from tapeless.extend.linear_util import WrappedFun
from tapeless.transforms import dce
from tapeless.transforms.linearize import SplitTrace
from tapeless.transforms.stage import StageTrace, StageTracer, stage_flat
from tapeless.util.names import close_module

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "close_jaxpr",
    "convert_constvars_jaxpr",
    "dce_jaxpr",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]

DynamicJaxprTracer = StageTracer
JaxprTracer = StageTracer


class PartialVal(tuple):
    """A pair: (type, None) of an unknown value, or (None, value) of a known one."""

    __slots__ = ()

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        """Return the pair of an unknown value."""
        return cls((aval, None))

    @classmethod
    def known(cls, value: Value) -> PartialVal:
        """Return the pair of a known value."""
        return cls((None, value))

    def is_known(self) -> bool:
        """Tell whether there is a value."""
        return self[0] is None

    def get_aval(self) -> ShapedArray | None:
        """Return the type of an unknown value."""
        return self[0]


def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ShapedArray]
) -> tuple[Jaxpr, list[ShapedArray], list[Value]]:
    """Return the program of a flat function, the types of its results, and its constants."""
    jaxpr = stage_flat(fun.call_wrapped, in_avals, fun.__name__)
    return jaxpr, list(jaxpr.out_avals), list(jaxpr.consts)


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool = False
) -> tuple[Jaxpr, list[PartialVal], list[Value]]:
    """Evaluate what depends on known values, and stage the rest.

    Returns the program of the unknown results, the results as `PartialVal`s, and its constants.
    instantiate: whether known results are results of the program, too.
    """
    staged = StageTrace(context.trace, fun.__name__)
    inputs = [
        pval[1] if pval[0] is None else staged.new_input(pval[0]) for pval in map(tuple, pvals)
    ]
    try:
        outs = under(SplitTrace(context.trace, staged), fun.call_wrapped, *inputs)
        unknown = [instantiate or staged.owns(out) for out in outs]
        atoms = [staged.atom(out) for out, flag in zip(outs, unknown, strict=True) if flag]
    finally:
        staged.tag.alive = False
    jaxpr = staged.builder.build(atoms)
    types = iter(jaxpr.out_avals)
    out_pvals = [
        PartialVal.unknown(next(types)) if flag else PartialVal.known(out)
        for out, flag in zip(outs, unknown, strict=True)
    ]
    return jaxpr, out_pvals, list(jaxpr.consts)


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of the outputs that are used, and which inputs it still has.

    instantiate: which inputs stay even if nothing needs them.  All constants stay.
    """
    n_outs, n_ins = len(jaxpr.outvars), len(jaxpr.invars)
    used = (used_outputs,) * n_outs if isinstance(used_outputs, bool) else tuple(used_outputs)
    kept = (instantiate,) * n_ins if isinstance(instantiate, bool) else tuple(instantiate)
    smaller, inputs = dce.dce_jaxpr(jaxpr, used, kept)
    return smaller.replace(constvars=jaxpr.constvars, consts=jaxpr.consts), list(inputs)


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return the program with its constants as leading inputs."""
    return jaxpr.lift_consts()


def close_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return the program, which has its constants attached."""
    return jaxpr


close_module("jax.interpreters.partial_eval", globals())
