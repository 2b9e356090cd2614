"""Capsules of DLPack: short floats, what is shared and what is copied, what is refused."""

import ml_dtypes
import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.runtime.capsules import capsule_of, is_exchanged, numpy_of_producer

SHORT = "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2 float8_e8m0fnu"


class Producer:
    """Hands over an array as another library would, by one version of the protocol."""

    def __init__(self, x, version):
        self.x, self.version = x, version

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options | {"max_version": self.version})

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("version", [None, (1, 0)], ids=["old", "new"])
@pytest.mark.parametrize("dtype", SHORT.split())
def test_short_floats_pass(dtype, version):
    x = jnp.array([1.0, 2.0, 8.0]).astype(dtype)
    back = jnp.from_dlpack(Producer(x, version))
    assert jax.typeof(back) == jax.typeof(x)
    assert back.tolist() == [1.0, 2.0, 8.0]


def test_numpy_has_no_name_for_short_floats():
    with pytest.raises((BufferError, RuntimeError), match="Unsupported dtype"):
        np.from_dlpack(jnp.ones(2, jnp.bfloat16))


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4_e2m1fn"])
def test_a_dtype_that_has_no_name_is_refused(dtype):
    assert not is_exchanged(np.dtype(dtype))
    with pytest.raises(BufferError, match=f"no name for elements of {dtype}: convert"):
        jnp.zeros(2, dtype).__dlpack__(max_version=(1, 0))


def test_which_consumers_share_memory():
    value = np.arange(3.0)
    value.flags.writeable = False

    def shares(consumer, **options):
        class Capsule:
            def __dlpack__(self, **unused):
                return capsule_of(value, consumer, options)

            def __dlpack_device__(self):
                return (1, 0)

        return np.shares_memory(np.from_dlpack(Capsule()), value)

    new = {"max_version": (1, 0)}
    assert shares("somewhere", **new)
    assert not shares("somewhere")  # it cannot be told that the memory is read-only
    assert not shares("torch.utils.dlpack", **new)  # it does not listen
    assert shares("torch.utils.dlpack", **new, copy=False)
    assert not shares("somewhere", **new, copy=True)


def test_no_copy_means_the_memory_itself():
    memory = np.zeros(48, np.float32)
    start = -memory.ctypes.data % 64 // 4
    value = memory[start : start + 32]
    x = jnp.from_dlpack(value, copy=False)
    assert x.unsafe_buffer_pointer() == value.ctypes.data
    assert x.is_shared()
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1, donate_argnums=0)(x), np.ones(32))
    assert not value.any()
    for wrong, reason in [
        (memory[start + 1 : start + 33], "not aligned to 64 bytes"),
        (value[::2], "its strides"),
        (value.astype(np.float64), "no dtype float64 while jax_enable_x64 is off"),
    ]:
        with pytest.raises(ValueError, match=f"requires a copy since .*{reason}"):
            jnp.from_dlpack(wrong, copy=False)
        np.testing.assert_array_equal(jnp.from_dlpack(wrong), wrong)


def test_where_an_array_is_to_be():
    device = jax.devices()[0]
    assert jnp.from_dlpack(np.ones(2), device=device).committed
    with pytest.raises(ValueError, match="got 'nothing'"):
        jnp.from_dlpack(np.ones(2), device="nothing")


def test_a_tracer_has_no_memory():
    for take in (np.from_dlpack, jnp.from_dlpack):
        with pytest.raises(jax.errors.ConcretizationTypeError, match=r"__dlpack__\(\) method"):
            jax.jit(take)(jnp.ones(2))


def test_producers_of_plain_numbers_pass_as_they_are():
    value = np.arange(4, dtype=np.int16)
    assert np.shares_memory(numpy_of_producer(value), value)


def test_dtypes_that_every_library_takes():
    supported = jax.dlpack.is_supported_dtype
    assert all(map(supported, ["float32", "complex64", "bool", jnp.bfloat16]))
    assert not any(map(supported, [jnp.float8_e5m2, ml_dtypes.int4, "float8_e4m3fn"]))
