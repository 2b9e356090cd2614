"""Keys are values like others: indexed, mapped, carried, pickled; and they are used with care."""

import pickle

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax, random

KEY = random.key(42)


def words(keys: object) -> np.ndarray:
    """Return the words of keys."""
    return np.asarray(random.key_data(keys))


def test_a_key_prints_its_words() -> None:
    assert repr(random.key(3)) == "Array((), dtype=key<fry>) overlaying:\n[0 3]"
    assert repr(random.PRNGKey(3)) == "Array([0, 3], dtype=uint32)"
    assert str(KEY.dtype) == "key<fry>"


@pytest.mark.parametrize(
    ("seed", "expected"),
    [(0, (0, 0)), (7, (0, 7)), (-1, (0, 2**32 - 1)), (2**40 + 5, (0, 5)), (True, (0, 1))],
)
def test_words_of_seeds(seed: int, expected: tuple[int, int]) -> None:
    np.testing.assert_array_equal(words(random.key(seed)), expected)


def test_wide_seeds_fill_both_words() -> None:
    with jax.enable_x64(True):
        np.testing.assert_array_equal(words(random.key(2**40 + 5)), (256, 5))


def test_old_and_typed_keys_draw_the_same() -> None:
    np.testing.assert_array_equal(random.normal(KEY, (3,)), random.normal(random.PRNGKey(42), (3,)))
    assert random.split(random.PRNGKey(0)).dtype == np.uint32
    assert random.key_impl(random.PRNGKey(0)) == random.key_impl(KEY) == "threefry2x32"
    np.testing.assert_array_equal(words(random.wrap_key_data(words(KEY))), words(KEY))
    np.testing.assert_array_equal(words(random.clone(KEY)), words(KEY))


def test_splitting_to_a_shape_is_splitting_to_its_size() -> None:
    flat, grid = random.split(KEY, 6), random.split(KEY, (2, 3))
    assert grid.shape == (2, 3)
    np.testing.assert_array_equal(words(grid).reshape(6, 2), words(flat))


def test_folding_in_makes_a_child_for_each_number() -> None:
    children = [words(random.fold_in(KEY, n)) for n in range(20)]
    assert len({tuple(child) for child in children}) == 20
    np.testing.assert_array_equal(children[7], [2547012911, 1371500959])
    traced = jax.jit(random.fold_in)(KEY, 7)
    np.testing.assert_array_equal(words(traced), children[7])


def test_keys_are_indexed_stacked_and_reshaped() -> None:
    keys = random.split(KEY, 4)
    np.testing.assert_array_equal(words(keys[1]), words(keys)[1])
    np.testing.assert_array_equal(words(keys[1:3]), words(keys)[1:3])
    np.testing.assert_array_equal(words(keys.reshape(2, 2))[1, 0], words(keys)[2])
    np.testing.assert_array_equal(words(jnp.stack([KEY, KEY]))[1], words(KEY))
    np.testing.assert_array_equal(words(jnp.concatenate([keys, keys]))[5], words(keys)[1])
    chosen = jnp.where(jnp.array([True, False, True, False]), keys, keys[::-1])
    np.testing.assert_array_equal(words(chosen)[1], words(keys)[2])
    changed = keys.at[0].set(KEY)
    np.testing.assert_array_equal(words(changed)[0], words(KEY))


def test_keys_are_filled_taken_and_masked() -> None:
    keys = random.split(KEY, 4)
    np.testing.assert_array_equal(words(jnp.zeros(3, KEY.dtype)), np.zeros((3, 2)))
    np.testing.assert_array_equal(words(jnp.ones_like(keys)), np.ones((4, 2)))
    np.testing.assert_array_equal(words(jnp.full((2,), KEY)), [words(KEY)] * 2)
    traced = jax.jit(lambda: jnp.zeros(2, KEY.dtype))()
    np.testing.assert_array_equal(words(traced), np.zeros((2, 2)))
    np.testing.assert_array_equal(words(jnp.take(keys, np.array([1, 3]))), words(keys)[[1, 3]])
    np.testing.assert_array_equal(words(jnp.take(keys, 99)), [2**32 - 1] * 2)
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(words(keys[mask]), words(keys)[mask])
    order = words(random.permutation(random.key(1), keys.reshape(2, 2), axis=1))
    np.testing.assert_array_equal(np.sort(order[0, :, 0]), np.sort(words(keys)[:2, 0]))
    np.testing.assert_array_equal(words(lax.pad(keys, KEY, ((1, 0, 0),)))[0], words(KEY))


def test_keys_pass_through_the_device_functions() -> None:
    for function in (jax.device_get, jax.device_put, jax.block_until_ready):
        np.testing.assert_array_equal(words(function(KEY)), words(KEY))


def test_keys_pass_through_control_flow() -> None:
    split = lambda key: random.split(key)[0]  # noqa: E731
    expected = words(split(KEY))
    np.testing.assert_array_equal(words(lax.cond(True, split, lambda key: key, KEY)), expected)
    np.testing.assert_array_equal(words(jax.checkpoint(split)(KEY)), expected)
    looped = lax.fori_loop(0, 3, lambda _, key: split(key), KEY)
    np.testing.assert_array_equal(words(looped), words(split(split(split(KEY)))))
    numbers = lax.map(random.bits, random.split(KEY, 3))
    np.testing.assert_array_equal(numbers, jax.vmap(random.bits)(random.split(KEY, 3)))


def test_a_flag_chooses_the_generator() -> None:
    with jax.default_prng_impl("rbg"):
        assert random.PRNGKey(1).shape == (4,)
        assert random.key(1).dtype == random.key_dtype("rbg")
        assert random.normal(random.PRNGKey(1), (2,)).shape == (2,)


def test_keys_are_mapped_over_and_carried() -> None:
    keys = random.split(KEY, 3)
    rows = jax.vmap(lambda key: random.uniform(key, (2,)))(keys)
    np.testing.assert_array_equal(rows[1], random.uniform(keys[1], (2,)))

    def step(key: object, _: None) -> tuple:
        """Draw, and go on with a child."""
        key, subkey = random.split(key)
        return key, random.normal(subkey)

    last, drawn = jax.lax.scan(step, KEY, None, length=3)
    key = KEY
    for value in drawn:
        key, subkey = random.split(key)
        np.testing.assert_array_equal(value, random.normal(subkey))
    np.testing.assert_array_equal(words(last), words(key))


def test_keys_are_compared_and_pickled() -> None:
    keys = random.split(KEY, 3)
    assert jnp.isclose(keys, keys[1]).tolist() == [False, True, False]
    assert jnp.allclose(keys, keys) and not jnp.allclose(keys, keys[::-1])
    assert keys[1] in keys and KEY not in keys
    assert bool(random.key(1) == random.key(1))
    assert not bool(random.key(1) == random.key(2))
    np.testing.assert_array_equal(words(pickle.loads(pickle.dumps(KEY))), words(KEY))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: random.normal(random.split(KEY)), ValueError, "Use jax.vmap for batching"),
        (lambda: random.normal(np.arange(3)), TypeError, "invalid PRNG key data"),
        (lambda: random.normal(1.0), TypeError, "invalid PRNG key data"),
        (lambda: random.normal((3,)), TypeError, "tuple'>, (3,). Keys are made by jax"),
        (lambda: random.normal(None), TypeError, "unexpected PRNG key type"),
        (lambda: random.key(1.5), TypeError, "PRNG key seed must be an integer"),
        (lambda: random.key([1, 2]), TypeError, "accepts a scalar seed"),
        (lambda: random.key(KEY), TypeError, "was given a PRNG key"),
        (lambda: random.key(0, impl="foo"), ValueError, "unrecognized PRNG implementation"),
        (lambda: random.key(0, impl=3), TypeError, "unrecognized type <class 'int'>"),
        (lambda: random.key(2**63), OverflowError, "Python int too large to convert to C long"),
        (lambda: random.key(np.True_), TypeError, "PRNG key seed must be an integer"),
        (lambda: random.key(0, impl="rbg", dtype=KEY.dtype), ValueError, "Cannot specify both"),
        (lambda: KEY + 1, TypeError, "add does not accept dtypes key<fry>, int32."),
        (lambda: 1 + KEY, TypeError, "add does not accept dtypes int32, key<fry>."),
        (lambda: KEY == 1, TypeError, "equal does not accept dtypes key<fry>, int32."),
        (lambda: KEY.astype("float32"), ValueError, "from key<fry> to float32"),
        (lambda: jnp.array(KEY, "uint32"), ValueError, "from key<fry> to uint32"),
        (lambda: jnp.sort(random.split(KEY)), TypeError, "does not accept dtype key<fry>"),
        (lambda: random.split(KEY).at[0].set(1), TypeError, "wrap_key_data makes keys of words"),
        (lambda: random.fold_in(KEY, KEY), ValueError, "from key<fry> to uint32"),
        (lambda: bool(KEY), TypeError, "cannot be converted"),
        (lambda: int(KEY), TypeError, "key_data"),
        (lambda: f"{KEY:>9}", TypeError, "unsupported format string for an array of key<fry>"),
        (lambda: jnp.searchsorted(random.split(KEY), KEY), TypeError, "le_to does not accept"),
        (lambda: lax.top_k(random.split(KEY), 1), TypeError, "top_k does not accept dtype key"),
        (lambda: random.split(KEY) in random.split(KEY), ValueError, "must be a scalar"),
        (lambda: random.key_impl(np.zeros(3)), TypeError, "shape to end with (2,)"),
        (lambda: random.fold_in(KEY, -1), OverflowError, "out of bounds for uint32"),
        (lambda: random.fold_in(KEY, np.arange(3)), TypeError, "fold_in accepts a scalar"),
        (lambda: random.split(KEY, -1), ValueError, "non-negative number of keys"),
        (lambda: random.bits(KEY, (2,), "int32"), ValueError, "must be an unsigned int dtype"),
        (lambda: random.randint(KEY, (3,), 0, 10, float), TypeError, "only accepts integer"),
        (lambda: random.uniform(KEY, (3,), int), ValueError, "must be a float dtype"),
        (lambda: random.normal(KEY, (3, -1)), ValueError, "non-negative"),
        (lambda: random.choice(KEY, 0), ValueError, "a must be greater than 0"),
        (lambda: random.choice(KEY, 3, (4,), replace=False), ValueError, "larger sample"),
        (lambda: random.choice(KEY, 5, 3), TypeError, "must be a sequence, got 3"),
        (lambda: random.normal(KEY, np.ones(2)), TypeError, "of integer type, got [1. 1.]"),
        (lambda: random.normal(KEY, "ab"), TypeError, "of integer type, got ab"),
        (lambda: random.uniform(KEY, (3,), jnp.float4_e2m1fn), TypeError, "64-bit dtypes, got f"),
        (lambda: random.uniform(KEY, (3,), minval=np.zeros((2, 1))), TypeError, "got (2, 1) and"),
        (lambda: random.gamma(KEY, np.ones(3), (2,)), ValueError, "Incompatible shapes"),
        (lambda: random.gamma(KEY, 1.0, method="foo"), ValueError, "must be one of"),
        (lambda: random.permutation(KEY, 2.0), TypeError, "at least 1-dimensional"),
        (lambda: KEY < KEY, TypeError, "lt does not accept dtype key<fry>"),
    ],
)
def test_misuse_is_refused(call: object, kind: type, text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("kind", [np.array, jnp.array], ids=["numpy", "array"])
@pytest.mark.parametrize("draw", [random.normal, random.bits, random.uniform, random.rademacher])
def test_a_vector_of_integers_is_a_shape(draw: object, kind: object) -> None:
    np.testing.assert_array_equal(draw(KEY, kind([2, 3])), draw(KEY, (2, 3)))


@pytest.mark.parametrize("function", [jnp.argmax, jnp.argmin, lax.reduce_max, lax.reduce_min])
def test_keys_have_no_largest(function):
    axes = ((0,),) if "reduce" in function.__name__ else ()
    with pytest.raises(ValueError, match=r"Unsupported dtype for m(ax|in): key<fry>"):
        function(jax.random.split(jax.random.key(0), 3), *axes)


NUMERIC = (
    "sum prod mean max min ptp cumsum cumprod nanmax nancumsum ceil floor trunc round logical_not "
    "iscomplex count_nonzero exp abs negative"
).split()


@pytest.mark.parametrize("name", NUMERIC)
def test_keys_are_not_numbers(name: str) -> None:
    """As in JAX, a TypeError, and one that names the dtype; under jit too."""
    keys = random.split(KEY, 3)
    for call in (getattr(jnp, name), jax.jit(getattr(jnp, name))):
        with pytest.raises(TypeError, match=r"key<fry>"):
            call(keys)


def test_a_function_is_not_applied_to_keys_in_place():
    with pytest.raises(TypeError, match=r"can be set: x\.at\[i\]\.set\(f\(x\[i\]\)\)"):
        jax.random.split(jax.random.key(0), 3).at[0].apply(lambda x: x)


def test_bounds_of_integers_may_have_fewer_axes_than_the_result() -> None:
    low, high = np.arange(4), np.arange(4) + np.array([1, 3, 100, 1000])
    found = np.asarray(random.randint(random.key(3), (500, 4), low, high))
    assert (low <= found).all()
    assert (found < high).all()
    assert np.ptp(found[:, 1]) == 2
    assert random.randint(random.key(3), (4, 8, 0), np.ones(0), np.ones(0)).shape == (4, 8, 0)
