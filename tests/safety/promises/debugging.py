"""What is promised of prints, callbacks, checks and flags, and how it is switched off."""

from __future__ import annotations

from tests.safety.promises.mutation import Mutation

__all__ = ["PROMISES"]

CALLBACKS = "tests/safety/test_callbacks.py::"
CHECKING = "tests/api/test_checking.py::"
BOUNDS = CHECKING + "test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line"
CHECKED = "tests/runtime/test_checked.py::"
DISCHARGE = "tests/control/test_discharge.py::"
MESSAGES = "tests/safety/test_messages.py::"
PARITY = "tests/parity/errors/test_messages.py::"
KEYS = "tests/runtime/test_key_reuse.py::"
CALLBACK = "tests/control/test_callback.py::"
CHECKIFY = "tests/parity/test_checkify.py::"
WATCH = "tests/kernel/test_watch.py::"

PROMISES: dict[str, tuple[Mutation, ...]] = {
    "debug.print: formats, order, vmap, loops, grad and remat as JAX": (
        Mutation(
            "rows are printed in order",
            "tapeless/control/callback.py",
            "        outs = map_rows(one, fronted)\n",
            "        outs = map_rows(one, [x[::-1] for x in fronted])\n",
            CALLBACKS + "test_print_is_made_once_per_row_in_order",
        ),
        Mutation(
            "formats are Python's",
            "tapeless/control/callback.py",
            "            text = fmt.format(*given, **named)\n",
            "            text = fmt\n",
            CALLBACKS + "test_print_goes_through_sys_stdout_and_formats_as_python_does",
        ),
        Mutation(
            "gradients print the primal",
            "tapeless/control/callback.py",
            ('        """Pass the primals."""\n        self.bind(*primals, **params)\n'),
            '        """Pass the primals."""\n',
            CALLBACKS + "test_print_in_a_gradient_prints_the_primal_once",
        ),
        Mutation(
            "prints of tangents are left out backwards",
            "tapeless/control/callback.py",
            "tuple(Zero(arg.aval) if type(arg) is Linear else None for arg in args)",
            "()",
            CALLBACKS + "test_a_derivative_rule_that_shows_its_tangent_prints_forwards_only",
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
            "prints that nothing depends on are made",
            "tapeless/transforms/dce.py",
            "if live.isdisjoint(eqn.outvars) and not eqn.effects:",
            "if live.isdisjoint(eqn.outvars):",
            CALLBACKS + "test_print_in_a_branch_is_printed_when_the_branch_is_taken",
        ),
    ),
    ("debug.callback, debug.breakpoint, pure_callback by its vmap methods, io_callback in order"): (
        Mutation(
            "debug.callback calls once for each row",
            "tapeless/control/callback.py",
            "        outs = map_rows(one, fronted)\n",
            "        outs = one([x[0] for x in fronted])\n",
            CALLBACK + "test_a_debug_callback_runs_once_per_call_and_row",
        ),
        Mutation(
            "a breakpoint reads commands",
            "tapeless/control/breakpoint.py",
            "super().__init__(stdin=sys.stdin, stdout=sys.stdout)",
            "super().__init__(stdin=sys.__stdin__, stdout=sys.stdout)",
            CALLBACKS + "test_breakpoint_reads_commands_and_goes_on",
        ),
        Mutation(
            "methods say how a callback is mapped",
            "tapeless/control/callback.py",
            'size = axis.size if method == "broadcast_all" else 1',
            "size = 1",
            CALLBACKS + "test_vmap_methods_of_pure_callback",
        ),
        Mutation(
            "io_callback is never left out",
            "tapeless/control/callback.py",
            "return frozenset((ORDERED_CALLBACK if ordered else CALLBACK,))",
            "return frozenset()",
            CALLBACKS + "test_ordered_io_callbacks_keep_their_order_and_are_never_left_out",
        ),
        Mutation(
            "an ordered io_callback is not mapped",
            "tapeless/control/callback.py",
            '        if params["ordered"]:\n',
            "        if False:\n",
            CALLBACK + "test_mapping_needs_a_method_and_ordered_effects_cannot_be_mapped",
        ),
    ),
    "Prints go through sys.stdout": (
        Mutation(
            "sys.stdout is looked up when it is printed",
            "tapeless/control/callback.py",
            'sys.stdout.write(text + "\\n")',
            'sys.__stdout__.write(text + "\\n")',
            CALLBACKS + "test_print_goes_through_sys_stdout_and_formats_as_python_does",
        ),
        Mutation(
            "a breakpoint writes to sys.stdout",
            "tapeless/control/breakpoint.py",
            "super().__init__(stdin=sys.stdin, stdout=sys.stdout)",
            "super().__init__(stdin=sys.stdin, stdout=sys.__stdout__)",
            CALLBACKS + "test_breakpoint_reads_commands_and_goes_on",
        ),
    ),
    ("Callbacks may use the package, without hanging; their exceptions are the user's"): (
        Mutation(
            "callbacks get arrays of the package",
            "tapeless/control/callback.py",
            "results = callback(*map(base.array, numbers, avals))",
            "results = callback(*arrays)",
            CALLBACKS + "test_callbacks_may_use_the_package",
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
            "callbacks of programs in threads of their own run in the thread that waits",
            "tapeless/util/apart.py",
            "return function() if _here.call is None else _here.call.ask(function)",
            "return function()",
            (
                "tests/util/test_apart.py::test_the_call_is_made_by_another_thread_and_its_ques"
                "tions_are_answered_here"
            ),
        ),
    ),
    (
        "debug_nans and debug_infs: operation, line, iteration, forwards and "
        "backwards, below twice the time"
    ): (
        Mutation(
            "debug_nans finds the operation",
            "tapeless/runtime/checked.py",
            'located = instrument(self.program, self.words | {"moved"})',
            "located = self.program",
            CHECKED + "test_the_operation_and_its_line_are_found",
        ),
        Mutation(
            "debug_nans tells the operation",
            "tapeless/control/instrument.py",
            "NonFiniteFault(current_source(), name, word)",
            'NonFiniteFault(current_source(), "operation", word)',
            CHECKED + "test_the_operation_and_its_line_are_found[jit]",
        ),
        Mutation(
            "debug_nans tells the line of the operation",
            "tapeless/control/instrument.py",
            "with override_source(source):",
            "with override_source(UNKNOWN_SOURCE):",
            CHECKED + "test_the_operation_and_its_line_are_found[jit]",
        ),
        Mutation(
            "debug_nans tells the line of the caller of what is traced once",
            "tapeless/util/frames.py",
            "            if filename == _SHARED:\n                return None\n",
            "",
            CHECKED + "test_functions_that_are_traced_once_have_the_line_of_each_caller",
        ),
        Mutation(
            "debug_nans looks at what a loop makes backwards",
            "tapeless/control/instrument.py",
            'if not getattr(eqn.primitive, "instrumented", False):',
            "if True:",
            CHECKED + "test_the_backward_pass_of_a_scan_tells_the_iteration",
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
            "debug_nans costs little: it looks at results only, until one is wrong",
            "tapeless/runtime/checked.py",
            "    if len(jaxpr.eqns) == 1 and _only_results(jaxpr.eqns[0], jaxpr):\n",
            "    if True:\n",
            "tests/runtime/test_checked.py"
            "::test_the_second_run_is_no_part_of_a_program_without_faults",
        ),
        Mutation(
            "infinities are found by their own flag",
            "tapeless/runtime/checked.py",
            '"inf": ("jax_debug_infs",)',
            '"inf": ("jax_debug_nans",)',
            CHECKED + "test_infinities_are_found_by_their_own_flag",
        ),
        Mutation(
            "the backward pass knows the lines of the forward pass",
            "tapeless/transforms/transpose.py",
            "        walk.reach(eqns[0].source)\n",
            "",
            CHECKED + "test_in_the_backward_pass_the_line_is_that_of_the_forward_pass",
        ),
        Mutation(
            "rows of loops are looked at as they are made",
            "tapeless/runtime/checked.py",
            "rows = {x for x in _stacked_rows(eqn) if x in looked_at}",
            "rows = set()",
            CHECKED + "test_rows_that_a_loop_stacks_are_looked_at_as_they_are_made",
        ),
    ),
    (
        "Checks: indices, slices, updates, switches, segments are IndexErrors with "
        "index, size, axis, line"
    ): (
        Mutation(
            "indices out of bounds are errors where that is asked for",
            "tapeless/runtime/checked.py",
            'kinds.add("index")',
            "pass",
            CHECKING + "test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line",
        ),
        Mutation(
            "gathers are checked",
            "tapeless/prims/conditions.py",
            "    _table.rule(gather_p)(_gather(_mode))\n",
            "",
            CHECKING
            + (
                "test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line[eager-ve"
                "ctor]"
            ),
        ),
        Mutation(
            "scatters are checked",
            "tapeless/prims/conditions.py",
            "        _table.rule(_prim)(_scatter(_prim.name, _mode))\n",
            "        pass\n",
            CHECKING
            + ("test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line[eager-set]"),
        ),
        Mutation(
            "dynamic_slice is checked",
            "tapeless/prims/conditions.py",
            "@_indices.rule(dynamic_slice_p)\n",
            "",
            CHECKING
            + (
                "test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line[jit-dyna"
                "mic_slice]"
            ),
        ),
        Mutation(
            "dynamic_update_slice is checked",
            "tapeless/prims/conditions.py",
            "@_indices.rule(dynamic_update_slice_p)\n",
            "",
            CHECKING
            + (
                "test_an_index_out_of_bounds_is_an_error_with_index_size_axis_and_line[jit-dyna"
                "mic_update_slice]"
            ),
        ),
        Mutation(
            "remainders of integers are checked where that is asked for",
            "tapeless/numpy/arithmetic.py",
            "    if config.current.tapeless_check_divisions:\n",
            "    if False:\n",
            CHECKING + "test_other_faults_are_errors_with_a_line",
        ),
        Mutation(
            "divisions and shifts are checked where that is asked for",
            "tapeless/control/instrument.py",
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
            CHECKING + "test_a_mode_says_what_an_index_out_of_bounds_means",
        ),
        Mutation(
            "rows that have left a mapped loop are not checked",
            "tapeless/control/instrument.py",
            'if eqn.primitive.name == "while" and params["cond_jaxpr"].out_avals[0].shape:',
            "if False:",
            CHECKING + "test_rows_that_have_left_a_mapped_loop_are_not_checked",
        ),
        Mutation(
            "the class is an IndexError",
            "tapeless/errors.py",
            "class OutOfBoundsError(JAXIndexError):",
            "class OutOfBoundsError(JAXTypeError):",
            CHECKING + "test_other_faults_are_errors_with_a_line",
        ),
        Mutation(
            "the index is told",
            "tapeless/prims/check.py",
            "return int(place), self.axes[number % n]",
            "return 0, self.axes[number % n]",
            BOUNDS + "[jit-second axis]",
        ),
        Mutation(
            "the axis is told",
            "tapeless/prims/check.py",
            "return int(place), self.axes[number % n]",
            "return int(place), self.axes[0]",
            BOUNDS + "[jit-second axis]",
        ),
        Mutation(
            "the size is told",
            "tapeless/prims/check.py",
            "        size = self.shape[axis]\n",
            "        size = self.shape[0]\n",
            BOUNDS + "[jit-second axis]",
        ),
        Mutation(
            "the line is told",
            "tapeless/prims/check.py",
            'return f"It happened on line {source.summary()}{during}."',
            'return f"It happened{during}."',
            BOUNDS + "[jit-second axis]",
        ),
    ),
    "Keys that are used twice raise KeyReuseError": (
        Mutation(
            "keys that are used twice are found",
            "tapeless/runtime/key_reuse.py",
            "self.lines[number] = source",
            "pass",
            KEYS + "test_a_key_that_is_used_twice_is_an_error",
        ),
        Mutation(
            "calls of compiled functions use their arguments",
            "tapeless/runtime/key_reuse.py",
            '_CALLS = frozenset("jit ',
            '_CALLS = frozenset("',
            KEYS + "test_calls_of_a_compiled_function_use_its_arguments",
        ),
    ),
    "checkify: user, index, nan and div errors as values, under jit, scan and vmap": (
        Mutation(
            "checkify returns what a check tells",
            "tapeless/control/discharge.py",
            "slots[place] = _choose(first, value, slots[place])",
            "pass",
            DISCHARGE + "test_the_record_tells_what_failed_first",
        ),
        Mutation(
            "checkify tells of indices that are moved inside",
            "tapeless/api/functional_errors.py",
            'OOBError: {"index", "fill", "clip"}',
            'OOBError: {"index", "fill"}',
            "tests/parity/test_checkify.py"
            "::test_indices_out_of_bounds_are_told_of_the_modes_of_which_jax_tells",
        ),
        Mutation(
            "checkify tells what is no number where JAX does",
            "tapeless/control/instrument.py",
            "clamp reduce_precision neg abs",
            "clamp reduce_precision abs",
            "tests/parity/test_checkify.py"
            "::test_what_is_no_number_is_told_of_the_operations_that_tell_it_in_jax",
        ),
        Mutation(
            "checkify has div checks",
            "tapeless/api/functional_errors.py",
            "div_checks = frozenset({DivisionByZeroError})",
            "div_checks = frozenset()",
            CHECKIFY + "test_errors_and_results_are_those_of_jax",
        ),
        Mutation(
            "checkify has nan checks",
            "tapeless/api/functional_errors.py",
            "nan_checks = frozenset({NaNError})",
            "nan_checks = frozenset()",
            CHECKIFY + "test_errors_and_results_are_those_of_jax",
        ),
        Mutation(
            "checkify has index checks",
            "tapeless/api/functional_errors.py",
            "index_checks = frozenset({OOBError})",
            "index_checks = frozenset()",
            CHECKIFY + "test_errors_and_results_are_those_of_jax",
        ),
        Mutation(
            "checkify tells of the first check that fails",
            "tapeless/control/discharge.py",
            "first = bitwise_and(bitwise_not(all_hold(fine)), eq(code, np.int32(0)))",
            "first = bitwise_not(all_hold(fine))",
            DISCHARGE + "test_a_record_that_tells_of_something_stays",
        ),
        Mutation(
            "checks inside of compiled functions are found",
            "tapeless/control/discharge.py",
            "@RULES.rule(jit_p)\n",
            "",
            CHECKIFY + "test_errors_and_results_are_those_of_jax",
        ),
        Mutation(
            "checks inside of scans are found",
            "tapeless/control/discharge.py",
            "@RULES.rule(scan_p)\n",
            "",
            CHECKIFY + "test_errors_and_results_are_those_of_jax",
        ),
        Mutation(
            "mapped checks tell of a row",
            "tapeless/prims/check.py",
            "wrong = rev(bitwise_not(of_rows), (0,))",
            "wrong = bitwise_not(of_rows)",
            CHECKIFY + "test_errors_and_results_are_those_of_jax",
        ),
    ),
    ("disable_jit, leak checks, ensure_compile_time_eval, explanations, logs and flags of JAX"): (
        Mutation(
            "jit can be disabled",
            "tapeless/api/jit.py",
            ("        if config.current.jax_disable_jit:\n            return self.__wrapped__"),
            ("        if False:\n            return self.__wrapped__"),
            "tests/api/test_jit.py::test_disable_jit_calls_the_function",
        ),
        Mutation(
            "leaks are looked for where that is asked for",
            "tapeless/core/leaks.py",
            "if not config.current.jax_check_tracer_leaks:",
            "if True:",
            PARITY + "test_class_and_meaning_are_those_of_jax[the page of errors: checked leak]",
        ),
        Mutation(
            "cache misses are explained",
            "tapeless/runtime/cache.py",
            "if found is None and config.current.jax_explain_cache_misses:",
            "if False:",
            "tests/runtime/test_cache.py",
        ),
        Mutation(
            "known values are computed at once",
            "tapeless/core/trace.py",
            '        context.trace = FoldTrace(previous, Tag("ensure_compile_time_eval"))\n',
            "        pass\n",
            MESSAGES + "test_known_values_are_computed_at_once_where_that_is_asked_for",
        ),
        Mutation(
            "compilations are logged",
            "tapeless/runtime/cache.py",
            "    if config.current.jax_log_compiles:\n",
            "    if False:\n",
            "tests/runtime/test_cache.py",
        ),
        Mutation(
            "flags that change nothing are accepted",
            "tapeless/config.py",
            '        "jax_cpu_enable_async_dispatch": True,\n',
            "",
            MESSAGES + "test_flags_that_libraries_set_are_accepted",
        ),
    ),
}
