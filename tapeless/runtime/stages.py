"""The stages of a compiled function, to be looked at or kept: trace, lower, compile.

    jit(f).trace(x)      -> Traced     the jaxpr
              .lower()   -> Lowered    StableHLO text
              .compile() -> Compiled   native code, callable; memory and cost figures

The figures are those of the program that runs: `memory_analysis` reads the buffer plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.errors import JaxRuntimeError
from tapeless.runtime.array import physical
from tapeless.runtime.cache import TracedProgram
from tapeless.runtime.eager import executable_of
from tapeless.runtime.executable import Executable
from tapeless.runtime.xla import XlaExecutable
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.keys import keystr
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.treedef import PyTreeDef
from tapeless.util import lazy

__all__ = ["ArgInfo", "Compiled", "Lowered", "MemoryStats", "OutInfo", "Traced", "effort_of"]

stablehlo = lazy.load("tapeless.compiler.stablehlo")


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """An argument: its type, and whether it is donated."""

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


@dataclass(frozen=True, slots=True)
class OutInfo:
    """A result: its shape and dtype."""

    shape: tuple[int, ...]
    dtype: Any
    sharding: Any = None


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Bytes that a compiled program uses, as its buffer plan has them."""

    generated_code_size_in_bytes: int
    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int

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
    """A function as a jaxpr."""

    @property
    def jaxpr(self) -> Jaxpr:
        """The program."""
        return self._traced.jaxpr

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._traced.name

    def lower(self, *, lowering_platforms: Any = None) -> Lowered:
        """Return the lowered program."""
        return Lowered(self._traced, self.in_tree, self._donated, self._options)


class Lowered(Stage):
    """A function as StableHLO."""

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the StableHLO module."""
        if dialect not in (None, "stablehlo"):
            raise ValueError(f"dialect must be 'stablehlo', got {dialect!r}")
        jaxpr = self._traced.jaxpr
        named = jaxpr.replace(debug=replace(jaxpr.debug, results=self._result_names()))
        return stablehlo.module_text(named, self._traced.name, debug_info=debug_info)

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
        executable = executable_of(self._traced.jaxpr, self._donated, effort, backend)
        return Compiled(self._traced, self.in_tree, self._donated, self._options, executable)

    def cost_analysis(self) -> Any:
        """Return the cost figures of the compiled program."""
        return self.compile().cost_analysis()


class Compiled(Stage):
    """A function as native code."""

    def __init__(
        self,
        traced: TracedProgram,
        in_tree: PyTreeDef,
        donated: tuple,
        options: dict,
        executable: Executable | XlaExecutable,
    ) -> None:
        """executable: the code."""
        super().__init__(traced, in_tree, donated, options)
        self._executable = executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program; the arguments must be of the types that it was compiled for."""
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"Function compiled with input pytree does not match the input pytree it was "
                f"called with. The compiled one is {self.in_tree}, the given one {tree}."
            )
        for leaf, aval in zip(leaves, self._traced.jaxpr.in_avals, strict=True):
            got = typeof(leaf)
            if (got.shape, got.dtype) != (aval.shape, aval.dtype):
                raise TypeError(
                    f"Argument types differ from the types for which this computation was "
                    f"compiled: wanted {aval.str_short()}, got {got.str_short()}."
                )
        return tree_unflatten(self.out_tree, self._executable(leaves))

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


def _n_bytes(aval: ShapedArray) -> int:
    """Return the bytes of a value in memory."""
    shape, dtype = physical(aval)
    size = 1
    for extent in shape:
        size *= extent
    return size * dtype.itemsize
