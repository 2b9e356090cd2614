"""Large products of matrices that are transposed before or afterwards: the library does it.

A library reads a matrix either way, so that a transposed factor need not be copied first.  It
writes either product, too: the transpose of a b is the product of b and a transposed, and nothing
is left of the transposition.  Gradients by weights are such products, since the rule of a product
gives the axes of the other factor first.

    transpose (dot_general a b)      a: (k, m), b: (k, n) -> (n, m)      dot_general b a

So it is if functions of its elements are transposed, as in layers under `vmap`, unless the first
factor was just computed: as the second it would have to be packed, and given ones are packed before
a loop (`packs.py`).

A product that others read as it is stays, since computing it twice would cost more.
"""

from __future__ import annotations

from collections import Counter

from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tapeless.prims.common import Elementwise
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
    chains: dict[Atom, list[Eqn]] = {}
    makers: dict[Atom, Eqn] = {}
    transposes: list[Eqn] = []
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name == "dot_general":
            chains[eqn.outvars[0]] = [eqn]
        elif name == "broadcast_in_dim":
            makers[eqn.outvars[0]] = eqn
        elif name == "transpose" and eqn.invars[0] in chains:
            transposes.append(eqn)
        elif isinstance(eqn.primitive, Elementwise):
            longer = [atom for atom in eqn.invars if atom in chains]
            if len(longer) == 1 and all(_may_turn(atom, longer[0], makers) for atom in eqn.invars):
                chains[eqn.outvars[0]] = [*chains[longer[0]], eqn]
    if not transposes:
        return jaxpr
    uses = Counter(atom for eqn in jaxpr.eqns for atom in eqn.invars)
    uses.update(jaxpr.outvars)
    turned: dict[int, list[Eqn]] = {}
    given = {*jaxpr.constvars, *jaxpr.invars}
    for eqn in transposes:
        chain = chains[eqn.invars[0]]
        if len(chain) > 1 and chain[0].invars[0] not in given:
            continue
        if all(uses[each.outvars[0]] == 1 for each in chain) and _is_turned(chain[0], eqn):
            turned.update(_turned_chain(chain, eqn, makers))
    found = [new for eqn in jaxpr.eqns for new in turned.get(id(eqn), [eqn])]
    return jaxpr.replace(eqns=found)


def _may_turn(
    atom: Atom,
    product: Atom,
    makers: dict[Atom, Eqn],
) -> bool:
    """Tell whether an operand is the product, one number, or one axis that is repeated."""
    if atom is product or atom.aval.ndim == 0:
        return True
    if atom not in makers:
        return False
    params = makers[atom].params
    return len(params["broadcast_dimensions"]) <= 1


def _like(
    atom: Atom,
    order: tuple[int, ...],
) -> Var:
    """Return a variable for a transposed value."""
    extents = atom.aval.shape
    shape = tuple(extents[axis] for axis in order)
    return Var(atom.aval.update(shape=shape))


def _repeated(
    maker: Eqn,
    order: tuple[int, ...],
) -> Eqn:
    """Return what repeats an operand along the other axes."""
    (old,) = maker.outvars
    result = _like(old, order)
    dims = maker.params["broadcast_dimensions"]
    params = dict(maker.params)
    params["shape"] = result.aval.shape
    params["broadcast_dimensions"] = tuple(map(order.index, dims))
    return maker.replace(
        outvars=(result,),
        params=params,
    )


def _turned_chain(
    chain: list[Eqn],
    transposition: Eqn,
    makers: dict[Atom, Eqn],
) -> dict[int, list[Eqn]]:
    """Return what becomes of a product, of what is made of it, and of the transposition."""
    order = transposition.params["permutation"]
    (last,) = transposition.outvars
    turned: dict[int, list[Eqn]] = {}
    turned[id(transposition)] = []
    old: Atom | None = None
    new: Var | None = None
    for eqn in chain:
        (outvar,) = eqn.outvars
        result = last
        if eqn is not chain[-1]:
            result = _like(outvar, order)
        if new is None:
            turned[id(eqn)] = [_turned(eqn, result)]
            old, new = outvar, result
            continue
        found: list[Eqn] = []
        operands: list[Atom] = []
        for atom in eqn.invars:
            if atom is old:
                operands.append(new)
            elif atom in makers:
                repeated = _repeated(makers[atom], order)
                found.append(repeated)
                operands += repeated.outvars
            else:
                operands.append(atom)
        whole = eqn.replace(
            invars=tuple(operands),
            outvars=(result,),
        )
        turned[id(eqn)] = [*found, whole]
        old, new = outvar, result
    return turned


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
