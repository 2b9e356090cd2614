"""Rows on demand: what only some rows of a select want is computed for those rows.

JAX turns a `cond` whose predicate has a batch axis into both branches, for all rows, and a
`select_n`. That is what programs print; what it costs is decided here. The demand for each value
runs backwards through a program: results are wanted everywhere; the cases of a select are wanted in
the rows where the choice is theirs; an operand of an equation that is a map along the rows
(`unbatch.py`) is wanted where the result is, and that of any other equation if any row of the
result is. Equations of one demand are gathered, and when there is real work among them (a loop, a
product of matrices, a sort) they become one `rows_on_demand` operation. A select with one choice
for everything works alike, without rows. Most expressions of elements need none of this:
`choices.py` puts them behind a branch where they are evaluated. But many short rows are the lanes
of vectors, and one row in 100 is one in every seventh vector: there dear expressions are gathered,
if what is chosen is a result; else it might be part of a larger expression, and in no memory.

What is broadcast along the rows is a shared value of the row program and is broadcast no more; so a
matrix that all rows share costs nothing per row, whichever way it is computed.

Demands are sets of conditions, of which one suffices. Equations with effects are wanted everywhere,
and keep their order.

The batched `while` is replaced here, too, wherever its rows turn out to be independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapeless.compiler.byrows import BLOCK_SIZES, Condition, rows_on_demand_p, while_by_rows_p
from tapeless.compiler.hoist import Split, split_body
from tapeless.compiler.merging import merge_selects, source_of_choice
from tapeless.compiler.rowaxes import UNUSED, Dim, Dims, Part, row_aval, row_shape, rows_along
from tapeless.compiler.unbatch import row_of_eqn, row_program
from tapeless.compiler.work import (
    instructions_of,
    is_apart,
    is_long,
    is_of_elements,
    is_work,
    work_of,
)
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Var, subjaxprs
from tapeless.core.trace import Axis
from tapeless.prims.structural import reshape_p, transpose_p
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.dce import dce_jaxpr
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record

__all__ = ["by_rows"]

MAX_CONDITIONS = 4
LEAST_WORK = 60.0  # operations on elements, per row
LEAST_WORK_OF_MANY = 30.0  # of many rows: that of sums of four
LEAST_INSTRUCTIONS = 80.0  # of expressions, per row
LISTED_ROWS = 1 << 15  # of expressions, at least; fewer do not pay for twice the compile time
STRETCH = (1 << 15, 1 << 18)  # rows of expressions that choose together; so few that all do
SHORT_ROW = 8
LANES_UP_TO = 32  # elements of a row that are so few that rows had better be lanes
LEAST_ROWS = 32
_MOST, _MOST_NUMBERS = 2, 4
CHUNKS = (16, 64)
CHUNK_WORK = 1 << 20
TOGETHER = 16
TOGETHER_RECIPES = 32
_RECIPES = frozenset(
    "sin cos tan tanh exp log pow logistic atan2 erf sinh cosh asin acos atan exp2 expm1 log1p "
    "lgamma digamma cbrt erf_inv".split()
)
_IN_COMPANY = frozenset(("dot_general", "fft", "conv_general_dilated"))


@weak_identity_cache
def by_rows(jaxpr: Jaxpr, demanded: bool = False) -> Jaxpr:
    """Return the program with row by row operations where they are better.

    demanded: the program is that of rows on demand. Its expressions are left as they are: functions
    that choose among choices would be written once more for each way of each choice around them.
    """
    eqns = list(jaxpr.eqns)
    chooses = any(eqn.primitive.name == "select_n" for eqn in eqns)
    if chooses and (any(map(is_apart, eqns)) or is_long(eqns) or _chooses_rows(eqns)):
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
        if _is_masked(need, members) or not self._is_worth_it(n_rows, members):
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

    def _is_worth_it(self, n_rows: int | None, members: Sequence[Eqn]) -> bool:
        """Tell whether equations had better be done for those rows that want them."""
        if self.demanded and all(map(is_of_elements, members)):
            return False
        if any(map(is_work, members)) or is_long(members):
            n_rows = n_rows or 1
            least = LEAST_WORK if n_rows < LISTED_ROWS else LEAST_WORK_OF_MANY
            return sum(map(work_of, members)) >= least * n_rows
        if self.demanded or n_rows is None or not _are_dear(members, n_rows):
            return False
        return self._are_results(members)

    def _are_results(self, members: Sequence[Eqn]) -> bool:
        """Tell whether what is chosen from equations are results, and so in memory anyway."""
        results = {atom for atom in self.jaxpr.outvars if type(atom) is Var}
        readers = {id(eqn) for eqn in members}
        for eqn in self.jaxpr.eqns:
            if eqn.primitive.name == "select_n" and eqn.outvars[0] in results:
                readers.add(id(eqn))
        return all(self.readers[var] <= readers for var in self._used_outside(members))

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
    stretch = _stretch(row, n_rows or 1)
    if n_rows is not None and _likes_company(row):
        whole = batch_jaxpr(row, Axis(stretch), mask, every)[0]
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
        "most": _most(row),
        "chunks": _chunks(row, n_rows or 1) if stretch == n_rows else 1,
        "stretch": stretch,
    }


def _stretch(row: Jaxpr, n_rows: int) -> int:
    """Return how many rows choose together: of expressions what stays in the cache meanwhile."""
    if n_rows <= STRETCH[1] or any(map(is_work, row.eqns)) or is_long(row.eqns):
        return n_rows
    return n_rows // -(-n_rows // STRETCH[0]) // BLOCK_SIZES[1] * BLOCK_SIZES[1]


def _chunks(row: Jaxpr, n_rows: int) -> int:
    """Return how many parts the work of all rows has for threads: each is worth handing out."""
    work = sum(map(work_of, row.eqns)) * n_rows
    return max(CHUNKS[0], min(CHUNKS[1], int(work / CHUNK_WORK)))


def _most(row: Jaxpr) -> int:
    """Tell of how many rows one wants the results at most, or else all are computed."""
    is_number = all(var.aval.size == 1 for var in row.outvars)
    if is_number and not any(map(is_work, row.eqns)) and not is_long(row.eqns):
        return _MOST_NUMBERS
    return _MOST


def _block_size(n_rows: int) -> int:
    """Return how many rows are computed at once: few enough that one in a hundred is cheap."""
    size = BLOCK_SIZES[0]
    while size < BLOCK_SIZES[1] and 2 * size * LEAST_ROWS <= n_rows:
        size *= 2
    return size


def _chooses_rows(eqns: Sequence[Eqn]) -> bool:
    """Tell whether so many rows choose that expressions may be worth a list."""
    choosing = (eqn.outvars[0].aval for eqn in eqns if eqn.primitive.name == "select_n")
    return any(aval.ndim > 0 and aval.shape[0] >= LISTED_ROWS for aval in choosing)


def _are_dear(eqns: Sequence[Eqn], n_rows: int) -> bool:
    """Tell whether expressions of many short rows are worth a list of those that want them."""
    if n_rows < LISTED_ROWS:
        return False
    if sum(map(instructions_of, eqns)) < LEAST_INSTRUCTIONS * n_rows:
        return False
    return max(var.aval.size for eqn in eqns for var in eqn.outvars) <= SHORT_ROW * n_rows


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
