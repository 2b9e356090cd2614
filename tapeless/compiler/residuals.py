"""What a loop keeps for a later one is made there again, where that takes a few sums and products.

    for t:  s = logistic(..);  keep s (1 - s), s[:k], s[k:];  q = tanh(..);  keep q, 1 - q q
    for t downwards:  .. the five ..

    becomes   for t:  s = logistic(..);  keep s;  q = tanh(..);  keep q
              for t downwards:  .. made of s and q ..

The derivative of a loop keeps of each step what its transpose multiplies by. These *residuals* are
often made of each other, or of one value that is no residual itself, a *root*. A residual goes if a
few cheap equations make it of those that stay and of a root, and a root is kept where it is smaller
than what goes for it. The equations are done again on the same numbers, so no bit changes.

Only arrays take part that the second loop alone reads, step by step, and only where enough memory
goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

from tapeless.core.jaxpr import DebugInfo, Eqn, Jaxpr, Literal, Var
from tapeless.util.records import record
from tapeless.util.seqs import split_at

__all__ = ["fewer_residuals"]

LEAST = 1 << 16  # bytes that go from between two loops
_LEAST_ELEMENTS = 16  # of a residual: fewer stay in registers
_MOST_EQUATIONS = 6  # that make a residual
_CHEAP = {
    "add",
    "add_any",
    "mul",
    "neg",
    "one_minus_square",
    "reshape",
    "slice",
    "split",
    "square",
    "squeeze",
    "sub",
}


@record
class _Choice:
    """What becomes of residuals, as variables of the loop's body.

    gone: those that are made again; roots: what is kept in their place.
    """

    gone: tuple[Var, ...]
    roots: tuple[Var, ...]


def fewer_residuals(jaxpr: Jaxpr, simplify: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
    """Return a program whose loops keep less for later loops; dead equations may be left.

    simplify: what makes alike the parts of a body that are.
    """
    eqns = list(jaxpr.eqns)
    uses = Counter(atom for eqn in eqns for atom in eqn.invars if type(atom) is Var)
    uses.update(atom for atom in jaxpr.outvars if type(atom) is Var)
    changed = False
    for later, reader in enumerate(eqns):
        if reader.primitive.name != "scan":
            continue
        read = set(reader.invars)
        for earlier in range(later):
            if eqns[earlier].primitive.name == "scan" and not read.isdisjoint(
                eqns[earlier].outvars
            ):
                found = _between(eqns[earlier], eqns[later], uses, simplify)
                if found is not None:
                    eqns[earlier], eqns[later] = found
                    changed = True
    if not changed:
        return jaxpr
    outs = (jaxpr.constvars, jaxpr.invars, jaxpr.outvars)
    return Jaxpr(*outs, eqns, jaxpr.consts, jaxpr.debug)


def _between(
    maker: Eqn, reader: Eqn, uses: Counter[Any], simplify: Callable[[Jaxpr], Jaxpr]
) -> tuple[Eqn, Eqn] | None:
    """Return two loops of which the first keeps less for the second, or None."""
    length = maker.params["length"]
    if length != reader.params["length"]:
        return None
    body, n_carry = simplify(maker.params["jaxpr"]), maker.params["num_carry"]
    sizes = reader.params["num_consts"], reader.params["num_carry"]
    inputs = reader.params["jaxpr"].invars
    rows = dict(zip(split_at(reader.invars, *sizes)[2], split_at(inputs, *sizes)[2], strict=True))
    outs = list(zip(body.outvars, maker.outvars, strict=True))[n_carry:]
    times = Counter(out for out, _ in outs)
    kept: dict[Any, Var] = {
        out: whole for out, whole in outs if whole in rows and _is_plain(out, times)
    }
    given = Counter(reader.invars)
    movable = [out for out, whole in kept.items() if uses[whole] == given[whole] == 1]
    choice = _chosen(body, kept, movable)
    if choice is None or length * _saved(choice) < LEAST:
        return None
    names: dict[Any, Var] = {out: rows[whole] for out, whole in kept.items()}
    maker = maker.replace(params={**maker.params, "jaxpr": body})
    return _written(maker, reader, choice, kept, names)


def _is_plain(out: Any, times: Counter[Any]) -> bool:
    """Tell whether a result of a body is kept once, and of numbers that are not rounded twice."""
    if type(out) is not Var or times[out] != 1:
        return False
    dtype = out.aval.dtype
    return getattr(dtype, "kind", "") == "f" and dtype.itemsize >= 4


def _bytes(variables: Iterable[Var]) -> int:
    """Return the bytes of some variables."""
    return sum(var.aval.size * var.aval.dtype.itemsize for var in variables)


def _saved(choice: _Choice) -> int:
    """Return by how many bytes a step keeps less."""
    return _bytes(choice.gone) - _bytes(choice.roots)


def _chosen(body: Jaxpr, kept: Collection[Var], movable: list[Var]) -> _Choice | None:
    """Return what is to go, and the roots to keep for it: the best root first, while one pays."""
    makers = {var: eqn for eqn in body.eqns for var in eqn.outvars}
    movable = [var for var in movable if var.aval.size >= _LEAST_ELEMENTS]
    stays, roots, gone = set(kept), list[Var](), list[Var]()
    for _ in range(len(movable)):
        best, most = None, 0
        for root in _near(makers, movable):
            leaves, goes = {*stays, root}, []
            for var in movable:
                if var in stays and var is not root:
                    if _equations(makers, var, leaves - {var}) is not None:
                        leaves.discard(var)
                        goes.append(var)
            saved = _bytes(goes) - (0 if root in stays else _bytes((root,)))
            if saved > most:
                best, most = (root, goes), saved
        if best is None:
            break
        root, goes = best
        roots += [] if root in stays else [root]
        stays = {*stays, root}.difference(goes)
        gone += goes
    return _Choice(tuple(gone), tuple(roots)) if gone else None


def _near(makers: dict[Var, Eqn], residuals: Iterable[Var]) -> list[Var]:
    """Return what residuals are made of by few cheap equations, in a fixed order."""
    found: dict[Var, None] = {}
    for residual in residuals:
        ahead = [residual]
        for _ in range(_MOST_EQUATIONS):
            ahead = [
                atom
                for var in ahead
                if var in makers and makers[var].primitive.name in _CHEAP
                for atom in makers[var].invars
                if type(atom) is Var
            ]
            found.update(dict.fromkeys(var for var in ahead if var in makers))
            ahead = list(dict.fromkeys(ahead))
        found[residual] = None
    return [var for var in found if getattr(var.aval.dtype, "kind", "") == "f"]


def _equations(makers: dict[Var, Eqn], var: Var, leaves: Collection[Var]) -> dict[int, Eqn] | None:
    """Return the cheap equations that make a variable of others, or None if there are no few."""
    found: dict[int, Eqn] = {}
    ahead = [var]
    while ahead:
        eqn = makers.get(ahead.pop())
        if eqn is None or eqn.primitive.name not in _CHEAP:
            return None
        if id(eqn) in found:
            continue
        found[id(eqn)] = eqn
        if len(found) > _MOST_EQUATIONS:
            return None
        ahead += [x for x in eqn.invars if type(x) is not Literal and x not in leaves]
    return found


def _written(
    maker: Eqn,
    reader: Eqn,
    choice: _Choice,
    kept: dict[Var, Var],
    names: dict[Var, Var],
) -> tuple[Eqn, Eqn]:
    """Return the loops with roots instead of what goes.

    kept: residuals with their arrays; names: residuals with the inputs of the second body.
    """
    body, inner = maker.params["jaxpr"], reader.params["jaxpr"]
    length = maker.params["length"]
    wholes = [Var(root.aval.update(shape=(length, *root.aval.shape))) for root in choice.roots]
    gone = {kept[var] for var in choice.gone}
    pairs = zip(body.outvars, maker.outvars, strict=True)
    outs = [pair for pair in pairs if pair[1] not in gone]
    outs += zip(choice.roots, wholes, strict=True)
    first = _with(body, body.invars, [out for out, _ in outs], body.eqns)
    names = names | {root: Var(root.aval) for root in choice.roots}
    inputs = [var for var, arg in zip(inner.invars, reader.invars, strict=True) if arg not in gone]
    inputs += [names[root] for root in choice.roots]
    second = _with(inner, inputs, inner.outvars, (*_again(body, choice, names), *inner.eqns))
    return (
        maker.replace(
            outvars=tuple(whole for _, whole in outs), params={**maker.params, "jaxpr": first}
        ),
        reader.replace(
            invars=(*(arg for arg in reader.invars if arg not in gone), *wholes),
            params={**reader.params, "jaxpr": second},
        ),
    )


def _again(body: Jaxpr, choice: _Choice, names: dict[Var, Var]) -> list[Eqn]:
    """Return the equations that make what goes, with the names that it has in the second body."""
    makers = {var: eqn for eqn in body.eqns for var in eqn.outvars}
    leaves = names.keys() - set(choice.gone)
    wanted: set[int] = set()
    ahead = list(choice.gone)
    while ahead:
        eqn = makers[ahead.pop()]
        if id(eqn) not in wanted:
            wanted.add(id(eqn))
            ahead += [x for x in eqn.invars if type(x) is not Literal and x not in leaves]
    here = dict(names)
    result = []
    for eqn in body.eqns:
        if id(eqn) in wanted:
            invars = tuple(x if type(x) is Literal else here[x] for x in eqn.invars)
            outs = [
                Var(var.aval) if var in leaves else here.setdefault(var, Var(var.aval))
                for var in eqn.outvars
            ]
            result.append(eqn.replace(invars=invars, outvars=tuple(outs)))
    return result


def _with(body: Jaxpr, invars: Iterable, outvars: Iterable, eqns: Iterable[Eqn]) -> Jaxpr:
    """Return a body with other inputs, results and equations."""
    debug = DebugInfo(body.debug.function)
    return Jaxpr(body.constvars, tuple(invars), tuple(outvars), tuple(eqns), body.consts, debug)
