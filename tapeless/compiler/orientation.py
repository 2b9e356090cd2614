"""Large products of matrices that are transposed before or afterwards: the library does it.

A library reads a matrix either way, so that a transposed factor need not be copied first.  It
writes either product, too: the transpose of a b is the product of b and a transposed, and nothing
is left of the transposition.  Gradients by weights are such products, since the rule of a product
gives the axes of the other factor first.

    transpose (dot_general a b)      a: (k, m), b: (k, n) -> (n, m)      dot_general b a

A product that others read as it is stays, since computing it twice would cost more.
"""

from __future__ import annotations

from collections import Counter

from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tapeless.prims.precision import Precision

__all__ = ["results_turned", "untransposed"]

_LARGE_PRODUCT = 1 << 9  # elements; smaller ones are written out and like their factors as rows


def untransposed(eqn: Eqn, makers: dict[Var, Eqn]) -> Eqn:
    """Let a large product take factors as they were before they were transposed."""
    if eqn.primitive.name != "dot_general":
        return eqn
    if eqn.outvars[0].aval.size < _LARGE_PRODUCT:
        return eqn
    factors: list[Atom] = []
    contracted, shared = map(list, eqn.params["dimension_numbers"])
    for side, factor in enumerate(eqn.invars):
        maker = makers.get(factor) if type(factor) is Var else None
        summed = {*contracted[side], *shared[side]}
        if maker is None or not _keeps_order(maker, summed):
            factors.append(factor)
            continue
        permutation = maker.params["permutation"]
        factors.append(maker.invars[0])
        contracted[side] = tuple(permutation[axis] for axis in contracted[side])
        shared[side] = tuple(permutation[axis] for axis in shared[side])
    if tuple(factors) == tuple(eqn.invars):
        return eqn
    numbers = (tuple(contracted), tuple(shared))
    params = {**eqn.params, "dimension_numbers": numbers}
    return eqn.replace(invars=tuple(factors), params=params)


def _keeps_order(maker: Eqn, summed: set[int]) -> bool:
    """Tell whether an equation transposes, but not the axes that are left of a factor."""
    if maker.primitive.name != "transpose":
        return False
    left = [source for axis, source in enumerate(maker.params["permutation"]) if axis not in summed]
    return left == sorted(left)


def results_turned(jaxpr: Jaxpr) -> Jaxpr:
    """Return the program with large products that are only transposed made the other way round."""
    makers: dict[Atom, Eqn] = {}
    transposes: list[Eqn] = []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "dot_general":
            makers[eqn.outvars[0]] = eqn
        elif eqn.primitive.name == "transpose" and eqn.invars[0] in makers:
            transposes.append(eqn)
    if not transposes:
        return jaxpr
    uses = Counter(atom for eqn in jaxpr.eqns for atom in eqn.invars)
    uses.update(jaxpr.outvars)
    turned: dict[int, Eqn | None] = {}
    for eqn in transposes:
        product = makers[eqn.invars[0]]
        if uses[eqn.invars[0]] == 1 and _is_turned(product, eqn):
            turned[id(product)] = _turned(product, eqn.outvars[0])
            turned[id(eqn)] = None
    found = [turned.get(id(eqn), eqn) for eqn in jaxpr.eqns]
    return jaxpr.replace(eqns=[eqn for eqn in found if eqn is not None])


def _is_turned(product: Eqn, transposition: Eqn) -> bool:
    """Tell whether the axes of the first factor go behind those of the second, in their order."""
    params = product.params
    if type(params["precision"]) not in (type(None), tuple, Precision):
        return False
    if product.outvars[0].aval.size < _LARGE_PRODUCT:
        return False
    if params["out_sharding"] is not None:
        return False
    (summed, _), (shared, _) = params["dimension_numbers"]
    middle = product.invars[0].aval.ndim - len(summed)
    axes = tuple(range(product.outvars[0].aval.ndim))
    first, second = axes[len(shared) : middle], axes[middle:]
    wanted = (*axes[: len(shared)], *second, *first)
    return tuple(transposition.params["permutation"]) == wanted


def _turned(product: Eqn, result: Var) -> Eqn:
    """Return the product with its factors exchanged."""
    params = dict(product.params)
    summed, shared = params["dimension_numbers"]
    params["dimension_numbers"] = (summed[::-1], shared[::-1])
    if type(params["precision"]) is tuple:
        params["precision"] = params["precision"][::-1]
    return product.replace(
        invars=product.invars[::-1],
        outvars=(result,),
        params=params,
    )
