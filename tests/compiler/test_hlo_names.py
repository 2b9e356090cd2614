"""Names of values in StableHLO text, and whole texts beside JAX's."""

import importlib
import inspect

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.compiler.hlo_names import named_lines, provisional
from tests.golden.expressions import EXPRESSIONS, HELPERS, SUBMODULES, VALUES


def test_results_are_numbered_and_words_are_told_apart():
    one, two, word, other = (provisional(stem, i) for i, stem in enumerate(["", "", "cst", "cst"]))
    lines = [f"{word} = a", f"{one} = b {word}", f"{other} = a", f"{two} = c {one}, {other}"]
    found = named_lines(lines, 1)
    assert found == ["%cst = a", "%0 = b %cst", "%cst_0 = a", "%1 = c %0, %cst_0"]


def test_regions_go_on_from_the_block_around_and_share_their_names():
    def f(x):
        y = lax.cond(x > 0, lambda x: lax.sin(x) * 2, lambda x: lax.cos(x) * 3, x)
        return lax.exp(y)

    text = jax.jit(f).lower(1.0).as_text()
    lines = [line.split(" = ")[0].strip() for line in text.splitlines() if " = " in line]
    inner = ["%4", "%cst_0", "%5"]
    assert lines[-8:] == ["%2", *inner, *inner, "%3"]


def test_arguments_of_regions_are_numbered_on():
    text = jax.jit(lax.sort).lower(np.ones(3, np.float32)).as_text()
    assert "^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):" in text


def stablehlo(system, expression):
    """Return the text of an expression's function."""
    for name in SUBMODULES:
        importlib.import_module(f"{system.__name__}.{name}")
    function = eval(expression, {"jax": system, "jnp": system.numpy, "np": np, **HELPERS})
    names = inspect.signature(inspect.unwrap(function)).parameters
    values = [VALUES.get(name, VALUES["x"]) for name in names]
    return system.jit(function).lower(*values).as_text()


# Expressions whose text is JAX's, character for character.
EQUAL = """
jit_donated jit_donated_second jit_donated_names jit_static jit_static_names jit_donated_grad
jit_donated_vmap jit_named jit_partial jit_of_vmap jit_of_grad jit_same_result jit_kwargs
jvp_sin jvp_of_jit jvp_unused jvp_has_aux grad_sin grad_of_grad grad_third grad_pow grad_powf
grad_pow2 grad_div grad_max grad_exp_log grad_abs grad_where grad_dot grad_einsum
grad_max_reduce grad_logsumexp grad_softmax grad_norm grad_prod grad_cummax grad_sort
grad_concat grad_reshape grad_broadcast grad_window_sum grad_holomorphic grad_lgamma grad_atan2
grad_inverse_trig grad_clamp grad_rem grad_has_aux value_and_grad hvp vjp_jit vjp_two
linearize_two linearize_jit linear_transpose closure_convert grad_of_jit_twice
grad_of_jit_closure grad_grad_jit vmap_grad_jit grad_vmap_jit stop_gradient remat_plain
remat_grad remat_policy remat_dots remat_named remat_no_cse remat_jvp remat_vmap remat_of_jit
remat_static checkpoint_name scan_no_xs associative_scan_grad fori_static fori_dynamic
fori_dynamic_jvp while_plain while_tree cond_plain cond_operands cond_closure cond_grad
cond_grad_closure cond_jvp cond_vmap cond_vmap_operand switch_plain switch_grad cond_nested_grad
custom_linear_solve custom_jvp_plain custom_jvp_jvp custom_jvp_grad custom_jvp_vmap
custom_jvp_jit custom_vjp_plain custom_vjp_grad custom_vjp_vmap custom_vjp_vmap_grad
custom_vjp_grad_vmap custom_vjp_jit custom_vjp_remat custom_vmap custom_vmap_plain relu6
softplus_grad psum pmean pmax all_gather psum_scatter axis_index axis_size psum_in_jit
psum_in_scan psum_const vmap_in_axes_none vmap_out_axes vmap_negative vmap_nested vmap_matmul
vmap_gather vmap_gather_shared vmap_scatter vmap_dynamic_slice vmap_sort vmap_argsort
vmap_concat vmap_pad vmap_iota vmap_where vmap_clamp vmap_select_scalar vmap_spmd
vmap_remat_grad vmap_reduce_window reduce_precision dot_preferred dot_precision scatter_unique
sort_two_keys sort_stable population_count shifts bitcast rounding half bool_ops iota_kinds
full_kinds array_of_list stack_list split_kinds expand_squeeze transposes matmuls einsum_batch
barrier reduce_and_or segment_sum one_hot meshgrid vectorize apply_along empty_residual copy
weak_types x64_constants checkpoint_dots_grad attention_grad
""".split()


@pytest.mark.oracle
@pytest.mark.parametrize("name", EQUAL)
def test_text_is_that_of_jax(name):
    import jax as reference

    assert stablehlo(jax, EXPRESSIONS[name]) == stablehlo(reference, EXPRESSIONS[name])
