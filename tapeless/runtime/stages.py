"""The stages of a compiled function, to be looked at or kept: trace, lower, compile.

    jit(f).trace(x)      -> Traced     the jaxpr
              .lower()   -> Lowered    StableHLO text
              .compile() -> Compiled   native code, callable; memory and cost figures

The figures are those of the program that runs: `memory_analysis` reads the buffer plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from tapeless.control.reference_rules import program_to_run
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, typeof
from tapeless.core.effects import Effects
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.trace import Tracer
from tapeless.errors import JaxRuntimeError
from tapeless.runtime.array import physical
from tapeless.runtime.cache import TracedProgram
from tapeless.runtime.device import cpu_device
from tapeless.runtime.eager import executable_of
from tapeless.runtime.executable import Executable, donations_read
from tapeless.runtime.layout import Format, Layout
from tapeless.runtime.sharding import SingleDeviceSharding
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.keys import keystr
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.prefix import equality_errors_pytreedef
from tapeless.tree.treedef import PyTreeDef
from tapeless.util import lazy
from tapeless.util.depth import deeply
from tapeless.util.records import record, replace
from tapeless.util.seqs import few

__all__ = [
    "ArgInfo",
    "Compiled",
    "Lowered",
    "MemoryStats",
    "Module",
    "OutInfo",
    "Traced",
    "Wrapped",
    "effort_of",
]

stablehlo = lazy.load("tapeless.compiler.stablehlo")
xla = lazy.load("tapeless.runtime.xla")
_SHARDING = SingleDeviceSharding(cpu_device)


@record
class ArgInfo:
    """An argument: its type, and whether it is donated.

    >>> traced = jax.jit(lambda x: x * 2).trace(np.float32(1))
    >>> traced.args_info
    ((ArgInfo(_aval=ShapedArray(float32[]), donated=False),), {})
    """

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self._aval.dtype


@record
class OutInfo:
    """A result: its shape and dtype.

    >>> traced = jax.jit(lambda x: x * 2).trace(np.float32(1))
    >>> traced.out_info.shape, traced.out_info.dtype
    ((), dtype('float32'))
    """

    shape: tuple[int, ...]
    dtype: Any
    sharding: Any = None


@record
class MemoryStats:
    """Bytes that a compiled program uses, as its buffer plan has them.

    The host is the device here: what JAX counts for it apart is 0.
    """

    generated_code_size_in_bytes: int
    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    host_generated_code_size_in_bytes: int = 0
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """All that is alive at once: arguments, results and the arena."""
        return self.argument_size_in_bytes + self.output_size_in_bytes + self.temp_size_in_bytes


class Stage:
    """What all stages know: the trees and types of arguments and results."""

    def __init__(
        self, traced: TracedProgram, in_tree: PyTreeDef, donated: tuple, options: dict
    ) -> None:
        """donated: per leaf, or () if nothing is."""
        self._traced = traced
        self.in_tree = in_tree
        self.out_tree = traced.out_tree
        self._donated = donated
        self._options = options

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in their tree."""
        return tree_unflatten(self.in_tree, self._traced.jaxpr.in_avals)

    @property
    def out_avals(self) -> Any:
        """The types of the results, in their tree."""
        return tree_unflatten(self.out_tree, self._traced.jaxpr.out_avals)

    @property
    def args_info(self) -> Any:
        """What is known of the arguments, in their tree."""
        donated = self._donated or (False,) * len(self._traced.jaxpr.invars)
        leaves = [ArgInfo(a, d) for a, d in zip(self._traced.jaxpr.in_avals, donated, strict=True)]
        return tree_unflatten(self.in_tree, leaves)

    @property
    def out_info(self) -> Any:
        """What is known of the results, in their tree."""
        leaves = [ShapeDtypeStruct(a.shape, a.dtype) for a in self._traced.jaxpr.out_avals]
        return tree_unflatten(self.out_tree, leaves)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the donated leaves."""
        return tuple(i for i, flag in enumerate(self._donated) if flag)


class Traced(Stage):
    """A function as a jaxpr.

    >>> traced = jax.jit(lambda x: x * 2).trace(np.float32(1))
    >>> traced.jaxpr
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """

    @property
    def jaxpr(self) -> Jaxpr:
        """The program."""
        return self._traced.jaxpr

    @property
    def effects(self) -> Effects:
        """What the program does besides returning values."""
        return self._traced.jaxpr.effects

    def closure_convert(self) -> tuple[list[Any], Callable[..., Any]]:
        """Return the captured arrays, and the function of them and the arguments.

        >>> from tapeless import jit, numpy
        >>> scale = numpy.array([2.0, 3.0])
        >>> consts, function = jit(lambda x: x * scale).trace(1.0).closure_convert()
        >>> function([scale + 1], 1.0)
        Array([3., 4.], dtype=float32)
        """
        jaxpr, in_tree, out_tree = self._traced.jaxpr, self.in_tree, self.out_tree

        def function(consts: Any, *args: Any, **kwargs: Any) -> Any:
            """Evaluate the program on other values in the place of the captured ones."""
            leaves, tree = tree_flatten((args, kwargs))
            if tree != in_tree:
                raise TypeError(_tree_mismatch(in_tree, tree))
            outs = eval_jaxpr(jaxpr, tree_flatten(consts)[0], *leaves)
            return tree_unflatten(out_tree, outs)

        return list(jaxpr.consts), function

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._traced.name

    def lower(self, *, lowering_platforms: Any = None) -> Lowered:
        """Return the lowered program."""
        return Lowered(self._traced, self.in_tree, self._donated, self._options)


@record
class Module:
    """A module of StableHLO or HLO; its text is `str(module)`."""

    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    def as_hlo_text(self) -> str:
        """Return the text, by the name that it has in XLA's modules."""
        return self.text


class Lowered(Stage):
    """A function as StableHLO.

    >>> lowered = jax.jit(lambda x: x * 2).lower(np.float32(1))
    >>> "stablehlo.multiply" in lowered.as_text()
    True
    """

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the text of the module.

        dialect: "stablehlo", the default, or "hlo", which XLA makes of it if jaxlib is installed.
        debug_info: whether StableHLO carries the name stacks and lines of operations.

        >>> from tapeless import jit
        >>> print(jit(lambda x: -x).lower(1.0).as_text().splitlines()[2])
            %0 = stablehlo.negate %arg0 : tensor<f32>
        """
        if dialect == "hlo":
            return xla.hlo_text(self.as_text(debug_info=debug_info), debug_info)
        if dialect not in (None, "stablehlo"):
            raise ValueError(
                f"unknown dialect: {dialect}. A lowered function is text in 'stablehlo', or in "
                "'hlo' if jaxlib is installed; as_text() of the compiled function lists its loops."
            )
        jaxpr = program_to_run(self._traced.jaxpr)
        named = jaxpr.replace(debug=replace(jaxpr.debug, results=self._result_names()))
        aliases = self._aliases()
        return deeply(stablehlo.module_text, named, self._traced.name, debug_info, aliases)

    def compiler_ir(self, dialect: str | None = None) -> Module:
        """Return the module as an object, which prints as its text."""
        return Module(self.as_text(dialect))

    def _aliases(self) -> dict[int, int]:
        """Return which result takes the memory of which donated argument: the first of its type."""
        free = list(enumerate(self._traced.jaxpr.out_avals))
        found = {}
        for number in self.donate_argnums:
            aval = self._traced.jaxpr.in_avals[number]
            for position, out in free:
                if (out.shape, out.dtype) == (aval.shape, aval.dtype):
                    found[number] = position
                    free.remove((position, out))
                    break
        return found

    def _result_names(self) -> tuple[str, ...]:
        """Return where each result is in what the function returns, such as `result['a'][0]`."""
        tree = self._traced.out_tree
        pairs, _ = tree_flatten_with_path(tree_unflatten(tree, range(tree.num_leaves)))
        return tuple("result" + keystr(path) for path, _ in pairs)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Return the compiled program."""
        options = compiler_options or self._options.get("compiler_options") or {}
        backend = self._options.get("backend")
        effort = effort_of(options)
        jaxpr, keep = self._traced.jaxpr, self._options.get("keep_unused", False)
        donated = donations_read(jaxpr, self._donated, keep)
        executable = executable_of(jaxpr, donated, effort, backend)
        return Compiled(self._traced, self.in_tree, self._donated, self._options, executable)

    def cost_analysis(self) -> Any:
        """Return the cost figures of the compiled program."""
        return self.compile().cost_analysis()


class Compiled(Stage):
    """A function as native code.

    >>> compiled = jax.jit(lambda x: x * 2).lower(np.float32(1)).compile()
    >>> compiled(np.float32(3))
    Array(6., dtype=float32)
    """

    def __init__(
        self,
        traced: TracedProgram,
        in_tree: PyTreeDef,
        donated: tuple,
        options: dict,
        executable: Executable | Any,  # of one of the two compilers
    ) -> None:
        """executable: the code."""
        super().__init__(traced, in_tree, donated, options)
        self._executable = executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program; the arguments must be of the types that it was compiled for."""
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(_tree_mismatch(self.in_tree, tree))
        for leaf in leaves:
            if isinstance(leaf, Tracer):
                raise TypeError(
                    "Cannot apply JAX transformations to a function lowered and compiled for a "
                    f"particular signature. Detected argument of Tracer type {type(leaf)}. Call "
                    "the jitted function instead, which is traced again."
                )
        self._check_types([typeof(leaf) for leaf in leaves])
        return tree_unflatten(self.out_tree, self._executable(leaves))

    def _check_types(self, avals: list[ShapedArray]) -> None:
        """Raise TypeError unless the arguments have the types of the compiled ones."""
        jaxpr = self._traced.jaxpr
        names = jaxpr.debug.arguments or tuple(map(str, range(len(avals))))
        wrong = [
            f"Argument '{name}' compiled with {want.str_short(False)} and called with "
            f"{got.str_short(False)}"
            for name, want, got in zip(names, jaxpr.in_avals, avals, strict=True)
            if (got.shape, got.dtype) != (want.shape, want.dtype)
        ]
        if wrong:
            raise TypeError(
                "Argument types differ from the types for which this computation was compiled. "
                "Perhaps you are calling the compiled executable with a different enable_x64 mode "
                "than when it was AOT compiled? The mismatches are:\n" + "\n".join(few(wrong))
            )

    @property
    def input_shardings(self) -> Any:
        """Where the arguments lie, in their tree: all on the one device."""
        return tree_unflatten(self.in_tree, [_SHARDING] * self.in_tree.num_leaves)

    @property
    def output_shardings(self) -> Any:
        """Where the results lie, in their tree."""
        return tree_unflatten(self.out_tree, [_SHARDING] * self.out_tree.num_leaves)

    @property
    def input_formats(self) -> Any:
        """How the arguments lie in memory, in their tree: in row-major order, on the one device."""
        return tree_unflatten(self.in_tree, list(map(_format, self._traced.jaxpr.in_avals)))

    @property
    def output_formats(self) -> Any:
        """How the results lie in memory, in their tree."""
        return tree_unflatten(self.out_tree, list(map(_format, self._traced.jaxpr.out_avals)))

    def runtime_executable(self) -> Any:
        """Return the program that runs, as the runtime has it."""
        return self._executable

    def memory_analysis(self) -> MemoryStats:
        """Return the bytes that the program uses."""
        jaxpr, plan = self._traced.jaxpr, self._executable
        return MemoryStats(
            plan.code_bytes,
            sum(map(_n_bytes, jaxpr.in_avals)),
            sum(map(_n_bytes, jaxpr.out_avals)),
            plan.alias_bytes,
            plan.temp_bytes,
        )

    def cost_analysis(self) -> dict[str, float]:
        """Return the floating-point operations and the bytes moved by the emitted loops."""
        return self._executable.costs()

    def as_text(self) -> str:
        """Return the listing of the program's kernels."""
        return self._executable.listing()


def _tree_mismatch(wanted: PyTreeDef, got: PyTreeDef) -> str:
    """Return the message that the arguments do not have the tree of the compiled ones."""
    lines = []
    for path, seen, given, why in equality_errors_pytreedef(wanted, got):
        side = ("args", "kwargs")[path[0].idx] if path else "args, kwargs"
        place = side + keystr(path[1:])
        lines.append(f"    * at {place}, seen {seen} but now given {given}, so {why}")
    return (
        "Function compiled with input pytree does not match the input pytree it was called with. "
        f"There are {len(lines)} mismatches, including:\n" + "\n".join(few(lines, mark="    * "))
    )


def effort_of(options: dict[str, Any]) -> int | None:
    """Return the effort that compiler options ask for; None leaves it to the compiler.

    The options of other compilers, spelt `xla_...`, are accepted and have no effect.
    """
    effort = options.get("effort")
    if effort not in (None, 0, 1, 2):
        raise ValueError(f"compiler option effort must be 0, 1 or 2, got {effort!r}")
    known = ("effort", "checks")
    unknown = [name for name in options if name not in known and not name.startswith("xla_")]
    if unknown:
        raise JaxRuntimeError(f"INVALID_ARGUMENT: No such compile option: {unknown[0]!r}")
    return effort


def _format(aval: ShapedArray) -> Format:
    """Return how an array of this type lies in memory."""
    return Format(Layout(tuple(range(aval.ndim)), ()), _SHARDING)


def _n_bytes(aval: ShapedArray) -> int:
    """Return the bytes of a value in memory."""
    shape, dtype = physical(aval)
    size = 1
    for extent in shape:
        size *= extent
    return size * dtype.itemsize


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced, lowered and compiled, as `jit` returns them.

    >>> from tapeless import jit
    >>> isinstance(jit(abs), Wrapped), isinstance(abs, Wrapped)
    (True, False)
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compile the function for these arguments, if need be, and run it."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Return the program of these arguments."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the StableHLO of the program of these arguments."""
