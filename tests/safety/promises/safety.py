"""What is promised of signals, processes, threads, bad input and memory; how it is switched off."""

from __future__ import annotations

from tests.safety.promises.mutation import Mutation

__all__ = ["PROMISES"]

SIGNALS = "tests/safety/test_signals.py::"
VIEWS = "tests/safety/test_views.py::"
PROCESSES = "tests/safety/test_processes.py::"
FUZZ = "tests/safety/test_fuzz.py::"

PROMISES: dict[str, tuple[Mutation, ...]] = {
    ("Ctrl-C and other handlers reach what runs within 100 ms; afterwards the function runs"): (
        Mutation(
            "long loops are interrupted",
            "tapeless/compiler/interrupts.py",
            "_PERIOD = 20_000_000",
            "_PERIOD = 20_000_000_000_000",
            SIGNALS + "test_an_alarm_raises_the_exception_of_its_handler",
        ),
        Mutation(
            "while loops are interrupted",
            "tapeless/compiler/interrupts.py",
            "_PERIOD = 20_000_000",
            "_PERIOD = 20_000_000_000_000",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[while_loop]"
            ),
        ),
        Mutation(
            "scans are interrupted",
            "tapeless/compiler/interrupts.py",
            "_PERIOD = 20_000_000",
            "_PERIOD = 20_000_000_000_000",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[scan]"
            ),
        ),
        Mutation(
            "eager operations let signals through",
            "tapeless/runtime/eager.py",
            '        """Run the compiled program of the operation."""\n',
            "        __import__('signal').signal(2, __import__('signal').SIG_IGN)\n",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[eager_loop]"
            ),
        ),
        Mutation(
            "tracing lets signals through",
            "tapeless/api/jit.py",
            '    """Trace `function` on arguments of this tree and these types."""\n',
            "    __import__('signal').signal(2, __import__('signal').SIG_IGN)\n",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[tracing]"
            ),
        ),
        Mutation(
            "a program that was interrupted can be called again",
            "tapeless/compiler/engine.py",
            "        if status == INTERRUPTED:\n",
            "        if status == INTERRUPTED:\n            self._call = None\n",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[while_loop]"
            ),
        ),
        Mutation(
            "parallel regions are interrupted",
            "tapeless/compiler/interrupts.py",
            "_PERIOD = 20_000_000",
            "_PERIOD = 20_000_000_000_000",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[parallel_loop]"
            ),
        ),
        Mutation(
            "parallel loops look for signals between chunks",
            "tapeless/compiler/threads.py",
            "br i1 %calm, label %fetch, label %halt",
            "br label %fetch",
            SIGNALS + "test_a_parallel_loop_looks_for_signals_between_chunks",
        ),
        Mutation(
            "products in loops are interrupted",
            "tapeless/compiler/interrupts.py",
            "_PERIOD = 20_000_000",
            "_PERIOD = 20_000_000_000_000",
            SIGNALS
            + (
                "test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterw"
                "ards[products_in_a_loop]"
            ),
        ),
        Mutation(
            "tasks see the interruption",
            "tapeless/compiler/interrupts.py",
            "br i1 %task, label %flag, label %who",
            "br i1 %task, label %who, label %who",
            "tests/compiler/test_interrupts.py::test_a_shared_loop_stops_in_every_thread",
        ),
        Mutation(
            "the exception is the handler's",
            "tapeless/compiler/engine.py",
            "            raise_interruption(runtime().exception)\n",
            "            raise KeyboardInterrupt\n",
            SIGNALS + "test_an_alarm_raises_the_exception_of_its_handler",
        ),
        Mutation(
            "signals are looked for as a callback begins",
            "tapeless/compiler/interrupts.py",
            "  %status = call i32 @handled()\n  %quiet",
            "  %status = add i32 0, 0\n  %quiet",
            SIGNALS + "test_a_signal_just_before_a_callback_is_not_lost[newer]",
        ),
        Mutation(
            "no result of a callback swallows an exception of a handler",
            "tapeless/control/callback.py",
            "values = [_as_numpy(result) for result in results]",
            "values = [np.asarray(result) for result in results]",
            SIGNALS + "test_a_signal_in_a_loop_of_callbacks_is_not_lost[newer]",
        ),
        Mutation(
            "an exception before the first instruction of __buffer__ is not lost",
            "tapeless/runtime/array.py",
            "with_handler(Array.__buffer__, _keep_dropped)\n",
            "",
            "tests/runtime/test_array.py"
            "::test_what_a_handler_raises_before_the_first_instruction_of_the_protocol_arrives",
        ),
        Mutation(
            "an exception before the first instruction of a callback is not lost",
            "tapeless/compiler/host.py",
            "with_handler(HostCall.__call__, _keep)\n",
            "",
            "tests/compiler/test_host.py"
            "::test_what_a_handler_raises_before_a_callback_begins_is_kept",
        ),
        Mutation(
            "a handler of SIGTERM ends the program its way",
            "tapeless/compiler/interrupts.py",
            "_PERIOD = 20_000_000",
            "_PERIOD = 20_000_000_000_000",
            SIGNALS + "test_a_handler_of_sigterm_ends_the_program_its_way",
        ),
        Mutation(
            "no block that dies swallows an exception of a handler",
            "tapeless/runtime/memory.py",
            "grave = _Grave(block, _graves.append)",
            "grave = _Grave(block, lambda grave: _graves.append(grave))",
            "tests/runtime/test_memory.py::test_a_block_that_dies_runs_no_python_code",
        ),
        Mutation(
            "no large block that dies swallows an exception of a handler",
            "tapeless/runtime/memory.py",
            "grave.release = _Release(block, release)",
            "grave.release = _Release(block, lambda grave: release(grave))",
            "tests/runtime/test_memory.py::test_memory_of_the_largest_blocks_is_given_back_at_once",
        ),
        Mutation(
            "members of sets that die swallow no exception of a handler",
            "tapeless/util/weak.py",
            "weakref.ref(member, self._references.discard)",
            "weakref.ref(member, lambda dead: self._references.discard(dead))",
            "tests/util/test_weak.py::test_members_go_when_they_die_and_no_python_code_runs",
        ),
        Mutation(
            "values of tables that die swallow no exception of a handler",
            "tapeless/util/weak.py",
            "own = _Grave(value, self._graves.append)",
            "own = _Grave(value, lambda dead: self._graves.append(dead))",
            "tests/util/test_weak.py::test_values_go_when_they_die_and_no_python_code_runs",
        ),
    ),
    "Long calls of libraries are cut into pieces, or do not keep signals waiting": (
        Mutation(
            "modules are compiled apart",
            "tapeless/compiler/generate.py",
            "return apart(generate, _note_left)",
            "return generate()",
            SIGNALS + "test_handlers_run_while_a_large_module_is_compiled",
        ),
        Mutation(
            "large arrays are copied in pieces",
            "tapeless/runtime/array.py",
            "    if target.nbytes <= _PIECE:\n",
            "    if True:\n",
            "tests/runtime/test_array.py::test_handlers_run_while_a_large_array_is_copied",
        ),
        Mutation(
            "large arrays are copied out in pieces",
            "tapeless/runtime/array.py",
            "    if value.nbytes <= _PIECE or dtype.itemsize == 0:",
            "    if True:",
            "tests/runtime/test_array.py::test_handlers_run_while_a_large_array_is_given_out[rows1-array]",
        ),
        Mutation(
            "lists of large arrays are made in pieces",
            "tapeless/runtime/array.py",
            "    if value.size <= _LISTED:\n",
            "    if True:\n",
            "tests/runtime/test_array.py::test_handlers_run_while_a_large_array_is_given_out[rows0-tolist]",
        ),
        Mutation(
            "long products are cut into pieces",
            "tapeless/prims/blas.py",
            "    elif min(n, FEWEST_ROWS) * m * k > product.longest:\n",
            "    elif False:\n",
            "tests/prims/test_blas.py::test_no_call_is_longer_than_what_is_called_long",
        ),
        Mutation(
            "long calls of libraries do not keep signals waiting: svd",
            "tapeless/runtime/executable.py",
            "is_apart=_waits_for_libraries(program)",
            "is_apart=False",
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[svd]",
        ),
        Mutation(
            "long calls of libraries do not keep signals waiting: donated",
            "tapeless/runtime/executable.py",
            "is_apart=_waits_for_libraries(program)",
            "is_apart=False",
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[donated]",
        ),
        Mutation(
            "long calls of libraries do not keep signals waiting: before_a_callback",
            "tapeless/runtime/executable.py",
            "is_apart=_waits_for_libraries(program)",
            "is_apart=False",
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[before_a_callback]",
        ),
        Mutation(
            "long calls of libraries do not keep signals waiting: in_a_while_loop",
            "tapeless/runtime/executable.py",
            "is_apart=_waits_for_libraries(program)",
            "is_apart=False",
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[in_a_while_loop]",
        ),
        Mutation(
            "long calls of libraries do not keep signals waiting: in_a_scan",
            "tapeless/runtime/executable.py",
            "is_apart=_waits_for_libraries(program)",
            "is_apart=False",
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[in_a_scan]",
        ),
        Mutation(
            "a long FFT does not keep signals waiting",
            "tapeless/prims/fft.py",
            "    if x.size >= _LONG:",
            "    if False:",
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[fft]",
        ),
        Mutation(
            "arguments of a donated program that was left are deleted",
            "tapeless/runtime/executable.py",
            ("                arrays[number].delete()\n            raise"),
            ("                pass\n            raise"),
            SIGNALS + "test_ctrl_c_does_not_wait_for_a_long_call_of_a_library[donated]",
        ),
        Mutation(
            "a program that was left ends",
            "tapeless/compiler/interrupts.py",
            "br i1 %nobody, label %fine, label %abandon",
            "br label %fine",
            SIGNALS + "test_a_loop_that_was_left_in_its_own_thread_ends_at_its_next_poll",
        ),
        Mutation(
            "a call that was left is told so",
            "tapeless/util/apart.py",
            "                self.is_left = True\n",
            "",
            "tests/util/test_apart.py::test_a_call_that_is_left_is_told_so",
        ),
    ),
    "A loop in another thread ends at the interpreter's exit": (
        Mutation(
            "a loop lets other threads run",
            "tapeless/compiler/engine.py",
            "_ENTRY = ctypes.CFUNCTYPE(",
            "_ENTRY = ctypes.PYFUNCTYPE(",
            SIGNALS + "test_a_loop_in_another_thread_ends_by_ctrl_c_at_exit",
        ),
        Mutation(
            "a loop in a thread of Python's ends",
            "tapeless/compiler/engine.py",
            "_ENTRY = ctypes.CFUNCTYPE(",
            "_ENTRY = ctypes.PYFUNCTYPE(",
            SIGNALS + "test_a_loop_in_a_daemon_thread_ends_with_the_interpreter",
        ),
    ),
    "fork, multiprocessing, pickle, cloudpickle, deep copies": (
        Mutation(
            "weak types and keys travel",
            "tapeless/runtime/array.py",
            "return (array_of, (_converted(view, view.dtype), self.aval))",
            "return (array_of, (_converted(view, view.dtype), self.aval.strong()))",
            PROCESSES + "test_weak_types_and_keys_travel",
        ),
        Mutation(
            "trees travel",
            "tapeless/tree/treedef.py",
            "    def __reduce__(self) -> tuple[Any, ...]:",
            "    def reduced(self) -> tuple[Any, ...]:",
            PROCESSES + "test_arrays_and_trees_travel",
        ),
        Mutation(
            "arrays travel between processes",
            "tapeless/runtime/array.py",
            "    def __reduce__(self) -> tuple:",
            "    def reduced(self) -> tuple:",
            PROCESSES + "test_multiprocessing[spawn]",
        ),
        Mutation(
            "results of compiled functions travel",
            "tapeless/runtime/array.py",
            "        view = self.numpy_view()\n        return (array_of",
            "        raise TypeError\n        return (array_of",
            PROCESSES + "test_results_of_compiled_functions_travel",
        ),
        Mutation(
            "arrays travel to forked processes",
            "tapeless/runtime/array.py",
            "    def __reduce__(self) -> tuple:",
            "    def reduced(self) -> tuple:",
            PROCESSES + "test_multiprocessing[fork]",
        ),
        Mutation(
            "tracers can be copied",
            "tapeless/core/trace.py",
            "    def __deepcopy__(self, memo: dict) -> Tracer:",
            "    def deepcopy(self, memo: dict) -> Tracer:",
            PROCESSES + "test_tracers_can_be_copied_in_containers",
        ),
        Mutation(
            "tracers cannot be pickled",
            "tapeless/core/trace.py",
            "    def __reduce__(self) -> NoReturn:",
            "    def reduce(self) -> NoReturn:",
            PROCESSES + "test_tracers_cannot_be_pickled",
        ),
        Mutation(
            "copies have memory of their own",
            "tapeless/runtime/array.py",
            (
                "    def __deepcopy__(self, memo: dict) -> Array:\n"
                '        """Return a copy with memory of its own."""\n'
                "        return self.copied()"
            ),
            (
                "    def __deepcopy__(self, memo: dict) -> Array:\n"
                '        """Return a copy with memory of its own."""\n'
                "        return self"
            ),
            PROCESSES + "test_arrays_and_trees_travel",
        ),
    ),
    "A fork waits for the compiler, and its child has workers and signals of its own": (
        Mutation(
            "a lock is held while the process forks",
            "tapeless/compiler/linker.py",
            "forks.wait_for(LLVM_LOCK, _after_fork)",
            "forks.wait_for(threading.RLock(), _after_fork)",
            PROCESSES + "test_a_fork_waits_for_the_compiler",
        ),
        Mutation(
            "a fork waits for what other threads import",
            "tapeless/util/forks.py",
            "any(each != thread for each in _importing)",
            "False",
            PROCESSES + "test_a_fork_waits_for_parts_that_other_threads_import",
        ),
        Mutation(
            "the lock is held while a function is compiled that is called",
            "tapeless/compiler/ondemand.py",
            "        with LLVM_LOCK, not_apart():\n",
            "        with vars(threading).setdefault('another', threading.RLock()), not_apart():\n",
            PROCESSES + "test_a_fork_waits_for_a_function_that_is_compiled_when_it_is_called",
        ),
        Mutation(
            "locks of caches are free in a forked child",
            "tapeless/compiler/linker.py",
            "    renew_locks()\n",
            "",
            PROCESSES + "test_a_fork_while_another_thread_looks_something_up",
        ),
        Mutation(
            "the pool is reset in a forked child",
            "tapeless/compiler/linker.py",
            "    shared.reset()\n",
            "",
            PROCESSES + "test_a_forked_child_starts_workers_of_its_own",
        ),
        Mutation(
            "a forked child handles signals",
            "tapeless/compiler/linker.py",
            "    shared.set_main(threading.get_ident())\n",
            "    shared.set_main(0)\n",
            PROCESSES + "test_a_signal_reaches_a_loop_in_a_forked_child",
        ),
    ),
    "Eight threads neither hang nor err": (
        Mutation(
            "what is current belongs to the thread",
            "tapeless/core/trace.py",
            "class Context(threading.local):",
            "class Context:",
            "tests/safety/test_many_threads.py::test_threads_that_mix_everything_neither_hang_nor_err",
        ),
    ),
    "Nothing that a user can pass crashes the process": (
        Mutation(
            "programs fit what holds them",
            "tapeless/runtime/eager.py",
            "    fitting.check_programs(jaxpr)\n",
            "",
            "tests/control/test_fitting.py::test_arguments_of_other_types_than_traced_are_an_error[jit-scan]",
        ),
        Mutation(
            "arguments fit their program",
            "tapeless/runtime/eager.py",
            "    fitting.check_arguments(jaxpr, args)\n",
            "",
            "tests/control/test_fitting.py::test_arguments_of_other_types_than_traced_are_an_error[eager-jit]",
        ),
        Mutation(
            "memory is kept for functions that are compiled when they are called",
            "tapeless/compiler/ondemand.py",
            "                    _reserve.pop().close()\n",
            "                    _cells[''] = _reserve.pop()\n",
            "tests/compiler/test_ondemand.py::test_a_function_is_made_though_no_memory_is_left",
        ),
        Mutation(
            "garbage of an interrupted compilation does not crash",
            "tapeless/compiler/generate.py",
            "        module.close()\n",
            "",
            "tests/compiler/test_engine.py"
            "::test_garbage_of_an_interrupted_compilation_does_not_crash",
        ),
        Mutation(
            "sizes beyond the address space are errors",
            "tapeless/runtime/memory.py",
            "if n_bytes >= _MOST_ADDRESSES:",
            "if False:",
            FUZZ + "test_an_array_larger_than_the_address_space_is_an_error",
        ),
        Mutation(
            "damaged files of the cache are misses",
            "tapeless/compiler/objects.py",
            "if _checksum(key, found) != digest:",
            "if False:",
            FUZZ + "test_nothing_that_a_user_can_pass_crashes_the_process[cache]",
        ),
        Mutation(
            "damaged exports are refused",
            "tapeless/stablehlo/exporting.py",
            "if not _is_call(called):",
            "if False:",
            "tests/stablehlo/test_exporting.py::test_other_bytes_are_refused",
        ),
        Mutation(
            "crashes are caught and counted",
            "tests/safety/fuzz.py",
            "        if child.returncode != 0:  # ours alone had ended well, if JAX came next\n",
            "        if False:\n",
            FUZZ + "test_the_fuzzer_sees_crashes_hangs_and_faults",
        ),
        Mutation(
            "hangs are findings",
            "tests/safety/fuzz.py",
            "    if isinstance(result, TooSlow):\n",
            "    if False:\n",
            FUZZ + "test_the_fuzzer_sees_crashes_hangs_and_faults",
        ),
        Mutation(
            "differences from JAX are findings",
            "tests/safety/fuzz.py",
            '    return f"difference: {x!r}, not {y!r}"\n',
            "    return None\n",
            FUZZ + "test_what_is_known_to_differ_is_read_from_the_document",
        ),
        Mutation(
            "what is known to differ is read from the document",
            "tests/safety/fuzz.py",
            (
                "    if any(re.search(pattern, text) for pattern in excluded()):\n"
                "        return None\n"
            ),
            "",
            FUZZ + "test_what_is_known_to_differ_is_read_from_the_document",
        ),
    ),
    ("NumPy and DLPack see memory without a copy, read-only; what is taken in is copied"): (
        Mutation(
            "views share memory",
            "tapeless/runtime/memory.py",
            "toreadonly(), dtype).reshape(shape)",
            "toreadonly(), dtype).reshape(shape).copy()",
            VIEWS + "test_a_numpy_view_shares_memory_and_is_read_only",
        ),
        Mutation(
            "views cannot be made writable",
            "tapeless/runtime/memory.py",
            "memoryview(memory).toreadonly()",
            "memoryview(memory)",
            VIEWS + "test_a_numpy_view_shares_memory_and_is_read_only",
        ),
        Mutation(
            "exports to DLPack share memory",
            "tapeless/runtime/capsules.py",
            '    if not is_honoured and options.get("copy") is None:\n',
            '    if options.get("copy") is None:\n',
            VIEWS + "test_exports_to_dlpack_share_memory",
        ),
        Mutation(
            "consumers of old DLPack get copies",
            "tapeless/runtime/capsules.py",
            "        value = value.copy()",
            "        pass",
            VIEWS + "test_a_consumer_that_cannot_honour_the_flag_gets_a_copy",
        ),
        Mutation(
            "what is taken in is copied",
            "tapeless/runtime/array.py",
            "    return array_of(np.asarray(value), aval)\n\n\ndef array_over",
            "    return array_over(np.asarray(value))\n\n\ndef array_over",
            VIEWS + "test_what_is_taken_in_is_copied",
        ),
        Mutation(
            "memory of arguments is not overwritten",
            "tapeless/compiler/lower.py",
            'if buffer.space in ("input", "output") and buffer not in self._donated:',
            "if False:",
            VIEWS + "test_no_function_of_ours_changes_an_array",
        ),
        Mutation(
            "from_dlpack copies",
            "tapeless/numpy/creation.py",
            "out = array_over(value) if copy is False else asarray(value)",
            "out = value",
            VIEWS + "test_from_dlpack_copies_and_says_so",
        ),
        Mutation(
            "donated memory with a view is not reused",
            "tapeless/runtime/executable.py",
            "            x.copied() if i in self.donated and x.is_shared() else x for",
            "            x for",
            VIEWS + "test_a_donated_buffer_with_a_view_is_not_reused",
        ),
    ),
    "Buffers live as long as any view": (
        Mutation(
            "buffers live as long as any view",
            "tapeless/runtime/memory.py",
            "memory.owner = owner",
            "memory.owner = None",
            VIEWS + "test_buffers_live_as_long_as_any_view",
        ),
    ),
    "Memory of what is dead is found again": (
        Mutation(
            "memory of what dies in a cycle is found again",
            "tapeless/runtime/memory.py",
            "    _references.add(grave)\n",
            "    block.owner = grave\n",
            "tests/runtime/test_memory.py"
            "::test_memory_of_blocks_that_die_in_a_cycle_is_found_again",
        ),
    ),
    "What the fuzzer found stands in this document": (
        Mutation(
            "the document reports of the fuzzer",
            "docs/reliability.md",
            "| finding | cause | state |",
            "| finding |",
            "tests/meta/test_promises.py::test_the_document_reports_of_the_fuzzer",
        ),
    ),
    "Trees that are too deep give an error": (
        Mutation(
            "trees that are too deep give an error",
            "tapeless/tree/flatten.py",
            "if depth > MOST_LEVELS:",
            "if False:",
            VIEWS + "test_trees_that_are_too_deep_give_an_error",
        ),
    ),
}
