"""Finding random keys that are used twice, where `jax_debug_key_reuse` is on.

The same key gives the same numbers, so that a key should be *used* once: by an operation that draws
bits, or by `split`.  `fold_in` and `clone` do not use their key.

Every element of an array of keys has a number, and views of the array have the same numbers: what
is known of a value is the array of its numbers.  A *ledger* says on which line each number was
used.  There is one ledger for Arrays outside of programs, and one for each program that is
analysed; what a program does to its inputs is its `Signature`, which is found once.

Keys of the old kind (arrays of uint32) are not looked at: nobody can tell them from numbers.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, errors
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal
from tapeless.core.source import Source, current_source
from tapeless.core.trace import Value
from tapeless.runtime.array import Array
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record
from tapeless.util.seqs import split_at
from tapeless.util.weak import weak_key

__all__ = ["has_keys", "run_operation", "run_program"]

Numbers = np.ndarray | None  # None for what holds no keys
_USERS = frozenset(("random_bits", "random_split", "random_gamma"))
# How views renumber: (numbers of the operands, parameters) -> numbers of the results.
_VIEWS: Mapping[str, Callable[..., Sequence[np.ndarray]]] = {
    "copy": lambda x: [x],
    "reshape": lambda x, new_sizes, **_: [x.reshape(new_sizes)],
    "squeeze": lambda x, dimensions: [x.squeeze(tuple(dimensions))],
    "transpose": lambda x, permutation: [x.transpose(permutation)],
    "rev": lambda x, dimensions: [np.flip(x, tuple(dimensions))],
    "concatenate": lambda *xs, dimension: [np.concatenate(xs, dimension)],
    "stack": lambda *xs, axis: [np.stack(xs, axis)],
    "unstack": lambda x, axis: list(np.moveaxis(x, axis, 0)),
    "slice": lambda x, **params: [_sliced(x, **params)],
    "broadcast_in_dim": lambda x, **params: [_broadcast(x, **params)],
}
_CALLS = frozenset("jit remat2 custom_jvp_call custom_vjp_call custom_vmap_call".split())
_fresh = itertools.count()


def has_keys(aval: ShapedArray) -> bool:
    """Tell whether a type is that of keys."""
    return isinstance(aval.dtype, dtypes.KeyDtype)


def _new(aval: ShapedArray) -> Numbers:
    """Return numbers for keys that are new; None for a type that is not of keys."""
    if not has_keys(aval):
        return None
    count = int(np.prod(aval.shape))
    return np.fromiter(itertools.islice(_fresh, count), np.int64, count).reshape(aval.shape)


def _sliced(x: np.ndarray, start_indices: Any, limit_indices: Any, strides: Any) -> np.ndarray:
    """Return the numbers of a slice."""
    strides = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def _broadcast(x: np.ndarray, shape: Any, broadcast_dimensions: Any, **_: Any) -> np.ndarray:
    """Return the numbers of keys that are repeated."""
    spread = [1] * len(shape)
    for extent, dim in zip(x.shape, broadcast_dimensions, strict=True):
        spread[dim] = extent
    return np.broadcast_to(x.reshape(spread), shape)


class _Ledger:
    """The line on which each key was used."""

    def __init__(self) -> None:
        """Nothing was used yet."""
        self.lines: dict[int, Source] = {}

    def use(self, numbers: np.ndarray, start: str, source: Source) -> None:
        """Enter keys as used; start: the beginning of the sentence for those that are already.

        A key that one value has twice is used once.
        """
        for number in np.unique(numbers).tolist():
            if number in self.lines:
                raise errors.KeyReuseError(
                    f"{start}\nIt is used on line {source.summary()}, and was used before on line "
                    f"{self.lines[number].summary()}: the same numbers would be drawn again.\n"
                    f"Split the key, and use each part once; jax.random.clone(key) says that the "
                    f"repetition is meant."
                )
            self.lines[number] = source


@record(eq=False)
class Signature:
    """What a program does with keys.

    inputs: the numbers that it was analysed with; used: those that it uses; outputs: the numbers of
    the results, which are those of inputs where keys are passed on.
    """

    inputs: tuple[Numbers, ...]
    used: frozenset[int]
    outputs: tuple[Numbers, ...]

    def used_of(self, position: int) -> np.ndarray:
        """Return which keys of an input are used."""
        return np.isin(self.inputs[position], list(self.used))


@weak_identity_cache
def _signature(jaxpr: Jaxpr) -> Signature:
    """Analyse a program, whose constants lead its inputs; raise if it uses a key twice."""
    ledger = _Ledger()
    heads = (*jaxpr.constvars, *jaxpr.invars)
    inputs = tuple(_new(var.aval) for var in heads)
    env: dict[Atom, Numbers] = dict(zip(heads, inputs, strict=True))

    def read(atom: Atom) -> Numbers:
        """Return what is known of an atom."""
        return None if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        numbers = [read(atom) for atom in eqn.invars]
        outs = [var.aval for var in eqn.outvars]
        if any(x is not None for x in numbers) or any(map(has_keys, outs)) or _holds_programs(eqn):
            name = eqn.primitive.printed_name or eqn.primitive.name
            start = f"In {name}, argument {{}} is already consumed."
            avals = [atom.aval for atom in eqn.invars]
            found = _flow(ledger, eqn, avals, numbers, start)
        else:
            found = [None] * len(outs)
        env.update(zip(eqn.outvars, found, strict=True))
    return Signature(inputs, frozenset(ledger.lines), tuple(map(read, jaxpr.outvars)))


def _holds_programs(eqn: Eqn) -> bool:
    """Tell whether an equation holds programs, which may make keys of their own."""
    return eqn.primitive.name in _CALLS or eqn.primitive.name in _CONTROL


@record
class _Operation:
    """An operation that is evaluated: what `_flow` wants to know of an equation."""

    primitive: Any
    params: Mapping[str, Any]
    out_avals: Sequence[ShapedArray]
    source: Source


def _flow(
    ledger: _Ledger, eqn: Any, avals: Sequence[ShapedArray], numbers: Sequence[Numbers], start: str
) -> list[Numbers]:
    """Enter what an operation uses; return what is known of its results.

    start: the sentence for a key that is used already, with a place for its position.
    """
    name, params = eqn.primitive.name, eqn.params
    outs = eqn.out_avals if isinstance(eqn, _Operation) else [var.aval for var in eqn.outvars]
    if name in _CONTROL:
        return _CONTROL[name](ledger, eqn, avals, numbers, outs)
    if name in _CALLS and not params.get("differentiated"):
        ((program, _, _),) = eqn.primitive.programs(avals, outs, **params)
        found = [_new(aval) for aval in program.lift_consts().in_avals[: len(program.constvars)]]
        return _call(ledger, _signature(program), [*found, *numbers], start, eqn.source)
    if name in _USERS:
        for position, keys in enumerate(numbers):
            if keys is not None:
                ledger.use(keys, start.format(position), eqn.source)
    elif name in _VIEWS and all(keys is not None for keys in numbers):
        return list(_VIEWS[name](*numbers, **params))
    return list(map(_new, outs))


def _call(
    ledger: _Ledger, called: Signature, numbers: Sequence[Numbers], start: str, source: Source
) -> list[Numbers]:
    """Enter what a call uses; return what is known of its results."""
    known: dict[int, int] = {}
    for position, (inner, outer) in enumerate(zip(called.inputs, numbers, strict=True)):
        if inner is not None and outer is not None:
            ledger.use(outer[called.used_of(position)], start.format(position), source)
            known.update(zip(np.ravel(inner).tolist(), np.ravel(outer).tolist(), strict=True))
    return [_renumbered(ledger, called, keys, known, source) for keys in called.outputs]


def _renumbered(
    ledger: _Ledger, called: Signature, keys: Numbers, known: dict[int, int], source: Source
) -> Numbers:
    """Return the numbers outside of a result; what is new inside is new for each call."""
    if keys is None:
        return None
    outside = []
    for number in np.ravel(keys).tolist():
        if number not in known:
            known[number] = next(_fresh)
            if number in called.used:
                ledger.lines[known[number]] = source
        outside.append(known[number])
    return np.array(outside, np.int64).reshape(keys.shape)


# Operations that run programs more than once, or perhaps


def _cond(
    ledger: _Ledger, eqn: Any, avals: Sequence, numbers: Sequence[Numbers], outs: Sequence
) -> list[Numbers]:
    """Use what any branch uses."""
    before, used = dict(ledger.lines), {}
    for branch in eqn.params["branches"]:
        ledger.lines = dict(before)
        consts = [_new(var.aval) for var in branch.constvars]
        start = "In cond, argument {} is already consumed."
        _call(ledger, _signature(branch), [*consts, *numbers[1:]], start, eqn.source)
        used.update(ledger.lines)
    ledger.lines = {**before, **used}
    return list(map(_new, outs))


def _scan(
    ledger: _Ledger, eqn: Any, avals: Sequence, numbers: Sequence[Numbers], outs: Sequence
) -> list[Numbers]:
    """Use slices; refuse to use in every step what stays the same."""
    params = eqn.params
    body, n_consts, n_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    called = _loop_signature("scan", body, n_consts, n_carry, eqn.source)
    first = len(body.constvars)
    start = "In scan, argument {} is already consumed."
    for position, keys in enumerate(numbers):
        if keys is None:
            continue
        used = called.used_of(first + position)
        if position >= n_consts + n_carry:
            keys = keys[:, used]
        else:
            keys = keys[used]
        ledger.use(keys, start.format(position), eqn.source)
    return list(map(_new, outs))


def _while(
    ledger: _Ledger, eqn: Any, avals: Sequence, numbers: Sequence[Numbers], outs: Sequence
) -> list[Numbers]:
    """Use the initial carry; refuse to use in every step what stays the same."""
    params = eqn.params
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    consts, own, carry = split_at(numbers, n_cond, n_body)
    asked = _loop_signature("while_loop", cond, n_cond, 0, eqn.source)
    called = _loop_signature("while_loop", body, n_body, len(carry), eqn.source)
    start = "In while_loop, the carry is already consumed.{}"
    for position, keys in enumerate(carry):
        if keys is not None:
            mine = called.used_of(len(body.constvars) + n_body + position)
            asks = asked.used_of(len(cond.constvars) + n_cond + position)
            ledger.use(keys[mine | asks], start.format(""), eqn.source)
    return list(map(_new, outs))


def _loop_signature(
    loop: str, body: Jaxpr, n_consts: int, n_carry: int, source: Source
) -> Signature:
    """Return the signature of a body; raise if a second run would use a key again."""
    called = _signature(body)
    first = len(body.constvars) + n_consts
    what = ""
    for n in range(first):
        if called.inputs[n] is not None and called.used_of(n).any():
            what = "key constants are repeatedly consumed"
    for n in range(n_carry):
        out = called.outputs[n]
        if out is not None and np.isin(out[called.used_of(first + n)], list(called.used)).any():
            what = "a key that is carried is consumed, and carried on"
    if what:
        raise errors.KeyReuseError(
            f"{loop} body function leads to key reuse when repeatedly executed, because {what}.\n"
            f"The loop is on line {source.summary()}.\n"
            f"Give each step a key of its own: carry what split leaves, or scan over split keys."
        )
    return called


_CONTROL: Mapping[str, Callable] = {"cond": _cond, "scan": _scan, "while": _while}


# Arrays outside of programs

_outside = _Ledger()
_known: dict[int, tuple[weakref.ref, np.ndarray]] = {}


def _numbers_of(x: Value) -> Numbers:
    """Return the numbers of an Array of keys; they are given when it is first met."""
    if type(x) is not Array or not has_keys(x.aval):
        return None
    entry = _known.get(id(x))
    if entry is None or entry[0]() is not x:
        numbers = _new(x.aval)
        assert numbers is not None, "keys have numbers"
        _remember(x, numbers)
        return numbers
    return entry[1]


def _remember(x: Array, numbers: np.ndarray) -> None:
    """Keep the numbers of an Array for as long as it lives."""
    _known[id(x)] = (weak_key(_known, x), numbers)


def run_operation(
    prim: Any, params: Mapping[str, Any], args: Sequence[Value], run: Callable[[], tuple]
) -> tuple:
    """Run an operation outside of programs, unless it would use a key again."""
    numbers = [_numbers_of(arg) for arg in args]
    avals = [typeof(arg) for arg in args]
    outs = prim.abstract(*avals, **params)
    operation = _Operation(prim, params, outs, current_source())
    name = "jit-compiled function" if prim.name == "jit" else prim.name
    start = f"Previously-consumed key passed to {name} at index {{}}."
    found = _flow(_outside, operation, avals, numbers, start)
    return _noted(run(), found)


def run_program(jaxpr: Jaxpr, args: Sequence[Value], run: Callable[[], tuple]) -> tuple:
    """Run a program on Arrays, unless it would use a key again."""
    numbers = [_numbers_of(arg) for arg in (*jaxpr.consts, *args)]
    start = "Previously-consumed key passed to jit-compiled function at index {}."
    found = _call(_outside, _signature(jaxpr), numbers, start, current_source())
    return _noted(run(), found)


def _noted(results: tuple, found: Sequence[Numbers]) -> tuple:
    """Remember what is known of results."""
    for result, numbers in zip(results, found, strict=True):
        if numbers is not None and type(result) is Array:
            _remember(result, numbers)
    return results
