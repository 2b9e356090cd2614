"""`jit`: trace a function once per signature, compile the program, call it.

How a call travels: the arguments are split into static ones (part of the key, left as Python
values) and dynamic ones (flattened to leaves); the leaves' avals, the tree and the static values
are the key of a traced program; outside any transformation its executable runs, inside one a single
`jit` equation is bound.

Traced programs belong to the *function object*: wrapping the same function again finds them (and
what they froze) again; a new function object is traced anew.  A program that captured tracers of an
enclosing transformation is not kept.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from tapeless import config, dtypes, lax
from tapeless.api.checking import Checks, checks_named
from tapeless.control.common import lift_tracers
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, is_value, typeof
from tapeless.core.jaxpr import DebugInfo, Jaxpr
from tapeless.core.ref import is_ref
from tapeless.core.trace import Tracer, Value, context
from tapeless.runtime import callkeys, fastcall
from tapeless.runtime.array import Array, as_array
from tapeless.runtime.cache import TraceCache, TracedProgram, log_compilation
from tapeless.runtime.captures import snapshot
from tapeless.runtime.device import check_arguments
from tapeless.runtime.eager import checked_program, executable_of
from tapeless.runtime.executable import Executable, donations_read, watchers
from tapeless.runtime.key_reuse import has_keys, run_program
from tapeless.runtime.stages import Traced, effort_of
from tapeless.transforms.references import takes_references
from tapeless.transforms.stage import refuse_returned_references, stage_flat
from tapeless.tree.arguments import argument_names, argument_numbers
from tapeless.tree.flatten import flatten_arguments, leaves_of_structure, tree_flatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util import cache, events, lazy
from tapeless.util.chains import function_name, source_name
from tapeless.util.frames import api_boundary, call_shared, filter_traceback
from tapeless.util.garbage import Sparing
from tapeless.util.weak import WeakMembers

__all__ = [
    "JitFunction",
    "StaticSpec",
    "clear_caches",
    "described_type",
    "jit",
    "join_static",
    "trace_program",
]

traceback = lazy.load("traceback")

_UNSPECIFIED = object()
_MASK_BITS = 62
_MOST_ROUTES = 1024
_MOST_EXPECTED = 64
traced_programs = TraceCache()
_functions: WeakMembers[JitFunction] = WeakMembers()


class StaticSpec:
    """Which arguments of a function are static, by position and by name.

    Positions and names are completed from each other by the signature, where there is one.
    """

    def __init__(
        self, function: Callable, argnums: Any, argnames: Any, what: str | None = "static"
    ) -> None:
        """argnums: None, an int or a sequence; argnames: None, a string or strings.

        what: the arguments' name in messages; None if the caller checks them.
        """
        self.argnums = argument_numbers(argnums)
        self.argnames = _as_names(argnames)
        self._divisions: dict[tuple, tuple[tuple, ...]] = {}
        if not self.argnums and not self.argnames:
            return
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return
        positional = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if what is not None:
            self._check(parameters, positional, open_ended, what)
        if argnames is None and argnums is not None:
            n = len(positional)
            self.argnames = tuple(positional[i] for i in self.argnums if -n <= i < n)
        elif argnums is None and argnames is not None:
            self.argnums = tuple(i for i, name in enumerate(positional) if name in self.argnames)

    def _check(self, parameters: Any, positional: list[str], open_ended: bool, what: str) -> None:
        """Refuse positions and names that the function does not have."""
        if not open_ended:
            for number in self.argnums:
                if not -len(positional) <= number < len(positional):
                    raise ValueError(
                        f"Jitted function has {what}_argnums={self.argnums}, but only accepts "
                        f"{len(positional)} positional arguments."
                    )
        names = {p.name for p in parameters}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            unknown = {name for name in self.argnames if name not in names}
            if unknown:
                raise ValueError(
                    f"Jitted function has invalid argnames {unknown} in {what}_argnames. Function "
                    f"does not take these args."
                )

    def positions(self, n_args: int) -> tuple[int, ...]:
        """Return the static positions among `n_args` arguments."""
        return tuple(sorted({i % n_args for i in self.argnums if -n_args <= i < n_args}))

    def divide(self, args: tuple, kwargs: dict) -> tuple[tuple, dict, tuple]:
        """Return dynamic args, dynamic kwargs, and the static part, which must be hashable."""
        divided = self.separate(args, kwargs)
        for group in divided[2]:
            for _, value, _ in group:
                _check_hashable(value)
        return divided

    def separate(self, args: tuple, kwargs: dict) -> tuple[tuple, dict, tuple]:
        """Return dynamic args, dynamic kwargs, and the static part: places, then names.

        Each comes with the value and its type, for 1, 1.0 and True are equal.
        """
        if not self.argnums and not self.argnames:
            return args, kwargs, ()
        key = (len(args), *kwargs)
        division = self._divisions.get(key)
        if division is None:
            division = self._division(len(args), kwargs)
            _enter(self._divisions, _MOST_EXPECTED, key, division)
        places, others, names, rest = division
        static = tuple([(i, args[i], type(args[i])) for i in places])
        by_name = tuple([(k, kwargs[k], type(kwargs[k])) for k in names])
        dynamic = tuple([args[i] for i in others]) if places else args
        named = {k: kwargs[k] for k in rest} if names else kwargs
        return dynamic, named, (static, by_name)

    def _division(self, n_args: int, kwargs: dict) -> tuple[tuple, ...]:
        """Return the places of static and of other arguments, and the names of both kinds."""
        places = self.positions(n_args) if n_args else ()
        others = tuple(i for i in range(n_args) if i not in places)
        names = tuple(k for k in sorted(kwargs) if k in self.argnames)
        return places, others, names, tuple(k for k in kwargs if k not in names)


def _enter(table: dict, most: int, key: Any, value: Any) -> None:
    """Enter a value into a table, which begins anew when it is full."""
    if len(table) >= most:
        table.clear()
    table[key] = value


def join_static(args: Sequence[Any], kwargs: dict, static: tuple) -> tuple[list, dict]:
    """Return the full arguments: the inverse of `StaticSpec.divide`."""
    if not static:
        return list(args), kwargs
    places, names = static
    full = list(args)
    for position, value, _ in places:
        full.insert(position, value)
    return full, {**kwargs, **{name: value for name, value, _ in names}}


class JitFunction:
    """A function that is compiled for each signature it is called with."""

    def __init__(
        self, function: Callable, static: StaticSpec, donated: StaticSpec, options: dict
    ) -> None:
        """options: inline, keep_unused, compiler_options, backend."""
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.static = static
        self.donated = donated
        self.options = options
        self.inline = options["inline"] == "early"
        self.is_static = bool(static.argnums or static.argnames)
        self.mask = sum(1 << i for i in set(static.argnums) if 0 <= i < _MASK_BITS)
        self.static_names = frozenset(static.argnames)
        self.mask_is_whole = self.mask.bit_count() == len(set(static.argnums))
        self.effort = effort_of(options["compiler_options"])
        self.routes: dict[Hashable, fastcall.Route] = {}
        self._expected: dict[tuple, _Expected] = {}  # by the static part
        _functions.add(self)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function; where it has a route, native code stands in for this."""
        if self._expected and context.trace is context.base:
            outs = self._attempt(args, kwargs)
            if outs is not NotImplemented:
                return outs
        return self._find_and_call(args, kwargs)

    def _attempt(self, args: tuple, kwargs: dict) -> Any:
        """Return the result of a call that is like one before, else NotImplemented."""
        dynamic, named, static = self.static.separate(args, kwargs)
        try:
            expected = self._expected.get(static)
        except Exception as error:  # of a user's `__hash__` or `__eq__`
            self.static.divide(args, kwargs)
            self.raise_compared(error)
        return NotImplemented if expected is None else expected.attempt((dynamic, named))

    def _find_and_call(self, args: tuple, kwargs: dict) -> Any:
        """Find or make the program for arguments like these, and call it."""
        if config.current.jax_disable_jit:
            return self.__wrapped__(*args, **kwargs)
        settings = config.trace_context()
        leaves, tree, traced = self.prepare(args, kwargs)
        writes = takes_references(traced.jaxpr)
        if writes:
            _refuse_aliases(self.__wrapped__, traced, leaves)
        if context.trace is context.base and not traced.tracers and not writes:
            traced.is_called = True
            keep = self.options["keep_unused"]
            donated = donations_read(traced.jaxpr, self.donated_leaves(args, kwargs), keep)
            executable = executable_of(traced.jaxpr, donated, self.effort, self.options["backend"])
            if keep:
                leaves = [as_array(leaf) for leaf in leaves]
                _ = [leaf.address for leaf in leaves]  # raises for those that were deleted
            if config.current.jax_debug_key_reuse:
                outs = run_program(traced.jaxpr, leaves, lambda: executable(leaves))
            else:
                outs = executable(leaves)
            is_plain = isinstance(executable, Executable) and not _counts_keys(traced.jaxpr)
            if is_plain and config.trace_context() is settings:
                self._remember(args, kwargs, leaves, tree, traced, executable)
        else:
            traced.is_called |= context.trace is context.base
            params = {"name": traced.name, "jaxpr": traced.jaxpr, "inline": self.inline}
            donated = self.donated_leaves(args, kwargs)
            if any(donated):
                params["donated_invars"] = (*[False] * len(traced.tracers), *donated)
            if self.options["keep_unused"]:
                params["keep_unused"] = True
            outs = jit_p.bind(*traced.tracers, *leaves, **params)
        return traced.out_tree.unflatten(outs)

    def _remember(
        self,
        args: tuple,
        kwargs: dict,
        leaves: list[Value],
        tree: PyTreeDef,
        traced: TracedProgram,
        executable: Executable,
    ) -> None:
        """Enter a route for a call like this; where there can be none, expect it to come again."""
        tokens = callkeys.tokens_of(leaves)
        if tokens is None or context.axes:
            return
        walk = callkeys.Walk()
        watched = None if executable.donated else traced.watch()
        key = None if watched is None else self._route_key(args, kwargs, walk)
        if key is not None and walk.has_arguments(leaves):
            if self._tree_of(args, kwargs) != tree:  # it was changed during the call
                return
            found = fastcall.route(executable, tokens, traced.out_tree, walk.order, watched)
            if found is not None:
                _enter(self.routes, _MOST_ROUTES, key, found)
            return
        plan = fastcall.plan_for(executable, tokens, traced.out_tree)
        if plan is not None:
            _, _, static = self.static.separate(args, kwargs)
            found = _Expected(tree, plan, traced, executable)
            _enter(self._expected, _MOST_EXPECTED, static, found)

    def _tree_of(self, args: tuple, kwargs: dict) -> PyTreeDef:
        """Return the tree of the dynamic arguments."""
        dynamic, named, _ = self.static.separate(args, kwargs)
        return tree_flatten((dynamic, named))[1]

    def _route_key(self, args: tuple, kwargs: dict, walk: callkeys.Walk) -> tuple | None:
        """Return the key of a route for a call, unless a static argument keeps it from having one.

        The leaves of the arguments join the walk.
        """
        static = self.static.positions(len(args)) if args and self.is_static else ()
        if self.is_static and not self.mask_is_whole:
            return None
        if self.is_static and kwargs and len(args) + len(kwargs) > _MASK_BITS:
            return None
        parts = [(type(x), x) if i in static else walk.argument(x) for i, x in enumerate(args)]
        dynamic = {k: x for k, x in kwargs.items() if k not in self.static_names}
        tokens = dict(zip(dynamic, walk.arguments_by_name(dynamic), strict=True))
        named = [tokens[k] if k in dynamic else (type(x), x) for k, x in kwargs.items()]
        names = (tuple(kwargs),) if kwargs else ()
        return (config.trace_context(), *parts, *named, *names)

    def prepare(self, args: tuple, kwargs: dict) -> tuple[list[Value], PyTreeDef, TracedProgram]:
        """Return the leaves of the dynamic arguments, their tree, and the program for them."""
        dynamic, named, static = self.static.divide(args, kwargs)
        leaves, tree = flatten_arguments(dynamic, named)
        avals = tuple([self.aval(leaf, number, args, kwargs) for number, leaf in enumerate(leaves)])
        key = (tree, avals, static, config.trace_context(), context.axes)
        try:
            traced = traced_programs.get(self.__wrapped__, key)
        except Exception as error:
            self.raise_compared(error)
        if traced is None:
            places = self.static.positions(len(args) or 1)
            names = argument_names(self.__wrapped__, args, named, places)
            traced = trace_program(self.__wrapped__, tree, avals, static, names)
            if config.current.tapeless_stale_captures != "ignore":
                traced.captured = snapshot(self.__wrapped__)
            if not any(isinstance(x, Tracer) for x in traced.tracers):
                traced_programs.put(self.__wrapped__, key, traced)
        elif traced.captured is not None:
            traced.captured.compare()
        return leaves, tree, traced

    def aval(self, leaf: Any, number: int, args: tuple, kwargs: dict) -> ShapedArray:
        """Return the type of a leaf, or raise TypeError with its path."""
        if type(leaf) is Array or isinstance(leaf, Tracer):
            return leaf.aval
        if isinstance(leaf, ShapeDtypeStruct):
            return described_type(leaf)
        if is_value(leaf) and (type(leaf) is not np.ndarray or dtypes.is_supported(leaf.dtype)):
            return typeof(leaf)
        if hasattr(leaf, "__jax_array__"):
            return typeof(leaf.__jax_array__())
        _, named, _ = self.static.divide(args, kwargs)
        names = argument_names(self.__wrapped__, args, named, self.static.positions(len(args) or 1))
        raise TypeError(
            f"Error interpreting argument to {self.__wrapped__} as an abstract array. The "
            f"problematic value is of type {type(leaf)} and was passed to the function at path "
            f"{names[number]}.\nThis typically means that a jit-wrapped function was called with a "
            f"non-array argument, and this argument was not marked as static using the "
            f"static_argnums or static_argnames parameters of jax.jit."
        )

    def donated_leaves(self, args: tuple, kwargs: dict) -> tuple[bool, ...]:
        """Return, per leaf, whether its buffer may be reused; () when nothing is donated."""
        if not self.donated.argnums and not self.donated.argnames:
            return ()
        static = self.static.positions(len(args)) if args else ()
        given = self.donated.positions(len(args)) if args else ()
        flags: list[bool] = []
        for position, arg in enumerate(args):
            if position not in static:
                flags += [position in given] * len(tree_flatten(arg)[0])
        for key in sorted(kwargs):
            if key not in self.static.argnames:
                flags += [key in self.donated.argnames] * len(tree_flatten(kwargs[key])[0])
        return tuple(flags)

    def raise_compared(self, error: BaseException) -> NoReturn:
        """Raise what ended a search for the program of a call: of a static value, as JAX says it.

        The call stub hands over any error that came up while it made or looked for a key.
        """
        try:
            told = _not_comparable(error) if self.is_static else None
            raise error if told is None else told from error.__cause__ or error
        except BaseException as raised:
            filter_traceback(raised)
            raise

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Return the traced program for arguments like these."""
        _, tree, traced = self.prepare(args, kwargs)
        return Traced(traced, tree, self.donated_leaves(args, kwargs), self.options)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return the program lowered for arguments like these; arrays or ShapeDtypeStructs."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the types of the results for arguments like these."""
        _, _, traced = self.prepare(args, kwargs)
        return traced.out_struct()

    def clear_cache(self) -> None:
        """Forget the programs of this function."""
        self.routes.clear()
        self._expected.clear()
        traced_programs.forget(self.__wrapped__)

    def _cache_size(self) -> int:
        """Return for how many signatures the function has been called, outside transformations."""
        return traced_programs.size(self.__wrapped__)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method."""
        return self if instance is None else functools.partial(self, instance)


class StaticJitFunction(JitFunction):
    """A function some of whose arguments are static: the stub keys on their values."""


class CheckedJitFunction(StaticJitFunction):
    """A function whose programs have checks, whatever the configuration says when it is called."""

    def __init__(
        self, function: Callable, static: StaticSpec, donated: StaticSpec, options: dict
    ) -> None:
        """options: with `checks` among the compiler options, or without."""
        super().__init__(function, static, donated, options)
        asked = options["compiler_options"].get("checks")
        self.checks = checks_named(asked) if asked else Checks({})

    def prepare(self, args: tuple, kwargs: dict) -> tuple[list[Value], PyTreeDef, TracedProgram]:
        """Return the leaves, their tree, and the program, whose checks are equations of its own."""
        with self.checks:
            leaves, tree, traced = super().prepare(args, kwargs)
            jaxpr = checked_program(traced.jaxpr)
        program = TracedProgram(jaxpr, traced.tracers, traced.out_tree, traced.name)
        program.captured = traced.captured
        return leaves, tree, program


class PlacedJitFunction(CheckedJitFunction):
    """A function whose arguments and results have shardings; it may have checks as well."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, check where the arguments are, and note on the results where they are."""
        given, wanted = self.options["in_shardings"], self.options["out_shardings"]
        if given is not None:
            dynamic, named, _ = self.static.separate(args, kwargs)
            check_arguments(dynamic, named, given)
        results = super().__call__(*args, **kwargs)
        return results if wanted is None else lax.with_sharding_constraint(results, wanted)


fastcall.accelerate(JitFunction, "__call__", "call")
fastcall.accelerate(StaticJitFunction, "__call__", "call_static")


class _Expected:
    """The last call of a function with some static part, where it can have no route."""

    __slots__ = ("captured", "donated", "executable", "run", "settings", "tree")

    def __init__(
        self, tree: PyTreeDef, plan: fastcall.Plan, traced: TracedProgram, executable: Executable
    ) -> None:
        """tree: of the dynamic arguments; plan: of the executable's call with their leaves."""
        self.tree = tree
        self.run = plan.run
        self.captured = traced.captured
        self.settings = config.trace_context()
        self.donated = executable.donated
        self.executable = (executable, plan)

    def attempt(self, dynamic: tuple[tuple, dict]) -> Any:
        """Return the result of a call that is like the last one, else NotImplemented."""
        if watchers or context.axes or config.trace_context() is not self.settings:
            return NotImplemented
        if self.captured is not None:
            self.captured.compare()
        leaves = leaves_of_structure(dynamic, self.tree)
        if leaves is None:
            leaves, tree = tree_flatten(dynamic)
            if tree is not self.tree:
                return NotImplemented
        return self._run_donated(leaves) if self.donated else self.run(*leaves)

    def _run_donated(self, leaves: list[Value]) -> Any:
        """Run, and delete the donated leaves; NotImplemented if others look at their memory."""
        given = [leaves[number] for number in self.donated]
        if len(set(map(id, leaves))) < len(leaves):
            return NotImplemented
        for x in given:
            if type(x) is not Array or x.is_shared():
                return NotImplemented
        held = [x.block for x in given]  # another thread may delete an argument
        try:
            outs = self.run(*leaves)
        except BaseException as error:
            has_run = not isinstance(error, MemoryError) and not any(map(_is_deleted, leaves))
            if has_run:  # the program may have written to them
                _give_up(given)
            raise
        finally:
            del held
        if outs is not NotImplemented:
            _give_up(given)
        return outs


def _is_deleted(x: Value) -> bool:
    """Tell whether a leaf is an Array whose memory is gone."""
    return type(x) is Array and x.is_deleted()


def _give_up(arrays: Sequence[Array]) -> None:
    """Give up the buffers of some Arrays, to which nothing else refers."""
    for x in arrays:
        x.block = x.place = None


def _refuse_aliases(function: Callable, traced: TracedProgram, leaves: Sequence[Value]) -> None:
    """Raise ValueError if a reference reaches the program in two ways."""
    seen: dict[int, str] = {id(x): "" for x in traced.tracers}
    who = f"when tracing {source_name(function)} for jit"
    names = (traced.jaxpr.debug.arguments or ())[len(traced.tracers) :]
    for number, leaf in enumerate(leaves):
        if not is_ref(leaf):
            continue
        name = names[number] if names else f"number {number}"
        before = seen.setdefault(id(leaf), name)
        if before == "":
            raise ValueError(
                f"{who}, a mutable array reference of type {leaf.aval} was both closed over and "
                f"passed as the argument {name}"
            )
        if before != name:
            raise ValueError(
                f"only one reference to a mutable array may be passed as an argument to a "
                f"function, but {who} the mutable array reference of type {leaf.aval} appeared at "
                f"both {before} and {name}."
            )


def _counts_keys(jaxpr: Jaxpr) -> bool:
    """Tell whether calls of a program use keys, and are to say so each time."""
    types = [*map(typeof, jaxpr.consts), *jaxpr.in_avals]
    return bool(config.current.jax_debug_key_reuse) and any(map(has_keys, types))


def described_type(struct: ShapeDtypeStruct) -> ShapedArray:
    """Return the type that is described, of a dtype that the 64-bit switch allows."""
    dtype = dtypes.check_user_dtype_supported(struct.dtype, "ShapeDtypeStruct")
    return ShapedArray(struct.shape, dtype, struct.weak_type)


def trace_program(
    function: Callable,
    tree: PyTreeDef,
    avals: Sequence[ShapedArray],
    static: tuple = (),
    names: tuple[str, ...] | None = None,
    purpose: str = "jit",
) -> TracedProgram:
    """Trace `function` on arguments of this tree and these types."""
    out_trees: list[PyTreeDef] = []

    def flat(*leaves: Value) -> list[Value]:
        """Call the function and flatten its result."""
        args, kwargs = tree.unflatten(leaves)
        full, named = join_static(args, kwargs, static)
        outs, out_tree = tree_flatten(call_shared(function, full, named))
        out_trees.append(out_tree)
        for out in outs:
            if not is_value(out):
                raise TypeError(
                    f"function {source_name(function)} traced for {purpose} returned a value of "
                    f"type {type(out)}, which is not a valid JAX type"
                )
        refuse_returned_references(outs, source_name(function), purpose)
        return outs

    debug = DebugInfo(function_name(function), names)
    start = time.perf_counter()
    with Sparing():
        jaxpr = stage_flat(flat, avals, f"{purpose} of {source_name(function)}", debug)
    seconds = time.perf_counter() - start
    events.record_event_duration_secs(events.TRACED, seconds, fun_name=debug.function)
    log_compilation("Finished tracing %s for %s in %.9f sec", debug.function, purpose, seconds)
    jaxpr, tracers = lift_tracers(jaxpr)
    return TracedProgram(jaxpr, tuple(tracers), out_trees[0], debug.function)


def jit(
    fun: Any = _UNSPECIFIED,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool | str = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function; use as `jit(f)`, `@jit`, or `@jit(static_argnums=0)`.

    static_argnums, static_argnames: arguments that stay Python values; they must be hashable, and
    each new value is a new compilation.  donate_argnums, donate_argnames: arguments whose buffers
    may be reused for results; they are invalid afterwards.  inline: "early" writes the equations
    of the function where it is called by another that is traced; else an equation `jit` stands
    for them there, and the compiler inlines it in any case.  backend: None for the setting
    `tapeless_backend`; "native" or "cpu" for the compiler of this package; "xla" for XLA's, which
    needs jaxlib (`pip install tapeless[xla]`).  in_shardings: where arguments must lie that were
    committed, a Sharding or a prefix tree of these.  out_shardings: what results are committed to.
    compiler_options: `effort` is 0, 1 or 2, `checks` a list such as "index,nan" of what
    `tapeless.checks` can check.

    >>> import tapeless as jax
    >>> jax.jit(lambda x: x * 2 + 1)(3.0)
    Array(7., dtype=float32, weak_type=True)
    """
    options = {
        "inline": inline,
        "keep_unused": keep_unused,
        "compiler_options": compiler_options or {},
        "backend": _backend(backend),
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
    }

    def wrap(function: Callable) -> JitFunction:
        """Wrap one function."""
        if not callable(function):
            raise TypeError(f"Expected a callable value, got {function}")
        if inspect.isgeneratorfunction(function):
            raise TypeError(f"Expected a function, got a generator function: {function}")
        static = StaticSpec(function, static_argnums, static_argnames)
        donated = StaticSpec(function, donate_argnums, donate_argnames, "donate")
        both = set(static.argnames) & set(donated.argnames)
        if both:
            raise ValueError(
                "static_argnames and donate_argnames cannot intersect. Argument names "
                f"{both} appear in both static_argnames and donate_argnames"
            )
        kind = StaticJitFunction if static.argnums or static.argnames else JitFunction
        if options["compiler_options"].get("checks"):
            kind = CheckedJitFunction
        if in_shardings is not None or out_shardings is not None:
            kind = PlacedJitFunction
        return kind(function, static, donated, options)

    return wrap if fun is _UNSPECIFIED else wrap(fun)


def _backend(name: str | None) -> str | None:
    """Return which compiler a back end stands for; None for the setting."""
    if name not in (None, "cpu", "native", "xla"):
        raise RuntimeError(
            f"Unknown backend {name!r}: the back ends are 'native', which is also called 'cpu', "
            "and 'xla'."
        )
    return "native" if name == "cpu" else name


def clear_caches() -> None:
    """Forget all traced and compiled programs: the next call of a function traces it anew."""
    traced_programs.clear()
    for function in _functions.living():
        function.clear_cache()
    cache.clear_caches()


def _as_names(value: Any) -> tuple[str, ...]:
    """Return None, one name or some names as a tuple."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _not_comparable(error: BaseException) -> ValueError | None:
    """Return JAX's error if a user's `__eq__` failed, else None."""
    entry = error.__traceback__
    kind: type | None = None
    while entry is not None and isinstance(error, Exception):
        code = entry.tb_frame.f_code
        if code.co_name == "__eq__" and code.co_varnames:
            kind = type(entry.tb_frame.f_locals.get(code.co_varnames[0]))
        entry = entry.tb_next
    if kind is None:
        return None
    text = "".join(traceback.format_exception(error))
    return ValueError(
        f"static arguments should be comparable using __eq__. The following error was raised when "
        f"comparing two objects of types {kind} and {kind}. The error was:\n{text}"
    )


def _check_hashable(value: Any) -> None:
    """Raise JAX's error if a static value cannot be hashed."""
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            f"Non-hashable static arguments are not supported. An error occurred while trying to "
            f"hash an object of type {type(value)}, {value}. The error was:\nTypeError: {error}\n"
        ) from error
