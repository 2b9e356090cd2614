"""Rows on demand: what only some rows of a select want is computed for those rows.

JAX turns a `cond` whose predicate has a batch axis into both branches, for all rows, and a
`select_n`. That is what programs print; what it costs is decided here. The demand for each value
runs backwards through a program: results are wanted everywhere; the cases of a select are wanted in
the rows where the choice is theirs; an operand of an equation that is a map along the rows
(`unbatch.py`) is wanted where the result is, and that of any other equation if any row of the
result is. Equations of one demand are gathered, and when there is real work among them (a loop, a
product of matrices, a sort) they become one `rows_on_demand` operation. A select with one choice
for everything works alike, without rows. Expressions of elements need none of this: `choices.py`
puts them behind a branch where they are evaluated.

What is broadcast along the rows is a shared value of the row program and is broadcast no more; so a
matrix that all rows share costs nothing per row, whichever way it is computed.

Demands are sets of conditions, of which one suffices. Equations with effects are wanted everywhere,
and keep their order.

The batched `while` is replaced here, too, wherever its rows turn out to be independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tapeless.compiler.byrows import Condition, rows_on_demand_p, while_by_rows_p
from tapeless.compiler.hoist import Split, split_body
from tapeless.compiler.merging import merge_selects, source_of_choice
from tapeless.compiler.probe import Probe, probe
from tapeless.compiler.rowaxes import UNUSED, Dim, Dims, Part, row_aval, row_shape, rows_along
from tapeless.compiler.unbatch import row_of_eqn, row_program
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var, subjaxprs
from tapeless.core.trace import Axis
from tapeless.prims.common import Elementwise
from tapeless.prims.structural import reshape_p, transpose_p
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.dce import dce_jaxpr
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record

__all__ = ["by_rows"]

MAX_CONDITIONS = 4
LEAST_WORK = 60.0  # operations on elements, per row
LONG_EXPRESSION = 48  # equations, from which on parts are stored (`fuse.py`)
CHAIN_LENGTH = 4  # how often expressions meet that are not worth it
LANES_UP_TO = 32  # elements of a row that are so few that rows had better be lanes
LEAST_ROWS = 32
BLOCK_SIZES = (8, 64)
TOGETHER = 16
TOGETHER_RECIPES = 32
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
_RECIPES = frozenset(
    "sin cos tan tanh exp log pow logistic atan2 erf sinh cosh asin acos atan exp2 expm1 log1p "
    "lgamma digamma cbrt erf_inv".split()
)
_IN_COMPANY = frozenset(("dot_general", "fft", "conv_general_dilated"))
_VIEWS = frozenset("broadcast_in_dim reshape squeeze transpose iota copy stop_gradient".split())
_EXPRESSIONS = _VIEWS | frozenset(
    "slice pad rev select_n concatenate gather dynamic_slice dynamic_update_slice split argmax "
    "argmin reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or reduce_xor".split()
)


@weak_identity_cache
def by_rows(jaxpr: Jaxpr, demanded: bool = False) -> Jaxpr:
    """Return the program with row by row operations where they are better.

    demanded: the program is that of rows on demand. Its expressions are left as they are: functions
    that choose among choices would be written once more for each way of each choice around them.
    """
    eqns = list(jaxpr.eqns)
    chooses = any(eqn.primitive.name == "select_n" for eqn in eqns)
    if chooses and (any(map(_is_apart, eqns)) or _is_long(eqns)):
        eqns = _Demand(jaxpr, demanded).equations()
    eqns = [_loop_by_rows(eqn) for eqn in eqns]
    if all(new is old for new, old in zip(eqns, jaxpr.eqns, strict=False)):
        return jaxpr
    everything = (True,) * len(jaxpr.outvars)
    return dce_jaxpr(jaxpr.replace(eqns=eqns), everything, (True,) * len(jaxpr.invars))[0]


# The batched `while`


def _loop_by_rows(eqn: Eqn) -> Eqn:
    """Return a batched `while` row by row, if its rows are independent; other equations as is."""
    if eqn.primitive.name != "while" or eqn.effects:
        return eqn
    shape = eqn.params["cond_jaxpr"].out_avals[0].shape
    if not shape or shape[0] < 2:
        return eqn
    operands = tuple(Var(atom.aval) for atom in eqn.invars)
    program = Jaxpr((), operands, eqn.outvars, (eqn.replace(invars=operands),))
    found = row_program(program, (0,) * len(eqn.outvars))
    if found is None:
        return eqn
    params = {
        **eqn.params,
        "row": found.jaxpr,
        "dims": found.dims,
        "together": _together(eqn, found.jaxpr),
    }
    return eqn.replace(primitive=while_by_rows_p, params=params)


def _together(eqn: Eqn, row: Jaxpr) -> int:
    """Return of how many rows one must go on for all to take a step; 0 if they never should.

    In a step of all rows, those that are done run the loops in the body, too.
    """
    if not _likes_company(row):
        return 0
    if any(subjaxprs(inner.params) for inner in eqn.params["body_jaxpr"].eqns):
        return 2
    names = {inner.primitive.name for inner in _all_equations(row)}
    return TOGETHER if names.isdisjoint(_RECIPES) else TOGETHER_RECIPES


def _likes_company(row: Jaxpr) -> bool:
    """Tell whether rows are done faster together: as lanes, columns of a matrix, or in one call."""
    largest = 0
    for eqn in _all_equations(row):
        if eqn.primitive.name in _IN_COMPANY:
            return True
        largest = max(largest, *(var.aval.size for var in eqn.outvars), 0)
    return largest <= LANES_UP_TO


def _all_equations(jaxpr: Jaxpr) -> Iterable[Eqn]:
    """Go through the equations of a program and of those inside."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in subjaxprs(eqn.params):
            yield from _all_equations(inner)


# How much work equations are


def _is_work(eqn: Eqn) -> bool:
    """Tell whether an equation is more than an expression that `choices.py` can put off."""
    if eqn.effects or eqn.primitive.name in _EXPRESSIONS:
        return False
    if not isinstance(eqn.primitive, Elementwise):
        return True
    decomposed = _probed(eqn).decomposed
    return decomposed is not None and any(map(_is_work, decomposed.eqns))


def _is_long(members: Sequence[Eqn]) -> bool:
    """Tell whether expressions are so long that parts of them are stored, or meet again and again,
    in sums or windows.

    Then they are no single expression of an element, which could be put off.
    """
    if sum(map(_length, members)) > LONG_EXPRESSION:
        return True
    depths: dict[Var, int] = {}
    for eqn in members:
        before = (depths.get(atom, 0) for atom in eqn.invars if type(atom) is Var)
        depth = max(before, default=0) + (not _is_of_elements(eqn))
        depths.update(dict.fromkeys(eqn.outvars, depth))
    return max(depths.values(), default=0) > CHAIN_LENGTH


def _is_apart(eqn: Eqn) -> bool:
    """Tell whether an equation does not become part of an expression of elements."""
    return not _is_of_elements(eqn) or _is_work(eqn)


def _length(eqn: Eqn) -> int:
    """Return how many equations stand for one."""
    if eqn.effects or eqn.primitive.name in _EXPRESSIONS or not _is_of_elements(eqn):
        return 1
    decomposed = _probed(eqn).decomposed
    return 1 if decomposed is None else sum(map(_length, decomposed.eqns))


def _is_of_elements(eqn: Eqn) -> bool:
    """Tell whether an element of the result needs one of each operand."""
    name = eqn.primitive.name
    return isinstance(eqn.primitive, Elementwise) or name in _VIEWS or name == "select_n"


def _work(eqn: Eqn) -> float:
    """Estimate the operations on elements that an equation takes."""
    programs = subjaxprs(eqn.params)
    size = sum(var.aval.size for var in eqn.outvars)
    if programs:
        steps = eqn.params.get("length", _UNKNOWN_STEPS)
        if _is_for_elements(eqn, programs):
            steps = max(size, *(atom.aval.size for atom in eqn.invars))
            steps *= _WORK.get(eqn.primitive.name, 1.0)
        times = 1 if eqn.primitive.name == "cond" else steps
        return times * max(sum(map(_work, program.eqns)) for program in programs)
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
        return sum(map(_work, found.decomposed.eqns))
    return max(size, read, sum(found.work) + found.spent)


def _is_for_elements(eqn: Eqn, programs: Sequence[Jaxpr]) -> bool:
    """Tell whether programs say what is done with elements, as that of a scatter does."""
    if all(var.aval.ndim == 0 for var in eqn.outvars):
        return False
    return all(aval.ndim == 0 for program in programs for aval in program.out_avals)


def _probed(eqn: Eqn) -> Probe:
    """Return what was found out about an operation without programs."""
    avals = tuple(atom.aval for atom in eqn.invars)
    return probe(eqn.primitive, avals, tuple(var.aval for var in eqn.outvars), eqn.params)


# Demands


@record
class _Need:
    """Where a value is wanted: in the rows (of the first axis) where one of the choices is made.

    n_rows: None if all of it is wanted when a choice is made, be it by any row; choices: variables,
    cases and their numbers.
    """

    n_rows: int | None
    choices: frozenset[tuple[Var, int, int]]

    def of_any_row(self) -> _Need | None:
        """Return the demand for all of a value if any row wants something.

        None if rows have more than one choice: then some row nearly always does.
        """
        if any(root.aval.ndim > 1 for root, _, _ in self.choices):
            return None
        return self if self.n_rows is None else _Need(None, self.choices)


_Place = tuple[_Need, int]


class _Demand:
    """The demand for the values of one program, and the program that it leads to."""

    def __init__(self, jaxpr: Jaxpr, demanded: bool) -> None:
        """Find the demand."""
        self.jaxpr = jaxpr
        self.demanded = demanded
        self.makers = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
        known = (*jaxpr.constvars, *jaxpr.invars, *self.makers)
        self.numbers = {var: number for number, var in enumerate(known)}
        self.readers: dict[Var, set[int]] = {}
        for eqn in jaxpr.eqns:
            self._read_by(eqn.invars, id(eqn))
        self._read_by(jaxpr.outvars, id(jaxpr))
        self.needs: dict[Var, _Need | None] = {}
        self.dims: dict[Var, Dim] = {}
        for atom in jaxpr.outvars:
            self._want(atom, None)
        self.of_eqn: list[_Need | None] = [None] * len(jaxpr.eqns)
        for number in reversed(range(len(jaxpr.eqns))):
            self.of_eqn[number] = self._pass_on(jaxpr.eqns[number])
        grouped = zip(jaxpr.eqns, self.of_eqn, strict=True)
        self.in_groups = {var for eqn, need in grouped if need for var in eqn.outvars}

    def _read_by(self, atoms: Iterable[Atom], reader: int) -> None:
        """Note who reads some values: an equation or the whole program, by its identity."""
        for atom in atoms:
            if type(atom) is Var:
                self.readers.setdefault(atom, set()).add(reader)

    def _want(self, atom: Atom, need: _Need | None, dim: Dim = 0) -> None:
        """Add a demand, for rows along an axis; None stands for everything."""
        if type(atom) is Var:
            known = self.needs[atom] if atom in self.needs else need
            if self.dims.setdefault(atom, dim) != dim and known is not None:
                known = known.of_any_row()
            self.needs[atom] = _either(known, need)

    def _pass_on(self, eqn: Eqn) -> _Need | None:
        """Demand the operands of an equation, and return where its results are wanted."""
        asked = [self.needs[var] for var in eqn.outvars if var in self.needs]
        need = None
        if asked and not eqn.effects:
            need = asked[0]
            for other in asked[1:]:
                need = _either(need, other)
        if need is None:
            if eqn.primitive.name == "select_n":
                self._select(eqn)
            else:
                for atom in eqn.invars:
                    self._want(atom, None)
            return None
        if need.n_rows is None:
            for atom in eqn.invars:
                self._want(atom, need)
            return need
        row = row_of_eqn(eqn, tuple(self.dims.get(var, UNUSED) for var in eqn.outvars))
        if row is None:
            need = need.of_any_row()
            for atom in eqn.invars:
                self._want(atom, need)
            return need
        for atom, dim in zip(eqn.invars, row.operands, strict=True):
            if rows_along(atom.aval, dim) == need.n_rows:
                self._want(atom, need, dim)
            elif dim != UNUSED:
                self._want(atom, need.of_any_row())
        return need

    def _select(self, eqn: Eqn) -> None:
        """Demand each case where the choice is its own."""
        which, *cases = eqn.invars
        self._want(which, None)
        root = self._root(which, len(cases))
        for number, case in enumerate(cases):
            need = None
            if root is not None:
                n_rows = root.aval.shape[0] if root.aval.shape else None
                need = _Need(n_rows, frozenset([(root, number, len(cases))]))
            self._want(case, need)

    def _root(self, which: Atom, n_cases: int) -> Var | None:
        """Return the choices, one a row if they are broadcast from there."""
        while type(which) is Var:
            maker = self.makers.get(which)
            source = None if maker is None else source_of_choice(maker, n_cases)
            if source is None:
                break
            which = source
        if type(which) is not Var or (which.aval.shape and which.aval.shape[0] < 2):
            return None
        return which

    # The new program

    def equations(self) -> list[Eqn]:
        """Return the equations, those of one demand in one operation where that is worth it."""
        eqns = list(self.jaxpr.eqns)
        places = self._places()
        groups: dict[_Place, list[Eqn]] = {}
        for eqn, place in zip(eqns, places, strict=True):
            if place is not None:
                groups.setdefault(place, []).append(eqn)
        made: dict[int, list[Eqn]] = {}
        for (need, _), members in groups.items():
            operation = self._operation(need, members)
            if operation:
                made.update((id(eqn), operation) for eqn in members)
        if not made:
            return eqns
        ordered = _ordered(eqns, made)
        effects = [eqn for eqn in eqns if eqn.effects]
        kept = [eqn for eqn in ordered if eqn.effects]
        ordered = merge_selects(ordered, self.jaxpr.outvars)
        return ordered if list(map(id, kept)) == list(map(id, effects)) else eqns

    def _places(self) -> list[_Place | None]:
        """Return the group of each equation: its demand, and how often the group was left before.

        What depends on a group by way of equations outside cannot be in it.
        """
        depths: dict[Var, dict[_Need, int]] = {}
        inside: dict[Var, _Place] = {}
        places: list[_Place | None] = []
        for eqn, need in zip(self.jaxpr.eqns, self.of_eqn, strict=True):
            deepest: dict[_Need, int] = {}
            level = 0
            for atom in eqn.invars:
                if type(atom) is not Var:
                    continue
                for other, depth in depths.get(atom, {}).items():
                    deepest[other] = max(deepest.get(other, 0), depth)
                if need is not None and need in depths.get(atom, {}):
                    is_member = inside.get(atom, (None, 0))[0] == need
                    level = max(level, depths[atom][need] + (not is_member))
            place = None
            if need is not None:
                place = (need, level)
                deepest[need] = level
            for var in eqn.outvars:
                depths[var] = deepest
                if place is not None:
                    inside[var] = place
            places.append(place)
        return places

    def _operation(self, need: _Need, members: list[Eqn]) -> list[Eqn]:
        """Return equations with one operation for those of a demand; none if it is not worth it."""
        n_rows = need.n_rows
        if sum(map(_work, members)) < LEAST_WORK * (n_rows or 1) or _is_masked(need, members):
            return []
        if not any(map(_is_work, members)) and not _is_long(members):
            return []
        if self.demanded and all(map(_is_of_elements, members)):
            return []
        outs = self._used_outside(members)
        members = self._with_broadcasts(members)
        made = {var for eqn in members for var in eqn.outvars}
        used = [atom for eqn in members for atom in eqn.invars if type(atom) is Var]
        inputs = tuple(dict.fromkeys(var for var in used if var not in made))
        program, dims = Jaxpr((), inputs, outs, members), (None,) * len(inputs)
        if n_rows is not None:
            found = row_program(program, tuple(self.dims[var] for var in outs))
            if found is None:
                return []
            program, dims = found.jaxpr, found.dims
        is_row = [_is_row(var, dim, n_rows) for var, dim in zip(inputs, dims, strict=True)]
        order = sorted(range(len(inputs)), key=is_row.__getitem__)
        inputs = tuple(inputs[number] for number in order)
        dims = tuple(dims[number] for number in order)
        row = program.replace(invars=tuple(program.invars[number] for number in order))
        return self._with_views(need, members[-1], row, (inputs, dims, outs))

    def _with_views(
        self,
        need: _Need,
        like: Eqn,
        row: Jaxpr,
        values: tuple[tuple[Var, ...], Dims, tuple[Var, ...]],
    ) -> list[Eqn]:
        """Return the operation, between equations that move the rows of its operands to the front
        and those of its results back.
        """
        inputs, dims, outs = values
        choices = sorted(need.choices, key=lambda choice: (self.numbers[choice[0]], choice[1]))
        roots = list(dict.fromkeys(root for root, _, _ in choices))
        conditions = tuple(
            Condition(roots.index(root), case, n_cases) for root, case, n_cases in choices
        )
        before: list[Eqn] = []
        after: list[Eqn] = []
        operands: list[Var] = []
        for var, dim in zip(inputs, dims, strict=True):
            operand, steps = _to_front(like, var, dim, need.n_rows)
            before += steps
            operands.append(operand)
        results: list[Var] = []
        for var in outs:
            result, steps = _from_front(like, var, self.dims[var], need.n_rows)
            after += steps
            results.append(result)
        mask = tuple(_is_row(var, dim, need.n_rows) for var, dim in zip(inputs, dims, strict=True))
        params = _on_demand(conditions, roots, need.n_rows, row, mask)
        operation = like.replace(
            primitive=rows_on_demand_p,
            invars=(*roots, *operands),
            outvars=tuple(results),
            params={**params, "out_avals": tuple(var.aval for var in results)},
        )
        return [*before, operation, *after]

    def _with_broadcasts(self, members: list[Eqn]) -> list[Eqn]:
        """Return equations with copies of the broadcasts that they read, which cost nothing.

        The results of another group are left alone: it hands out what equations read, not copies.
        """
        copies: dict[Var, Var] = {}
        before: list[Eqn] = []
        made = {var for eqn in members for var in eqn.outvars}

        def copied(atom: Atom) -> Atom:
            """Return the result of a copy in the place of that of a broadcast."""
            if type(atom) is not Var or atom in made:
                return atom
            maker = self.makers.get(atom)
            if maker is None or maker.primitive.name != "broadcast_in_dim":
                return atom
            if not self.in_groups.isdisjoint(maker.invars):
                return atom
            if atom not in copies:
                copies[atom] = Var(atom.aval)
                invars = tuple(map(copied, maker.invars))
                before.append(maker.replace(invars=invars, outvars=(copies[atom],)))
            return copies[atom]

        changed = [eqn.replace(invars=tuple(map(copied, eqn.invars))) for eqn in members]
        return [*before, *changed]

    def _used_outside(self, members: Sequence[Eqn]) -> tuple[Var, ...]:
        """Return the results of equations that others read."""
        own = {id(eqn) for eqn in members}
        return tuple(
            var
            for eqn in members
            for var in eqn.outvars
            if any(reader not in own for reader in self.readers.get(var, ()))
        )


def _either(first: _Need | None, second: _Need | None) -> _Need | None:
    """Return the demand of whoever wants a value under one of two; None stands for everything."""
    if first is None or second is None:
        return None
    if first.n_rows != second.n_rows:
        first, second = first.of_any_row(), second.of_any_row()
        if first is None or second is None:
            return None
    choices = first.choices | second.choices
    cases: dict[Var, int] = {}
    for var, _, n_cases in choices:
        cases[var] = cases.get(var, 0) + 1
        if cases[var] == n_cases:
            return None
    return None if len(choices) > MAX_CONDITIONS else _Need(first.n_rows, choices)


def _on_demand(
    conditions: tuple[Condition, ...],
    roots: Sequence[Var],
    n_rows: int | None,
    row: Jaxpr,
    mask: tuple[bool, ...],
) -> dict[str, Any]:
    """Return the parameters of the operation; mask: the inputs that are rows, after the others."""
    n_shared = mask.count(False)
    split = split_body(row, n_shared) if n_rows is not None else None
    if split is None:
        nothing = Jaxpr((), row.invars[:n_shared], (), ())
        split = Split(nothing, row)
    every = (True,) * len(row.outvars)
    whole = block = None
    if n_rows is not None and _likes_company(row):
        whole = batch_jaxpr(row, Axis(n_rows), mask, every)[0]
        if n_rows >= LEAST_ROWS:
            block = batch_jaxpr(row, Axis(_block_size(n_rows)), mask, every)[0]
    return {
        "conditions": conditions,
        "n_choices": len(roots),
        "n_shared": n_shared,
        "n_rows": n_rows,
        "head": split.head,
        "row": split.rest,
        "block": block,
        "whole": whole,
        "bases": (False,) * len(row.outvars),
    }


def _block_size(n_rows: int) -> int:
    """Return how many rows are computed at once: few enough that one in a hundred is cheap."""
    size = BLOCK_SIZES[0]
    while size < BLOCK_SIZES[1] and 2 * size * LEAST_ROWS <= n_rows:
        size *= 2
    return size


def _is_masked(need: _Need, members: Sequence[Eqn]) -> bool:
    """Tell whether every element of matrices has its own choice, as in the masks of attention.

    There nearly every row is wanted; only loops are worth looking for one that is not.
    """
    if any(subjaxprs(eqn.params) for eqn in members):
        return False
    largest = max(var.aval.size for eqn in members for var in eqn.outvars)
    return any(root.aval.ndim > 1 and root.aval.size >= largest for root, _, _ in need.choices)


def _is_row(var: Var, dim: Dim, n_rows: int | None) -> bool:
    """Tell whether an input has rows along the axis `dim`, not one for all of them."""
    return n_rows is not None and rows_along(var.aval, dim) == n_rows


def _to_front(like: Eqn, var: Var, dim: Dim, n_rows: int | None) -> tuple[Var, list[Eqn]]:
    """Return a value with its rows in front, or without an axis of extent 1, and its equations."""
    if dim is None or dim == UNUSED or n_rows is None:
        return var, []
    if isinstance(dim, Part):
        one, two, three = _apart(var.aval, dim)
        return three, [
            _reshaping(like, var, one),
            _moving(like, one, two, dim.axis + 1, 0),
            _reshaping(like, two, three),
        ]
    if not _is_row(var, dim, n_rows):
        row = Var(row_aval(var.aval, dim))
        return row, [_reshaping(like, var, row)]
    if dim == 0:
        return var, []
    moved = Var(_moved(var.aval, dim, 0))
    return moved, [_moving(like, var, moved, dim, 0)]


def _from_front(like: Eqn, var: Var, dim: Dim, n_rows: int | None) -> tuple[Var, list[Eqn]]:
    """Return a value with its rows in front, and the equations that make `var` of it."""
    if dim is None or dim == 0 or n_rows is None:
        return var, []
    if isinstance(dim, Part):
        one, two, three = _apart(var.aval, dim)
        return three, [
            _reshaping(like, three, two),
            _moving(like, two, one, 0, dim.axis + 1),
            _reshaping(like, one, var),
        ]
    moved = Var(_moved(var.aval, dim, 0))
    return moved, [_moving(like, moved, var, 0, dim)]


def _apart(aval: ShapedArray, part: Part) -> tuple[Var, Var, Var]:
    """Return a value with an axis as the three that it counts as, the same with the rows in front,
    and with the other two as one again.
    """
    shape, axis = aval.shape, part.axis
    extents = (part.outer, part.count, part.inner)
    split = aval.update(shape=(*shape[:axis], *extents, *shape[axis + 1 :]))
    whole = aval.update(shape=(part.count, *row_shape(shape, part)))
    return Var(split), Var(_moved(split, axis + 1, 0)), Var(whole)


def _reshaping(like: Eqn, source: Var, target: Var) -> Eqn:
    """Return the equation that gives an array another shape."""
    params = {"new_sizes": target.aval.shape, "dimensions": None, "sharding": None}
    return like.replace(primitive=reshape_p, invars=(source,), outvars=(target,), params=params)


def _moved(aval: ShapedArray, dim: int, place: int) -> ShapedArray:
    """Return the type of an array whose axis `dim` is moved."""
    shape = list(aval.shape)
    shape.insert(place, shape.pop(dim))
    return aval.update(shape=tuple(shape))


def _moving(like: Eqn, source: Var, target: Var, dim: int, place: int) -> Eqn:
    """Return the equation that moves an axis."""
    permutation = list(range(source.aval.ndim))
    permutation.insert(place, permutation.pop(dim))
    params = {"permutation": tuple(permutation)}
    return like.replace(primitive=transpose_p, invars=(source,), outvars=(target,), params=params)


def _ordered(eqns: Sequence[Eqn], made: dict[int, list[Eqn]]) -> list[Eqn]:
    """Return equations after those that they need, in their old order where that is free.

    made: the equations in the place of an equation, by the equation's identity.
    """
    chosen = [new for eqn in eqns for new in made.get(id(eqn), (eqn,))]
    last = {id(eqn): number for number, eqn in enumerate(chosen)}
    makers = {var: eqn for eqn in chosen for var in eqn.outvars}
    done: set[int] = set()
    order: list[Eqn] = []
    for number, eqn in enumerate(chosen):
        if last[id(eqn)] != number:
            continue
        stack = [eqn]
        while stack:
            top = stack[-1]
            before = [makers[x] for x in top.invars if type(x) is Var and x in makers]
            waiting = [other for other in before if id(other) not in done]
            if id(top) in done or not waiting:
                stack.pop()
                if id(top) not in done:
                    done.add(id(top))
                    order.append(top)
            else:
                stack.extend(reversed(waiting))
    return order
