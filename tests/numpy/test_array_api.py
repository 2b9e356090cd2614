"""Tests of what the Python array API asks of a namespace."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp


def test_arrays_and_tracers_name_their_namespace():
    x = jnp.arange(3.0)
    assert x.__array_namespace__() is jnp
    assert x.__array_namespace__(api_version=jnp.__array_api_version__) is jnp
    doubled = jax.jit(lambda x: x.__array_namespace__().add(x, x))(x)
    np.testing.assert_array_equal(doubled, [0.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="api_version='1' is not available"):
        x.__array_namespace__(api_version="1")


@pytest.mark.parametrize("x64", [False, True])
def test_what_the_namespace_can_do(x64):
    with jax.enable_x64(x64):
        info = jnp.__array_namespace_info__()
        width = 64 if x64 else 32
        assert info.default_dtypes()["real floating"] == f"float{width}"
        assert set(info.dtypes(kind="real floating")) == {"float32", f"float{width}"}
        assert set(info.dtypes(kind=("bool", "unsigned integer"))) >= {"bool", "uint8", "uint32"}
        for name, dtype in info.dtypes().items():
            assert jnp.zeros(1, dtype).dtype == name
    assert info.devices()[1:] == tuple(jax.devices())
    assert info.default_device() is None
    with pytest.raises(KeyError):
        info.dtypes(kind="quaternion")
