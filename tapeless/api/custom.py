"""Rules of the user's own: `custom_jvp`, `custom_vjp`, `custom_gradient`, `closure_convert`.

The classes here turn functions of trees into the flat functions that the primitives want, and check
what the user's rules return: a wrong tree, shape or dtype is reported with the rule's name, the
argument it belongs to, and both sides.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.control.bodies import flatten_values, trace_body, type_difference
from tapeless.control.custom_jvp import custom_jvp_call_p
from tapeless.control.custom_vjp import custom_vjp_call_p
from tapeless.core.aval import ShapedArray, is_value, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.linear import Zero
from tapeless.core.trace import Tracer, Value
from tapeless.errors import UnexpectedTracerError
from tapeless.prims.common import as_value, instantiate
from tapeless.prims.convert import convert
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_structure, tree_unflatten
from tapeless.tree.keys import keystr
from tapeless.tree.maps import tree_map
from tapeless.tree.partial import Partial
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.prefix import flatten_axes
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.cache import weak_identity_cache
from tapeless.util.chains import function_name, source_name
from tapeless.util.frames import api_boundary
from tapeless.util.records import record
from tapeless.util.seqs import merge, select

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, as rules with `symbolic_zeros` get it.

    >>> SymbolicZero(jax.core.ShapedArray((3,), np.dtype("float32")))
    SymbolicZero(float32[3])
    """

    def __init__(self, aval: ShapedArray) -> None:
        """aval: its type."""
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.aval.dtype

    def __repr__(self) -> str:
        """Return the class name and type."""
        return f"SymbolicZero({self.aval.str_short(False)})"


def zero_from_primal(x: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangents of a tree of values; with `symbolic_zeros`, `SymbolicZero`s.

    >>> zero_from_primal({"a": 2.0})
    {'a': Array(0., dtype=float32, weak_type=True)}
    """
    kind = SymbolicZero if symbolic_zeros else lambda aval: as_value(instantiate(Zero(aval)))
    return tree_map(lambda leaf: kind(typeof(leaf).tangent()), x)


def _read_signature(fun: Callable) -> tuple[inspect.Signature, int]:
    """Return a function's signature, and how many arguments it takes if all are by position.

    The number is -1 if it varies, or if some are by name.
    """
    signature = inspect.signature(fun)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    by_position = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return signature, len(signature.parameters) if kinds <= by_position else -1


_known_signature = weak_identity_cache(_read_signature)


def _signature(fun: Callable) -> tuple[inspect.Signature, int]:
    """Return what `_read_signature` does; of a function, it is read once."""
    try:
        return _known_signature(fun)
    except TypeError:  # a callable that cannot be referred to weakly
        return _read_signature(fun)


def resolve(fun: Callable, args: tuple, kwargs: dict, kind: str) -> tuple:
    """Return all arguments by position, defaults filled in; kind: what messages call `fun`."""
    try:
        signature, n_positions = _signature(fun)
    except ValueError:
        return args
    if not kwargs and len(args) == n_positions:
        return args
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {function_name(fun)} could not "
            f"be resolved to positional-only arguments. Binding failed with the error:\n{error}"
        ) from None
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {function_name(fun)} could not "
            "be resolved to positional-only arguments. Binding failed with the error:\nThe "
            "following keyword arguments could not be resolved to positions: "
            f"{', '.join(bound.kwargs)}"
        )
    return bound.args


def named_like(rule: Callable, function: Callable) -> Callable:
    """Return `function` under the name of the user's `rule`, which programs print."""
    named: Any = functools.partial(function)
    named.__name__ = function_name(rule)
    return named


_TRACER_FIXED = (
    "Found a JAX Tracer object passed as an argument to a custom_vjp function in a position "
    "indicated by nondiff_argnums as non-differentiable. Tracers cannot be passed as "
    "non-differentiable arguments to custom_vjp functions; instead, nondiff_argnums should only be "
    "used for arguments that can't be or contain JAX tracers, e.g. function-valued arguments. In "
    "particular, array-valued arguments should typically not be indicated as nondiff_argnums."
)


class CustomFunction:
    """What both kinds share: the function, and the positions that are not differentiated."""

    __name__: str

    def __init__(
        self,
        fun: Callable,
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        """nondiff_argnums, nondiff_argnames: arguments that rules get as they are."""
        functools.update_wrapper(self, fun)
        self.fun = fun
        numbers = [nondiff_argnums] if isinstance(nondiff_argnums, int) else list(nondiff_argnums)
        if not all(isinstance(n, int) for n in numbers):
            raise TypeError(f"nondiff_argnums must be a sequence of ints, got {nondiff_argnums!r}.")
        if nondiff_argnames:
            names = list(inspect.signature(fun).parameters)
            numbers += [names.index(name) for name in nondiff_argnames if name in names]
        self.nondiff_argnums = tuple(sorted(set(numbers)))

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function under its rules."""
        raise NotImplementedError

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method."""
        return self if instance is None else functools.partial(self, instance)

    def divide(self, args: tuple) -> tuple[list, list[int]]:
        """Return the fixed arguments and the positions of the others."""
        beyond = [n for n in self.nondiff_argnums if not -len(args) <= n < len(args)]
        if beyond:
            raise IndexError(
                f"nondiff_argnums of {function_name(self.fun)} names argument {beyond[0]}, but the "
                f"function was called with {len(args)} arguments, which are counted from 0."
            )
        fixed = [n % len(args) for n in self.nondiff_argnums]
        return [args[i] for i in fixed], [i for i in range(len(args)) if i not in fixed]

    def flat(
        self, args: tuple, places: list[int], tree: PyTreeDef, out: list[PyTreeDef]
    ) -> Callable:
        """Return the function of flat differentiable arguments; its result's tree goes to `out`."""

        def call(*leaves: Value) -> list[Value]:
            """Call the function."""
            full = list(args)
            for place, value in zip(places, tree_unflatten(tree, leaves), strict=True):
                full[place] = value
            outs, out_tree = flatten_values(self.fun(*full))
            out.append(out_tree)
            return outs

        return call


class custom_jvp(CustomFunction):  # noqa: N801
    """A function with a forward rule: `@custom_jvp`, then `@f.defjvp`.

    >>> @custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), 3.0 * t
    >>> from tapeless.api.autodiff import grad
    >>> grad(f)(2.0)
    Array(3., dtype=float32, weak_type=True)
    """

    jvp: Callable | None = None
    symbolic_zeros = False

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule: (*fixed arguments, primals, tangents) -> (result, its tangent)."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Set one rule per argument: (tangent, result, *primals) -> its share of the tangent."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: tuple, tangents: tuple) -> tuple:
            """Sum the shares."""
            if len(jvps) != len(primals):
                raise ValueError(
                    f"defjvps of {self.__name__} was given {len(jvps)} rules for {len(primals)} "
                    f"arguments: give one per argument, None where there is no derivative."
                )
            result = self(*primals)
            shares = [
                share(t, result, *primals) for share, t in zip(jvps, tangents, strict=True) if share
            ]
            if not shares:
                return result, tree_map(lambda x: instantiate(Zero(typeof(x).tangent())), result)
            return result, functools.reduce(functools.partial(tree_map, operator.add), shares)

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {self.__name__} using defjvp."
            )
        args = resolve(self.fun, args, kwargs, "custom_jvp")
        fixed, places = self.divide(args)
        leaves, tree = flatten_values(tuple(args[i] for i in places))
        out_trees: list[PyTreeDef] = []
        outs = custom_jvp_call_p.bind(
            *leaves,
            name=function_name(self.fun),
            call_jaxpr=self.flat(args, places, tree, out_trees),
            jvp=FlatJVP(self, self.jvp, fixed, tree, out_trees),
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree_unflatten(out_trees[0], outs)


class FlatJVP:
    """A user's forward rule on flat arguments."""

    def __init__(
        self,
        owner: custom_jvp,
        rule: Callable,
        fixed: list,
        tree: PyTreeDef,
        out: list[PyTreeDef],
    ) -> None:
        """rule: the user's; out: where the tree of the result is put."""
        self.owner, self.rule, self.fixed, self.tree, self.out = owner, rule, fixed, tree, out
        self.__name__ = function_name(rule)

    def __call__(self, primals: Sequence[Value], tangents: Sequence[Any]) -> tuple[list, list]:
        """Call the rule; check and flatten what it returns."""
        owner = self.owner
        if owner.symbolic_zeros:
            tangents = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
        given = tree_unflatten(self.tree, primals), tree_unflatten(self.tree, tangents)
        pair = self.rule(*self.fixed, *given)
        name, rule = owner.__name__, function_name(self.rule)
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2):
            raise TypeError(
                f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of "
                f"length two) representing primal and tangent outputs, but got {pair}."
            )
        outs, out_tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(pair[1])
        if out_tree != tangent_tree:
            raise TypeError(
                f"Custom JVP rule {rule} for function {name} must produce primal and tangent "
                f"outputs "
                f"with equal container (pytree) structures, but got {out_tree} and {tangent_tree} "
                f"respectively."
            )
        self.out.append(out_tree)
        tans = [_as_zero(t) for t in out_tangents]
        for out, tangent in zip(outs, tans, strict=True):
            self.check(out, tangent, name, rule)
        return outs, tans

    def check(self, out: Value, tangent: Any, name: str, rule: str) -> None:
        """Check that a tangent has the type that its primal wants."""
        wanted = typeof(out).tangent()
        got = tangent.aval if type(tangent) is Zero else typeof(tangent)
        if (got.shape, got.dtype) != (wanted.shape, wanted.dtype) and type(tangent) is not Zero:
            raise TypeError(
                "Custom JVP rule must produce primal and tangent outputs with corresponding shapes "
                f"and dtypes. Expected {wanted.str_short(False)} (tangent type of "
                f"{typeof(out).str_short(False)}) but got {got.str_short(False)}. (The rule is "
                f"{rule}, of the function {name}.)"
            )


def _as_zero(x: Any) -> Any:
    """Turn what users may return for a zero into a Zero."""
    if isinstance(x, SymbolicZero):
        return Zero(x.aval)
    if getattr(x, "dtype", None) == dtypes.float0:
        return Zero(ShapedArray(x.shape, dtypes.float0))
    return x


@record
class CustomVJPPrimal:
    """An argument of a rule with `symbolic_zeros`: its value, and whether it is perturbed.

    >>> CustomVJPPrimal(3.0, perturbed=True)
    CustomVJPPrimal(value=3.0, perturbed=True)
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return the tree of the values of a tree of `CustomVJPPrimal`s.

    >>> custom_vjp_primal_tree_values([CustomVJPPrimal(3.0, True), CustomVJPPrimal(4.0, False)])
    [3.0, 4.0]
    """

    def value_of(leaf: Any) -> Any:
        """Return the value of one argument."""
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}")
        return leaf.value

    return tree_map(value_of, tree)


class custom_vjp(CustomFunction):  # noqa: N801
    """A function with a backward rule: `@custom_vjp`, then `f.defvjp(fwd, bwd)`.

    >>> @custom_vjp
    ... def f(x):
    ...     return x * x
    >>> f.defvjp(lambda x: (x * x, x), lambda x, ct: (5.0 * x * ct,))
    >>> from tapeless.api.autodiff import grad
    >>> grad(f)(2.0)
    Array(10., dtype=float32, weak_type=True)
    """

    fwd: Callable | None = None
    bwd: Callable | None = None
    symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable,
        bwd: Callable,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules: fwd(*args) -> (result, residuals); bwd(*fixed, residuals, ct) -> cts."""
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {self.__name__} using defvjp."
            )
        args = resolve(self.fun, args, kwargs, "custom_vjp")
        fixed, places = self.divide(args)
        if any(isinstance(leaf, Tracer) for leaf in tree_leaves(fixed)):
            raise UnexpectedTracerError(_TRACER_FIXED)
        leaves, tree = flatten_values(tuple(args[i] for i in places))
        out_trees: list[PyTreeDef] = []
        rules = FlatVJP(self, (self.fwd, self.bwd), args, fixed, places, tree, leaves, out_trees)
        outs = custom_vjp_call_p.bind(
            *leaves,
            name=function_name(self.fun),
            call_jaxpr=self.flat(args, places, tree, out_trees),
            fwd=named_like(self.fwd, rules.forward),
            bwd=named_like(self.bwd, rules.backward),
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree_unflatten(out_trees[0], outs)


class FlatVJP:
    """A user's forward and backward rules on flat arguments."""

    def __init__(
        self, owner: custom_vjp, rules: tuple[Callable, Callable], args: tuple, fixed: list,
        places: list[int], tree: PyTreeDef, leaves: Sequence[Value], out: list[PyTreeDef],
    ) -> None:  # fmt: skip
        """leaves: example arguments, for their types; out: where the tree of the result is put."""
        self.fwd, self.bwd = rules
        self.owner, self.fixed, self.places, self.tree, self.out = owner, fixed, places, tree, out
        self.args = [None if i in places else arg for i, arg in enumerate(args)]
        self.avals = [typeof(leaf) for leaf in leaves]
        # Known when the forward rule has been called.
        self.residual_tree: PyTreeDef

    def forward(self, leaves: Sequence[Value], perturbed: Sequence[bool]) -> tuple[list, list]:
        """Call the forward rule; return the leaves of the result and of the residuals."""
        owner = self.owner
        given = list(leaves)
        if owner.symbolic_zeros:
            given = [CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed, strict=True)]
        full = list(self.args)
        for place, value in zip(self.places, tree_unflatten(self.tree, given), strict=True):
            full[place] = value
        pair = self.fwd(*full)
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2):
            raise TypeError(
                f"Custom VJP fwd rule {function_name(self.fwd)} for function {owner.__name__} "
                f"must "
                f"produce a pair (list or tuple of length two) where the first element represents "
                f"the primal output (equal to those of the custom_vjp-decorated function "
                f"{owner.__name__}) and the second element represents residuals (i.e. values "
                f"stored "
                f"from the forward pass for use on the backward pass), but instead of a pair the "
                f"fwd rule {function_name(self.fwd)} produced {pair}."
            )
        outs, out_tree = flatten_values(pair[0])
        self.out.append(out_tree)
        residuals, self.residual_tree = flatten_values(pair[1])
        return outs, residuals

    def backward(self, residuals: Sequence[Value], cotangents: Sequence[Any]) -> list[Any]:
        """Call the backward rule; return one cotangent (value or Zero) per flat argument."""
        owner = self.owner
        if owner.symbolic_zeros:
            cotangents = [SymbolicZero(ct.aval) if type(ct) is Zero else ct for ct in cotangents]
        res = tree_unflatten(self.residual_tree, residuals)
        result = self.bwd(*self.fixed, res, tree_unflatten(self.out[-1], cotangents))
        return self.spread(result)

    def spread(self, result: Any) -> list[Any]:
        """Bring the returned trees to flat arguments; None stands for zeros of a subtree."""
        avals = tree_unflatten(self.tree, self.avals)
        shown = f"{function_name(self.bwd)} for function {self.owner.__name__}"
        if not isinstance(result, (tuple, list)):
            raise TypeError(
                f"{self.wrong_tree(result)} (The rule {shown} must return a tuple, even of one "
                f"cotangent.)"
            )
        if len(result) != len(avals):
            raise TypeError(
                f"{self.wrong_tree(result)} (The rule {shown} must return one cotangent per "
                f"differentiable argument: wanted {len(avals)}, got {len(result)}.)"
            )
        flat: list[Any] = []
        for number, (ct, wanted) in enumerate(zip(result, avals, strict=True)):
            leaves, tree = tree_flatten_with_path(wanted)
            try:
                filled = [None] * len(leaves) if ct is None else flatten_axes("ct", tree, ct)
            except ValueError:
                raise TypeError(
                    f"{self.wrong_tree(result)} (Argument {number} has the structure {tree}; the "
                    f"rule {shown} returned {tree_structure(ct)} for it.)"
                ) from None
            for x, (path, aval) in zip(filled, leaves, strict=True):
                flat.append(self.checked(x, aval, f"[{number}]{keystr(path)}"))
        return flat

    def wrong_tree(self, result: Any) -> str:
        """Return JAX's words for cotangents of another structure than the arguments."""
        got = tree_structure(result)
        return (
            "Custom VJP bwd rule must produce an output with the same container (pytree) structure "
            "as the args tuple of the primal function, and in particular must produce a tuple of "
            "length equal to the number of arguments to the primal function, but got bwd output "
            f"structure {got} for primal input structure {self.tree}."
        )

    def checked(self, ct: Any, aval: ShapedArray, where: str) -> Any:
        """Return a cotangent as a value or Zero, or raise ValueError if it is of the wrong type."""
        wanted = aval.tangent()
        if ct is None or wanted.dtype == dtypes.float0:
            return Zero(wanted)
        ct = _as_zero(ct)
        if type(ct) is Zero:
            return Zero(wanted)
        if not is_value(ct):
            raise TypeError(f"Argument '{ct}' of type {type(ct)} is not a valid JAX type")
        got = typeof(ct)
        narrows = _is_complex(got) and not _is_complex(wanted)
        if got.shape == wanted.shape and got.dtype != wanted.dtype and not narrows:
            return convert(ct, wanted.dtype)
        if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(
                f"Custom VJP bwd rule attached to {source_name(self.owner.fun)} must produce an "
                f"output with the same type as the args tuple of the primal function, but at "
                f"output{where} the bwd rule produced an output of type {got.str_short(False)} "
                f"corresponding to an input of type {aval.str_short(False)}"
                f"{type_difference(aval, got)}"
            )
        return ct


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """Return `fun` with what it captured, as far as it may be differentiated, as arguments.

    The new function takes the arguments of `fun`, then those values, which are returned too.
    example_args: arguments like those that it will be called with.

    >>> from tapeless.api.autodiff import grad
    >>> def evaluate(w):
    ...     f, captured = closure_convert(lambda x: x * w, 1.0)
    ...     return f(2.0, *captured)
    >>> grad(evaluate)(3.0)
    Array(2., dtype=float32, weak_type=True)
    """
    leaves, tree = flatten_values(example_args)
    body = trace_body(fun, tree, [typeof(leaf) for leaf in leaves], "closure_convert")
    lifted = [_is_perturbed(value) for value in body.consts]
    kept = select(body.consts, [not flag for flag in lifted])

    def converted(*args: Any) -> Any:
        """Evaluate the program."""
        n_args = max(len(args) - sum(lifted), 0)
        given, in_tree = tree_flatten(args[:n_args])
        if in_tree != tree:
            wanted, got = (tree_structure((t, {})) for t in (example_args, args[:n_args]))
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                "structure as the example arguments passed when closure_convert was called. "
                f"Expected {wanted}, but got {got}"
            )
        consts = merge(lifted, kept, args[n_args:])
        return tree_unflatten(body.out_tree, eval_jaxpr(body.jaxpr, (), *consts, *given))

    return converted, select(body.consts, lifted)


def _is_complex(aval: ShapedArray) -> bool:
    """Tell whether values of a type are complex."""
    return dtypes.issubdtype(aval.dtype, np.complexfloating)


def _is_perturbed(value: Value) -> bool:
    """Tell whether a captured value may carry a derivative."""
    return isinstance(value, Tracer) and dtypes.issubdtype(typeof(value).dtype, np.inexact)


def custom_gradient(fun: Callable) -> Callable:
    """Return a function with a backward rule, from one that returns (result, pullback).

    fun: x (n,) -> (m,), and the function (m,) -> (n,) gives a function (n,) -> (m,).

    >>> from tapeless.api.autodiff import grad
    >>> grad(custom_gradient(lambda x: (x * x, lambda ct: 7.0 * ct)))(2.0)
    Array(7., dtype=float32, weak_type=True)
    """

    def both(*args: Any, **kwargs: Any) -> tuple[Any, Callable]:
        """Return the result and the pullback."""
        pair = fun(*args, **kwargs)
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and callable(pair[1])):
            raise TypeError(
                f"A function for custom_gradient must return a pair of its result and a function "
                f"from the cotangent of the result to those of the arguments, but "
                f"{function_name(fun)} returned {pair!r}."
            )
        return pair[0], pair[1]

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        """Call the function with its rule."""
        rule = custom_vjp(lambda *inner: both(*inner, **kwargs)[0])
        rule.__name__ = function_name(fun)

        def forward(*inner: Any) -> tuple[Any, Partial]:
            """Return the result and, as residuals, what the pullback has captured."""
            value, pullback = both(*inner, **kwargs)
            leaves, tree = tree_flatten((value,))
            cotangents = [typeof(leaf).tangent() for leaf in leaves]
            body = trace_body(pullback, tree, cotangents, "custom_gradient")

            def backward(consts: list[Value], ct: Any) -> Any:
                """Run the pullback."""
                outs = eval_jaxpr(body.jaxpr, body.jaxpr.consts, *consts, *tree_leaves(ct))
                return tree_unflatten(body.out_tree, outs)

            return value, Partial(backward, body.consts)

        def backward(pullback: Partial, ct: Any) -> tuple:
            """Call the pullback."""
            result = pullback(ct)
            return result if isinstance(result, tuple) else (result,)

        rule.defvjp(forward, backward)
        return rule(*args)

    return wrapped
