"""Tests of arrays from numbers, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp


def same(found, expected):
    """Assert equal elements and shape."""
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert found.shape == expected.shape


@pytest.mark.parametrize("shape", [(), 3, (2, 3), [2], (0, 4)])
def test_constants(shape):
    for name, value in (("zeros", 0), ("ones", 1), ("empty", 0)):
        made = getattr(jnp, name)(shape, "int16")
        assert made.dtype == np.int16 and made.shape == np.zeros(shape).shape
        assert (np.asarray(made) == value).all()
    same(jnp.full(shape, 2.5), np.full(shape, 2.5, np.float32))
    same(jax.jit(lambda: jnp.full(shape, 2.5))(), np.full(shape, 2.5, np.float32))


class Extents:
    """A shape of a library's own class."""

    def __init__(self, *sizes):
        self.sizes = sizes

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, place):
        return self.sizes[place]


@pytest.mark.parametrize("sizes", [(), (1,)])
@pytest.mark.parametrize(
    "make",
    [
        jnp.zeros,
        lambda shape: jnp.full(shape, 2.0),
        lambda shape: jnp.broadcast_to(1.0, shape),
        lambda shape: jnp.reshape(1.0, shape),
        lambda shape: jnp.ones(()).reshape(shape),
        lambda shape: jnp.tile(1.0, shape),
        lambda shape: jnp.resize(1.0, shape),
    ],
)
def test_a_shape_may_be_of_any_class_with_places(make, sizes):
    assert make(Extents(*sizes)).shape == sizes


def test_a_mapping_is_no_shape():
    with pytest.raises(TypeError, match="1D sequences"):
        jnp.zeros({0: 1})


def test_a_range_with_a_step_but_no_end_counts_to_its_first_number():
    same(jnp.arange(5, None, 2), np.arange(5, None, 2))
    with pytest.raises(TypeError):
        jnp.arange(None, None, 2)


def test_full_of_an_array_broadcasts():
    same(jnp.full((2, 3), jnp.arange(3)), np.full((2, 3), np.arange(3)))


def test_likes():
    x = jnp.arange(6).reshape(2, 3)
    same(jnp.zeros_like(x), np.zeros((2, 3)))
    same(jnp.ones_like(x, shape=4), np.ones(4))
    assert jnp.full_like(x, 2.5).dtype == np.int32
    assert jnp.full_like(x, 2.5, dtype=float).dtype == np.float32
    assert jnp.zeros_like(1.0).weak_type
    assert jnp.ones_like(jax.ShapeDtypeStruct((2,), "bfloat16")).dtype == jnp.bfloat16


RANGES = [
    (5,), (2, 9), (0, 10, 3), (5, 1, -2), (0.0, 1.0, 0.3), (3.0,), (2, 2), (10, 0), (1.5, 4),
]  # fmt: skip


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_ranges(bounds):
    expected = np.arange(*bounds)
    for made in (jnp.arange(*bounds), jax.jit(lambda: jnp.arange(*bounds))()):
        same(made, expected)
        assert made.dtype == (np.int32 if expected.dtype.kind == "i" else np.float32)
    assert jnp.arange(*bounds, dtype="float16").dtype == np.float16


@pytest.mark.parametrize("dtype", ["int32", "int8", "float32"])
@pytest.mark.parametrize("n", [5, 70_000])
def test_a_range_begins_anywhere_modulo_the_width(n, dtype):
    for first, gap in ((2**31, -2), (2**33 + 1, 3), (-(2**31) - 1, 1), (2, -(2**31))):
        bounds = (first, first + n * gap, gap)
        with np.errstate(over="ignore"):
            numbers = np.array([gap, first]).astype(dtype)
            expected = np.arange(n).astype(dtype) * numbers[0] + numbers[1]
        same(jnp.arange(*bounds, dtype=dtype), expected)
        same(jax.jit(lambda bounds=bounds: jnp.arange(*bounds, dtype=dtype))(), expected)


def test_a_range_needs_concrete_numbers():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="jnp.arange argument 'stop'"):
        jax.jit(jnp.arange)(3)
    with pytest.raises(ValueError, match="arguments must be scalars; got stop="):
        jnp.arange(jnp.arange(3))
    with pytest.raises(ValueError, match="complex start/stop/step"):
        jnp.arange(1j)


@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("endpoint", [True, False])
def test_equal_steps(num, endpoint):
    same(jnp.linspace(-1, 2, num, endpoint), np.linspace(-1, 2, num, endpoint))
    start, stop = np.arange(3.0), np.array([[1.0], [5.0]])
    for axis in (0, -1, 1):
        expected = np.linspace(start, stop, num, endpoint, axis=axis)
        same(jnp.linspace(start, stop, num, endpoint, axis=axis), expected)


def test_linspace_meets_its_ends_exactly():
    made = jnp.linspace(0.1, 0.7, 7)
    assert made[0] == np.float32(0.1) and made[-1] == np.float32(0.7)
    values, step = jnp.linspace(0, 1, 5, retstep=True)
    assert step == 0.25 and values.shape == (5,)
    same(jnp.linspace(0, 1, 5, dtype=int), np.linspace(0, 1, 5, dtype=int))
    with pytest.raises(ValueError, match="Number of samples, -1, must be non-negative"):
        jnp.linspace(0, 1, -1)


def test_equal_ratios():
    same(jnp.logspace(0, 2, 5), np.logspace(0, 2, 5).astype(np.float32))
    same(jnp.logspace(0, 2, 3, base=2), np.logspace(0, 2, 3, base=2))
    np.testing.assert_allclose(jnp.geomspace(1, 8, 4), [1, 2, 4, 8], rtol=1e-5)
    np.testing.assert_allclose(jnp.geomspace(-1, -8, 4), [-1, -2, -4, -8], rtol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.array(2.0),
        lambda: jnp.asarray(np.arange(3)),
        lambda: jnp.zeros(()),
        lambda: jnp.full((), 2),
        lambda: jnp.ones_like(1.0),
        lambda: jnp.float32(1),
        lambda: jax.lax.convert_element_type(1, "float32"),
        lambda: jax.lax.broadcast(1.0, ()),
        lambda: jax.device_put(1.0),
    ],
)
def test_arrays_made_while_a_program_is_written_are_traced(make):
    kinds = []
    jax.jit(lambda x: kinds.append(make()) or x)(1.0)
    assert isinstance(kinds[0], jax.core.Tracer)
    assert isinstance(make(), jax.Array) and not isinstance(make(), jax.core.Tracer)
    assert jax.jit(make)().tolist() == make().tolist()


def test_values_of_traced_constants_are_unknown():
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda: float(jnp.array(2.0)))()
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(lambda: np.asarray(jnp.array([1, 2])))()
    assert jax.grad(lambda x: x * float(jnp.array(2.0)))(1.0) == 2


def test_constants_of_programs():
    captured = jnp.array(2.0)
    assert str(jax.make_jaxpr(lambda x: captured * x)(1.0)) == (
        "{ lambda a:f32[]; b:f32[]. let c:f32[] = mul a b in (c,) }"
    )
    assert str(jax.make_jaxpr(lambda x: jnp.array(2) * x)(1.0)) == (
        "{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }"
    )
    assert not jax.make_jaxpr(lambda x: (jnp.array([1, 2]), x)[1])(1.0).consts


def test_conversions():
    x = jnp.array([1.7, -1.7, 0.0])
    same(jnp.astype(x, int), np.array([1, -1, 0]))
    same(jnp.astype(x, bool), np.array([True, True, False]))
    same(jnp.astype(jnp.array([0j, 1j]), bool), np.array([False, True]))
    assert jnp.copy(x) is not x


def test_data_from_outside(tmp_path):
    same(jnp.frombuffer(b"abcd", "int8", 2, 1), np.frombuffer(b"abcd", "int8", 2, 1))
    same(jnp.from_dlpack(np.arange(3)), np.arange(3))
    with pytest.raises(TypeError, match="must have __dlpack__ and __dlpack_device__ methods"):
        jnp.from_dlpack([1, 2])
    jnp.save(tmp_path / "x.npy", jnp.arange(3))
    same(jnp.load(tmp_path / "x.npy"), np.arange(3))
    for name in ("fromfile", "fromiter"):
        with pytest.raises(NotImplementedError, match="may be non-pure"):
            getattr(jnp, name)("x")


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (-1, "must have every element be nonnegative"),
        (2.5, "Shapes must be 1D sequences of concrete values of integer type"),
        ((2, "a"), "Shapes must be 1D sequences of concrete values of integer type"),
    ],
    ids=str,
)
def test_faulty_shapes(shape, text):
    with pytest.raises(TypeError, match=text):
        jnp.zeros(shape)


@pytest.mark.parametrize("kind", [np.array, jnp.array], ids=["numpy", "array"])
def test_arrays_of_integers_are_shapes(kind):
    assert jnp.zeros(kind(3)).shape == (3,)
    assert jnp.ones(kind([2, 3])).shape == (2, 3)


def test_a_traced_shape_is_refused():
    with pytest.raises(TypeError, match="concrete values of integer type"):
        jax.jit(jnp.zeros)(3)


@pytest.mark.parametrize("args", [(70_000,), (0.5, 70_000), (3, 200_000, 2), (70_000, 0, -1)])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_long_ranges_are_those_of_numpy(args, dtype):
    np.testing.assert_array_equal(jnp.arange(*args, dtype=dtype), np.arange(*args).astype(dtype))


@pytest.mark.parametrize("shape", [(), (4,)])
def test_full_refuses_an_array_with_more_axes(shape):
    with pytest.raises(ValueError, match="Cannot broadcast to shape with fewer dimensions"):
        jnp.full(shape, jnp.ones((3, 4)))
