"""Tensors of PyTorch, where it is installed (`make test-torch`): DLPack both ways, and `__array__`.

PyTorch makes tensors that can be written to from memory that is said to be read-only.
"""

import gc

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

torch = pytest.importorskip("torch")

COMMON = (
    "float16 float32 bfloat16 int8 int16 int32 uint8 uint16 uint32 bool complex64 "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
).split()
WIDE = "float64 int64 uint64 complex128".split()


def sample(dtype: str) -> jax.Array:
    """Return six elements in two rows."""
    return jnp.arange(6).reshape(2, 3).astype(dtype)


def check_round_trip(dtype: str) -> None:
    """Check types, shapes and elements of a tensor of an array, and of the array of that tensor."""
    x = sample(dtype)
    tensor = torch.from_dlpack(x)
    assert (tensor.dtype, tuple(tensor.shape)) == (getattr(torch, dtype), x.shape)
    assert tensor.tolist() == x.tolist()
    back = jnp.from_dlpack(tensor)
    assert jax.typeof(back) == jax.typeof(x)
    np.testing.assert_array_equal(np.asarray(back), np.asarray(x))


@pytest.mark.parametrize("dtype", COMMON)
def test_arrays_become_tensors_and_tensors_arrays(dtype):
    check_round_trip(dtype)


@pytest.mark.parametrize("dtype", WIDE)
def test_wide_dtypes_pass_while_64_bits_are_on_and_are_narrowed_while_they_are_off(dtype):
    with jax.enable_x64(True):
        check_round_trip(dtype)
        tensor = torch.from_dlpack(sample(dtype))
    narrow = jnp.from_dlpack(tensor)
    assert narrow.dtype.itemsize * 2 == np.dtype(dtype).itemsize
    with pytest.raises(ValueError, match=f"no dtype {dtype} while jax_enable_x64 is off"):
        jnp.from_dlpack(tensor, copy=False)


def test_a_dtype_without_a_name_in_dlpack_is_refused():
    with pytest.raises(BufferError, match="no name for elements of int4: convert"):
        torch.from_dlpack(jnp.ones(2, jnp.int4))


@pytest.mark.parametrize("n", [3, 1000, 300_000])
@pytest.mark.parametrize("take", [torch.from_dlpack, torch.asarray, torch.as_tensor, torch.tensor])
def test_writing_to_a_tensor_leaves_the_array_as_it_is(take, n):
    x = jnp.arange(float(n))
    take(x).add_(100)
    np.testing.assert_array_equal(x, np.arange(n, dtype=np.float32))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memory_is_shared_with_a_tensor_that_asks_for_no_copy(dtype):
    x = jnp.arange(1000).astype(dtype)
    tensor = torch.from_dlpack(x, copy=False)
    assert tensor.data_ptr() == x.unsafe_buffer_pointer()
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.unsafe_buffer_pointer()
    doubled = jax.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert tensor[3].item() == 3.0 and doubled[3] == 6.0
    del x
    gc.collect()
    others = [jnp.zeros(1000, dtype) for _ in range(20)]
    assert tensor[999].item() == jnp.asarray(999, dtype) and len(others) == 20


def test_memory_is_shared_with_an_array_that_asks_for_no_copy():
    tensor = torch.arange(1000.0)
    x = jnp.from_dlpack(tensor, copy=False)
    assert x.unsafe_buffer_pointer() == tensor.data_ptr()
    doubled = jax.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert doubled[3] == 6.0 and tensor[3].item() == 3.0
    y = jnp.from_dlpack(tensor.to(torch.bfloat16), copy=False)
    del tensor
    gc.collect()
    others = [torch.zeros(1000, dtype=torch.bfloat16) for _ in range(20)]
    assert y.dtype == jnp.bfloat16 and y[255] == 255 and len(others) == 20


def test_an_array_is_a_copy_of_a_tensor_by_default():
    tensor = torch.zeros(300)
    arrays = [jnp.from_dlpack(tensor), jnp.from_dlpack(tensor, copy=True), jnp.asarray(tensor)]
    tensor.add_(5)
    assert all(x[0] == 0 for x in arrays)


def test_strides_and_empty_tensors():
    tensor = torch.arange(12.0).reshape(3, 4)
    for part in (tensor[:, ::2], tensor.T, tensor[:1].expand(3, 4), tensor[:0], tensor.sum()):
        np.testing.assert_array_equal(jnp.from_dlpack(part), part.numpy())
        np.testing.assert_array_equal(jnp.asarray(part), part.numpy())
    with pytest.raises(ValueError, match="requires a copy since its strides"):
        jnp.from_dlpack(tensor.T, copy=False)
    x = jnp.arange(6.0).reshape(2, 3)
    assert torch.from_dlpack(x.T).tolist() == x.T.tolist()
    assert torch.from_dlpack(jnp.zeros((0, 3))).shape == (0, 3)
    assert torch.from_dlpack(jnp.float32(3)).item() == 3.0


def test_tensors_that_cannot_be_handed_over_say_why():
    needs_gradient = torch.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match="require gradient, use tensor.detach"):
        jnp.from_dlpack(needs_gradient)
    np.testing.assert_array_equal(jnp.from_dlpack(needs_gradient.detach()), [1, 1])
    with pytest.raises(BufferError, match="conjugate bit"):
        jnp.from_dlpack(torch.tensor([1 + 2j]).conj())


def test_tensors_are_no_arguments_of_compiled_functions():
    with pytest.raises(TypeError, match="torch.Tensor"):
        jax.jit(lambda x: x + 1)(torch.ones(2))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="__dlpack__"):
        jax.jit(torch.from_dlpack)(jnp.ones(2))


def test_a_gradient_of_pytorch_in_a_program():
    weights = torch.linspace(0.5, 1.5, 4)

    @jax.custom_vjp
    def score(x):
        return forward(x)[0]

    def forward(x):
        def compute(x):
            leaf = torch.from_dlpack(x).requires_grad_()
            value = (weights * torch.sin(leaf)).sum()
            (gradient,) = torch.autograd.grad(value, leaf)
            return jnp.from_dlpack(value.detach()), jnp.from_dlpack(gradient)

        kinds = (jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype))
        return jax.pure_callback(compute, kinds, x)

    score.defvjp(forward, lambda gradient, ct: (ct * gradient,))
    x = jnp.linspace(0.0, 2.0, 4)
    value, gradient = jax.jit(jax.value_and_grad(score))(x)
    np.testing.assert_allclose(value, weights.numpy() @ np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(gradient, weights.numpy() * np.cos(x), rtol=1e-6)
