"""Operations on references: read, write and add, alone and under every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tests.support.harness import laws
from tests.support.records import Record, normal

X = np.array([1.0, 2.0, 3.0], np.float32)


def doubled(x):
    """Double the array, and add 1 to the first element and 3 to the second."""
    ref = jax.new_ref(x)
    ref[...] = ref[...] * 2
    ref[0] += 1.0
    ref.addupdate(3.0, 1)
    return jax.freeze(ref)


def running(x):
    """Return the sums of the leading elements, by a loop that writes two references."""
    x = jnp.asarray(x)
    total, sums = jax.new_ref(0.0), jax.new_ref(jnp.zeros_like(x))

    def step(i, _):
        """Add one element."""
        total[...] += x[i]
        sums[i] = total[...]

    lax.fori_loop(0, x.shape[0], step, None)
    return sums[...]


def test_programs_are_printed_as_in_jax():
    expected = """{ lambda ; a:f32[3]. let
    b:Ref{f32[3]} = new_ref[kind=None memory_space=None pin=False] a
    c:f32[3] <- b[...]
    d:f32[3] = mul c 2.0:f32[]
    b[...] <- d
    e:f32[] <- b[0]
    f:f32[] = add e 1.0:f32[]
    b[0] <- f
    b[1] += 3.0:f32[]
    g:f32[3] = freeze b
  in (g,) }"""
    assert str(jax.make_jaxpr(doubled)(X)) == expected
    swapped = str(jax.make_jaxpr(lambda x: jax.ref.swap(jax.new_ref(x), 0, 1.0))(X))
    assert "c:f32[], b[0] <- b[0], 1.0:f32[]" in swapped


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_values_and_derivatives_are_those_of_the_arrays(wrap):
    np.testing.assert_array_equal([3, 7, 6], wrap(doubled)(X))
    np.testing.assert_array_equal([1, 3, 6], wrap(running)(X))
    out, tangent = jax.jvp(wrap(running), (X,), (X,))
    np.testing.assert_array_equal(out, tangent)
    square = wrap(lambda x: jnp.sum(running(x) ** 2))
    np.testing.assert_array_equal([20, 18, 12], jax.grad(square)(X))
    np.testing.assert_array_equal([20, 18, 12], jax.jit(jax.grad(square))(X))
    rows = np.stack([X, 2 * X])
    np.testing.assert_array_equal([[3, 7, 6], [5, 11, 12]], jax.vmap(wrap(doubled))(rows))
    np.testing.assert_array_equal([[1, 3, 6], [2, 6, 12]], jax.vmap(wrap(running))(rows))
    np.testing.assert_array_equal(2 * np.array([20, 18, 12]), jax.vmap(jax.grad(square))(rows)[1])


def test_second_derivatives_and_checkpoints():
    def cube(x):
        """Return x cubed, kept in a reference."""
        ref = jax.new_ref(x)
        ref[...] = ref[...] * x
        ref[...] = ref[...] * x
        return ref[...]

    np.testing.assert_allclose(12.0, jax.grad(jax.grad(cube))(2.0))
    np.testing.assert_allclose(12.0, jax.grad(jax.checkpoint(cube))(2.0))


def test_a_scan_carries_what_its_body_writes_and_stacks_slices():
    rows = jax.new_ref(jnp.zeros((3, 2)))

    def step(count, row):
        """Add 1 to a row of the reference."""
        row[...] = row[...] + 1.0
        return count + 1, row[0]

    count, firsts = lax.scan(step, 0, rows)
    assert count == 3
    np.testing.assert_array_equal(np.ones(3), firsts)
    np.testing.assert_array_equal(np.ones((3, 2)), rows[...])


def test_branches_and_while_loops_write():
    ref = jax.new_ref(jnp.zeros(3))
    lax.cond(True, lambda: ref.__setitem__(0, 5.0), lambda: None)
    lax.switch(1, [lambda: None, lambda: ref.__setitem__(1, 4.0)])
    lax.while_loop(lambda i: i < 3, lambda i: (ref.__setitem__(i, 2.0), i + 1)[1], 2)
    np.testing.assert_array_equal([5, 4, 2], ref[...])

    def chosen(x):
        """Write one element or the other."""
        own = jax.new_ref(x)
        lax.cond(
            x[0] > 0,
            lambda: own.__setitem__(0, own[1] * 3),
            lambda: own.__setitem__(1, own[0] * 5),
        )
        return own[...]

    rows = np.array([[1, 2], [-3, 1]], np.float32)
    np.testing.assert_array_equal([[6, 2], [-3, -15]], jax.vmap(chosen)(rows))
    np.testing.assert_array_equal([[0, 3], [0, 1]], jax.jit(jax.jacrev(chosen))(rows[0]))


def test_a_compiled_function_changes_what_it_captured_and_what_it_is_given():
    count = jax.new_ref(0)

    @jax.jit
    def call(ref, x):
        """Count the call; add to the reference."""
        count[...] += 1
        ref[...] += x
        return ref[0]

    ref = jax.new_ref(jnp.zeros(2))
    assert [float(call(ref, 2.0)) for _ in range(3)] == [2, 4, 6]
    assert int(count[...]) == 3
    assert call._cache_size() == 1
    np.testing.assert_array_equal([6, 6], ref[...])


def test_a_mapped_reference_is_written_row_by_row():
    def step(ref, x):
        """Write all, and add to one."""
        ref[...] = x
        ref[0] += 1.0

    rows = jax.new_ref(jnp.zeros((3, 2)))
    jax.vmap(step, in_axes=(1, 0))(rows, jnp.ones((2, 3)))
    np.testing.assert_array_equal([[2, 2], [1, 1], [1, 1]], rows[...])
    picked = jax.vmap(lambda ref, i: ref[i], in_axes=(1, 0))(rows, jnp.array([0, 1]))
    np.testing.assert_array_equal([2, 1], picked)


def test_backward_rules_write_into_references():
    @jax.custom_vjp
    def stashed(ref, x):
        """Return x; its cotangent is left in the reference."""
        return x

    def backward(ref, cotangent):
        """Leave the cotangent."""
        ref[...] = cotangent
        return None, cotangent

    stashed.defvjp(lambda ref, x: (x, ref), backward)

    def function(x, ref):
        """Return sin(sin(x))."""
        return jnp.sin(stashed(ref, jnp.sin(x)))

    for gradient in (jax.grad(function), jax.jit(jax.grad(function)), jax.grad(jax.jit(function))):
        ref = jax.new_ref(0.0)
        np.testing.assert_allclose(np.cos(np.sin(1.0)) * np.cos(1.0), gradient(1.0, ref), rtol=1e-6)
        np.testing.assert_allclose(np.cos(np.sin(1.0)), ref[...], rtol=1e-6)


def test_linear_functions_with_references_are_transposed():
    def linear(x):
        """Return (x1, 2 x1, 2 x2)."""
        ref = jax.new_ref(jnp.zeros(3))
        ref.addupdate(x * 2)
        ref[0] = x[1]
        return ref[...]

    (out,) = jax.linear_transpose(linear, X)(jnp.ones(3))
    np.testing.assert_array_equal([0, 3, 2], out)


def test_of_several_values_written_to_one_place_the_last_has_the_derivative():
    def written(x):
        """Write two values to the first place, and read the sum of squares."""
        ref = jax.new_ref(x)
        ref[jnp.array([0, 2, 0])] = x**2 * ref[jnp.array([1, 1, 1])]
        return jnp.sum(ref[...] ** 2)

    # (x1 x2^2)^2 + x1^2 + (x1 x1^2)^2 at (1, 2, 3)
    wanted = [0, 2 * 2 * 81 + 4 + 6 * 32, 4 * 4 * 27]
    np.testing.assert_allclose(wanted, jax.grad(written)(X), rtol=1e-6)
    np.testing.assert_allclose(wanted, jax.jit(jax.grad(written))(X), rtol=1e-6)
    for direction, slope in zip(np.eye(3, dtype=np.float32), wanted, strict=True):
        np.testing.assert_allclose(slope, jax.jvp(written, (X,), (direction,))[1], rtol=1e-6)
    second = jax.jvp(jax.grad(written), (X,), (np.eye(3, dtype=np.float32)[2],))[1]
    np.testing.assert_allclose([0, 4 * 4 * 27, 12 * 4 * 9], second, rtol=1e-6)


def test_what_cannot_be_written_is_refused_in_words():
    ref = jax.new_ref(jnp.zeros(3))
    with pytest.raises(Exception, match="set/swap operation with vmapped value on an unbatched"):
        jax.vmap(lambda x: ref.__setitem__(..., x))(jnp.ones((2, 3)))
    with pytest.raises(Exception, match="an addupdate operation with vmapped value"):
        jax.vmap(lambda x: ref.addupdate(x))(jnp.ones((2, 3)))
    with pytest.raises(Exception, match="differentiated value on a non-differentiated array ref"):
        jax.grad(lambda x: (ref.__setitem__(..., x), x.sum())[1])(X)
    np.testing.assert_array_equal(np.zeros(3), ref[...])
    with pytest.raises(TypeError, match="cannot differentiate with respect to a Ref-typed"):
        jax.grad(lambda r: r[0])(ref)
    with pytest.raises(TypeError, match="cannot differentiate with respect to a Ref"):
        jax.vjp(lambda r: r[0], ref)


def test_references_are_neither_returned_nor_passed_twice():
    ref = jax.new_ref(jnp.zeros(3))
    with pytest.raises(
        ValueError, match=r"(?s)returned a mutable array reference of type Ref\{fl.*argument a"
    ):
        jax.jit(lambda a: a)(ref)
    with pytest.raises(
        ValueError, match=r"The returned mutable array was created on line .*py:\d+"
    ):
        jax.jit(lambda x: jax.new_ref(x))(X)
    with pytest.raises(ValueError, match="traced for scan returned a mutable array reference"):
        lax.scan(lambda c, _: (c, None), ref, None, length=2)
    with pytest.raises(ValueError, match="only one reference .* appeared at both a and b"):
        jax.jit(lambda a, b: a[...] + b[...])(ref, ref)
    with pytest.raises(ValueError, match="both closed over and passed as the argument a"):
        jax.jit(lambda a: a[...] + ref[...])(ref)
    with pytest.raises(ValueError, match="the condition of a while_loop reads one that the body"):
        lax.while_loop(lambda i: ref[0] < 3, lambda i: (ref.addupdate(1.0, 0), i)[1], 0)
    with pytest.raises(NotImplementedError, match="cannot be compiled ahead of time"):
        jax.jit(lambda r: r[0]).lower(ref).compile()


def test_operations_on_arrays_refuse_references():
    with pytest.raises(TypeError, match="sin got a Ref of type .* at position 0, but a Ref can't"):
        jnp.sin(jax.new_ref(1.0))
    with pytest.raises(TypeError, match="add got a Ref of type .* forget to read its value"):
        jax.jit(lambda x: jax.new_ref(x) + 1)(1.0)
    with pytest.raises(TypeError, match="jnp.asarray got a Ref"):
        jnp.asarray(jax.new_ref(1.0))


def test_programs_with_references_of_their_own_are_written_as_text():
    lowered = jax.jit(doubled).lower(X)
    assert "func.func" in lowered.as_text()
    np.testing.assert_array_equal([3, 7, 6], lowered.compile()(X))


def written(x: Any) -> Any:
    """Exchange the ends of the array, and add twice what was first to the last."""
    ref = jax.new_ref(x)
    first = jax.ref.swap(ref, 0, x[-1])
    ref[-1] = first
    ref.addupdate(first + ref[-1], -1)
    return first, jax.freeze(ref)


def written_reference(x: np.ndarray) -> tuple:
    """Do it with NumPy."""
    out = x.copy()
    out[0], out[-1] = x[-1], 3 * x[0]
    return x[0], out


RECORDS = [
    Record(
        "reference",
        written,
        (normal(4),),
        ("float32", "float64", "complex64", "int32"),
        {"empty": "there is no first element"},
        reference=written_reference,
    ),
]
globals().update(laws(RECORDS))
