"""Simplification: a jaxpr to a smaller jaxpr with the same values, bit for bit.

One pass forwards renames as it goes: nested `jit`s and custom-derivative calls are replaced by
their equations, an equation that was seen before by its results, and an operation that does
nothing (times one, a transpose of a transpose, a select between equals) by its operand. The
invariant part of a loop goes before the loop (`hoist.py`), and products of matrices go out of it
(`products.py`). Then dead code goes.

Floating-point rules are the exact ones: x * 1, x / 1, x - 0 and x + (-0) are x; x + 0 is not,
because x may be -0. One rule rounds otherwise: numbers that are real are transformed as such by
`fft`, which takes half of the time. Equations with effects are fences for nobody but stay, in their
order.

Rules that look at more than one equation know the operations by their names, since this file is the
only place where an operation is more than its own page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.compiler import hoist
from tapeless.compiler.counters import without_counters
from tapeless.compiler.inplace import added_in_place, readers_first
from tapeless.compiler.orientation import results_turned, untransposed
from tapeless.compiler.products import products_after, products_ahead, sums_after
from tapeless.compiler.residuals import fewer_residuals
from tapeless.compiler.signs import adds_zero, has_no_sign, makes_no_sign, signs_once
from tapeless.compiler.writeout import written_out
from tapeless.control.linear_solve import CustomLinearSolve
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var, subjaxprs
from tapeless.prims.check import check_p
from tapeless.prims.fft import FftType
from tapeless.prims.join import SELECTED_OPERANDS, concatenate_p, stack_p
from tapeless.transforms.dce import dce_jaxpr
from tapeless.util.cache import weak_identity_cache

__all__ = ["simplify"]


@weak_identity_cache
def simplify(jaxpr: Jaxpr) -> Jaxpr:
    """Return an equivalent program."""
    pass_ = _Pass(jaxpr)
    pass_.program(jaxpr.eqns)
    outvars = [pass_.read(atom) for atom in jaxpr.outvars]
    simple = Jaxpr(
        (*jaxpr.constvars, *pass_.constvars),
        jaxpr.invars,
        outvars,
        readers_first(pass_.eqns),
        (*jaxpr.consts, *pass_.consts),
        jaxpr.debug,
    )
    simple = fewer_residuals(_without_dead(simple), simplify)
    return results_turned(_without_dead(simple))


def _without_dead(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program of all inputs and results without what these do not need."""
    return dce_jaxpr(jaxpr, (True,) * len(jaxpr.outvars), (True,) * len(jaxpr.invars))[0]


class _Pass:
    """One pass over a program."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        """Start without equations."""
        self.eqns: list[Eqn] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self.names: dict[Var, Atom] = {}
        self.makers: dict[Var, Eqn] = {}
        self.seen: dict[object, tuple[Var, ...]] = {}
        self.checked: set[Atom] = set()
        self.without_sign: set[Var] = set()
        self.const_of: dict[int, Var] = {
            id(value): var for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=False)
        }

    def read(self, atom: Atom) -> Atom:
        """Return what stands for an atom now."""
        return self.names.get(atom, atom) if type(atom) is Var else atom

    def _renamed(self, eqn: Eqn) -> Eqn:
        """Return an equation on what stands for its operands now."""
        invars = tuple(map(self.read, eqn.invars))
        return eqn if invars == eqn.invars else eqn.replace(invars=invars)

    def program(self, eqns: Iterable[Eqn]) -> None:
        """Go through equations; those of nested programs take the place of the call."""
        stack: list[Iterator[Eqn]] = [iter(eqns)]
        while stack:
            eqn = next(stack[-1], None)
            if eqn is None:
                stack.pop()
                continue
            eqn = self._renamed(eqn)
            if getattr(eqn.primitive, "inline_program", False):
                self._inline(stack, _called(eqn), eqn.invars, eqn.outvars)
            elif isinstance(eqn.primitive, CustomLinearSolve):
                groups = eqn.primitive.groups(eqn.invars, eqn.params["const_lengths"])
                given = [*groups[2], *groups[-1]]
                self._inline(stack, eqn.params["jaxprs"].solve, given, eqn.outvars)
            elif not self._hoist(stack, eqn) and not self._products(stack, eqn):
                self._equation(eqn)

    def _inline(
        self,
        stack: list[Iterator[Eqn]],
        program: Jaxpr,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
    ) -> None:
        """Let the equations of a program come next."""
        inner = _fresh(program)
        self._constants(inner)
        self.names.update(zip(inner.invars, invars, strict=True))
        # Its results are renamed when its equations are done: by an iterator that is empty.
        stack.append(self._results(outvars, inner))
        stack.append(iter(inner.eqns))

    def _hoist(self, stack: list[Iterator[Eqn]], eqn: Eqn) -> bool:
        """Split the invariant part off a loop, if there is one, and let both come next."""
        for name, (start, count) in hoist.loop_bodies(eqn).items():
            split = hoist.split_body(simplify(eqn.params[name]), count)
            if split is None:
                continue
            results = tuple(Var(var.aval) for var in split.head.outvars)
            stack.append(iter((hoist.with_split(eqn, name, split, start, results),)))
            consts = eqn.invars[start : start + count]
            self._inline(stack, split.head, consts, results)
            return True
        return False

    def _products(self, stack: list[Iterator[Eqn]], eqn: Eqn) -> bool:
        """Write out a loop, or take matrix products out of it; let everything come next."""
        if eqn.primitive.name != "scan":
            return False
        body = simplify(eqn.params["jaxpr"])
        steps = written_out(eqn, body)
        if steps is not None:
            self._inline(stack, steps, eqn.invars, eqn.outvars)
            return True
        ahead = products_ahead(eqn, body)
        if ahead is not None:
            stack.append(iter((ahead.loop,)))
            self._inline(stack, ahead.program, ahead.invars, ahead.outvars)
            return True
        sums = sums_after(eqn, body)
        if sums is not None:
            stack.append(iter(sums))
            return True
        after = products_after(eqn, body)
        if after is not None:
            self._inline(stack, after.program, after.invars, after.outvars)
            stack.append(iter((after.loop,)))
        return after is not None

    def _results(self, outvars: Sequence[Var], inner: Jaxpr) -> Iterator[Eqn]:
        """Rename the results of a program, once its equations are done; yields nothing."""
        for var, atom in zip(outvars, inner.outvars, strict=True):
            self.names[var] = self.read(atom)
        yield from ()

    def _constants(self, inner: Jaxpr) -> None:
        """Adopt the constants of a nested program; arrays captured twice become one."""
        for var, value in zip(inner.constvars, inner.consts, strict=True):
            found = self.const_of.get(id(value))
            if found is None:
                self.const_of[id(value)] = var
                self.constvars.append(var)
                self.consts.append(value)
            else:
                self.names[var] = found

    def _equation(self, eqn: Eqn) -> None:
        """Keep an equation unless its results are known."""
        eqn = self._uncounted(eqn)
        if eqn.primitive is check_p and self._is_checked(eqn):
            return
        if not eqn.effects:
            *before, eqn = self._in_place(eqn)
            for other in before:
                self._equation(self._renamed(other))
            if before:
                eqn = self._renamed(eqn)
            eqn = _of_reals(untransposed(_shorter(eqn, self.makers), self.makers), self.makers)
            same = _operand_that_is_result(eqn, self.makers) or self._unchanged(eqn)
            if same is not None:
                self.names[eqn.outvars[0]] = same
                return
            key = _key(eqn)
            known = None if key is None else self.seen.get(key)
            if known is not None:
                self.names.update(zip(eqn.outvars, known, strict=True))
                return
            if key is not None:
                self.seen[key] = eqn.outvars
        self.eqns.append(eqn)
        for var in eqn.outvars:
            self.makers[var] = eqn
        if makes_no_sign(eqn, self.without_sign):
            self.without_sign.update(eqn.outvars)

    def _is_checked(self, eqn: Eqn) -> bool:
        """Tell whether a check is of what one before it looks at, so that it never fails."""
        fine, fault = eqn.invars[0], eqn.params["fault"]
        if type(fine) is not Var or fault.must_be_discharged or fault.may_be_ignored:
            return False
        known = fine in self.checked
        self.checked.add(fine)
        return known

    def _uncounted(self, eqn: Eqn) -> Eqn:
        """Return a loop without the carries that count; the equation itself if it has none."""
        if eqn.primitive.name != "scan":
            return eqn
        found = without_counters(eqn, simplify(eqn.params["jaxpr"]))
        if found is None:
            return eqn
        (*numbers, eqn), ends = found
        self.names.update(ends)
        for number in numbers:
            self._equation(number)
        return self._renamed(eqn)

    def _in_place(self, eqn: Eqn) -> list[Eqn]:
        """Return the equations of a sum of cotangents or a loop in place; others as they are.

        Places that a gather reads from are not put into memory side by side.
        """
        if eqn.primitive.name == "gather":
            found = _from_columns(eqn, self.makers)
        elif eqn.primitive.name == "scan":
            found = signs_once(eqn, simplify(eqn.params["jaxpr"]), self.without_sign)
        else:
            found = added_in_place(eqn, self.makers, lambda x: _scalar_of(x, self.makers) == 0)
        return [eqn] if found is None else found

    def _unchanged(self, eqn: Eqn) -> Atom | None:
        """Return the operand of a sum with 0.0 that is nowhere -0.0, and so is the result."""
        operand = adds_zero(eqn)
        if operand is None or not has_no_sign(operand, self.without_sign):
            return None
        return operand


def _called(eqn: Eqn) -> Jaxpr:
    """Return the program that a call runs."""
    program = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
    return program if isinstance(program, Jaxpr) else subjaxprs(eqn.params)[0]


def _fresh(jaxpr: Jaxpr) -> Jaxpr:
    """Return the program with new variables, so that it may be written out more than once."""
    names: dict[Var, Var] = {}

    def new(var: Var) -> Var:
        """Return the new variable."""
        names[var] = Var(var.aval)
        return names[var]

    constvars, invars = [*map(new, jaxpr.constvars)], [*map(new, jaxpr.invars)]
    eqns = []
    for eqn in jaxpr.eqns:
        atoms = tuple(names[atom] if type(atom) is Var else atom for atom in eqn.invars)
        eqns.append(eqn.replace(invars=atoms, outvars=tuple(map(new, eqn.outvars))))
    outs = [names[atom] if type(atom) is Var else atom for atom in jaxpr.outvars]
    return Jaxpr(constvars, invars, outs, eqns, jaxpr.consts, jaxpr.debug)


def _key(eqn: Eqn) -> object:
    """Return what equal equations share, or None if it cannot be compared."""
    try:
        params = tuple(sorted(eqn.params.items(), key=lambda item: item[0]))
        key = (eqn.primitive, tuple(map(_atom_key, eqn.invars)), params)
        hash(key)
    except TypeError:
        return None
    return key


def _atom_key(atom: Atom) -> object:
    """Return what equal atoms share; literals by bits, so that 0.0 and -0.0 differ."""
    if type(atom) is Var:
        return atom
    return (atom.aval, np.asarray(atom.val, atom.aval.dtype).tobytes())


# Operations that do nothing


def _operand_that_is_result(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """Return the operand that equals the result, if there is one."""
    rule = _IDENTITIES.get(eqn.primitive.name)
    if rule is None:
        return None
    found = rule(eqn, makers)
    if found is None:
        return None
    aval, wanted = found.aval, eqn.outvars[0].aval
    return found if (aval.shape, aval.dtype) == (wanted.shape, wanted.dtype) else None


def _scalar_of(atom: Atom, makers: dict[Var, Eqn]) -> Any:
    """Return the number that an atom is everywhere, or None."""
    while type(atom) is Var:
        eqn = makers.get(atom)
        if eqn is None or eqn.primitive.name not in ("broadcast_in_dim", "reshape"):
            return None
        atom = eqn.invars[0]
    return np.asarray(atom.val)[()]


def _neutral_on_right(integer: int, floating: float | None) -> Callable:
    """Return the rule: the first operand if the second is the neutral element."""

    def rule(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
        """Compare the second operand."""
        x, y = eqn.invars
        return x if _is_number(_scalar_of(y, makers), integer, floating, y) else None

    return rule


def _neutral_on_either(integer: int, floating: float | None) -> Callable:
    """Return the rule: the operand whose partner is the neutral element."""
    right = _neutral_on_right(integer, floating)

    def rule(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
        """Compare both operands."""
        found = right(eqn, makers)
        return found if found is not None else right(eqn.replace(invars=eqn.invars[::-1]), makers)

    return rule


def _is_number(value: Any, integer: int, floating: float | None, atom: Atom) -> bool:
    """Tell whether a constant is the neutral element of its dtype, the sign of zero included."""
    kind = getattr(atom.aval.dtype, "kind", "")
    if value is None or kind in ("b", "c", ""):
        return False
    if kind in "iu":
        return bool(value == integer)
    if floating is None:
        return False
    number = float(value)
    return number == floating and math.copysign(1, number) == math.copysign(1, floating)


def _same_as(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The operand: the caller compares the types."""
    return eqn.invars[0]


def _inverse(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The operand's operand, if that undid the same operation."""
    operand = eqn.invars[0]
    maker = makers.get(operand) if type(operand) is Var else None
    if maker is None or maker.primitive is not eqn.primitive:
        return None
    return maker.invars[0]


def _trivial_transpose(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The operand, if no axis moves."""
    permutation = eqn.params["permutation"]
    return eqn.invars[0] if tuple(permutation) == tuple(range(len(permutation))) else None


def _trivial_reshape(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The operand, if its elements are not read in another order of the axes."""
    return eqn.invars[0] if eqn.params["dimensions"] is None else None


def _trivial_broadcast(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The operand, if every axis stays."""
    dims = tuple(eqn.params["broadcast_dimensions"])
    same = len(eqn.invars) == 1 and dims == tuple(range(len(eqn.params["shape"])))
    return eqn.invars[0] if same else None


def _equal_cases(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The case, if all are one."""
    first, *others = eqn.invars[1:]
    return first if all(case is first for case in others) else None


def _keeps_precision(eqn: Eqn, makers: dict[Var, Eqn]) -> Atom | None:
    """The operand, if its dtype has no more bits than are kept."""
    info = dtypes.finfo(eqn.invars[0].aval.dtype)
    params = eqn.params
    kept = params["exponent_bits"] >= info.nexp and params["mantissa_bits"] >= info.nmant
    return eqn.invars[0] if kept else None


_IDENTITIES: dict[str, Callable[[Eqn, dict[Var, Eqn]], Atom | None]] = {
    "mul": _neutral_on_either(1, 1.0),
    "div": _neutral_on_right(1, 1.0),
    "add": _neutral_on_either(0, -0.0),
    "add_any": _neutral_on_either(0, -0.0),
    "sub": _neutral_on_right(0, 0.0),
    "neg": _inverse,
    "not": _inverse,
    "convert_element_type": _same_as,
    "copy": _same_as,
    "copy_p": _same_as,
    "reduce_precision": _keeps_precision,
    "stop_gradient": _same_as,
    "reshape": _trivial_reshape,
    "squeeze": _same_as,
    "transpose": _trivial_transpose,
    "broadcast_in_dim": _trivial_broadcast,
    "select_n": _equal_cases,
}


# Chains of one operation


def _shorter(eqn: Eqn, makers: dict[Var, Eqn]) -> Eqn:
    """Let an operation skip an earlier one of its own kind, where one does for both."""
    rule = _CHAINS.get(eqn.primitive.name)
    first = eqn.invars[0] if eqn.invars else None
    maker = makers.get(first) if type(first) is Var else None
    if rule is None or maker is None or maker.primitive is not eqn.primitive:
        return eqn
    params = rule(dict(maker.params), dict(eqn.params))
    if params is None or len(eqn.invars) != 1 or len(maker.invars) != 1:
        return eqn
    return eqn.replace(invars=maker.invars, params=params)


def _from_columns(eqn: Eqn, makers: dict[Var, Eqn]) -> list[Eqn] | None:
    """Return a gather whose indices, joined (n, 1) and (n, 1), are the arrays (n) as a stack.

    A stack is not put into memory, and each index chooses its operand when the gather is compiled.
    An index that is the same for all, as that of an axis that is read whole, is none either.
    """
    x, indices = eqn.invars
    joined = makers.get(indices) if type(indices) is Var else None
    if joined is None or joined.primitive is not concatenate_p:
        return None
    shape = indices.aval.shape[:-1]
    made = [makers.get(atom) if type(atom) is Var else None for atom in joined.invars]
    if len(made) > SELECTED_OPERANDS or not shape or not all(map(_is_column, made)):
        return None
    columns: list[Atom] = []
    before = []
    for maker in filter(None, made):
        (column,) = maker.invars
        if column.aval.shape != shape:
            params = {**maker.params, "shape": shape, "broadcast_dimensions": ()}
            repeated = Var(column.aval.update(shape=shape))
            before.append(maker.replace(outvars=(repeated,), params=params))
            column = repeated
        columns.append(column)
    places = Var(indices.aval)
    stack = joined.replace(
        primitive=stack_p,
        invars=tuple(columns),
        outvars=(places,),
        params={"axis": len(shape)},
    )
    return [*before, stack, eqn.replace(invars=(x, places))]


def _is_column(maker: Eqn | None) -> bool:
    """Tell whether an equation makes (n, 1) of an array (n), or of a number."""
    if maker is None or maker.primitive.name != "broadcast_in_dim" or len(maker.invars) != 1:
        return False
    x, out = maker.invars[0].aval.shape, maker.outvars[0].aval.shape
    if not x:
        return out[-1] == 1
    return out == (*x, 1) and maker.params["broadcast_dimensions"] == tuple(range(len(x)))


def _of_reals(eqn: Eqn, makers: dict[Var, Eqn]) -> Eqn:
    """Let a complex Fourier transform of numbers that were real take these."""
    if eqn.primitive.name != "fft" or eqn.params["fft_type"] not in (FftType.FFT, FftType.IFFT):
        return eqn
    (x,) = eqn.invars
    maker = makers.get(x) if type(x) is Var else None
    if maker is None or maker.primitive.name != "convert_element_type":
        return eqn
    parts = np.zeros(0, x.aval.dtype).real.dtype
    return eqn.replace(invars=maker.invars) if maker.invars[0].aval.dtype == parts else eqn


def _join_transposes(first: dict, second: dict) -> dict:
    """Compose two permutations."""
    inner = first["permutation"]
    return {**second, "permutation": tuple(inner[axis] for axis in second["permutation"])}


def _join_reshapes(first: dict, second: dict) -> dict | None:
    """The second one does for both, if neither reorders."""
    plain = first.get("dimensions") is None and second.get("dimensions") is None
    return second if plain else None


def _join_broadcasts(first: dict, second: dict) -> dict:
    """Compose two maps of axes."""
    outer = second["broadcast_dimensions"]
    dims = tuple(outer[axis] for axis in first["broadcast_dimensions"])
    return {**second, "broadcast_dimensions": dims}


_CHAINS: dict[str, Callable[[dict, dict], dict | None]] = {
    "transpose": _join_transposes,
    "reshape": _join_reshapes,
    "broadcast_in_dim": _join_broadcasts,
}
