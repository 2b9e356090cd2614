"""`checkpoint` as users call it, and the report of what is saved."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapeless as jax
from tapeless import checkpoint_policies as policies
from tapeless import lax, nn
from tapeless import numpy as jnp
from tapeless.ad_checkpoint import checkpoint_name, print_saved_residuals

W = np.eye(3, dtype=np.float32)
X = np.ones(3, np.float32)
ROWS = np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "name"),
    [
        (lambda x: x if x > 0 else -x, (1.0,), {}, "x"),
        (lambda x, tree: x if tree["a"][1] else -x, (1.0, {"a": (1, 2.0)}), {}, "tree['a'][1]"),
        (lambda *x: x[0] if x[1] > 0 else -x[0], (1.0, 2.0), {}, "x[1]"),
        (lambda x, *, k: x if k > 0 else -x, (1.0,), {"k": 2.0}, "k"),
        (lambda n, x: x if x > n else -x, (1, 2.0), {}, "x"),
    ],
    ids=["argument", "tree", "variadic", "keyword", "static"],
)
def test_python_branches_name_the_argument_and_the_remedy(function, args, kwargs, name):
    static = 0 if function.__code__.co_varnames[0] == "n" else ()
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jax.checkpoint(function, static_argnums=static)(*args, **kwargs)
    text = str(caught.value)
    assert f"depends on the value of the argument {name}." in text
    assert "Consider using the `static_argnums` parameter for `jax.remat`" in text
    assert text.count("See help") == 1


def test_static_arguments_stay_python_values():
    f = jax.checkpoint(lambda x, n: x if n > 2 else x * n, static_argnums=(1,))
    assert jax.grad(f)(3.0, 2) == 2.0
    named = jax.checkpoint(lambda x, n: x * (n + 1 if n else 1), static_argnames="n")
    assert jax.grad(named)(3.0, n=2) == 3.0


def test_trees_and_keywords_go_through():
    f = jax.checkpoint(lambda d, *, y: {"out": d["x"] * y})
    assert jax.grad(lambda x: f({"x": x}, y=3.0)["out"])(2.0) == 3.0


def test_a_name_is_the_identity():
    tree = {"a": 1.0, "b": X}
    named = checkpoint_name(tree, "tag")
    assert named["a"] == 1.0
    np.testing.assert_array_equal(X, named["b"])
    assert jax.grad(lambda x: checkpoint_name(x, "tag") ** 2)(3.0) == 6.0


def report(capsys, f, *args):
    """Return the lines of the report, without places in files."""
    print_saved_residuals(f, *args)
    return [line.split(" from /")[0] for line in capsys.readouterr().out.splitlines()]


def layer(w, x):
    """Return a scalar by way of a product and a named value."""
    return jnp.sum(jnp.sin(checkpoint_name(jnp.tanh(w @ x), "hidden")))


def test_the_report_names_arguments_operations_and_tags(capsys):
    inputs = ["f32[3,3] from the argument w", "f32[3] from the argument x"]
    assert report(capsys, jax.checkpoint(layer), W, X) == inputs
    dots = jax.checkpoint(layer, policy=policies.dots_saveable)
    assert report(capsys, dots, W, X) == [*inputs, "f32[3] output of dot_general"]
    named = jax.checkpoint(layer, policy=policies.save_only_these_names("hidden"))
    assert report(capsys, named, W, X) == [*inputs, "f32[3] named 'hidden'"]


def mlp(w, x):
    """Two layers."""
    return jnp.sum(jnp.tanh(w @ jnp.tanh(w @ x)))


def recurrent(w, x):
    """A scan with a product in it."""
    return jnp.sum(lax.scan(lambda h, a: (jnp.tanh(w @ h + a), h), x, ROWS)[0])


def invariant(w, x):
    """A scan with an invariant factor."""
    return jnp.sum(lax.scan(lambda h, a: (h * jnp.sin(x) + a, None), x, ROWS)[0])


def linear(w, x):
    """A scan that is linear in its carry."""
    return jnp.sum(lax.scan(lambda h, a: (w @ h + a, None), x, ROWS)[0])


def branch(w, x):
    """A branch."""
    return lax.cond(x[0] > 0, lambda x: jnp.sum(jnp.sin(x)), lambda x: jnp.sum(x * x), x)


def softmax(w, x):
    """A softmax."""
    return jnp.sum(nn.softmax(w @ x) * x)


def update(w, x):
    """An update of one element."""
    return jnp.sum(x.at[0].set(2.0) * jnp.sin(x))


def compiled(w, x):
    """Two compiled functions."""
    return jnp.sum(jax.jit(mlp)(w, x) + jax.jit(jnp.sin)(x))


def counted(w, x):
    """A loop between known bounds."""
    return jnp.sum(lax.fori_loop(0, 5, lambda i, h: jnp.sin(h) * x, x))


def entropy(w, x):
    """A cross-entropy."""
    logits = nn.log_softmax(ROWS @ w)
    return -jnp.mean(logits[np.arange(4), np.array([0, 1, 2, 0])])


# As many as jax 0.12.0.1 reports.
COUNTS = {
    mlp: 5, recurrent: 3, invariant: 3, linear: 2, branch: 3, softmax: 6, update: 5, compiled: 6,
    counted: 3, entropy: 4,
}  # fmt: skip


@pytest.mark.parametrize("function", COUNTS, ids=lambda f: f.__name__)
def test_no_more_is_saved_than_by_jax(capsys, function):
    assert len(report(capsys, function, jnp.asarray(W), jnp.asarray(X))) <= COUNTS[function]


@pytest.mark.parametrize("numbers", [(5,), -5, 2])
def test_static_arguments_that_are_not_there_are_refused(numbers):
    f = jax.checkpoint(lambda x, y: x, static_argnums=numbers)
    with pytest.raises(ValueError, match=r"greater than or equal to `-len\(args\)`.* = 2"):
        f(1.0, 2)


def test_a_policy_answers_with_a_bool():
    f = jax.checkpoint(jnp.sin, policy=lambda *args, **params: 3)
    with pytest.raises(TypeError, match=r"should be a bool .* Got 3 of type <class 'int'>"):
        jax.grad(f)(1.0)


def test_saved_residuals_of_a_checkpoint_come_from_lines_of_its_function(capsys):
    policy = jax.checkpoint_policies.everything_saveable

    @functools.partial(jax.checkpoint, policy=policy)
    def f(x):
        return jax.numpy.sin(jax.numpy.sin(x))

    line = f.__wrapped__.__code__.co_firstlineno + 2  # behind the decorator
    print_saved_residuals(f, 1.0)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 and all(f".py:{line}:" in text for text in printed)


def test_static_numbers_are_ints_or_a_tuple_of_them() -> None:
    for numbers in ([0], np.array([0]), True, (1.0,), None, "0"):
        with pytest.raises(TypeError, match="must be an int or a tuple of ints, but got"):
            jax.checkpoint(lambda x, y: y, static_argnums=numbers)
