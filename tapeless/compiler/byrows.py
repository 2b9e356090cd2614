"""Operations that go row by row: loops that rows leave one by one, and results that few rows want.

JAX's batched `while` takes as many steps as its slowest row, and its batched `cond` computes every
branch for every row. The operations here have the same results and cost what the rows cost. The
compiler alone uses them (`demand.py` puts them in the place of JAX's equations), with the programs
for one row that `unbatch.py` finds.

Many rows are better done together, in lanes or as products of matrices, and few one by one:

    while_by_rows   all rows take steps together while more than one in `together` goes on; then
                    each of the others runs to its end, alone
    rows_on_demand  lists the rows that want the results; computes all rows if most do, else
                    gathers those that do into blocks, or takes them one by one

So no step is taken for more than a few times as many rows as want it, and those steps are as much
cheaper. Rows are independent, and the loops over them are shared among the cores. What is not
wanted is left undefined: the equations that read it select something else.

Expressions of very many rows are done in *stretches*: a list, the other side of the select, and
what rows want, for some 32,768 rows at a time, which stay in the cache meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.compiler.placetext import MARGIN, PLACES
from tapeless.compiler.rowaxes import UNUSED, Dims, Part, row_aval
from tapeless.compiler.rowblocks import rows_choose
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Primitive
from tapeless.kernel.build import KernelValue
from tapeless.kernel.ir import Scalar
from tapeless.util.records import record, replace
from tapeless.util.seqs import split_at

__all__ = ["BLOCK_SIZES", "Condition", "rows_on_demand_p", "while_by_rows_p"]

BLOCK_SIZES = (8, MARGIN)  # rows that are computed at once, at least and at most
_BOOL = np.dtype(np.bool_)
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


@record
class Condition:
    """The rows that want something: where the choice `operand` is the number `case`.

    operand: the position of the choice among the operands, (rows, ...) or (); of a bool the cases
    are false and true, of an integer its values below n_cases, to which it is clamped.
    """

    operand: int
    case: int
    n_cases: int


class WhileByRows(Primitive):
    """A `while` whose condition has a bool for each row.

    Operands and four of the parameters are those of `while`; row: the program that runs one row to
    its end; dims: the axes of rows of the operands; together: rows take a step together if more
    than one in so many goes on, and never if it is 0.
    """

    name = "while_by_rows"

    def abstract(  # pyrefly: ignore[bad-override]  # as in every primitive: see pyproject.toml
        self,
        *avals: ShapedArray,
        body_jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple:
        """Return the types of the carry."""
        return body_jaxpr.out_avals

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        **params: Any,
    ) -> tuple:
        """Write the loop of all rows, and behind it a loop over the rows that are left."""
        n_cond = params["cond_nconsts"]
        n_body = params["body_nconsts"]
        cond_consts, body_consts, init = split_at(args, n_cond, n_body)
        carry = b.carries(init)
        dims = params["dims"]
        if params["together"]:
            _step_together(b, carry, cond_consts, body_consts, params)

        def one(i: Any) -> None:
            """Run one row to its end."""
            whole = b.read_carries(carry)
            values = [*cond_consts, *body_consts, *whole]
            results = b.inline(params["row"], _rows(b, values, dims, i))
            _put_row(b, whole, i, results)

        b.loop(outs[0].shape[0], one)
        return tuple(b.read_carries(carry))


def _step_together(
    b: Any, carry: Any, cond_consts: Sequence, body_consts: Sequence, params: dict[str, Any]
) -> None:
    """Let all rows take steps while many go on; rows that are done keep their carry."""
    cond = params["cond_jaxpr"]
    body = params["body_jaxpr"]
    together = params["together"]

    def many() -> Any:
        """Tell whether enough rows go on."""
        (flag,) = b.inline(cond, [*cond_consts, *b.read_carries(carry)])
        n_rows, *inner = flag.shape

        def goes_on(i: Any) -> Scalar:
            """Tell whether any of the row's flags holds."""
            return b.fold(inner, lambda index: flag.at(i, *index), "or", False)

        number = _count(b, n_rows, goes_on)
        return b.gt(b.mul(number, together), n_rows)

    def step() -> None:
        """Take a step with all rows."""
        old = b.read_carries(carry)
        b.keep(old)
        new = b.inline(body, [*body_consts, *old])
        (flag,) = b.inline(cond, [*cond_consts, *old])
        chosen = []
        for after, before in zip(new, old, strict=True):
            chosen.append(b.where_rows(flag, after, before))
        b.update_carries(carry, chosen)

    b.while_loop(many, step)


class RowsOnDemand(Primitive):
    """The results of a program over rows, for the rows that want them.

    Operands are choices, shared values and values with rows in front, in this order.
    conditions: a row wants the results where one of them holds; n_choices, n_shared: the sizes of
    the first two groups; n_rows: None if all is wanted when a choice is made, be it by any row.
    head: what rows share, (shared values) -> results; row: (shared values, results of the head,
    rows) -> rows of the results; block, whole: the programs for some and for all rows at once,
    (shared values, values) -> results, or None if rows had better be alone.
    bases: which results have a base, a last operand: what rows are that do not want the result;
    most: all rows are computed where more than one in so many wants it; chunks: how many parts
    the loop over blocks has, at most, which threads share; stretch: how many rows choose together
    between all and those that want it, each stretch from base to results before the next.
    """

    name = "rows_on_demand"

    def abstract(  # pyrefly: ignore[bad-override]  # as in every primitive: see pyproject.toml
        self,
        *avals: ShapedArray,
        out_avals: tuple,
        **params: Any,
    ) -> tuple:
        """Return the types of the results."""
        return out_avals

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        **params: Any,
    ) -> tuple:
        """Write a choice between nothing, the rows that want it, and all rows."""
        n_choices = params["n_choices"]
        n_shared = params["n_shared"]
        n_operands = len(args) - n_choices - n_shared - sum(params["bases"])
        choices, shared, rows, rest = split_at(args, n_choices, n_shared, n_operands)
        given = iter(rest)
        bases = [next(given) if flag else None for flag in params["bases"]]
        results = [b.buffer(aval, "temp" if aval.size > 1 else "") for aval in outs]
        n_rows = params["n_rows"]
        demand = _OnDemand(b, choices, shared, rows, bases, results, params, 0, n_rows or 1)
        b.flush()
        outside, b.rows_choose = b.rows_choose, rows_choose(params["row"])
        if n_rows is None:
            b.when(demand.wanted(0), lambda: demand.whole(params["row"]))
        elif params["stretch"] < n_rows:
            demand.by_stretches()
        else:
            demand.by_number((demand,), b.const(0, _INT32))
        b.flush()
        b.rows_choose = outside
        return tuple(results)


@record
class _OnDemand:
    """The lowering of a `rows_on_demand`: its builder, operands, results and parameters.

    start, length: the rows that it is about, by which all others are counted here.
    """

    b: Any
    choices: Sequence[KernelValue]
    shared: Sequence[KernelValue]
    rows: Sequence[KernelValue]
    bases: Sequence[KernelValue | None]
    results: Sequence[KernelValue]
    params: dict[str, Any]
    start: Any
    length: int

    def by_stretches(self) -> None:
        """Choose for each stretch of rows by how many of them want it.

        The last stretch may be shorter than the others.
        """
        b = self.b
        length = self.params["stretch"]
        n_whole, rest = divmod(self.length, length)

        def stretch(k: Any) -> None:
            """Compute one stretch."""
            start = b.index_mul(k, length)
            lengths = (length, rest) if rest else (length,)
            ways = [replace(self, start=start, length=size) for size in lengths]
            is_last = b.ge(b.convert(k, _INT64), n_whole)
            ways[0].by_number(ways, b.convert(is_last, _INT32))

        b.loop(n_whole + (rest > 0), stretch)

    def by_number(self, ways: Sequence[_OnDemand], which: Scalar) -> None:
        """Choose by the number of rows that want it; which of the `ways` says how many there are.

        The first is this one, and the only one that may be done as a whole: then the list is of no
        use, and breaks off.
        """
        b = self.b
        block, whole = self.params["block"], self.params["whole"]
        if block is None:
            number = b.let(_count(b, self.length, self.wanted))
            few = self.one_by_one
        else:
            places, number = self.places(ways, which)

            def few() -> None:
                """Compute the rows that are in the list."""
                self.block_by_block(places, number, block)

        def begin_few() -> None:
            """Compute the rows that want it, if there are any."""
            _either(b, which, [way.begin for way in ways])
            b.when(b.gt(number, 0), few)

        if whole is None:
            begin_few()
            return
        most = b.gt(number, self.length // self.params["most"])
        if len(ways) > 1:
            most = b.and_(most, b.eq(which, 0))
        b.switch(b.convert(most, _INT32), [begin_few, lambda: self.whole(whole)])

    def begin(self) -> None:
        """Begin the results with what rows are that do not want them."""
        for result, base in zip(self.results, self.bases, strict=True):
            if base is not None:
                self.put(result, self.mine(base))

    def mine(self, value: KernelValue) -> KernelValue:
        """View the rows that this is about."""
        if value.shape[0] == self.length:
            return value
        return _gathered(self.b, value, self.length, self.row)

    def row(self, i: Any) -> Any:
        """Return which of all rows the row `i` is."""
        return self.b.index_add(self.start, i)

    def put(self, result: KernelValue, value: KernelValue) -> None:
        """Store the rows that this is about."""
        if self.start == 0:
            self.b.assign(result, value)
        else:
            _scatter(self.b, result, value, self.row)

    def wanted(self, i: Any) -> Scalar:
        """Tell whether the row `i` wants the results."""
        found = None
        for condition in self.params["conditions"]:
            flag = self.holds(condition, i)
            found = flag if found is None else self.b.or_(found, flag)
        assert found is not None, "a demand has conditions"
        return found

    def holds(
        self,
        condition: Condition,
        i: Any,
    ) -> Scalar:
        """Tell whether a condition holds anywhere in the row `i`, or in any row."""
        choice = self.choices[condition.operand]
        if not choice.shape:
            return _is_case(self.b, condition, choice.at())
        row = () if self.params["n_rows"] is None else (self.row(i),)

        def flag(index: tuple) -> Scalar:
            """Tell whether it holds at one place."""
            return _is_case(self.b, condition, choice.at(*row, *index))

        return self.b.fold(choice.shape[len(row) :], flag, "or", False)

    def whole(self, program: Jaxpr) -> None:
        """Compute everything together."""
        b = self.b
        rows = self.rows if self.params["n_rows"] is None else map(self.mine, self.rows)
        values = b.inline(program, [*self.shared, *rows], demanded=True)
        flags = self.flags()
        for result, base, value in zip(self.results, self.bases, values, strict=True):
            chosen = value if base is None else b.where_rows(flags, value, self.mine(base))
            self.put(result, chosen)

    def flags(self) -> KernelValue:
        """Tell which rows want the results."""
        return self.b.virtual(ShapedArray((self.length,), _BOOL), self.flag)

    def flag(self, index: tuple) -> Scalar:
        """Tell whether a row wants the results."""
        return self.wanted(index[0])

    def one_by_one(self) -> None:
        """Compute the rows that want it, each alone."""
        b = self.b
        common = b.inline(self.params["head"], self.shared)
        shared = [*self.shared, *(self.stored_here(value) for value in common)]
        dims = (0,) * len(self.rows)

        def row(i: Any) -> None:
            """Compute one row."""
            mine = _rows(b, self.rows, dims, i)
            values = b.inline(self.params["row"], [*shared, *mine], demanded=True)
            _put_row(b, self.results, i, values)

        def row_if_wanted(i: Any) -> None:
            """Compute one row if it wants it."""
            b.when(self.wanted(i), lambda: row(i))

        b.loop(self.length, row_if_wanted)

    def stored_here(self, value: KernelValue) -> KernelValue:
        """Return a value in memory; a virtual one is copied.

        It may be an operand that the head hands on, which is to be read elsewhere, too, and must
        not become what is stored on this way alone.
        """
        if value.is_stored:
            return value
        return self.b.stored(self.b.virtual(value.aval, lambda index: value.at(*index)))

    def block_by_block(
        self,
        places: KernelValue,
        number: Scalar,
        program: Jaxpr,
    ) -> None:
        """Compute the rows that want it, which are in a list, by the `program` for a block of rows.

        The last block is filled with copies of its last row. Blocks that follow each other go to
        different chunks of the loop, since only the first of them have rows.
        """
        b = self.b
        size = program.out_avals[0].shape[0]
        n_chunks = min(-(-self.length // size), self.params["chunks"])
        full = b.let(b.div(b.add(number, size - 1), size))

        def block(chunk: Any, j: Any) -> None:
            """Compute one block."""
            start = b.index_mul(b.index_add(b.index_mul(j, n_chunks), chunk), size)

            def place(lane: Any) -> Scalar:
                """Return the row that a lane works on."""
                return self.row(b.convert(places.at(b.index_add(start, lane)), _INT64))

            self.block(program, place)

        def blocks(chunk: Any) -> None:
            """Compute the blocks of a chunk."""
            others = b.sub(b.add(full, n_chunks - 1), b.convert(chunk, _INT64))
            b.loop(b.div(others, n_chunks), lambda j: block(chunk, j))

        b.loop(n_chunks, blocks)

    def block(
        self,
        program: Jaxpr,
        place: Callable[[Any], Scalar],
    ) -> None:
        """Gather the rows `place(lane)`, compute, and scatter."""
        b = self.b
        size = program.out_avals[0].shape[0]
        gathered = [b.stored(_gathered(b, x, size, place)) for x in self.rows]
        values = b.inline(program, [*self.shared, *gathered], demanded=True)
        for target, value in zip(self.results, values, strict=True):
            _scatter(b, target, b.stored(value), place)

    def places(self, ways: Sequence[_OnDemand], which: Scalar) -> tuple[KernelValue, Scalar]:
        """Return a list that begins with the rows that want it, and how many there are."""
        b = self.b
        places = b.buffer(ShapedArray((self.length + MARGIN,), _INT32), "temp")
        found = b.buffer(ShapedArray((), _INT64))

        def listing(way: _OnDemand) -> Callable[[], None]:
            """Return what writes the list of so many rows."""
            return lambda: way.list_in(places, found)

        _either(b, which, [listing(way) for way in ways])
        return places, b.let(found.at())

    def list_in(self, places: KernelValue, found: KernelValue) -> None:
        """Write the list of the rows that want it."""
        first, *others = self.params["conditions"]
        choice = self.choices[first.operand]
        is_flag = choice.aval.ndim == 1 and choice.dtype == np.bool_
        is_flag = is_flag and first.case == 1 and not others
        where: Any
        if is_flag and (choice.is_stored or self.start == 0):
            flags = self.b.stored(choice)
            where = flags if self.start == 0 else (flags, (self.start,))
        else:
            where = flags = self.b.stored(self.flags())
        may_be_whole = self.params["whole"] is not None and self.length == self.params["stretch"]
        most = self.length // (self.params["most"] if may_be_whole else 1)
        self.b.call(PLACES, [where, places, found, self.length, most], [flags], [places, found])


def _either(b: Any, which: Scalar, bodies: Sequence[Callable[[], None]]) -> None:
    """Run one of two bodies, or the only one."""
    if len(bodies) == 1:
        bodies[0]()
    else:
        b.switch(which, bodies)


def _is_case(
    b: Any,
    condition: Condition,
    choice: Scalar,
) -> Scalar:
    """Compare a choice with a case."""
    if choice.dtype == np.bool_:
        return choice if condition.case else b.not_(choice)
    if condition.case == 0:
        return b.le(choice, 0)
    if condition.case == condition.n_cases - 1:
        return b.ge(choice, condition.case)
    return b.eq(choice, condition.case)


def _count(
    b: Any,
    n_rows: int,
    wanted: Callable[[Any], Scalar],
) -> Scalar:
    """Count the rows for which `wanted(i)` holds."""

    def one(index: tuple) -> Scalar:
        """Return 1 for a row that wants it, else 0."""
        return b.convert(wanted(index[0]), _INT32)

    return b.convert(b.fold((n_rows,), one, "add", 0), _INT64)


def _rows(
    b: Any,
    values: Sequence,
    dims: Dims,
    i: Any,
) -> list[KernelValue]:
    """View the row `i` of values along their axes of rows; shared values as they are."""
    rows = []
    for value, dim in zip(values, dims, strict=True):
        is_shared = dim is None or dim == UNUSED
        rows.append(value if is_shared else _row(b, value, dim, i))
    return rows


def _row(
    b: Any,
    value: KernelValue,
    dim: int | Part,
    i: Any,
) -> KernelValue:
    """View the row `i` of a value; an axis of extent 1 has one row for all."""
    aval = row_aval(value.aval, dim)
    if isinstance(dim, Part):
        return b.virtual(aval, lambda index: value.at(*_within(b, dim, index, i)))
    place = 0 if value.shape[dim] == 1 else i

    def pull(index: tuple) -> Any:
        """Put the row's number into the index."""
        return value.at(*index[:dim], place, *index[dim:])

    return b.virtual(aval, pull)


def _within(
    b: Any,
    part: Part,
    index: tuple,
    i: Any,
) -> tuple:
    """Return the index in the whole of an index in the row `i`, which is a part of an axis."""
    along = index[part.axis]
    outer, inner = b.index_div(along, part.inner), b.index_mod(along, part.inner)
    block = b.index_add(b.index_mul(outer, part.count), i)
    place = b.index_add(b.index_mul(block, part.inner), inner)
    return (*index[: part.axis], place, *index[part.axis + 1 :])


def _put_row(
    b: Any,
    targets: Sequence,
    i: Any,
    values: Sequence,
) -> None:
    """Store values as the row `i` of others."""
    for target, value in zip(targets, values, strict=True):
        b.assign_row(target, i, value)


def _gathered(
    b: Any,
    value: KernelValue,
    size: int,
    place: Callable,
) -> KernelValue:
    """View the rows `place(lane)` of a value."""
    aval = value.aval.update(shape=(size, *value.shape[1:]))

    def pull(index: tuple) -> Any:
        """Find the row."""
        lane, *rest = index
        return value.at(place(lane), *rest)

    return b.virtual(aval, pull)


def _scatter(
    b: Any,
    target: KernelValue,
    value: KernelValue,
    place: Callable,
) -> None:
    """Store the rows of a value as the rows `place(lane)` of another."""

    def put(index: tuple) -> None:
        """Store one element."""
        lane, *rest = index
        b.store(target, (place(lane), *rest), value.at(*index))

    b.nest(value.shape, put)


while_by_rows_p = WhileByRows()
rows_on_demand_p = RowsOnDemand()
