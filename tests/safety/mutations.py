"""Mutations: each promise of docs/reliability.md, switched off, must make its test fail.

    python -m tests.safety.mutations            all of them, some minutes
    python -m tests.safety.mutations callbacks  those whose promise contains the word

A mutation replaces one piece of text in a copy of the repository, and runs one test there.  A
mutation that no longer applies, or whose test passes all the same, is reported and fails the run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MUTATIONS", "Mutation", "survives"]

ROOT = Path(__file__).parent.parent.parent
SIGNALS = "tests/safety/test_signals.py::"
CALLBACKS = "tests/safety/test_callbacks.py::"
VIEWS = "tests/safety/test_views.py::"
CHECKING = "tests/api/test_checking.py::"
CHECKED = "tests/runtime/test_checked.py::"
DISCHARGE = "tests/control/test_discharge.py::"


@dataclass(frozen=True)
class Mutation:
    """A promise, the text of a file that keeps it, what to put there, and the test that notices."""

    promise: str
    file: str
    before: str
    after: str
    test: str


MUTATIONS = [
    Mutation(
        "long loops are interrupted",
        "tapeless/compiler/interrupts.py",
        "_PERIOD = 20_000_000",
        "_PERIOD = 20_000_000_000_000",
        SIGNALS + "test_an_alarm_raises_the_exception_of_its_handler",
    ),
    Mutation(
        "long products are cut into pieces",
        "tapeless/prims/blas.py",
        "rows = min(-(-n // BLOCKS), max(FEWEST_ROWS, LONGEST // (m * k)))",
        "rows = n",
        SIGNALS + "test_a_long_product_is_cut_into_pieces_of_at_most_a_second",
    ),
    Mutation(
        "exceptions of callbacks are the user's",
        "tapeless/compiler/host.py",
        "_pending.error = error",
        "_pending.error = RuntimeError()",
        CALLBACKS + "test_an_exception_in_a_callback_arrives_as_the_users_with_its_traceback",
    ),
    Mutation(
        "results of callbacks are checked",
        "tapeless/control/callback.py",
        "if value.shape != aval.shape:",
        "if False:",
        CALLBACKS + "test_a_result_that_was_not_announced_is_refused",
    ),
    Mutation(
        "prints are not hoisted out of scans",
        "tapeless/control/scan.py",
        "quiet = [eqn for eqn in known.eqns if not eqn.effects]",
        "quiet = known.eqns",
        CALLBACKS + "test_print_in_a_gradient_of_a_scan_prints_each_iteration_once",
    ),
    Mutation(
        "prints under remat are repeated",
        "tapeless/control/remat.py",
        "eqn for eqn in known.eqns if eqn.effects or not all(",
        "eqn for eqn in known.eqns if not all(",
        CALLBACKS + "test_print_under_remat_is_printed_again_backwards",
    ),
    Mutation(
        "the arguments of print are checked",
        "tapeless/control/callback.py",
        "if not skip_format_check:",
        "if False:",
        CALLBACKS + "test_print_checks_its_arguments_when_traced",
    ),
    Mutation(
        "views cannot be made writable",
        "tapeless/runtime/memory.py",
        "memoryview(memory).toreadonly()",
        "memoryview(memory)",
        VIEWS + "test_a_numpy_view_shares_memory_and_is_read_only",
    ),
    Mutation(
        "buffers live as long as any view",
        "tapeless/runtime/memory.py",
        "memory.owner = owner",
        "memory.owner = None",
        VIEWS + "test_buffers_live_as_long_as_any_view",
    ),
    Mutation(
        "consumers of old DLPack get copies",
        "tapeless/runtime/array.py",
        "value = self._value if version[0] >= 1 else self._value.copy()",
        "value = self._value",
        VIEWS + "test_a_consumer_that_cannot_honour_the_flag_gets_a_copy",
    ),
    Mutation(
        "sizes beyond the address space are errors",
        "tapeless/runtime/memory.py",
        "if n_bytes >= _MOST_ADDRESSES:",
        "if False:",
        "tests/safety/test_fuzz.py::test_an_array_larger_than_the_address_space_is_an_error",
    ),
    Mutation(
        "indices out of bounds are errors where that is asked for",
        "tapeless/runtime/checked.py",
        'kinds.add("index")',
        "pass",
        CHECKING + "test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line",
    ),
    Mutation(
        "divisions and shifts are checked where that is asked for",
        "tapeless/transforms/instrument.py",
        "if kind in kinds and eqn.primitive in table:",
        "if False:",
        CHECKING + "test_other_faults_are_errors_with_a_line",
    ),
    Mutation(
        "the index of a switch is checked where that is asked for",
        "tapeless/control/branches.py",
        "if config.current.tapeless_check_switches:",
        "if False:",
        CHECKING + "test_other_faults_are_errors_with_a_line",
    ),
    Mutation(
        "ids of segments are checked where that is asked for",
        "tapeless/ops/segment.py",
        "and config.current.tapeless_check_segments and",
        "and False and",
        CHECKING + "test_other_faults_are_errors_with_a_line",
    ),
    Mutation(
        "modes say what an index out of bounds means",
        "tapeless/numpy/indexing.py",
        "by_mode = True  # slices would be checked",
        "pass",
        "tests/parity/test_checkify.py::test_errors_and_results_are_those_of_jax",
    ),
    Mutation(
        "rows that have left a mapped loop are not checked",
        "tapeless/transforms/instrument.py",
        'if eqn.primitive.name == "while" and params["cond_jaxpr"].out_avals[0].shape:',
        "if False:",
        CHECKING + "test_rows_that_have_left_a_mapped_loop_are_not_checked",
    ),
    Mutation(
        "debug_nans finds the operation",
        "tapeless/runtime/checked.py",
        'located = instrument(self.program, self.words | {"moved"})',
        "located = self.program",
        CHECKED + "test_the_operation_and_its_line_are_found",
    ),
    Mutation(
        "debug_nans tells the iteration of a loop",
        "tapeless/prims/check.py",
        'during = f", in iteration {numbers} of the loop" if counts else ""',
        'during = ""',
        CHECKED + "test_in_a_scan_the_iteration_is_told",
    ),
    Mutation(
        "lines of checks are those of the function that ran",
        "tapeless/runtime/eager.py",
        "places = sources_of(jaxpr) if kinds else ()",
        "places = ()",
        CHECKED + "test_two_functions_that_do_the_same_have_their_own_lines",
    ),
    Mutation(
        "checkify returns what a check tells",
        "tapeless/control/discharge.py",
        "slots[place] = _choose(first, value, slots[place])",
        "pass",
        DISCHARGE + "test_the_record_tells_what_failed_first",
    ),
    Mutation(
        "checkify tells of the first check that fails",
        "tapeless/control/discharge.py",
        "first = bitwise_and(bitwise_not(all_hold(fine)), eq(code, np.int32(0)))",
        "first = bitwise_not(all_hold(fine))",
        DISCHARGE + "test_a_record_that_tells_of_something_stays",
    ),
    Mutation(
        "keys that are used twice are found",
        "tapeless/runtime/key_reuse.py",
        "self.lines[number] = source",
        "pass",
        "tests/runtime/test_key_reuse.py::test_a_key_that_is_used_twice_is_an_error",
    ),
    Mutation(
        "captured variables that changed are found",
        "tapeless/runtime/captures.py",
        "if _mark(value) != variable.mark:",
        "if False:",
        "tests/runtime/test_captures.py::test_a_change_names_the_variable_and_both_values",
    ),
    Mutation(
        "long calls of libraries do not keep signals waiting",
        "tapeless/runtime/executable.py",
        "self.is_apart = not any(donated) and _waits_for_libraries(program)",
        "self.is_apart = False",
        SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[eigh_eagerly]",
    ),
    Mutation(
        "no block that dies swallows an exception of a handler",
        "tapeless/runtime/memory.py",
        "if size > _LARGEST_POOLED:",
        "if True:",
        "tests/runtime/test_memory.py::test_a_block_that_dies_runs_no_python_code",
    ),
    Mutation(
        "the function and the shapes of its arguments are named",
        "tapeless/util/frames.py",
        "_tell_call(error, called)",
        "pass",
        "tests/util/test_frames.py::"
        "test_a_note_tells_the_function_and_its_arguments_unless_the_message_does",
    ),
    Mutation(
        "internal frames are filtered",
        "tapeless/util/frames.py",
        "error.__traceback__ = kept",
        "pass",
        "tests/util/test_frames.py",
    ),
    Mutation(
        "indices are checked in the loop that reads them",
        "tapeless/compiler/fuse.py",
        "if eqn.primitive is check_p:",
        "if False:",
        CHECKING + "test_indices_are_checked_in_the_loop_that_reads_them",
    ),
    Mutation(
        "damaged files of the cache are misses",
        "tapeless/compiler/objects.py",
        "if _checksum(key, found) != digest:",
        "if False:",
        "tests/safety/test_fuzz.py::test_nothing_that_a_user_can_pass_crashes_the_process[cache]",
    ),
    Mutation(
        "damaged exports are refused",
        "tapeless/stablehlo/exporting.py",
        "if not _is_call(called):",
        "if False:",
        "tests/stablehlo/test_exporting.py::test_other_bytes_are_refused",
    ),
    Mutation(
        "trees that are too deep give an error",
        "tapeless/tree/flatten.py",
        "if depth > MOST_LEVELS:",
        "if False:",
        VIEWS + "test_trees_that_are_too_deep_give_an_error",
    ),
    Mutation(
        "jit can be disabled",
        "tapeless/api/jit.py",
        "        if config.current.jax_disable_jit:\n            return self.__wrapped__",
        "        if False:\n            return self.__wrapped__",
        "tests/api/test_jit.py::test_disable_jit_calls_the_function",
    ),
    Mutation(
        "leaks are looked for where that is asked for",
        "tapeless/core/leaks.py",
        "if not config.current.jax_check_tracer_leaks:",
        "if True:",
        "tests/parity/errors/test_messages.py::"
        "test_class_and_meaning_are_those_of_jax[the page of errors: checked leak]",
    ),
    Mutation(
        "cache misses are explained",
        "tapeless/runtime/cache.py",
        "if found is None and config.current.jax_explain_cache_misses:",
        "if False:",
        "tests/runtime/test_cache.py",
    ),
]


def survives(mutation: Mutation) -> str | None:
    """Return why a mutation goes unnoticed; None if its test fails as it should."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        leave = shutil.ignore_patterns(".git", ".venv*", "build", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=leave)
        test = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutation.test]
        path = copy / mutation.file
        text = path.read_text()
        if text.count(mutation.before) != 1:
            return "it does not apply any more"
        path.write_text(text.replace(mutation.before, mutation.after))
        code = subprocess.run(
            test, cwd=copy, capture_output=True, env=_environment(copy)
        ).returncode
    return None if code == 1 else f"pytest ended with {code}"


def _environment(copy: Path) -> dict[str, str]:
    """Return an environment in which the copy is what is imported."""
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(copy), "HOME": str(copy)}


def main() -> None:
    """Try all mutations, or some."""
    unnoticed = 0
    for mutation in MUTATIONS:
        if all(word in mutation.promise for word in sys.argv[1:]):
            why = survives(mutation)
            print(f"{'noticed' if why is None else why}: {mutation.promise}", flush=True)
            unnoticed += why is not None
    sys.exit(bool(unnoticed))


if __name__ == "__main__":
    main()
