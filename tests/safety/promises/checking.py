"""What is promised of the cost of checks, and how it is switched off."""

from __future__ import annotations

from tests.safety.promises.mutation import Mutation

__all__ = ["PROMISES"]

CHECKING = "tests/api/test_checking.py::"
WATCH = "tests/kernel/test_watch.py::"

CAPTURES = "tests/runtime/test_captures.py::"
WITHIN = "tests/runtime/test_captures_within.py::"
SURROUNDINGS = "tests/runtime/test_surroundings.py::"
WATCHING = "tests/runtime/test_watching.py::"

PROMISES: dict[str, tuple[Mutation, ...]] = {
    ("Checks are off by default, of a block or of one function, and cost little, also in loops"): (
        Mutation(
            "checks are off by default",
            "tapeless/config.py",
            'Flag("tapeless_check_divisions", False,',
            'Flag("tapeless_check_divisions", True,',
            CHECKING + "test_other_faults_are_errors_with_a_line",
        ),
        Mutation(
            "the loop that overwrites what it carries checks it",
            "tapeless/kernel/carry.py",
            "            watched_while_overwriting(b, nest, carried)\n",
            "",
            WATCH + "test_the_check_of_what_a_loop_carries_has_no_loop_of_its_own",
        ),
        Mutation(
            "what a loop overwrites is kept for the message",
            "tapeless/kernel/keeping.py",
            "        nest.stores.append(store)\n",
            "",
            WATCH + "test_an_index_is_told_though_the_loop_that_checks_it_overwrites_it",
        ),
        Mutation(
            "checks of one function",
            "tapeless/api/checking.py",
            '    if listed == ["all"]:',
            ('    listed = []\n    if listed == ["all"]:'),
            CHECKING + "test_checks_of_one_function",
        ),
        Mutation(
            "checks for what is no number are debug_nans",
            "tapeless/api/checking.py",
            '"nan": ("jax_debug_nans", True, False)',
            '"nan": ("jax_debug_nans", False, False)',
            CHECKING + "test_other_faults_are_errors_with_a_line[eager-nan]",
        ),
        Mutation(
            "checks end with their block",
            "tapeless/api/checking.py",
            "            override.__exit__(*exception)\n",
            "            pass\n",
            CHECKING + "test_everything_is_off_by_default_and_afterwards",
        ),
        Mutation(
            "indices are checked in the loop that reads them",
            "tapeless/compiler/fuse.py",
            "if eqn.primitive is check_p:",
            "if False:",
            CHECKING + "test_indices_are_checked_in_the_loop_that_reads_them",
        ),
        Mutation(
            "reductions check what they read",
            "tapeless/kernel/watch.py",
            "if found is not None and watch in self._watches:",
            "if False:",
            "tests/kernel/test_watch.py::test_a_sum_and_the_check_of_what_it_reads_are_one_loop",
        ),
        Mutation(
            "the loop that adds to segments checks their ids",
            "tapeless/kernel/watch.py",
            "return list(self._watches) if same else []",
            "return []",
            "tests/kernel/test_watch.py::test_the_check_of_ids_has_no_loop_of_its_own",
        ),
        Mutation(
            "what is checked twice is looked at once",
            "tapeless/compiler/simplify.py",
            "if eqn.primitive is check_p and self._is_checked(eqn):",
            "if False:",
            "tests/kernel/test_watch.py::test_what_is_checked_twice_is_looked_at_once",
        ),
        Mutation(
            "indices are checked before they are overwritten",
            "tapeless/compiler/lower.py",
            "target.buffer is None or not self.is_wanted_by_checks(target.buffer)",
            "True",
            (
                "tests/kernel/test_watch.py::test_a_scatter_overwrites_no_indices_that_are_still"
                "_to_be_checked"
            ),
        ),
        Mutation(
            "counted indices are not checked",
            "tapeless/compiler/simplify.py",
            "        eqn = self._uncounted(eqn)\n",
            "        eqn = eqn if eqn.effects else self._uncounted(eqn)\n",
            CHECKING + "test_indices_that_a_loop_counts_cost_no_check",
        ),
        Mutation(
            "indices that do not change are checked once",
            "tapeless/compiler/hoist.py",
            "elif eqn.primitive is check_p and",
            "elif False and",
            CHECKING + "test_indices_that_a_loop_does_not_change_are_looked_at_once",
        ),
    ),
    (
        "Captured globals, cells and containers that changed raise StaleCaptureError "
        "with both values"
    ): (
        Mutation(
            "captured variables that changed are found",
            "tapeless/runtime/captures.py",
            "        return contents.mark_of(value) != self.mark",
            "        return False",
            CAPTURES + "test_a_change_names_the_variable_and_both_values",
        ),
        Mutation(
            "cells are compared",
            "tapeless/runtime/captures.py",
            "        reads[name] = Cell(cell)\n",
            "        pass\n",
            CAPTURES + "test_a_cell_of_an_enclosing_function_is_compared",
        ),
        Mutation(
            "containers are compared",
            "tapeless/runtime/contents.py",
            '"sequence": (list, tuple, collections.deque),',
            '"sequence": (),',
            CAPTURES + "test_a_change_names_the_variable_and_both_values",
        ),
        Mutation(
            "lists that hold other objects are compared",
            "tapeless/runtime/contents.py",
            "return all(map(operator.is_, value, items[1:]))",
            "return True",
            CAPTURES + "test_an_element_that_is_replaced_is_noticed",
        ),
        Mutation(
            "objects in containers are compared",
            "tapeless/runtime/captures.py",
            "                self.objects.append((name, where, value, depth))\n",
            "                pass\n",
            WITHIN + "test_a_change_within_names_the_variable_and_both_values",
        ),
        Mutation(
            "what objects read that are called is compared",
            "tapeless/runtime/captures.py",
            "                self.follow_methods(value, _SPECIAL)\n",
            "                pass\n",
            WITHIN + "test_a_change_within_names_the_variable_and_both_values",
        ),
        Mutation(
            "what properties read is compared",
            "tapeless/runtime/captures.py",
            "                self.functions.append((stored.fget, read.owner()))\n",
            "                pass\n",
            WITHIN + "test_a_change_within_names_the_variable_and_both_values",
        ),
        Mutation(
            "defaults are compared",
            "tapeless/runtime/captures.py",
            "in _defaults(function).items():",
            "in ():",
            WITHIN + "test_a_change_within_names_the_variable_and_both_values",
        ),
        Mutation(
            "globals of other modules are compared",
            "tapeless/runtime/surroundings.py",
            "return MISSING if is_ours else vars(value).get(self.name, MISSING)",
            "return MISSING",
            WITHIN + "test_a_change_within_names_the_variable_and_both_values",
        ),
        Mutation(
            "containers in containers are compared",
            "tapeless/runtime/contents.py",
            "parts = parts_of(value) if depth <= DEEPEST else None",
            "parts = parts_of(value) if depth <= 0 else None",
            CAPTURES + "test_what_containers_in_containers_hold_is_compared",
        ),
        Mutation(
            "functions that are transformed are looked into",
            "tapeless/runtime/captures.py",
            'getattr(value, "__wrapped__", None) or getattr(value, "func", None)',
            "None",
            CAPTURES + "test_functions_that_are_transformed_first_are_looked_into",
        ),
        Mutation(
            "both values are told",
            "tapeless/runtime/captures.py",
            "and is {_shown(value)} now",
            "now",
            CAPTURES + "test_a_change_names_the_variable_and_both_values[rate]",
        ),
        Mutation(
            "the variable is named",
            "tapeless/runtime/captures.py",
            "The variable {variable.name!r}, which",
            "A variable, which",
            CAPTURES + "test_a_change_names_the_variable_and_both_values[rate]",
        ),
        Mutation(
            "globals are compared",
            "tapeless/runtime/captures.py",
            "reads[name] = Global(table, name)",
            "reads[name] = lambda: MISSING",
            CAPTURES + "test_a_change_names_the_variable_and_both_values[rate]",
        ),
        Mutation(
            "attributes are compared",
            "tapeless/runtime/captures.py",
            "                read = Attribute(read, attribute)\n",
            "                read = lambda: MISSING\n",
            CAPTURES + "test_attributes_that_changed_are_named",
        ),
        Mutation(
            "the call stub compares what was captured",
            "tapeless/compiler/callwatch.py",
            "  br i1 %same, label %step, label %bad",
            "  br i1 true, label %step, label %bad",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
        Mutation(
            "the call stub compares what lists hold",
            "tapeless/compiler/callwatch.py",
            "  br i1 %same, label %test, label %bad\nbad:",
            "  br i1 true, label %test, label %bad\nbad:",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
        Mutation(
            "the call stub compares what dicts hold",
            "tapeless/compiler/callwatch.py",
            "  %fits = or i1 %same, %any",
            "  %fits = or i1 true, %any",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
        Mutation(
            "the call stub compares what NumPy arrays hold",
            "tapeless/compiler/callwatch.py",
            "  %same = icmp eq i32 %bytes_differ, 0",
            "  %same = icmp eq i32 0, 0",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
        Mutation(
            "places that tell of no writes are always looked at",
            "tapeless/compiler/callwatch.py",
            "@hold_all(ptr %silent, i64 %n_silent)",
            "@hold_all(ptr %silent, i64 0)",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
        Mutation(
            "writes to dicts are counted",
            "tapeless/compiler/callwatch.py",
            "  %after = add i64 %before, 1",
            "  %after = add i64 %before, 0",
            WATCHING + "test_each_way_to_write_is_told",
        ),
        Mutation(
            "keys that are looked at are marked",
            "tapeless/compiler/callwatch.py",
            "  store i8 1, ptr %place",
            "  store i8 0, ptr %place",
            WATCHING + "test_each_way_to_write_is_told",
        ),
        Mutation(
            "dicts that may be those of objects are always looked at",
            "tapeless/runtime/surroundings.py",
            '"telling dict" if _is_of_module(self.table) else "dict"',
            '"telling dict"',
            WATCHING + "test_the_dict_of_an_object_that_is_a_table_of_globals_is_looked_at",
        ),
        Mutation(
            "attributes that come later are noticed",
            "tapeless/runtime/captures.py",
            "    return is_empty and owner",
            "    return False and owner",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
        Mutation(
            "the call stub is told what to compare",
            "tapeless/runtime/cache.py",
            "return () if self.captured is None else self.captured.watch()",
            "return ()",
            SURROUNDINGS + "test_a_change_is_noticed_by_the_stub_and_by_python",
        ),
    ),
}
