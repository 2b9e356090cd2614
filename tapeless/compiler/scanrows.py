"""Scans over a batch whose steps read and write at places of each row: row by row instead.

`vmap` makes of a scan one whose steps do something for all rows. Where that is arithmetic, the rows
are the lanes of vectors. But a step that reads or writes at a place that each row has for itself
gathers and scatters lane by lane, and goes through all rows again and again, while those of one row
would stay in the cache:

    scan steps                          scan rows (nothing is carried, so threads share them)
      for all rows: c[row, k] += 1        scan steps
                                            c[k] += 1

So such a scan becomes one over rows, whose step is the scan of one row (`unbatch.py`), if little is
computed from the carry: in a row alone, one instruction waits for another. How much is little
depends on how much of the rows a cache holds (`WAITING`: bytes of all, instructions of a step).

Values are the same; a row's equations are those of the batch, for one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tapeless.compiler.rowaxes import UNUSED, Dim, Part, Row, row_aval
from tapeless.compiler.simplify import simplify
from tapeless.compiler.unbatch import row_of_eqn
from tapeless.compiler.work import instructions_of
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var, subjaxprs
from tapeless.prims.structural import transpose_p
from tapeless.util.cache import weak_identity_cache

__all__ = ["scans_by_rows"]

LEAST_ROWS = 16
WAITING = ((1 << 18, 1.0), (1 << 20, 2.0), (1 << 23, 7.0), (math.inf, 20.0))
CHOSEN_PLACE = 5.0  # instructions that a place counts for which the step before has computed
LANES = 16  # elements of a row that are computed side by side; they count as a quarter
_WRITES = frozenset("scatter scatter-add scatter-sub scatter-mul scatter-min scatter-max".split())
_AT_PLACES = _WRITES | {"gather"}
_FREE = frozenset("broadcast_in_dim reshape squeeze transpose copy slice stack concatenate".split())


@weak_identity_cache
def scans_by_rows(jaxpr: Jaxpr) -> Jaxpr:
    """Return a simplified program with scans row by row where that is better."""
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        eqns += _row_by_row(eqn) or [eqn]
    same = all(new is old for new, old in zip(eqns, jaxpr.eqns, strict=False))
    return jaxpr if same else simplify(jaxpr.replace(eqns=eqns))


def _row_by_row(eqn: Eqn) -> list[Eqn] | None:
    """Return the equations of a scan over the rows of a scan; None if it had better stay."""
    if eqn.primitive.name != "scan" or eqn.effects or not eqn.params["num_carry"]:
        return None
    body = simplify(eqn.params["jaxpr"])
    n_rows = _rows_at_places(body)
    if n_rows is None or n_rows < LEAST_ROWS:
        return None
    n_carry = eqn.params["num_carry"]
    dims = (0,) * n_carry + (1,) * (len(eqn.outvars) - n_carry)
    for var, dim in zip(eqn.outvars, dims, strict=True):
        if var.aval.shape[dim : dim + 1] != (n_rows,):
            return None
    row = row_of_eqn(eqn, dims)
    if row is None or any(isinstance(dim, Part) for dim in row.operands):
        return None
    n_bytes = _bytes_of_rows(eqn, row)
    most = next(most for size, most in WAITING if n_bytes <= size)
    if _waiting(body, eqn, n_rows) > most:
        return None
    return _scan_of_rows(eqn, row, n_rows)


def _rows_at_places(body: Jaxpr) -> int | None:
    """Return how many rows a step reads or writes at places of their own; None if it does not."""
    for eqn in body.eqns:
        name = eqn.primitive.name
        if name not in _AT_PLACES:
            continue
        shape = eqn.outvars[0].aval.shape
        numbers = eqn.params["dimension_numbers"]
        if name == "gather":
            is_batched = 0 not in numbers.offset_dims
        else:
            is_batched = 0 in numbers.operand_batching_dims
        if shape and is_batched:
            return shape[0]
    return None


def _bytes_of_rows(eqn: Eqn, row: Row) -> int:
    """Return how much memory a step of all rows goes through, but for what is sliced."""
    n_whole = eqn.params["num_consts"] + eqn.params["num_carry"]
    whole = list(zip(eqn.invars, row.operands, strict=True))[:n_whole]
    avals = [atom.aval for atom, dim in whole if dim not in (None, UNUSED)]
    return sum(aval.size * aval.dtype.itemsize for aval in avals)


def _waiting(body: Jaxpr, eqn: Eqn, n_rows: int) -> float:
    """Estimate the instructions of a step of a row that wait for the step before.

    What is written at places is memory's, and waits for nothing; it also makes up for one.
    """
    start, count = eqn.params["num_consts"], eqn.params["num_carry"]
    carried = set(body.invars[start : start + count])
    total, writes = 0.0, False
    for inner in body.eqns:
        name = inner.primitive.name
        if name not in _AT_PLACES and subjaxprs(inner.params):
            return math.inf
        writes = writes or name in _WRITES
        if carried.isdisjoint(inner.invars):
            continue
        carried.update(inner.outvars)
        if name in _AT_PLACES:
            total += CHOSEN_PLACE * (inner.invars[1] in carried)
        elif name not in _FREE:
            total += _instructions(inner, n_rows)
    return total - writes


def _instructions(eqn: Eqn, n_rows: int) -> float:
    """Estimate the instructions of an equation for a row."""
    found = instructions_of(eqn) / n_rows
    largest = max(atom.aval.size for atom in (*eqn.invars, *eqn.outvars))
    return found / 4 if largest >= LANES * n_rows else found


def _scan_of_rows(eqn: Eqn, row: Row, n_rows: int) -> list[Eqn]:
    """Return a scan whose steps are the scan of one row, and transposes around it."""
    pairs = [pair for pair in zip(eqn.invars, row.operands, strict=True) if pair[1] != UNUSED]
    inner = [
        atom if type(atom) is not Var else Var(row_aval(atom.aval, dim)) for atom, dim in pairs
    ]
    results = tuple(
        Var(row_aval(var.aval, dim)) for var, dim in zip(eqn.outvars, row.results, strict=True)
    )
    shared = [number for number, (_, dim) in enumerate(pairs) if dim is None]
    shared = [number for number in shared if type(inner[number]) is Var]
    own = [number for number, (_, dim) in enumerate(pairs) if dim is not None]
    kept = (inner[number] for number in (*shared, *own))
    taken = [atom for atom in kept if type(atom) is Var]
    one = eqn.replace(
        invars=tuple(inner),
        outvars=results,
        params=row.params,
    )
    step = Jaxpr((), taken, results, (one,))
    eqns: list[Eqn] = []
    given = [pairs[number][0] for number in shared]
    for number in own:
        given.append(_rows_first(eqns, eqn, *pairs[number]))
    params = {
        **eqn.params,
        "jaxpr": step,
        "length": n_rows,
        "num_consts": len(shared),
        "num_carry": 0,
        "reverse": False,
        "unroll": 1,
    }
    after: list[Eqn] = []
    stacked = tuple(
        _stacked(after, eqn, *each) for each in zip(eqn.outvars, row.results, strict=True)
    )
    loop = eqn.replace(invars=tuple(given), outvars=stacked, params=params)
    return [*eqns, loop, *after]


def _rows_first(
    eqns: list[Eqn],
    like: Eqn,
    atom: Atom,
    dim: Dim,
) -> Atom:
    """Return an operand with its rows in front; add the equation that puts them there."""
    if not isinstance(dim, int) or dim == 0:
        return atom
    order = list(range(atom.aval.ndim))
    order.insert(0, order.pop(dim))
    target = Var(atom.aval.update(shape=tuple(atom.aval.shape[axis] for axis in order)))
    eqns.append(_transpose(like, atom, target, order))
    return target


def _stacked(
    eqns: list[Eqn],
    like: Eqn,
    var: Var,
    dim: Dim,
) -> Var:
    """Return a result with its rows in front; add the equation that takes them back."""
    if dim == 0:
        return var
    first, second, *others = var.aval.shape
    source = Var(var.aval.update(shape=(second, first, *others)))
    eqns.append(_transpose(like, source, var, (1, 0, *range(2, var.aval.ndim))))
    return source


def _transpose(
    like: Eqn,
    source: Atom,
    target: Var,
    order: Sequence[int],
) -> Eqn:
    """Return the equation that transposes an array."""
    params = {"permutation": tuple(order)}
    return like.replace(primitive=transpose_p, invars=(source,), outvars=(target,), params=params)
