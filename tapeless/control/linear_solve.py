"""The `custom_linear_solve` primitive: the solution of A x = b, found by a user's solver.

    arguments   [ matvec consts | vecmat consts | solve consts | transpose_solve consts | b ]
    results     [ x | auxiliary output of the solver ]

The derivative does not go through the solver: A dx = db - dA x is solved by it again, and the
transpose is the solution of the transposed system.  So all rules bind the operation itself.

`LinearSolve` holds one thing per program: the programs (consts, vectors) -> vectors, or the numbers
of their consts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapeless.control.bodies import Body, flatten_values, trace_body
from tapeless.control.common import ProgramPrimitive, batch_to_front, nonzero_mask
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import add_tangents, batch_dim_to, instantiate
from tapeless.prims.unary import neg
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.jvp import jvp_flat
from tapeless.transforms.stage import stage_jaxpr
from tapeless.transforms.transpose import backward
from tapeless.tree.flatten import tree_leaves, tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.seqs import split_at

__all__ = ["CustomLinearSolve", "LinearSolve", "custom_linear_solve", "linear_solve_p"]


class LinearSolve(NamedTuple):
    """One thing for each of the four programs; None where the user gave none."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def __repr__(self) -> str:
        """Return what programs print."""
        items = ", ".join(f"{key}={value}" for key, value in self._asdict().items())
        return f"_LinearSolveTuple({items})"

    def transposed(self) -> LinearSolve:
        """Return the same for the transposed system."""
        return LinearSolve(self.vecmat, self.matvec, self.transpose_solve, self.solve)


class CustomLinearSolve(ProgramPrimitive):
    """Run the program `solve`.

    jaxprs: a `LinearSolve` of programs.  const_lengths: one of the numbers of their consts.
    """

    name = "custom_linear_solve"
    instrumented = False  # its programs are looked at as linear functions

    def abstract(self, *avals: ShapedArray, jaxprs: LinearSolve, **params: Any) -> tuple:
        """Return the types of the solver's results."""
        return jaxprs.solve.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the programs; all take vectors like b, and return them, the solvers also more."""
        *consts, b = self.groups(avals, params["const_lengths"])
        aux = outs[len(b) :]
        more = [(), (), aux, aux]
        return [
            (jaxpr, [*own, *b], [*b, *extra])
            for jaxpr, own, extra in zip(params["jaxprs"], consts, more, strict=True)
            if jaxpr is not None
        ]

    def groups(self, args: Sequence, lengths: LinearSolve) -> list[list]:
        """Return the consts of each program, and b."""
        return split_at(args, *lengths)

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Solve A dx = db - dA x."""
        jaxprs, lengths = params["jaxprs"], params["const_lengths"]
        outs = self.bind(*primals, **params)
        consts, *_ = self.groups(primals, lengths)
        d_consts, *_, d_b = self.groups(tangents, lengths)
        n_b = len(d_b)
        right = list(d_b)
        if any(nonzero_mask(d_consts)):
            minus = _minus_change(jaxprs.matvec, consts, d_consts, outs[:n_b])
            right = [add_tangents(a, b) for a, b in zip(d_b, minus, strict=True)]
        zeros = [Zero(typeof(out).tangent()) for out in outs]
        if not any(nonzero_mask(right)):
            return outs, zeros
        given = primals[: len(primals) - n_b]
        d_outs = self.bind(*given, *map(instantiate, right), **params)
        return outs, (*d_outs[:n_b], *zeros[n_b:])

    def transpose(self, cotangents: Sequence, args: Sequence, **params: Any) -> tuple:
        """Solve the transposed system."""
        jaxprs, lengths = params["jaxprs"], params["const_lengths"]
        if jaxprs.transpose_solve is None:
            raise TypeError(
                "transpose_solve required for backwards mode automatic differentiation of "
                "custom_linear_solve"
            )
        *consts, b = self.groups(args, lengths)
        if any(type(x) is Linear for group in consts for x in group):
            raise TypeError("custom_linear_solve is linear in b only, not in what it captured")
        n_b = len(b)
        outs = self.bind(
            *itertools.chain(*LinearSolve(*consts).transposed()),
            *map(instantiate, cotangents[:n_b]),
            jaxprs=jaxprs.transposed(),
            const_lengths=lengths.transposed(),
        )
        nothing = [None] * (len(args) - n_b)
        return (*nothing, *outs[:n_b])

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Map all programs; the vectors are batched in any case."""
        jaxprs, lengths = params["jaxprs"], params["const_lengths"]
        *const_dims, b_dims = self.groups(dims, lengths)
        n_b = len(b_dims)
        n_consts = len(args) - n_b
        mapped = LinearSolve(*map(_batched, jaxprs, const_dims, [axis] * 4))
        consts = batch_to_front(args[:n_consts], dims[:n_consts])
        right = [
            batch_dim_to(x, dim, 0, axis.size)
            for x, dim in zip(args[n_consts:], b_dims, strict=True)
        ]
        outs = self.bind(*consts, *right, jaxprs=mapped, const_lengths=lengths)
        return outs, (0,) * len(outs)

    def decompose(
        self, *args: Value, jaxprs: LinearSolve, const_lengths: LinearSolve
    ) -> tuple[Value, ...]:
        """Run the solver."""
        groups = self.groups(args, const_lengths)
        return eval_jaxpr(jaxprs.solve, (), *groups[2], *groups[-1])

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Inline the solver."""
        groups = self.groups(args, params["const_lengths"])
        return b.inline(params["jaxprs"].solve, [*groups[2], *groups[-1]])

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Write the solver in place."""
        return self.lower(b, args, outs, **params)


def _minus_change(matvec: Jaxpr, consts: Values, tangents: Sequence, x: Values) -> list:
    """Return -dA x, the tangents of the consts of A being given, or `Zero`s."""

    def product(*matrix: Value) -> tuple[Value, ...]:
        """Multiply x, which stays fixed."""
        return eval_jaxpr(matvec, (), *matrix, *x)

    _, change = jvp_flat(product, consts, tangents)
    return [t if type(t) is Zero else neg(t) for t in change]


def _batched(jaxpr: Jaxpr | None, const_dims: Sequence, axis: Axis) -> Jaxpr | None:
    """Map a program over its vectors, and over the consts that have a mapped axis."""
    if jaxpr is None:
        return None
    flags = [dim is not None for dim in const_dims]
    vectors = (True,) * (len(jaxpr.invars) - len(flags))
    return batch_jaxpr(jaxpr, axis, (*flags, *vectors), (True,) * len(jaxpr.outvars))[0]


linear_solve_p = CustomLinearSolve()


def custom_linear_solve(
    matvec: Callable,
    b: Any,
    solve: Callable,
    transpose_solve: Callable | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the solution x of `matvec(x) == b`, which `solve(matvec, b)` finds.

    It is differentiated by solving again, not through the solver.  matvec: a linear function of
    trees like b.  transpose_solve: `(vecmat, b) -> x` for the transposed system, needed in reverse
    mode; `solve` itself where the system is `symmetric`.  has_aux: whether the solvers return a
    pair, whose second element is returned beside x.

    >>> custom_linear_solve(lambda x: 4.0 * x, 2.0, lambda matvec, b: b / matvec(1.0))
    Array(0.5, dtype=float32, weak_type=True)
    """
    leaves, tree = flatten_values((b,))
    b_tree = tree.children()[0]
    avals = [typeof(leaf) for leaf in leaves]

    def traced_solver(function: Callable, multiply: Callable, what: str) -> Body:
        """Trace one of the user's solvers."""
        return _traced(_solver(function, multiply, has_aux), tree, avals, what, has_aux)

    product = _traced(matvec, tree, avals, "matvec", False)
    solution = traced_solver(solve, matvec, "solve")
    bodies = LinearSolve(product, None, solution, None)
    if symmetric and transpose_solve is None:
        other = traced_solver(solve, matvec, "transpose_solve")
        bodies = LinearSolve(product, product, solution, other)
    elif transpose_solve is not None:
        back = _transposed(product, avals, b_tree)
        other = traced_solver(transpose_solve, _product_of(back, b_tree), "transpose_solve")
        bodies = LinearSolve(product, back, solution, other)
    consts = [body.consts if body else () for body in bodies]
    outs = linear_solve_p.bind(
        *itertools.chain(*consts),
        *leaves,
        jaxprs=LinearSolve(*[body and body.jaxpr for body in bodies]),
        const_lengths=LinearSolve(*map(len, consts)),
    )
    if not has_aux:
        return tree_unflatten(b_tree, outs)
    x, aux = split_at(outs, len(leaves))
    return tree_unflatten(b_tree, x), tree_unflatten(solution.out_tree.children()[1], aux)


def _traced(
    function: Callable, tree: PyTreeDef, avals: Sequence[ShapedArray], what: str, has_aux: bool
) -> Body:
    """Trace a function of b, `what` to the user, and check that it returns the shapes of b."""
    body = trace_body(function, tree, avals, "custom_linear_solve")
    outs = body.out_avals
    if has_aux:
        outs = outs[: body.out_tree.children()[0].num_leaves]
    shapes, wanted = [a.shape for a in outs], [a.shape for a in avals]
    if shapes != wanted:
        raise ValueError(f"{what}() output shapes must match b, got {shapes} and {wanted}")
    return body


def _product_of(product: Body, b_tree: PyTreeDef) -> Callable:
    """Return a traced product as a function of trees like b."""

    def multiply(x: Any) -> Any:
        """Multiply a tree like b."""
        outs = eval_jaxpr(product.jaxpr, (), *product.consts, *tree_leaves(x))
        return tree_unflatten(b_tree, outs)

    return multiply


def _solver(function: Callable, multiply: Callable, has_aux: bool) -> Callable:
    """Return the user's solver as a function of b."""

    def run(right: Any) -> Any:
        """Call the solver; with an auxiliary output it must return a pair."""
        result = function(multiply, right)
        if has_aux:
            x, aux = result
            return x, aux
        return result

    return run


def _transposed(product: Body, avals: Sequence[ShapedArray], b_tree: PyTreeDef) -> Body:
    """Return the transpose of a linear body, of the same consts."""
    jaxpr, n_consts = product.jaxpr, len(product.consts)

    def run(*args: Value) -> list[Value]:
        """Run the product backwards."""
        consts, cts = split_at(args, n_consts)
        linear = [Linear(aval) for aval in avals]
        _, cts_in = split_at(backward(jaxpr, (), [*consts, *linear], cts), n_consts)
        return [instantiate(ct) for ct in cts_in]

    in_avals = [*jaxpr.in_avals[:n_consts], *avals]
    transposed = stage_jaxpr(run, jaxpr, in_avals, "transpose")
    return Body(transposed, product.consts, b_tree)
