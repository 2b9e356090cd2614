"""The `custom_vjp_call` primitive: a function with a backward rule of the user's.

Forward mode calls the user's forward function, which returns results and residuals, and binds the
tangents of the results as the outputs of `custom_lin`: a linear operation whose transpose is the
user's backward function.  Under linearisation `custom_lin` is staged and transposed; if it is ever
evaluated, somebody asked for forward mode, and is told that there is no rule for it.

As with `custom_jvp_call`, parameters are flat Python functions until staging:
`fwd(*args) -> (outs, residuals)` and `bwd(residuals, cotangents) -> cotangents of args`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from tapeless.control.custom_rules import (
    CustomCall,
    Program,
    Rows,
    call_program,
    known_arrays,
)
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.ref import is_ref
from tapeless.core.trace import Axis, Tag, Value
from tapeless.dtypes import float0
from tapeless.prims.common import apply, batch_dim_to, instantiate, is_float0, zeros

__all__ = ["CustomLin", "CustomVJP", "custom_lin_p", "custom_vjp_call_p"]


class CustomVJP(CustomCall):
    """Call `call_jaxpr`; in reverse mode call `fwd`, and later `bwd`.

    num_consts: how many leading arguments are captured values, which the rules do not see.
    symbolic_zeros: whether `bwd` is told which cotangents are zero.
    """

    name = "custom_vjp_call"

    def jvp(
        self, primals: Values, tangents: Sequence, *, fwd: Callable, bwd: Callable, **params: Any
    ) -> tuple:
        """Call `fwd`; the tangents are those of a linear operation with the transpose `bwd`."""
        n_consts = params["num_consts"]
        primals, tangents = primals[n_consts:], tangents[n_consts:]
        perturbed = tuple(type(tangent) is not Zero for tangent in tangents)
        outs, residuals = fwd(known_arrays(primals), perturbed)
        types = tuple(typeof(out).tangent() for out in outs)
        moved = custom_lin_p.bind(
            *residuals,
            *map(instantiate, map(_of_array, tangents, primals)),
            bwd=bwd,
            in_zeros=[not flag for flag in perturbed],
            num_res=len(residuals),
            out_avals=types,
            symbolic_zeros=params["symbolic_zeros"],
            name=params["name"],
        )
        pairs = zip(moved, types, strict=True)
        return outs, tuple(Zero(aval) if is_float0(aval) else t for t, aval in pairs)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        *,
        call_jaxpr: Program,
        tag: Tag | None = None,
        **params: Any,
    ) -> tuple:
        """Map the function and both rules, which may have captured values of the batch `tag`."""
        fwd, bwd, n_consts = params["fwd"], params["bwd"], params["num_consts"]
        over = Rows(axis, tag, params["name"])

        def mapped(*inputs: Value) -> list[Value]:
            """Map the function."""
            return over.results(
                *over.run(lambda *rows: call_program(call_jaxpr, rows), inputs, dims)
            )

        def mapped_fwd(inputs: Sequence[Value], perturbed: tuple[bool, ...]) -> tuple:
            """Map the forward rule; residuals that all rows share stay what they are."""
            n_outs = 0

            def rule(*rows: Value) -> list[Value]:
                """Call it on one row."""
                nonlocal n_outs
                outs, residuals = fwd(rows, perturbed)
                n_outs = len(outs)
                return [*outs, *residuals]

            found, found_dims = over.run(rule, inputs, dims[n_consts:])
            over.residual_dims = found_dims[n_outs:]
            return over.results(found[:n_outs], found_dims[:n_outs]), found[n_outs:]

        mapped_bwd = batched_backward(bwd, over, dims[n_consts:])
        mapped_fwd.__name__ = fwd.__name__
        new = {**params, "call_jaxpr": mapped, "fwd": mapped_fwd, "bwd": mapped_bwd}
        outs = self.bind(*args, **new)
        return outs, over.dims


class CustomLin(Primitive):
    """The derivative of a `custom_vjp` function: known only by its transpose.

    Arguments: `num_res` residuals, then the tangents.
    """

    name = "custom_lin"
    hidden = {"name": ..., "out_avals": ...}
    evaluated_in_python = True
    takes_references = True

    def abstract(
        self, *avals: ShapedArray, out_avals: tuple, **params: Any
    ) -> tuple[ShapedArray, ...]:
        """Return the types of the results' tangents."""
        return out_avals

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters, the rule by its name."""
        return {**super().printed(params), "bwd": params["bwd"].__name__}

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> NoReturn:
        """Refuse, as evaluation does."""
        self.decompose(*primals, **params)

    def transpose(
        self, cotangents: Sequence, args: Sequence, *, bwd: Callable, num_res: int, **params: Any
    ) -> tuple:
        """Call the user's backward rule."""
        cts = cotangents if params["symbolic_zeros"] else [instantiate(ct) for ct in cotangents]
        return (*(None,) * num_res, *bwd(args[:num_res], cts))

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        *,
        bwd: Callable,
        num_res: int,
        **params: Any,
    ) -> tuple:
        """Map the backward rule; residuals and results are batched in front."""
        outs_avals = tuple(a.update(shape=(axis.size, *a.shape)) for a in params["out_avals"])
        over = Rows(axis, None, params["name"])
        over.batched, over.residual_dims = [True] * len(outs_avals), dims[:num_res]
        mapped = batched_backward(bwd, over, dims[num_res:])
        outs = self.bind(*args, bwd=mapped, num_res=num_res, **{**params, "out_avals": outs_avals})
        return outs, (0,) * len(outs)

    def decompose(self, *args: Value, **params: Any) -> NoReturn:
        """Refuse: nobody knows this derivative forwards."""
        raise TypeError(
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function. "
            f"The function is {params['name']}; use reverse mode, or give it a rule by "
            f"jax.custom_jvp."
        )


def _of_array(tangent: Value | Zero, primal: Value) -> Value | Zero:
    """Return a tangent; none for a reference, into which the backward rule may write."""
    return Zero(ShapedArray((), float0)) if is_ref(primal) else tangent


def batched_backward(bwd: Callable, over: Rows, dims: Sequence[int | None]) -> Callable:
    """Return the backward rule of a mapped function.

    over: which results and which residuals of the function are batched.
    dims: the mapped axes of the arguments; an argument without one is shared by all rows, and its
    cotangent is the sum over the rows.
    """

    def mapped(residuals: Sequence[Value], cotangents: Sequence) -> list:
        """Map the rule over the residuals, and over cotangents that have the batch in front."""
        n_residuals = len(residuals)
        given = [ct for ct in cotangents if type(ct) is not Zero]
        flags = zip(cotangents, over.batched, strict=True)
        given_dims = [0 if flag else None for ct, flag in flags if type(ct) is not Zero]
        in_dims = [*over.residual_dims, *given_dims]
        if any(dim is not None for dim in in_dims):
            given = list(map(partial(_rows_of, over.axis.size), given, given_dims))
            in_dims[n_residuals:] = (0,) * len(given)

        def rule(*rows: Value) -> list[Value]:
            """Call it on one row."""
            rest = iter(rows[n_residuals:])
            cts = [
                (Zero(_row_aval(ct.aval)) if flag else ct) if type(ct) is Zero else next(rest)
                for ct, flag in zip(cotangents, over.batched, strict=True)
            ]
            return [instantiate(ct) for ct in bwd(rows[:n_residuals], cts)]

        found = zip(*over.run(rule, [*residuals, *given], in_dims), dims, strict=True)
        return [_place(*result, over.axis.size) for result in found]

    mapped.__name__ = bwd.__name__
    return mapped


def _rows_of(size: int, ct: Value, dim: int | None) -> Value:
    """Return the cotangents of the rows of a result; one that they share is the first row's.

    So the sum over the rows counts it once.
    """
    if dim is not None:
        return ct
    aval = typeof(ct)
    config = ((0, size - 1, 0), *((0, 0, 0),) * aval.ndim)
    nothing = zeros(aval.update(shape=()))
    return apply("pad", batch_dim_to(ct, None, 0, 1), nothing, padding_config=config)


def _place(ct: Value, found: int | None, dim: int | None, size: int) -> Value | Zero:
    """Put the batch of a cotangent where its argument has it; sum it if it has none.

    found: where the cotangent has it; None: all rows have the same.
    """
    aval = typeof(ct)
    if is_float0(aval):
        shape = list(aval.shape)
        if found is not None:
            del shape[found]
        if dim is not None:
            shape.insert(dim, size)
        return Zero(aval.update(shape=tuple(shape)))
    if dim is not None:
        return batch_dim_to(ct, found, dim, size)
    return ct if found is None else apply("reduce_sum", ct, axes=(found,), out_sharding=None)


def _row_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type of one row of a batch."""
    return aval.update(shape=aval.shape[1:])


custom_vjp_call_p = CustomVJP()
custom_lin_p = CustomLin()
