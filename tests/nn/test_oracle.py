"""nn and ops print, compute and differentiate as in JAX."""

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless

pytestmark = pytest.mark.oracle

X = np.linspace(-3, 3, 6, dtype="f4").reshape(2, 3)
IDS = np.array([0, 1])
NAMES = (
    "relu relu6 sigmoid softplus silu gelu elu leaky_relu log_sigmoid soft_sign hard_tanh "
    "hard_sigmoid hard_silu selu celu squareplus mish log_softmax softmax standardize logsumexp "
    "sparse_plus sparse_sigmoid log1mexp identity"
).split()
CALLS = {
    **{name: (lambda s, x, n=name: getattr(s.nn, n)(x)) for name in NAMES},
    "softmax-where": lambda s, x: s.nn.softmax(x, where=x > 0),
    "log_softmax-where": lambda s, x: s.nn.log_softmax(x, where=x > 0),
    "logsumexp-where": lambda s, x: s.nn.logsumexp(x, where=x > 0),
    "gelu-exact": lambda s, x: s.nn.gelu(x, approximate=False),
    "one_hot": lambda s, x: s.nn.one_hot(np.arange(3), 5) + x[0, 0],
    "segment_sum": lambda s, x: s.ops.segment_sum(x, IDS, 3),
    "segment_max": lambda s, x: s.ops.segment_max(x, IDS, 3),
}


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    module = importlib.import_module("jax")
    importlib.import_module("jax.ops")
    module.config.update("jax_pprint_use_color", False)
    return module


@pytest.mark.parametrize("name", CALLS)
def test_programs_print_alike(jax: ModuleType, name: str) -> None:
    """The same equations in the same order."""
    texts = [str(s.make_jaxpr(lambda x, s=s: CALLS[name](s, x))(X)) for s in (tapeless, jax)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_alike(jax: ModuleType, name: str) -> None:
    """Within rounding."""

    def value_and_gradient(system: ModuleType) -> tuple[Any, Any]:
        """Differentiate the sum of squares; of what is finite."""

        def loss(x: Any) -> Any:
            """Weigh the results."""
            y = CALLS[name](system, x)
            return (system.numpy.where(abs(y) < 1e6, y, 0) ** 2).sum()

        return CALLS[name](system, X), system.grad(loss)(X)

    for got, want in zip(value_and_gradient(tapeless), value_and_gradient(jax), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


DTYPES = "bool int8 uint8 int32 uint32 float16 bfloat16 float32 complex64".split()


def kind_of_result(system: ModuleType, name: str, x: Any) -> tuple[Any, ...]:
    """Return dtype, weakness and shape of a result, or the class of the error."""
    call = CALLS.get(name) or (lambda s, x: getattr(s.nn, name)(x))
    try:
        result = call(system, system.numpy.asarray(x))
    except (TypeError, ValueError) as error:
        return (type(error).__name__,)
    return (str(result.dtype), result.weak_type, result.shape)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # by JAX, of -inf
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*NAMES, "gelu-exact", "softmax-where", "glu", "hard_swish"])
def test_every_dtype_gives_the_dtype_or_error_of_jax(
    jax: ModuleType, name: str, dtype: str
) -> None:
    """Integers, booleans, halves and complex numbers, in an even number of columns."""
    x = np.array([[0, 1, 3, 2], [1, 0, 5, 4]]).astype(tapeless.numpy.dtype(dtype))
    assert kind_of_result(tapeless, name, x) == kind_of_result(jax, name, x)


@pytest.mark.parametrize("number", [1, 1.5, 0.5j], ids=str)
@pytest.mark.parametrize("name", [name for name in [*NAMES, "tanh"] if name != "standardize"])
def test_numbers_of_python_give_the_weak_types_of_jax(
    jax: ModuleType, name: str, number: complex
) -> None:
    """Of numbers without a dtype, most results are weak."""
    assert kind_of_result(tapeless, name, number) == kind_of_result(jax, name, number)


@pytest.mark.parametrize("rank", range(6))
def test_attention_takes_the_ranks_of_jax(jax: ModuleType, rank: int) -> None:
    """Axes that lack are of length 1, and lack in the result too."""
    x = np.ones((1, 1, 2, 2, 3)[5 - rank :], "f4")
    shapes = []
    for system in (tapeless, jax):
        try:
            parts = system.nn.dot_product_attention(x, x, x, return_residual=True)
            shapes.append([part.shape for part in parts])
        except ValueError:
            shapes.append("ValueError")
    assert shapes[0] == shapes[1]
