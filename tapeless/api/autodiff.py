"""Differentiation as users call it: `grad`, `jvp`, `vjp`, `linearize`, Jacobians and Hessians.

These functions flatten trees, check what the user gave and got, and hand flat functions to the
transformations.  Every error names what was wanted and what was got.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.control.reference_rules import program_to_run
from tapeless.core.aval import ShapedArray, is_value, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.linear import Linear, Zero
from tapeless.core.ref import is_ref
from tapeless.core.source import JVP, TRANSPOSE, name_scope
from tapeless.core.trace import Value, current_trace
from tapeless.prims.common import instantiate, is_float0
from tapeless.runtime.array import array_of
from tapeless.transforms.jvp import jvp_flat
from tapeless.transforms.linearize import linearize_flat
from tapeless.transforms.stage import stage_flat
from tapeless.transforms.transpose import backward
from tapeless.tree.arguments import argument_numbers, check_callable, is_one_number, wraps
from tapeless.tree.flatten import tree_flatten, tree_structure, tree_unflatten
from tapeless.tree.keys import keystr
from tapeless.tree.partial import Partial
from tapeless.tree.prefix import equality_errors_pytreedef
from tapeless.tree.registry import register_pytree_node_class
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.cache import bounded_cache
from tapeless.util.chains import source_name
from tapeless.util.frames import api_boundary
from tapeless.util.seqs import few, select

__all__ = [
    "FlatFunction",
    "VJP",
    "check_grad_input",
    "check_grad_output",
    "check_value",
    "chosen_positions",
    "grad",
    "jvp",
    "linear_transpose",
    "linearize",
    "linearized",
    "materialized",
    "value_and_grad",
    "vjp",
]


def check_value(leaf: Any) -> None:
    """Raise TypeError unless a leaf is a value."""
    if not is_value(leaf):
        raise TypeError(f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type")


def _has_type(leaf: Any) -> bool:
    """Tell whether a leaf is a value of a dtype that programs know."""
    try:
        typeof(leaf)
    except TypeError:
        return False
    return True


class FlatFunction:
    """A function of flat arguments, which remembers the trees of its result and of its auxiliary.

    Leaves of the auxiliary output that are not values, such as strings, are kept aside.
    """

    def __init__(
        self, function: Callable, tree: PyTreeDef, has_aux: bool, named: Callable | None = None
    ) -> None:
        """tree: of the tuple of positional arguments; named: what messages name, if another."""
        self.function = function
        self.__wrapped__ = named or function  # what messages name
        self.tree = tree
        self.has_aux = has_aux
        # Known when the function has been called.
        self.out_tree: PyTreeDef
        self.aux_tree: PyTreeDef
        self.aside: dict[int, Any] = {}
        self.n_outs = 0

    def __call__(self, *leaves: Value) -> list[Value]:
        """Return the leaves of the result, then those of the auxiliary output that are values."""
        result = self.function(*tree_unflatten(self.tree, leaves))
        aux_leaves: list[Value] = []
        if self.has_aux:
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    f"expected function with aux output to return a two-element tuple, but got "
                    f"type {type(result)} with value {result!r}"
                )
            result, aux = result
            given, self.aux_tree = tree_flatten(aux)
            self.aside = {k: leaf for k, leaf in enumerate(given) if not _has_type(leaf)}
            aux_leaves = [leaf for k, leaf in enumerate(given) if k not in self.aside]
        outs, self.out_tree = tree_flatten(result)
        for out in outs:
            check_value(out)
        self.n_outs = len(outs)
        return [*outs, *aux_leaves]

    def auxiliary(self, values: Sequence[Value]) -> Any:
        """Return the auxiliary output of the last call, with these values."""
        rest = iter(values)
        places = range(self.aux_tree.num_leaves)
        leaves = [self.aside[k] if k in self.aside else next(rest) for k in places]
        return tree_unflatten(self.aux_tree, leaves)


@api_boundary
def jvp(fun: Callable, primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return `(fun(*primals), its derivative in the direction of tangents)`.

    fun: (n,) -> (m,), primals and tangents: (n,) each -> (m,), (m,)
    primals, tangents: tuples of the same tree; shapes equal, dtypes equal (float0 for integers).
    With `has_aux`, `fun` returns a pair, and a third result is its second element.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            f"primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    leaves, tree = tree_flatten(primals)
    tangent_leaves, tangent_tree = tree_flatten(tangents)
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {tree} whereas tangents have tree structure {tangent_tree}."
        )
    for primal, tangent in zip(leaves, tangent_leaves, strict=True):
        check_value(primal)
        _check_tangent(typeof(primal), _type_of(tangent))
    _, tree = tree_flatten(tuple(primals))
    flat = FlatFunction(fun, tree, has_aux)
    given = [
        Zero(typeof(p).tangent()) if _is_float0(t) else t
        for p, t in zip(leaves, tangent_leaves, strict=True)
    ]
    with name_scope(JVP):
        outs, out_tangents = jvp_flat(flat, leaves, given)
    n = flat.n_outs
    value = tree_unflatten(flat.out_tree, outs[:n])
    tangent = tree_unflatten(flat.out_tree, [materialized(t) for t in out_tangents[:n]])
    if has_aux:
        return value, tangent, flat.auxiliary(outs[n:])
    return value, tangent


def materialized(tangent: Any) -> Value:
    """Return a tangent or cotangent as users see it: an array, also where it is zero."""
    if type(tangent) is not Zero:
        return tangent
    dense = instantiate(tangent)
    if is_float0(tangent.aval) or tangent.aval.shape:
        return dense
    return current_trace().constant(dense)


def _is_float0(x: Any) -> bool:
    """Tell whether a value is a float0 array."""
    return getattr(x, "dtype", None) == dtypes.float0


def _check_tangent(primal: ShapedArray, tangent: ShapedArray) -> None:
    """Check dtype and shape of a tangent against its primal."""
    wanted = primal.tangent().dtype
    if tangent.dtype != wanted:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            "case "
            "of int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{dtypes.dtype_name(primal.dtype)} and so expected tangent dtype "
            f"{wanted}, but got tangent dtype "
            f"{dtypes.dtype_name(tangent.dtype)} instead."
        )
    if tangent.shape != primal.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes; Got primal shape "
            f"{primal.shape} and tangent shape as {tangent.shape}"
        )


class LinearProgram:
    """The derivative of a function as a program, without the values that it was taken at.

    jaxpr: (*residuals, *tangents of the inputs) -> tangents of the outputs that may be non-zero.
    """

    def __init__(self, flat: FlatFunction, in_avals: Sequence[ShapedArray], linear: Any) -> None:
        """linear: a `Linearized`."""
        self.name = source_name(flat.__wrapped__)
        self.in_tree, self.out_tree = flat.tree, flat.out_tree
        self.in_avals = in_avals
        self.jaxpr: Jaxpr = linear.jaxpr.lift_consts()
        self.operation_of = linear.operation_of
        self.linear = linear.linear_inputs
        n = flat.n_outs
        self.nonzero = linear.nonzero_outputs[:n]
        self.n_used = sum(self.nonzero)
        self.out_avals = [typeof(out) for out in linear.outs[:n]]

    def __repr__(self) -> str:
        """Return the name of the function and the linear program."""
        return f"LinearProgram({self.name}: {self.jaxpr})"

    @api_boundary
    def push(self, residuals: Sequence[Value], *tangents: Any) -> Any:
        """Return the tangents of the results."""
        leaves, tree = tree_flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(f"expected {self.in_tree}, got {tree}")
        for leaf, aval in zip(leaves, self.in_avals, strict=True):
            _check_pushed(leaf, aval)
        given = select(leaves, self.linear)
        outs = iter(eval_jaxpr(self.jaxpr, (), *residuals, *given)[: self.n_used])
        results = [
            next(outs) if flag else materialized(Zero(aval.tangent()))
            for flag, aval in zip(self.nonzero, self.out_avals, strict=True)
        ]
        return tree_unflatten(self.out_tree, results)

    def pull(self, residuals: Sequence[Value], cotangent: Any) -> tuple:
        """Return the cotangents of the arguments."""
        leaves, tree = tree_flatten(cotangent)
        if tree != self.out_tree:
            raise ValueError(_tree_message(self.name, self.out_tree, cotangent))
        for leaf, aval in zip(leaves, self.out_avals, strict=True):
            _check_cotangent(leaf, aval)
        given = [
            ct if not _is_float0(ct) else Zero(a.tangent())
            for ct, a, flag in zip(leaves, self.out_avals, self.nonzero, strict=True)
            if flag
        ]
        tangent_avals = self.jaxpr.in_avals[len(residuals) :]
        unused = [Zero(aval) for aval in self.jaxpr.out_avals[self.n_used :]]
        args = [*residuals, *map(Linear, tangent_avals)]
        cotangents = [*given, *unused]
        with name_scope(TRANSPOSE):
            back = backward(self.jaxpr, (), args, cotangents, self.operation_of)
        found = iter(back[len(residuals) :])
        results = [
            materialized(next(found) if flag else Zero(aval.tangent()))
            for flag, aval in zip(self.linear, self.in_avals, strict=True)
        ]
        return tree_unflatten(self.in_tree, results)


_SPLATTED = """
The function returned by `jax.vjp` applied to {} was called with {} arguments,
but functions returned by `jax.vjp` must be called with a single argument
corresponding to the single value returned by the function being differentiated
(even if that returned value is a tuple or other container).

For example, if we have:

  def f(x):
    return (x, x)
  _, f_vjp = jax.vjp(f, 1.0)

the function `f` returns a single tuple as output, and so we call `f_vjp` with a
single tuple as its argument:

  x_bar, = f_vjp((2.0, 2.0))

If we instead call `f_vjp(2.0, 2.0)`, with the values 'splatted out' as
arguments rather than in a tuple, this error can arise.
"""


@register_pytree_node_class
class VJP:
    """The function from the cotangent of a result to those of the arguments, as `vjp` returns it.

    A tree whose leaves are its residuals, so that it may be an argument or a result of `jit`.
    """

    __slots__ = ("opaque_residuals", "program")

    def __init__(self, program: LinearProgram, residuals: Sequence[Value]) -> None:
        """residuals: the values that the program needs of the point where it was taken."""
        self.program = program
        self.opaque_residuals = list(residuals)

    @api_boundary
    def __call__(self, *cotangents: Any) -> tuple:
        """Return the cotangents of the arguments; wants one cotangent, a tree like the result."""
        if len(cotangents) != 1:
            raise TypeError(_SPLATTED.format(self.program.name.split(" at ")[0], len(cotangents)))
        return self.program.pull(self.opaque_residuals, cotangents[0])

    def __repr__(self) -> str:
        """Return the linear program, both trees, and the residuals."""
        program = self.program
        return (
            f"VJP(jaxpr={program.jaxpr}, in_tree={program.in_tree}, out_tree={program.out_tree}, "
            f"opaque_residuals={self.opaque_residuals})"
        )

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program, which is transposed when it is called."""
        return self.program.jaxpr

    @property
    def in_tree(self) -> PyTreeDef:
        """The tree of the arguments."""
        return self.program.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """The tree of the result."""
        return self.program.out_tree

    def tree_flatten(self) -> tuple[list[Value], LinearProgram]:
        """Return the residuals, and the program as data."""
        return self.opaque_residuals, self.program

    @classmethod
    def tree_unflatten(cls, program: LinearProgram, residuals: Sequence[Value]) -> VJP:
        """Rebuild from new residuals."""
        return cls(program, residuals)


def _type_of(leaf: Any) -> ShapedArray:
    """Return the type of a tangent or cotangent of the user's."""
    if _is_float0(leaf):
        return ShapedArray(np.shape(leaf), dtypes.float0)
    check_value(leaf)
    return typeof(leaf)


def _check_pushed(leaf: Any, aval: ShapedArray) -> None:
    """Check a tangent that a linearised function is called with."""
    got, wanted = _type_of(leaf), aval.tangent()
    if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
        raise ValueError(
            "linearized function called on tangent values inconsistent with the original primal "
            f"values:\nGot tangent aval {got} for primal aval {aval} but expected {wanted}."
        )


def _check_cotangent(leaf: Any, aval: ShapedArray) -> None:
    """Check the type of a cotangent against the output's."""
    got, wanted = _type_of(leaf), aval.tangent()
    # What an integer output is given as its cotangent is not looked at.
    ignored = is_float0(wanted) and got.shape == aval.shape
    if (got.shape, got.dtype) != (wanted.shape, wanted.dtype) and not ignored:
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
            f"{got.str_short(False)}, but expected {wanted.str_short(False)} because the "
            f"corresponding "
            f"output of the differentiated function had JAX type {aval.str_short(False)}"
        )


def _tree_message(name: str, out_tree: PyTreeDef, cotangent: Any) -> str:
    """Return JAX's message for a cotangent of the wrong tree."""
    errors = equality_errors_pytreedef(out_tree, tree_structure(cotangent))
    lines = [
        f"  * out{keystr(path)} was a {this} in the original output, but a {other} here, so {why}."
        for path, this, other, why in errors
    ]
    return (
        "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` must "
        "match the pytree\nstructure of the differentiated function "
        f"{name}.\n\nBut the tree structures differ:\n" + "\n".join(few(lines, mark="  * "))
    )


def linearized(
    fun: Callable, primals: tuple, has_aux: bool, named: Callable | None = None
) -> tuple[Any, VJP, Any]:
    """Return the result, the linear program and the auxiliary output of a function at a point.

    named: the function that messages name, if it is another one.
    """
    check_callable(fun)
    leaves, tree = tree_flatten(tuple(primals))
    for leaf in leaves:
        check_value(leaf)
    flat = FlatFunction(fun, tree, has_aux, named)
    linear = linearize_flat(flat, leaves)
    n = flat.n_outs
    value = tree_unflatten(flat.out_tree, linear.outs[:n])
    aux = flat.auxiliary(linear.outs[n:]) if has_aux else None
    program = LinearProgram(flat, [typeof(leaf) for leaf in leaves], linear)
    return value, VJP(program, linear.jaxpr.consts), aux


@api_boundary
def vjp(
    fun: Callable,
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Any = (),
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> tuple[Any, ...]:
    """Return `fun(*primals)` and the function from its cotangent to those of the primals.

    fun: (n,) -> (m,), primals: (n,) -> (m,), and the function (m,) -> (n,), as a tuple.
    With `has_aux`, `fun` returns a pair, and a third result is its second element.  The other
    keywords are accepted and change nothing.

    >>> value, back = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> back(1.0)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    value, pullback, aux = linearized(fun, primals, has_aux)
    return (value, pullback, aux) if has_aux else (value, pullback)


@api_boundary
def linearize(
    fun: Callable, *primals: Any, has_aux: bool = False, in_nzs: Any = None
) -> tuple[Any, ...]:
    """Return `fun(*primals)` and the function from tangents of the primals to the result's.

    fun: (n,) -> (m,), primals: (n,) -> (m,), and the function (n,) -> (m,).

    >>> value, push = linearize(lambda x: x * x, 3.0)
    >>> push(1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    value, pullback, aux = linearized(fun, primals, has_aux)
    push = Partial(pullback.program.push, pullback.opaque_residuals)
    return (value, push, aux) if has_aux else (value, push)


def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Any = ()) -> Callable:
    """Return the transpose of a linear function; primals give the types, values do not matter.

    fun: (n,) -> (m,) gives the function (m,) -> (n,), of cotangents, as a tuple.

    >>> jax.linear_transpose(lambda x: jnp.stack([x, 2 * x]), 1.0)(jnp.array([1.0, 1.0]))
    (Array(3., dtype=float32),)
    """
    check_callable(fun)
    leaves, tree = tree_flatten(tuple(primals))
    avals = [ShapedArray(x.shape, x.dtype) if hasattr(x, "dtype") else typeof(x) for x in leaves]
    flat = FlatFunction(fun, tree, False)
    jaxpr = program_to_run(stage_flat(flat, avals, f"linear_transpose of {source_name(fun)}"))
    _check_transposable(avals, jaxpr.out_avals)

    def transposed(cotangent: Any) -> tuple:
        """Return the cotangents of the arguments."""
        cts, out_tree = tree_flatten(cotangent)
        if out_tree != flat.out_tree:
            raise TypeError(
                f"cotangent tree does not match function output, expected {flat.out_tree} but "
                f"got {out_tree}"
            )
        wanted = jaxpr.out_avals
        got = [_type_of(ct) for ct in cts]
        if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(got, wanted, strict=True)):
            raise TypeError(
                f"cotangent type does not match function output, expected {wanted} but got {cts}"
            )
        with name_scope(TRANSPOSE):
            results = backward(jaxpr, jaxpr.consts, [Linear(aval) for aval in avals], cts)
        return tree_unflatten(tree, [materialized(ct) for ct in results])

    return transposed


def _check_transposable(inputs: Sequence[ShapedArray], outputs: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all types have tangents of their own dtype, or all are integers."""
    avals = [*inputs, *outputs]
    if all(aval.tangent().dtype == aval.dtype for aval in avals):
        return
    if all(dtypes.issubdtype(aval.dtype, np.integer) for aval in avals):
        return
    before, after = ([aval.dtype for aval in group] for group in (inputs, outputs))
    raise TypeError(
        "linear_transpose only supports [float, complex, or float0] -> [float, complex, or "
        f"float0], and integer -> integer functions, but got {before} -> {after}. Close over the "
        "arguments that are not to be transposed."
    )


def value_and_grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., tuple[Any, Any]]:
    """Return the function that returns `fun`'s value and its gradient.

    fun: (n,) -> () gives the function (n,) -> (), (n,).
    argnums: which positional arguments; a tuple gives a tuple of gradients.

    >>> value_and_grad(lambda x: x**2)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument to grad is deprecated")
    check_callable(fun)

    @wraps(fun)
    @api_boundary
    def wrapped(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return value and gradient."""
        _check_enough(argnums, len(args))
        positions = chosen_positions(argnums, len(args))

        def partial(*chosen: Any) -> Any:
            """Call `fun` with some arguments replaced."""
            full = list(args)
            for position, value in zip(positions, chosen, strict=True):
                full[position] = value
            return fun(*full, **kwargs)

        chosen = tuple(args[position] for position in positions)
        for leaf in tree_flatten(chosen)[0]:
            check_grad_input(leaf, holomorphic, allow_int, "grad")
        value, pullback, aux = linearized(partial, chosen, has_aux, fun)
        grads = pullback(_seed(value, pullback, holomorphic))
        result = grads[0] if is_one_number(argnums) else grads
        return ((value, aux), result) if has_aux else (value, result)

    return wrapped


def grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable:
    """Return the function that returns the gradient of `fun`, which has one scalar result.

    fun: (n,) -> () gives the function (n,) -> (n,).

    >>> grad(lambda x: x**3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun)
    @api_boundary
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        """Return the gradient, with the auxiliary output if there is one."""
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _check_enough(argnums: int | Sequence[int], n_args: int) -> None:
    """Raise TypeError if a call of a gradient has too few arguments."""
    numbers = argument_numbers(argnums)
    if numbers and max(numbers) >= n_args:
        raise TypeError(
            f"differentiating with respect to argnums={argnums} requires at least "
            f"{max(numbers) + 1} positional arguments to be passed by the caller, but got only "
            f"{n_args} positional arguments."
        )


def chosen_positions(argnums: int | Sequence[int], n_args: int) -> tuple[int, ...]:
    """Return argnums as positions, or raise ValueError if there is no such argument."""
    numbers = argument_numbers(argnums)
    for number in numbers:
        if not -n_args <= number < n_args:
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater "
                "than or equal to -len(args) and less than len(args), but got value "
                f"{number} for len(args) == {n_args}."
            )
    return tuple(number % n_args for number in numbers)


def check_grad_input(leaf: Any, holomorphic: bool, allow_int: bool, name: str) -> None:
    """Refuse inputs that the kind of derivative is not defined for."""
    check_value(leaf)
    if is_ref(leaf):
        raise TypeError(
            f"{name} cannot differentiate with respect to a Ref-typed argument: the gradient for a "
            f"ref must itself be accumulated into a ref. Differentiate with respect to an array, "
            f"and make the ref from it inside of the function. (Ref arguments not selected by "
            f"argnums are fine: they are treated as plumbing, and are not differentiated.)"
        )
    dtype = typeof(leaf).dtype
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.dtype_name(dtype)}."
            )
        return
    if (
        dtypes.issubdtype(dtype, dtypes.extended)
        or dtypes.issubdtype(dtype, np.integer)
        or dtype == np.bool_
    ):
        if not allow_int:
            raise TypeError(
                f"{name} requires real- or complex-valued inputs (input dtype that is a "
                f"sub-dtype of "
                f"np.inexact), but got {dtypes.dtype_name(dtype)}. If you want to use Boolean- or "
                f"integer-valued "
                f"inputs, "
                f"use vjp or set allow_int to True."
            )
    elif not dtypes.issubdtype(dtype, np.inexact):
        raise TypeError(
            f"{name} requires numerical-valued inputs (input dtype that is a sub-dtype of "
            f"np.bool_ or np.number), but got {dtypes.dtype_name(dtype)}."
        )


def _seed(value: Any, pullback: VJP, holomorphic: bool) -> Any:
    """Check that the result is one real scalar, and return the cotangent 1 of its type."""
    if pullback.out_tree.num_leaves != 1 or not is_value(value):
        raise TypeError(f"Gradient only defined for scalar-output functions. Output was {value}.")
    aval = typeof(value)
    if aval.shape:
        is_one = aval.size == 1
        first = "extract the scalar with output.reshape(()) or output[0], " if is_one else ""
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: "
            f"{aval.shape}. To "
            f"get the gradient, {first}reduce the output to a scalar with output.sum(), or use "
            f"jax.jacobian to differentiate a function with a non-scalar output."
        )
    check_grad_output(aval.dtype, holomorphic, "grad")
    return current_trace().constant(_one(aval))


@bounded_cache(64)
def _one(aval: ShapedArray) -> Value:
    """Return the array of one element that is 1."""
    return array_of(np.ones((), aval.dtype), aval)


def check_grad_output(dtype: Any, holomorphic: bool, name: str) -> None:
    """Refuse outputs that the kind of derivative is not defined for."""
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtypes.dtype_name(dtype)}."
            )
    elif dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), "
            f"but got {dtypes.dtype_name(dtype)}. For holomorphic differentiation, pass "
            f"holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            f"outputs, use jax.vjp directly."
        )
    elif not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), "
            f"but got {dtypes.dtype_name(dtype)}. For differentiation of functions with integer "
            f"outputs, use jax.vjp "
            f"directly."
        )
