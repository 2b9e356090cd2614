"""First-order optimizers of trees of parameters.

An optimizer is a triple of functions:

    init(params) -> state;   update(step, gradients, state) -> state;   get_params(state) -> params

Each is written for one array, `x0 -> state`, `(step, g, state) -> state`, `state -> x`; the
decorator `optimizer` makes of it one of trees.  The state of a tree is an `OptimizerState`: the
states of the leaves flattened once more, so that it goes through transformations.

A step size is a number or a schedule: a function of the number of the step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless import numpy as jnp
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.maps import tree_leaves, tree_map
from tapeless.tree.registry import register_pytree_node
from tapeless.tree.treedef import PyTreeDef

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]

Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """packed_state: per leaf of the parameters the leaves of its state; and the trees of both."""

    packed_state: tuple[tuple[Any, ...], ...]
    tree_def: PyTreeDef
    subtree_defs: tuple[PyTreeDef, ...]


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


class Optimizer(NamedTuple):
    """The functions of an optimizer."""

    init_fn: Callable[[Any], OptimizerState]
    update_fn: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], Any]


def optimizer(opt_maker: Callable[..., tuple[Callable, Callable, Callable]]) -> Callable:
    """Make an optimizer of single arrays one of trees.

    opt_maker: (...) -> (init, update, get_params), each for one array.
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        """Make the functions for trees."""
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params: Any) -> OptimizerState:
            """Start with a state per leaf."""
            leaves, tree = tree_flatten(params)
            return _packed([init(leaf) for leaf in leaves], tree)

        def tree_update(step: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            """Update the state of each leaf."""
            leaves, tree = tree_flatten(gradients)
            if tree != state.tree_def:
                raise TypeError(
                    "optimizer update function was passed a gradient tree that did not match the "
                    f"parameter tree structure with which it was initialized: parameter tree "
                    f"{state.tree_def} and grad tree {tree}."
                )
            pairs = zip(leaves, _states(state), strict=True)
            new = _packed([update(step, leaf, each) for leaf, each in pairs], tree)
            if new.subtree_defs != state.subtree_defs:
                raise TypeError(
                    "optimizer update function produced an output structure that did not match "
                    f"its input structure: {state.subtree_defs} and {new.subtree_defs}."
                )
            return new

        def tree_get_params(state: OptimizerState) -> Any:
            """Return the parameters that the states hold."""
            return tree_unflatten(state.tree_def, [get_params(each) for each in _states(state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


def _packed(states: Sequence[Any], tree: PyTreeDef) -> OptimizerState:
    """Flatten the states of the leaves."""
    flat = [tree_flatten(state) for state in states]
    packed = tuple(tuple(leaves) for leaves, _ in flat)
    return OptimizerState(packed, tree, tuple(subtree for _, subtree in flat))


def _states(state: OptimizerState) -> list[Any]:
    """Return the states of the leaves."""
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [tree_unflatten(subtree, leaves) for subtree, leaves in pairs]


# Optimizers


@optimizer
def sgd(step_size: Any) -> tuple[Callable, Callable, Callable]:
    """Return gradient descent: x - step_size g."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, x: Any) -> Any:
        """Go down the gradient."""
        return x - schedule(step) * g

    return lambda x: x, update, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> tuple[Callable, Callable, Callable]:
    """Return gradient descent along a sum of gradients that fades by `mass`."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Go along the velocity."""
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(step) * velocity, velocity

    return _with_zeros, update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> tuple[Callable, Callable, Callable]:
    """Return gradient descent with Nesterov's look ahead along the velocity."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Go along the velocity and once more along the gradient."""
        x, velocity = state
        velocity = mass * velocity + g
        return x - schedule(step) * (mass * velocity + g), velocity

    return _with_zeros, update, _first


def _with_zeros(x: Any) -> tuple[Any, Any]:
    """Start with one array of zeros beside the parameters."""
    return x, jnp.zeros_like(x)


def _with_two_zeros(x: Any) -> tuple[Any, Any, Any]:
    """Start with two arrays of zeros beside the parameters."""
    return x, jnp.zeros_like(x), jnp.zeros_like(x)


def _first(state: tuple) -> Any:
    """Return the parameters of a state."""
    return state[0]


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> tuple[Callable, Callable, Callable]:
    """Return Adagrad (Duchi et al., 2011): gradients over the root of the sum of their squares."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Add the square, divide by the root, smooth."""
        x, squares, mean = state
        squares = squares + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        return x - schedule(step) * mean, squares, mean

    return _with_two_zeros, update, _first


@optimizer
def rmsprop(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8
) -> tuple[Callable, Callable, Callable]:
    """Return RMSProp: gradients over the root of a fading mean of their squares."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Mix the square in and divide by the root."""
        x, squares = state
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        return x - schedule(step) * g / jnp.sqrt(squares + eps), squares

    return _with_zeros, update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> tuple[Callable, Callable, Callable]:
    """Return RMSProp along a sum of steps that fades by `momentum`."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Mix the square in, add the step to the velocity."""
        x, squares, velocity = state
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        change = schedule(step) * g / jnp.sqrt(squares + eps)
        velocity = momentum * velocity + change
        return x - velocity, squares, velocity

    return _with_two_zeros, update, _first


@optimizer
def adam(
    step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> tuple[Callable, Callable, Callable]:
    """Return Adam (Kingma and Ba, 2015): fading means of gradients and squares, unbiased."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Mix gradient and square in, take off the bias of the start."""
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        mean = m / (1 - jnp.asarray(b1, m.dtype) ** (step + 1))
        square = v / (1 - jnp.asarray(b2, m.dtype) ** (step + 1))
        return x - schedule(step) * mean / (jnp.sqrt(square) + eps), m, v

    return _with_two_zeros, update, _first


@optimizer
def adamax(
    step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> tuple[Callable, Callable, Callable]:
    """Return Adamax (Kingma and Ba, 2015): Adam with a fading maximum instead of squares."""
    schedule = make_schedule(step_size)

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Mix the gradient in, let the maximum fade."""
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        rate = schedule(step) / (1 - jnp.asarray(b1, m.dtype) ** (step + 1))
        return x - rate * m / (u + eps), m, u

    return _with_two_zeros, update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> tuple[Callable, Callable, Callable]:
    """Return SM3 (Anil et al., 2019): Adagrad that keeps one sum per row of each axis."""
    schedule = make_schedule(step_size)

    def init(x: Any) -> tuple:
        """Start with zeros along each axis."""
        return x, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in x.shape]

    def along(axis: int, row: Any, rank: int) -> Any:
        """Spread a row of an axis over the others."""
        return row.reshape([-1 if i == axis else 1 for i in range(rank)])

    def update(step: Any, g: Any, state: tuple) -> tuple:
        """Bound the sums of squares by the least of the rows."""
        x, mean, rows = state
        spread = [along(axis, row, x.ndim) for axis, row in enumerate(rows)]
        squares = functools.reduce(jnp.minimum, spread) + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        others = [tuple(j for j in range(x.ndim) if j != i) for i in range(x.ndim)]
        return x - schedule(step) * mean, mean, [squares.max(axes) for axes in others]

    return init, update, _first


# Schedules


def constant(step_size: Any) -> Schedule:
    """Return the schedule that is always `step_size`.

    >>> constant(0.5)(3)
    0.5
    """
    return lambda step: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return step_size decay_rate**(step / decay_steps).

    >>> exponential_decay(1.0, 2, 0.25)(1)
    0.5
    """
    return lambda step: step_size * decay_rate ** (step / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """Return step_size / (1 + decay_rate step / decay_steps); in whole steps with `staircase`.

    >>> inverse_time_decay(1.0, 2, 1.0)(2)
    0.5
    """

    def schedule(step: Any) -> Any:
        """Divide by the time."""
        time = step / decay_steps
        return step_size / (1 + decay_rate * (jnp.floor(time) if staircase else time))

    return schedule


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
) -> Schedule:
    """Return a power of the time left, from `step_size` to `final_step_size`.

    >>> polynomial_decay(1.0, 4, 0.5)(2)
    Array(0.75, dtype=float32, weak_type=True)
    """

    def schedule(step: Any) -> Any:
        """Measure the time that is left."""
        left = 1 - jnp.minimum(step, decay_steps) / decay_steps
        return left**power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return values[i] after the i-th boundary.

    >>> piecewise_constant([3], [1.0, 0.5])(4)
    Array(0.5, dtype=float32)
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda step: values[jnp.sum(step > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a schedule as it is, and of a number the one that is constant.

    >>> make_schedule(0.5)(7)
    0.5
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(type(scalar_or_schedule))


# Gradients and states


def l2_norm(tree: Any) -> Any:
    """Return the root of the sum of the squares of all elements of a tree.

    >>> l2_norm([np.float32(3), np.float32(4)])
    Array(5., dtype=float32)
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return gradients scaled down to the norm `max_norm`, if theirs is larger.

    >>> clip_grads([np.float32(3), np.float32(4)], 1.0)
    [Array(0.6, dtype=float32), Array(0.8, dtype=float32)]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """Marks where the tree of the parameters ends and the state of a leaf begins."""

    def __init__(self, subtree: Any) -> None:
        """subtree: the state of a leaf."""
        self.subtree = subtree

    def __iter__(self) -> Any:
        """Yield the one child."""
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return the tree of the parameters with marked states for leaves, to be saved."""
    marked = [JoinPoint(state) for state in _states(opt_state)]
    return tree_unflatten(opt_state.tree_def, marked)


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state of an optimizer of a tree with marked states: undo the unpacking."""
    marked, tree = tree_flatten(marked_pytree)
    if not all(isinstance(x, JoinPoint) for x in marked):
        raise TypeError("pack_optimizer_state wants a tree whose leaves are all JoinPoints")
    return _packed([x.subtree for x in marked], tree)
