"""`custom_root`: a root of a function, found by a user's solver and differentiated implicitly.

Where f(x, a) = 0, the tangent of x is the solution of a linear system: (df/dx) dx = -(df/da) da.
So the root is a `custom_jvp_call` of what f and the solver captured, whose rule asks the user for
the solution of that system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.control.bodies import Body, flatten_values, trace_body
from tapeless.control.custom_jvp import custom_jvp_call_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.linear import Zero
from tapeless.core.trace import Value
from tapeless.prims.common import instantiate, is_float0
from tapeless.prims.unary import neg
from tapeless.transforms.jvp import jvp_flat
from tapeless.transforms.linearize import linearize_flat
from tapeless.transforms.stage import stage_flat
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.treedef import PyTreeDef

__all__ = ["custom_root"]


def custom_root(
    f: Callable,
    initial_guess: Any,
    solve: Callable,
    tangent_solve: Callable,
    has_aux: bool = False,
) -> Any:
    """Return a root of `f`, which `solve(f, initial_guess)` finds.

    It is differentiated implicitly, with respect to what `f` captured.  f: from trees like the
    guess to such trees.  tangent_solve: `(g, y) -> x` with g(x) = y, for the linear g that is the
    derivative of f at the root.  has_aux: whether `solve` returns a pair (root, auxiliary output).

    >>> from tapeless.prims.unary import sqrt
    >>> custom_root(lambda x: x * x - 4.0, 1.0, lambda f, x: sqrt(x - f(0.0) - 1.0), lambda g, y: y)
    Array(2., dtype=float32, weak_type=True)
    """
    guess, tree = flatten_values((initial_guess,))
    x_tree = tree.children()[0]
    avals = [typeof(leaf) for leaf in guess]
    function = trace_body(f, tree, avals, "custom_root")
    _check("f", function.out_tree, x_tree, "initial_guess")
    solution = trace_body(lambda x: solve(f, x), tree, avals, "custom_root")
    root_tree = solution.out_tree
    if has_aux:
        if len(root_tree.children()) != 2:
            raise ValueError(
                f"solve() produced a pytree with structure {root_tree}, but a pytree tuple with "
                "auxiliary output was expected because has_aux was set to True."
            )
        root_tree = root_tree.children()[0]
    _check("solve", root_tree, x_tree, "initial_guess")
    root = Root(function, solution, x_tree, tangent_solve)
    root.check_tangent_solve(avals)
    outs = root(*function.consts, *solution.consts, *guess)
    return tree_unflatten(solution.out_tree, outs)


def _check(what: str, tree: PyTreeDef, wanted: PyTreeDef, like: str) -> None:
    """Refuse results of another tree than the guess."""
    if tree != wanted:
        raise TypeError(
            f"{what}() output pytree structure must match {like}, got {tree} and {wanted}."
        )


class Root:
    """A root as a flat function of (captured by f, captured by the solver, guess)."""

    def __init__(
        self, function: Body, solver: Body, tree: PyTreeDef, tangent_solve: Callable
    ) -> None:
        """function, solver: traced; tree: of the guess."""
        self.function, self.solver, self.tree = function, solver, tree
        self.tangent_solve = tangent_solve

    def __call__(self, *args: Value) -> tuple[Value, ...]:
        """Return the root and the auxiliary output."""
        return custom_jvp_call_p.bind(
            *args,
            name="custom_root",
            call_jaxpr=self.run_solver,
            jvp=self.jvp,
            num_consts=0,
            symbolic_zeros=True,
        )

    def run_solver(self, *args: Value) -> tuple[Value, ...]:
        """Evaluate the solver."""
        return eval_jaxpr(self.solver.jaxpr, (), *args[len(self.function.consts) :])

    def jvp(self, primals: Sequence[Value], tangents: Sequence) -> tuple:
        """Return the root and its tangent by the implicit function theorem."""
        outs = self(*primals)
        n, n_x = len(self.function.consts), self.tree.num_leaves
        captured, root = primals[:n], outs[:n_x]

        def at_root(*values: Value) -> tuple[Value, ...]:
            """Evaluate f at the root, by what it captured."""
            return eval_jaxpr(self.function.jaxpr, (), *values, *root)

        zeros = [Zero(typeof(out).tangent()) for out in outs]
        _, change = jvp_flat(at_root, captured, tangents[:n])
        if all(type(t) is Zero for t in change):
            return outs, zeros
        right = tree_unflatten(self.tree, [neg(instantiate(t)) for t in change])
        return outs, (*self.solved(captured, root, right), *zeros[n_x:])

    def check_tangent_solve(self, avals: Sequence[ShapedArray]) -> None:
        """Refuse a solver of the linear system whose results are not like the guess."""
        n = len(self.function.consts)

        def solved(*values: Value) -> list[Value]:
            """Solve for any root and right side."""
            root, right = values[n : n + len(avals)], values[n + len(avals) :]
            return self.solved(values[:n], root, tree_unflatten(self.tree, right))

        sides = [aval.tangent() for aval in avals]
        if not any(is_float0(side) for side in sides):
            captured = [typeof(const) for const in self.function.consts]
            stage_flat(solved, [*captured, *avals, *sides], "custom_root")

    def solved(self, captured: Sequence[Value], root: Sequence[Value], right: Any) -> list[Value]:
        """Return the x with (df/dx at the root) x = right, by the user's solver."""

        def by_x(*x: Value) -> tuple[Value, ...]:
            """Evaluate f by its argument."""
            return eval_jaxpr(self.function.jaxpr, (), *captured, *x)

        linear = linearize_flat(by_x, root)

        def derivative(direction: Any) -> Any:
            """Apply the derivative of f at the root."""
            pushed = iter(eval_jaxpr(linear.jaxpr, linear.jaxpr.consts, *tree_leaves(direction)))
            full = [
                next(pushed) if flag else instantiate(Zero(typeof(out).tangent()))
                for out, flag in zip(linear.outs, linear.nonzero_outputs, strict=True)
            ]
            return tree_unflatten(self.tree, full)

        solved, tree = tree_flatten(self.tangent_solve(derivative, right))
        _check("tangent_solve", tree, self.tree, "x")
        return solved
