"""Matrix products go out of loops, where one large product does the work of many small ones.

A loop that multiplies a slice of its inputs by a matrix, `x[t] @ w`, reads the whole matrix in
every step, and so does one that sums outer products into a carry, `dw += outer(x[t], g[t])`, as the
gradient of the first does.  The products of all steps are one product that reads it once:

    for t:  .. x[t] @ w ..                 p = x @ w;            for t:  .. p[t] ..
    for t:  y[t] = f(h @ v)                for t:  z[t] = h;     y = f(z @ v)
    for t:  dw += x[t]^T g[t]              for t:  y[t] = g[t];  dw += sum over t of x[t]^T y[t]

This is done where a step has few rows, so that its own product would be bound by memory, and where
what is stacked is small.  A loop without a carry keeps its products: who writes `lax.map`, and not
`vmap`, wants little stored.  Sums are taken in another order; everything else has the same bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, DebugInfo, Eqn, Jaxpr, Var, subjaxprs
from tapeless.core.primitive import registry
from tapeless.core.trace import Axis
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.dce import dce_jaxpr
from tapeless.util.records import record
from tapeless.util.seqs import split_at

__all__ = ["Moved", "products_after", "products_ahead", "sums_after"]

_STACKED_BYTES = 16 << 20
_FEW_STEPS = 8
_FEW_ROWS = 64
_FEW_TERMS = 4
_LITTLE_WORK = 512  # multiplications in a step
_SUMS = ("add", "add_any")


@record
class Moved:
    """What went out of a loop: a program with its operands and results, and the loop without it."""

    program: Jaxpr
    invars: tuple[Atom, ...]
    outvars: tuple[Var, ...]
    loop: Eqn


class _Scan:
    """A scan with its groups of operands, and of inputs of its body."""

    def __init__(self, eqn: Eqn, body: Jaxpr) -> None:
        """Sort the operands."""
        self.body = body
        self.length = eqn.params["length"]
        self.n_carry = eqn.params["num_carry"]
        sizes = eqn.params["num_consts"], self.n_carry
        self.consts, self.carry, self.xs = split_at(body.invars, *sizes)
        self.const_args, self.init, self.x_args = split_at(eqn.invars, *sizes)
        self.fixed = {*body.constvars, *self.consts}

    def program(self, invars: Sequence, outvars: Sequence, eqns: Sequence[Eqn]) -> Jaxpr:
        """Return a part of the body as a program."""
        body = self.body
        debug = DebugInfo(body.debug.function)
        return Jaxpr(
            body.constvars,
            tuple(invars),
            tuple(outvars),
            eqns,
            body.consts,
            debug,
        )

    def for_all_steps(self, rows: Sequence[Var], outs: Sequence, eqns: Sequence[Eqn]) -> Jaxpr:
        """Return the program (*consts, *stacked rows) -> stacked results of a part of the body."""
        inputs = (*self.consts, *rows)
        part = self.program(inputs, outs, eqns)
        all_outs = (True,) * len(outs)
        part, _ = dce_jaxpr(part, all_outs, (True,) * len(inputs))
        batched = (False,) * len(self.consts) + (True,) * len(rows)
        return batch_jaxpr(part, Axis(self.length), batched, all_outs)[0]

    def is_recurrence(self) -> bool:
        """Tell whether there is a carry, and steps enough."""
        return self.n_carry > 0 and self.length >= _FEW_STEPS

    def stacked(self, var: Var) -> Var:
        """Return a variable for the values of all steps."""
        aval = var.aval
        return Var(aval.update(shape=(self.length, *aval.shape)))

    def fits(self, *variables: Atom) -> bool:
        """Tell whether the values of all steps are small enough to be stored."""
        size = 0
        for var in variables:
            size += var.aval.size * getattr(var.aval.dtype, "itemsize", 8)
        return self.length * size <= _STACKED_BYTES

    def is_product(self, eqn: Eqn, sliced: set[Var] | None = None) -> bool:
        """Tell whether an equation multiplies a slice by a constant, and pays outside.

        sliced: what counts as a slice; None: whatever is no constant.
        """
        if eqn.primitive.name != "dot_general":
            return False
        contracted, shared = eqn.params["dimension_numbers"]
        for side, (row, factor) in enumerate((eqn.invars, eqn.invars[::-1])):
            varies = row not in self.fixed if sliced is None else row in sliced
            if type(row) is Var and varies and factor in self.fixed:
                return self._pays(row.aval, eqn.outvars[0], contracted[side], shared[side])
        return False

    def _pays(self, row: ShapedArray, out: Var, contracted: Sequence, shared: Sequence) -> bool:
        """Tell whether a step's product is work for few rows."""
        terms = math.prod(row.shape[axis] for axis in contracted)
        batch = math.prod(row.shape[axis] for axis in shared)
        rows = row.size // max(terms * batch, 1)
        work = out.aval.size * terms
        return (
            _is_float(out.aval)
            and rows < _FEW_ROWS
            and terms >= _FEW_TERMS
            and work >= _LITTLE_WORK
            and self.fits(out)
        )

    def is_plain(self, eqn: Eqn) -> bool:
        """Tell whether an equation may be computed for all steps at once, for its own part."""
        if eqn.effects or subjaxprs(eqn.params) or eqn.primitive.name == "dot_general":
            return False
        largest = max((var.aval.size for var in _variables(eqn)), default=-1)
        return self.fits(*eqn.outvars) and all(var.aval.size <= largest for var in eqn.outvars)


def products_ahead(eqn: Eqn, body: Jaxpr) -> Moved | None:
    """Return a loop without its products of slices by constants, and these; None without any."""
    scan = _Scan(eqn, body)
    if not scan.is_recurrence():
        return None
    fixed, sliced = scan.fixed, set(scan.xs)
    ahead: list[Eqn] = []
    found: list[Var] = []
    rest: list[Eqn] = []
    joined = {step.outvars[0]: step for step in body.eqns if step.primitive.name == "concatenate"}
    for whole in body.eqns:
        for step in _with_factors_apart(whole, joined, fixed, sliced):
            if scan.is_product(step, sliced):
                found.append(step.outvars[0])
                ahead.append(step)
                continue
            rest.append(step)
            known = fixed.union(sliced)
            if scan.is_plain(step) and known.issuperset(_variables(step)):
                kind = fixed if fixed.issuperset(_variables(step)) else sliced
                kind.update(step.outvars)
                ahead.append(step)
    if not found:
        return None
    program = scan.for_all_steps(scan.xs, found, ahead)
    without = scan.program((*body.invars, *found), body.outvars, rest)
    stacked = tuple(map(scan.stacked, found))
    params = {**eqn.params, "jaxpr": without}
    loop = eqn.replace(invars=(*eqn.invars, *stacked), params=params)
    return Moved(program, (*scan.const_args, *scan.x_args), stacked, loop)


def _variables(eqn: Eqn) -> list[Var]:
    """Return the operands that are variables."""
    return [atom for atom in eqn.invars if type(atom) is Var]


def _with_factors_apart(
    step: Eqn, joined: Mapping[Any, Eqn], fixed: set[Var], sliced: set[Var]
) -> list[Eqn]:
    """Return [x, h] @ w as x @ w[:k] + h @ w[k:] if x is a slice, and h is not."""
    maker = None
    if step.primitive.name == "dot_general" and step.invars[1] in fixed:
        maker = joined.get(step.invars[0])
    if maker is None:
        return [step]
    slices = [part for part in maker.invars if part in sliced]
    if slices and len(slices) < len(maker.invars):
        return _apart(step, maker) or [step]
    return [step]


def _apart(product: Eqn, joined: Eqn) -> list[Eqn] | None:
    """Return the products of what was joined with parts of the factor, and their sum."""
    (left, right), _ = product.params["dimension_numbers"]
    if left != (joined.params["dimension"],):
        return None
    factor, out = product.invars[1], product.outvars[0]
    steps: list[Eqn] = []

    def emit(primitive: str, invars: tuple[Atom, ...], aval: ShapedArray, **params: Any) -> Var:
        """Add an equation and return its result."""
        result = Var(aval)
        step = product.replace(
            primitive=registry[primitive],
            invars=invars,
            outvars=(result,),
            params=params,
        )
        steps.append(step)
        return result

    axis, start = right[0], 0
    total = None
    for part in joined.invars:
        shape = [*factor.aval.shape]
        shape[axis] = part.aval.shape[left[0]]
        low = [0] * len(shape)
        low[axis] = start
        start += shape[axis]
        high = [*factor.aval.shape]
        high[axis] = start
        piece = emit(
            "slice",
            (factor,),
            factor.aval.update(shape=tuple(shape)),
            start_indices=tuple(low),
            limit_indices=tuple(high),
            strides=None,
        )
        term = emit("dot_general", (part, piece), out.aval, **product.params)
        total = term if total is None else emit("add", (total, term), out.aval)
    steps[-1] = steps[-1].replace(outvars=(out,))
    return steps


def products_after(eqn: Eqn, body: Jaxpr) -> Moved | None:
    """Return a loop without the products that only its stacked results need; None without any."""
    scan = _Scan(eqn, body)
    moved = _late_products(scan) if scan.is_recurrence() else []
    made = {var for step in moved for var in step.outvars}
    known = made.union(scan.fixed)
    read: dict[Var, None] = {}
    for step in moved:
        read.update((var, None) for var in _variables(step) if var not in known)
    if not moved or not scan.fits(*read):
        return None
    stacked = dict(zip(scan.xs, scan.x_args, strict=True))
    rows = [var for var in read if var not in stacked]
    stacked.update((var, scan.stacked(var)) for var in rows)
    results = list(zip(body.outvars, eqn.outvars, strict=True))[scan.n_carry :]
    late = [pair for pair in results if pair[0] in made]
    kept = [pair for pair in results if pair[0] not in made]
    program = scan.for_all_steps([*read], [out for out, _ in late], moved)
    outs = (*body.outvars[: scan.n_carry], *(out for out, _ in kept), *rows)
    rest = [step for step in body.eqns if made.isdisjoint(step.outvars)]
    loop = eqn.replace(
        outvars=(
            *eqn.outvars[: scan.n_carry],
            *(whole for _, whole in kept),
            *(stacked[var] for var in rows),
        ),
        params={**eqn.params, "jaxpr": scan.program(body.invars, outs, rest)},
    )
    operands = (*scan.const_args, *(stacked[var] for var in read))
    return Moved(program, operands, tuple(whole for _, whole in late), loop)


def _late_products(scan: _Scan) -> list[Eqn]:
    """Return the products that no carry needs, and what is made of them."""
    body = scan.body
    needed = {atom for atom in body.outvars[: scan.n_carry] if type(atom) is Var}
    late: list[Eqn] = []
    for step in reversed(body.eqns):
        movable = scan.is_plain(step) or scan.is_product(step)
        if movable and needed.isdisjoint(step.outvars):
            late.append(step)
        else:
            needed.update(_variables(step))
    made: set[Var] = set()
    moved: list[Eqn] = []
    for step in reversed(late):
        if scan.is_product(step) or not made.isdisjoint(_variables(step)):
            made.update(step.outvars)
            moved.append(step)
    return moved


@record
class _Sum:
    """A carry that sums products: `number` among the carries, what is added and how it was made."""

    number: int
    product: Eqn
    moves: tuple[Eqn, ...]
    total: Eqn

    def steps(self) -> tuple[Eqn, ...]:
        """Return the equations that go."""
        return (self.product, *self.moves, self.total)


def sums_after(eqn: Eqn, body: Jaxpr) -> list[Eqn] | None:
    """Return equations for a loop whose sums of products are taken after it; None without any."""
    scan = _Scan(eqn, body)
    sums = _sums(scan) if scan.is_recurrence() else []
    if not sums:
        return None
    stacked = dict(zip(scan.xs, scan.x_args, strict=True))
    factors = dict.fromkeys(var for found in sums for var in _variables(found.product))
    rows = [atom for atom in factors if atom not in stacked]
    stacked.update((var, scan.stacked(var)) for var in rows)
    gone = {found.number for found in sums}
    kept = [number for number in range(scan.n_carry) if number not in gone]
    removed = {id(step) for found in sums for step in found.steps()}

    def of_kept(values: Sequence) -> list:
        """Return those of the carries that stay."""
        return [values[number] for number in kept]

    rest = scan.program(
        (*scan.consts, *of_kept(scan.carry), *scan.xs),
        (*of_kept(body.outvars), *body.outvars[scan.n_carry :], *rows),
        [step for step in body.eqns if id(step) not in removed],
    )
    loop = eqn.replace(
        invars=(*scan.const_args, *of_kept(scan.init), *scan.x_args),
        outvars=(
            *of_kept(eqn.outvars),
            *eqn.outvars[scan.n_carry :],
            *(stacked[atom] for atom in rows),
        ),
        params={**eqn.params, "jaxpr": rest, "num_carry": len(kept)},
    )
    equations = [loop]
    for found in sums:
        init, out = scan.init[found.number], eqn.outvars[found.number]
        equations += _total(found, stacked, init, out)
    return equations


def _sums(scan: _Scan) -> list[_Sum]:
    """Return the carries that do nothing but sum products that pay outside of the loop."""
    body = scan.body
    uses: Counter[Any] = Counter(var for step in body.eqns for var in _variables(step))
    uses.update(atom for atom in body.outvars if type(atom) is Var)
    makers: dict[Any, Eqn] = {var: step for step in body.eqns for var in step.outvars}
    found = []
    for number, out in enumerate(body.outvars[: scan.n_carry]):
        carry = scan.carry[number]
        total = makers.get(out) if type(out) is Var else None
        if total is None or total.primitive.name not in _SUMS:
            continue
        if carry not in total.invars or uses[carry] != 1 or uses[out] != 1:
            continue
        first, second = total.invars
        part = second if first is carry else first
        moves: list[Eqn] = []
        maker = makers.get(part)
        while maker and uses[part] == 1 and maker.primitive.name == "transpose":
            moves.insert(0, maker)
            part = maker.invars[0]
            maker = makers.get(part)
        if maker and uses[part] == 1 and _is_outer_product(maker, scan):
            found.append(_Sum(number, maker, tuple(moves), total))
    return found


def _is_outer_product(eqn: Eqn, scan: _Scan) -> bool:
    """Tell whether an equation is a product of few terms, much larger than its factors."""
    factors = _variables(eqn)
    if eqn.primitive.name != "dot_general" or len(factors) != len(eqn.invars):
        return False
    out = eqn.outvars[0].aval
    return (
        _is_float(out)
        and all(var.aval.dtype == out.dtype for var in factors)
        and out.size >= _FEW_TERMS * max(var.aval.size for var in factors)
        and out.size >= _LITTLE_WORK
        and scan.fixed.isdisjoint(factors)
        and scan.fits(*factors)
    )


def _total(found: _Sum, stacked: dict[Any, Any], init: Atom, out: Var) -> Iterator[Eqn]:
    """Yield the product over all steps, its moves, and its sum with the initial carry."""
    product = found.product
    contracted, shared = product.params["dimension_numbers"]
    contracted = tuple((0, *_after(axes)) for axes in contracted)
    numbers = (contracted, tuple(map(_after, shared)))
    result = Var(product.outvars[0].aval)
    yield product.replace(
        invars=tuple(stacked[atom] for atom in product.invars),
        outvars=(result,),
        params={**product.params, "dimension_numbers": numbers},
    )
    for move in found.moves:
        moved = Var(move.outvars[0].aval)
        yield move.replace(invars=(result,), outvars=(moved,))
        result = moved
    yield found.total.replace(
        primitive=registry["add"],
        invars=(init, result),
        outvars=(out,),
        params={},
    )


def _after(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the axes behind a new one in front."""
    return tuple(axis + 1 for axis in axes)


def _is_float(aval: ShapedArray) -> bool:
    """Tell whether products of this type go to BLAS."""
    return getattr(aval.dtype, "char", "") in "fdFD"
