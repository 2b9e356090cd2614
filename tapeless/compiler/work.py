"""How much work equations are: what `demand.py` decides by.

Work is counted in operations on elements, and all functions of elements count alike; the programs
inside of an equation count as often as they run, as far as that is known. *Instructions* tell one
function from another: a power is three exponentials.

An *expression* is what can be put off until an element is asked for. Equations that are more than
that, such as loops, products, sorts, and expressions that are too long, are work by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tapeless.compiler.probe import RECIPE, Probe, probe
from tapeless.compiler.recipes import instructions
from tapeless.core.jaxpr import Eqn, Jaxpr, Var, subjaxprs
from tapeless.prims.common import Elementwise

__all__ = ["instructions_of", "is_apart", "is_long", "is_of_elements", "is_work", "work_of"]

LONG_EXPRESSION = 48  # equations, from which on parts are stored (`fuse.py`)
CHAIN_LENGTH = 4  # how often expressions meet that are not worth it
_UNKNOWN_STEPS = 100
_WORK: dict[str, float] = {
    **dict.fromkeys("cumsum cumprod cummax cummin".split(), 8.0),  # a step waits for the last one
    **dict.fromkeys(
        "scatter scatter-add scatter-sub scatter-mul scatter-min scatter-max".split(), 8.0
    ),
    **dict.fromkeys("sort top_k fft triangular_solve".split(), 20.0),
    **dict.fromkeys("cholesky lu qr geqrf householder_product ormqr tridiagonal".split(), 50.0),
    **dict.fromkeys("eigh eig svd schur hessenberg".split(), 400.0),
}
_CALLBACK_WORK = 1e4
_VIEWS = frozenset("broadcast_in_dim reshape squeeze transpose iota copy stop_gradient".split())
_EXPRESSIONS = _VIEWS | frozenset(
    "slice pad rev select_n concatenate gather dynamic_slice dynamic_update_slice split argmax "
    "argmin reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor".split()
)


def is_work(eqn: Eqn) -> bool:
    """Tell whether an equation is more than an expression that `choices.py` can put off."""
    if eqn.effects or eqn.primitive.name in _EXPRESSIONS:
        return False
    if not isinstance(eqn.primitive, Elementwise):
        return True
    decomposed = _probed(eqn).decomposed
    return decomposed is not None and any(map(is_work, decomposed.eqns))


def is_long(members: Sequence[Eqn]) -> bool:
    """Tell whether expressions are so long that parts of them are stored, or meet again and again,
    in sums or windows.

    Then they are no single expression of an element, which could be put off.
    """
    if sum(map(_length, members)) > LONG_EXPRESSION:
        return True
    depths: dict[Var, int] = {}
    for eqn in members:
        before = (depths.get(atom, 0) for atom in eqn.invars if type(atom) is Var)
        depth = max(before, default=0) + (not is_of_elements(eqn))
        depths.update(dict.fromkeys(eqn.outvars, depth))
    return max(depths.values(), default=0) > CHAIN_LENGTH


def is_apart(eqn: Eqn) -> bool:
    """Tell whether an equation does not become part of an expression of elements."""
    return not is_of_elements(eqn) or is_work(eqn)


def _length(eqn: Eqn) -> int:
    """Return how many equations stand for one."""
    if eqn.effects or eqn.primitive.name in _EXPRESSIONS or not is_of_elements(eqn):
        return 1
    decomposed = _probed(eqn).decomposed
    return 1 if decomposed is None else sum(map(_length, decomposed.eqns))


def is_of_elements(eqn: Eqn) -> bool:
    """Tell whether an element of the result needs one of each operand."""
    name = eqn.primitive.name
    return isinstance(eqn.primitive, Elementwise) or name in _VIEWS or name == "select_n"


def work_of(eqn: Eqn) -> float:
    """Estimate the operations on elements that an equation takes."""
    programs = subjaxprs(eqn.params)
    size = sum(var.aval.size for var in eqn.outvars)
    if programs:
        steps = eqn.params.get("length", _UNKNOWN_STEPS)
        if _is_for_elements(eqn, programs):
            steps = max(size, *(atom.aval.size for atom in eqn.invars))
            steps *= _WORK.get(eqn.primitive.name, 1.0)
        times = 1 if eqn.primitive.name == "cond" else steps
        return times * max(sum(map(work_of, program.eqns)) for program in programs)
    if eqn.primitive.name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        return size * math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted)
    read = max((atom.aval.size for atom in eqn.invars), default=0)
    name = eqn.primitive.name
    if name == "conv_general_dilated":
        out_channel = eqn.params["dimension_numbers"].rhs_spec[0]
        return size * eqn.invars[1].aval.size / eqn.invars[1].aval.shape[out_channel]
    if name == "pure_callback":
        return _CALLBACK_WORK
    if name in _WORK or eqn.effects:
        return max(size, read) * _WORK.get(name, 1.0)
    found = _probed(eqn)
    if found.decomposed is not None:
        return sum(map(work_of, found.decomposed.eqns))
    return max(size, read, sum(found.work) + found.spent)


def instructions_of(eqn: Eqn) -> float:
    """Estimate the instructions of an expression: its work, with functions by what they are."""
    found = _probed(eqn)
    if found.decomposed is not None:
        return sum(map(instructions_of, found.decomposed.eqns))
    return work_of(eqn) + sum(
        times * (instructions(function) - RECIPE) for function, times in found.recipes
    )


def _is_for_elements(eqn: Eqn, programs: Sequence[Jaxpr]) -> bool:
    """Tell whether programs say what is done with elements, as that of a scatter does."""
    if all(var.aval.ndim == 0 for var in eqn.outvars):
        return False
    return all(aval.ndim == 0 for program in programs for aval in program.out_avals)


def _probed(eqn: Eqn) -> Probe:
    """Return what was found out about an operation without programs."""
    avals = tuple(atom.aval for atom in eqn.invars)
    return probe(eqn.primitive, avals, tuple(var.aval for var in eqn.outvars), eqn.params)
