"""Looking at a compiled function instead of reading it: its kernels, their times, their memory.

    report = inspect(f)(*args)
    report.show()                a table in the terminal
    report.html("f.html")        a page with everything, in one file that needs no network

The function is compiled as `jit` compiles it, but lowered with a record of where each kernel comes
from (`compiler/origins.py`), and run a few times with clocks between its kernels. What is shown of
a kernel: its loops, its operations and bytes, the least time that it took, the bound that the
machine sets (`roofline.py`), and the user's lines that it computes.

The page is a Jinja2 template beside this file; it has no scripts, and draws with SVG.
"""

from __future__ import annotations

import functools
import linecache
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tapeless.api.jit import JitFunction, jit
from tapeless.api.roofline import Roof, best_times, roof_for
from tapeless.core.aval import ShapeDtypeStruct
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.trace import Tracer
from tapeless.runtime.cache import TracedProgram
from tapeless.runtime.executable import Executable
from tapeless.runtime.profiling import ClockedExecutable
from tapeless.util import lazy
from tapeless.util.frames import api_boundary
from tapeless.util.records import record
from tapeless.util.terminal import counted, print_table, quantity, required, telling_line

__all__ = ["Inspection", "KernelReport", "Line", "inspect"]

jinja2 = lazy.load("jinja2")
kernels = lazy.load("tapeless.compiler.kernels")
origins = lazy.load("tapeless.compiler.origins")

_TEMPLATE = Path(__file__).with_name("inspection.html")
_PATIENCE = 0.2  # seconds to spend on calls
_MOST_LINES = 4  # in a cell of the table
_WIDTH = 44  # of what a kernel does, in the table
_ROUNDS = 3, 200  # calls, at least and at most


@record
class Line:
    """A line of the user's source."""

    file: str
    number: int
    text: str

    @property
    def anchor(self) -> str:
        """A name for the line within a page, where files in several folders may have one name."""
        return f"{self.place.replace(':', '-')}-{zlib.crc32(self.file.encode()):x}"

    @property
    def place(self) -> str:
        """The name of the file, without its folder, and the number."""
        return f"{Path(self.file).name}:{self.number}"


@record
class KernelReport:
    """A kernel of the program: what it is, how long it takes, what it computes.

    kernel: as the compiler has it, with `text`, `flops`, `accessed`, `touched`, `reads`, `writes`.
    seconds: the least time of a call. bound: the least that the machine allows, by `limit`.
    lines: of the user, each with the names of the operations that the kernel does for it.
    """

    kernel: Any
    seconds: float
    bound: float
    limit: str
    lines: dict[Line, list[str]]

    @property
    def share_of_roof(self) -> float:
        """The bound over the time: 1 when the kernel is as fast as the machine."""
        return self.bound / self.seconds if self.seconds else 1.0

    @property
    def roof(self) -> str:
        """The share of the roof in words; nothing can be said of loops of unknown length."""
        if self.kernel.open_ended:
            return "unknown length"
        return f"{100 * self.share_of_roof:.0f} % {self.limit}"

    @property
    def head(self) -> str:
        """The line of its listing that says most, shortened."""
        line = telling_line(self.kernel.text)
        return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 4]} ..."


@record
class Inspection:
    """What `inspect` has found.

    jaxpr: the traced program. kernels: in the order in which they run. lives: of the buffers.
    roof: of the largest kernel. arena: bytes of temporaries. calls: how often it was run.
    """

    name: str
    jaxpr: Jaxpr
    kernels: tuple[KernelReport, ...]
    lives: tuple[Any, ...]
    roof: Roof
    arena: int
    calls: int

    @property
    def seconds(self) -> float:
        """The time of all kernels."""
        return sum(report.seconds for report in self.kernels)

    @property
    def lines(self) -> list[Line]:
        """The user's lines behind the program, in the order of their files."""
        found = {line: None for report in self.kernels for line in report.lines}
        return sorted(found, key=lambda line: (line.file, line.number))

    @property
    def size(self) -> str:
        """The number of kernels, in words."""
        return counted(len(self.kernels), "kernel")

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows of the table: kernel, time, roof, flops, bytes, lines, what is stored."""
        return [
            (
                str(report.kernel.number),
                quantity(report.seconds, "s"),
                report.roof,
                quantity(report.kernel.flops, ""),
                quantity(report.kernel.touched, "B"),
                _places(list(report.lines)),
                report.head,
            )
            for report in self.kernels
        ]

    def show(self) -> None:
        """Print a table of the kernels; it needs the package rich, of the extra `inspect`."""
        title = f"{self.name}: {quantity(self.seconds, 's')} in {self.size}"
        headings = ("kernel ", "time ", "of roof ", "flops ", "memory ", "lines", "what")
        print_table(title, headings, self.rows())

    def html(self, path: str | Path) -> Path:
        """Write a page; return its path. It needs the package Jinja2, of the extra `inspect`."""
        required("jinja2", "a page")
        page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        page.filters["quantity"] = quantity
        text = page.from_string(_TEMPLATE.read_text("utf-8")).render(report=self)
        path = Path(path)
        path.write_text(text, "utf-8")
        return path

    def __repr__(self) -> str:
        """Say how much there is, and how to see it."""
        return (
            f"<Inspection of {self.name}: {self.size}, "
            f"{quantity(self.seconds, 's')}; .show() prints a table, .html(path) writes a page>"
        )


def _places(lines: list[Line]) -> str:
    """Return the numbers of lines, under the name of the first one's file."""
    if not lines:
        return ""
    numbers = [str(line.number) for line in lines if line.file == lines[0].file]
    more = "..." if len(numbers) > _MOST_LINES or len(numbers) < len(lines) else ""
    return f"{Path(lines[0].file).name}:{','.join(numbers[:_MOST_LINES])}{more}"


def inspect(
    fun: Callable, *misplaced: Any, static_argnums: int | Sequence[int] | None = None
) -> Callable[..., Inspection]:
    """Return a function that compiles `fun` for its arguments, runs it, and reports on it.

    fun: a function as for `jit`, or one that `jit` has made. Its effects happen in each of the
    calls that are measured, of which there are three or more.

    Raises TypeError inside of `jit`, `grad` or `vmap`, where there is nothing to run yet, and for
    arguments that are given to `inspect` itself.

    >>> import tapeless as jax
    >>> report = inspect(lambda x: (x @ x).sum())(jax.numpy.ones((64, 64)))
    >>> [kernel.kernel.kind for kernel in report.kernels]
    ['loops', 'loops']
    >>> round(report.kernels[0].kernel.flops / 64**3, 1)
    2.0
    """
    if misplaced:
        raise TypeError(
            f"inspect() wants the function alone, got {len(misplaced)} more argument"
            f"{'s' * (len(misplaced) > 1)}. Call what it returns with the function's arguments: "
            "inspect(f)(x)."
        )
    wrapped: Any = fun if isinstance(fun, JitFunction) else jit(fun, static_argnums=static_argnums)

    @functools.wraps(fun)
    @api_boundary
    def inspected(*args: Any, **kwargs: Any) -> Inspection:
        """Report on the function with these arguments."""
        leaves, _, traced = wrapped.prepare(args, kwargs)
        if traced.tracers or any(isinstance(leaf, (Tracer, ShapeDtypeStruct)) for leaf in leaves):
            raise TypeError(
                "inspect() runs the function, and wants arrays; it got values that are being "
                "traced, or only their types. Call it with arrays, outside of jit, grad and vmap: "
                "inspect(jax.grad(f))(x)."
            )
        return _report(traced, leaves)

    return inspected


def _report(traced: TracedProgram, leaves: Sequence[Any]) -> Inspection:
    """Compile, run and describe a traced program."""
    builder = origins.RecordingBuilder()
    executable = Executable(traced.jaxpr, builder=builder)
    clocked = ClockedExecutable(executable, builder.origins)
    start = time.perf_counter()
    best_times(clocked, leaves, 1)
    spent = time.perf_counter() - start
    rounds = min(max(int(_PATIENCE / max(spent, 1e-9)), _ROUNDS[0]), _ROUNDS[1])
    seconds = best_times(clocked, leaves, rounds)
    lives = kernels.lives_of(executable.program)
    roof = roof_for(max((kernel.touched for kernel in clocked.kernels), default=1))
    reports = [
        _kernel_report(kernel, float(least))
        for kernel, least in zip(clocked.kernels, seconds, strict=True)
    ]
    return Inspection(
        traced.name,
        traced.jaxpr,
        tuple(reports),
        lives,
        roof,
        executable.temp_bytes,
        rounds,
    )


def _kernel_report(kernel: Any, seconds: float) -> KernelReport:
    """Put together what is known of a kernel; the roof is that for data of its size.

    Of a buffer that is filled in part, such as a margin, only what is stored has to move.
    """
    roof = roof_for(kernel.touched)
    moved = min(kernel.touched, kernel.accessed) or kernel.touched  # 0 accessed: not counted
    bound, limit = roof.bound(kernel.flops, moved)
    return KernelReport(kernel, seconds, bound, limit, _lines(kernel))


def _lines(kernel: Any) -> dict[Line, list[str]]:
    """Return the user's lines behind a kernel, with the operations of each."""
    found: dict[Line, list[str]] = {}
    for name, source in kernel.origins:
        mark = source.frame
        if mark is not None:
            text = linecache.getline(mark.filename, mark.line).rstrip()
            line = Line(mark.filename, mark.line, text)
            names = found.setdefault(line, [])
            if name not in names:
                names.append(name)
    return dict(sorted(found.items(), key=lambda item: (item[0].file, item[0].number)))
