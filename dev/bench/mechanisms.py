"""What each mechanism of the compiler buys: tapeless without it.

A mechanism is switched off here, in the process that measures, by putting something simple in the
place of a function of the compiler; the product has no such switches. What is put there is right
for every program and may be slow. `python -m dev.bench --ablation` measures for each mechanism the
workloads that are listed with it, with and without it, in turns.
"""

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["MECHANISMS", "switch_off"]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism: which workloads show what it buys, and how it is switched off."""

    rows: str
    does: str
    switch_off: Callable[[], None]


MECHANISMS: dict[str, Mechanism] = {}


def mechanism(rows: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Return a decorator that lists a function which switches a mechanism off."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        MECHANISMS[function.__name__] = Mechanism(rows, function.__doc__ or "", function)
        return function

    return add


def switch_off(name: str) -> None:
    """Switch a mechanism off in this process."""
    MECHANISMS[name].switch_off()


def put(place: str, value: Any) -> None:
    """Put a value in the place "module:name" or "module:class.name" of the compiler."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    holder = importlib.import_module(f"tapeless.{module}")
    for owner in owners:
        holder = getattr(holder, owner)
    getattr(holder, name)  # an AttributeError if the compiler has no such place any more
    setattr(holder, name, value)


@mechanism("kernels/(elementwise|softmax|stencil_sum_f64|grad_layernorm|where_heavy)$")
def fusion() -> None:
    """One loop for many equations; without it, the result of each is stored."""
    planner = importlib.import_module("tapeless.compiler.fuse")._Planner
    decide = planner.decide

    def store_all(self: Any) -> None:
        """Decide, then store every result that is any work."""
        decide(self)
        for var, work in self.work.items():
            if work > 0:
                self.store(var, "not fused")

    planner.decide = store_all
    planner.cut = lambda self: frozenset(self.reasons)


@mechanism("kernels/(softmax|layernorm|grad_layernorm|grad_softmax_cross_entropy)$")
def rows_joined() -> None:
    """Neighbouring loops over the same rows become one."""
    put("compiler.lower:fuse_rows", lambda nodes, body: body)


@mechanism("kernels/(elementwise|sum_rows|sum_columns|stencil_sum_f64)$|loops/wave_equation$")
def lanes() -> None:
    """Vector lanes; without them, the emitter writes scalar loops, and LLVM does what it can."""
    put("compiler.plan:vector_lanes", lambda *args: 1)
    put("compiler.reductions:prefers_lanes", lambda *args: False)


@mechanism("kernels/(elementwise|sum_all|nbody_2000|sort_1e6|normals_1e6|transpose_add)$")
def threads() -> None:
    """Loops are shared among the cores."""
    os.environ["TAPELESS_NUM_THREADS"] = "1"


@mechanism("kernels/(elementwise|large_fresh_output|layernorm|transpose_add)$")
def pool() -> None:
    """Memory of dead arrays is kept for the next ones."""
    put("runtime.memory:_LIMIT", 0)


@mechanism("kernels/(transpose_add|transpose_3d_last|transpose_3d_reversed)$")
def tiles() -> None:
    """Transpositions go in square tiles, turned in registers."""
    put("compiler.emit:find_tile", lambda *args: None)


@mechanism("kernels/(nbody_2000|fft_1d|transpose_3d_last|rbf_row_sums)$")
def interleaved_loads() -> None:
    """Loads some elements apart become contiguous loads and shuffles."""
    none = lambda *args: 0  # noqa: E731
    for name in ("emit", "values", "plan"):
        put(f"compiler.{name}:interleaving", none)


@mechanism("loops/(gru_200|kalman_filter|metropolis)$|autodiff/grad_gru$")
def hoisting() -> None:
    """What every iteration would compute alike is computed once; arrays, not scalars."""
    put("compiler.hoist:split_body", lambda body, n_consts: None)


@mechanism("loops/(at_set_1e3|at_set_1e6|seidel_2d|scan_60_leaves|runge_kutta)$")
def updates_in_place() -> None:
    """Carries and updates take over the memory of operands that die."""
    put("compiler.lower:ProgramBuilder.may_overwrite", lambda self, value: False)


@mechanism("autodiff/(grad_gru|lstm_training_step|gru_training_step)$")
def sums_in_place() -> None:
    """Cotangents are added where they belong."""
    put("compiler.simplify:added_in_place", lambda *args: None)


@mechanism("loops/(collatz|cond_one_row_in_100|while_skewed|cond_numbers_one_row_in_100)$")
def rows_on_demand() -> None:
    """Rows of a batch that differ in cost are computed apart."""
    put("compiler.fuse:by_rows", lambda jaxpr, *others: jaxpr)


@mechanism("kernels/where_heavy$|loops/(collatz|cond_cheap_alone)$|kernels/gamma$")
def branches() -> None:
    """Costly expressions that only some elements want are behind a branch."""
    put("compiler.lower:branch_on_choices", lambda nodes, body: body)


@mechanism("kernels/(matmul_64|matmul_batched_4x4|matmul_gram)$|loops/kalman_filter$")
def small_products() -> None:
    """Small products are loops of their own code; without, all of four terms call BLAS."""
    put("prims.dot:SMALL", 0)


@mechanism("kernels/(matmul_512|dense_layer|attention)$|autodiff/mlp_training_step$")
def library_products() -> None:
    """Large products call BLAS; without, they are generated loops."""
    put("prims.dot:SMALL", 1 << 62)


@mechanism("kernels/(matmul_512|matmul_batched_32x32|dense_layer|attention|matmul_gram)$")
def panels() -> None:
    """Products keep their sums in registers, over panels of the right factor; without, BLAS."""
    for name in ("pays_in_panels", "pays_in_place", "pays_apart"):
        put(f"prims.panels:{name}", lambda *args: False)


@mechanism("loops/gru_200_batch_32$|autodiff/(grad_lstm|lstm_training_step)$")
def packs() -> None:
    """The weights of a scan are packed before it."""
    put("compiler.packs:pays_in_panels", lambda *args, **options: False)


@mechanism("kernels/(associative_scan|batch_norm_gradient|grad_layernorm|softmax_columns)$")
def blocks() -> None:
    """Nests go block by block one after the other; what is between them stays in the cache."""
    put("compiler.lower:in_blocks", lambda nodes, body, outputs: body)


@mechanism("kernels/polynomial$")
def writeout() -> None:
    """Scans that are unrolled as a whole are no loops."""
    put("compiler.simplify:written_out", lambda eqn, body: None)


@mechanism("loops/(seidel_2d|gauss_seidel|thomas)$")
def recent() -> None:
    """What a step stores is handed to the next one in a register."""
    put("compiler.lower:keep_recent", lambda nodes, body: body)


@mechanism("kernels/(grad_layernorm|batch_norm_gradient)$|autodiff/hessian_50$")
def keeping() -> None:
    """What a nest before a cut has computed is stored, if it is dear, and not computed again."""
    put("compiler.fuse:_Past.recall", lambda self, eqn, members: None)


@mechanism("kernels/(roll|concatenate)$|loops/(wave_equation|game_of_life|stencil_padded)$")
def pieces() -> None:
    """Nests are cut where the choice changes between what is read: joined and padded arrays."""
    piece = importlib.import_module("tapeless.kernel.pieces").Piece
    for name in ("kernel.build", "compiler.probe"):
        put(f"{name}:pieces_of", lambda nodes, *nest: [piece(*map(list, nest[:2]), nest[2])])


@mechanism("kernels/(fft_256|fft_3d|fft_1d|rfft_rows|rfft_2d)$")
def fourier() -> None:
    """Fourier transforms are routines of our own; without, SciPy's."""
    put("prims.fourier:shape_of_transform", lambda *args: None)


@mechanism("dispatch/(noop|numpy_argument|tree_100_in|eager_add|index_int)$")
def call_stub() -> None:
    """Calls go through native code; without it, through Python."""
    put("runtime.fastcall:_PATIENCE", 1 << 62)
