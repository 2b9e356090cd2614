"""Neural networks as pairs of functions.

A layer is a pair:

    init_fun(rng, input_shape) -> (output_shape, params);   apply_fun(params, inputs, rng=None)

Layers are joined by `serial` and `parallel`.  A batch axis is part of the shapes; it may be -1
where a layer does not look at it.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import lax, nn, random
from tapeless import numpy as jnp
from tapeless.api.tracing import eval_shape
from tapeless.core.aval import ShapeDtypeStruct
from tapeless.nn.initializers import glorot_normal, normal, ones, zeros

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "parallel",
    "serial",
    "shape_dependent",
]

Shape = Sequence[int]
Layer = tuple[Callable, Callable]


def _shape_after(apply: Callable, *shapes: Shape) -> tuple[int, ...]:
    """Return the shape that a function makes; an unknown first extent (-1) stays unknown."""
    known = [tuple(1 if n == -1 else n for n in shape) for shape in shapes]
    out = eval_shape(apply, *(ShapeDtypeStruct(shape, np.float32) for shape in known)).shape
    return (-1, *out[1:]) if shapes[0] and shapes[0][0] == -1 else out


def Dense(out_dim: int, W_init: Any = glorot_normal(), b_init: Any = normal()) -> Layer:  # noqa: N802, N803, B008
    """Return the layer inputs W + b: (..., n) -> (..., out_dim)."""

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Draw weights and biases."""
        key_w, key_b = random.split(rng)
        weights = W_init(key_w, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(key_b, (out_dim,)))

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Multiply and add."""
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init_fun, apply_fun


def _convolution(
    convolve: Callable,
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Shape,
    W_init: Any,  # noqa: N803
    b_init: Any,
) -> Layer:
    """Return a layer around a function of inputs and a kernel."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    make_kernel = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Draw kernel and biases."""
        extents = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = [channels[c] if c in channels else next(extents) for c in rhs_spec]
        bias_shape = [out_chan if c == "C" else 1 for c in out_spec]
        key_w, key_b = random.split(rng)
        params = make_kernel(key_w, kernel_shape), b_init(key_b, bias_shape)
        return _shape_after(convolve, input_shape, kernel_shape), params

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Convolve and add."""
        kernel, bias = params
        return convolve(inputs, kernel) + bias

    return init_fun, apply_fun


def GeneralConv(  # noqa: N802
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Shape,
    strides: Shape | None = None,
    padding: str = "VALID",
    W_init: Any = None,  # noqa: N803
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """Return a convolution with any layout, such as ("NHWC", "HWIO", "NHWC")."""
    strides = strides or (1,) * len(filter_shape)
    lhs, rhs, out = dimension_numbers

    def convolve(inputs: Any, kernel: Any) -> Any:
        """Slide the kernel over the inputs."""
        return lax.conv_general_dilated(
            inputs, kernel, strides, padding, None, None, (lhs, rhs, out)
        )

    return _convolution(convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init)


def GeneralConvTranspose(  # noqa: N802
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Shape,
    strides: Shape | None = None,
    padding: str = "VALID",
    W_init: Any = None,  # noqa: N803
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """Return a transposed convolution with any layout."""
    strides = strides or (1,) * len(filter_shape)
    lhs, rhs, out = dimension_numbers

    def convolve(inputs: Any, kernel: Any) -> Any:
        """Spread the inputs by the kernel."""
        return lax.conv_transpose(
            inputs, kernel, strides, padding, dimension_numbers=(lhs, rhs, out)
        )

    return _convolution(convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(  # noqa: N802
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Return the layer that standardises over axes, and scales and shifts along the others."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Start with no shift and no scale."""
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        key_beta, key_gamma = random.split(rng)
        beta = beta_init(key_beta, shape) if center else ()
        gamma = gamma_init(key_gamma, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: tuple, x: Any, **kwargs: Any) -> Any:
        """Standardise, scale, shift."""
        beta, gamma = params
        spread = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        z = nn.standardize(x, axes, epsilon=epsilon)
        if scale:
            z = gamma[spread] * z
        return z + beta[spread] if center else z

    return init_fun, apply_fun


def elementwise(fun: Callable, **fun_kwargs: Any) -> Layer:
    """Return the layer that applies a function to each element."""

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Keep the shape; there are no parameters."""
        return input_shape, ()

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh = elementwise(jnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
Identity = elementwise(lambda x: x)


def _pooling(
    reducer: Callable, initial: float, finish: Callable[[Any, Any, tuple], Any] | None = None
) -> Callable[..., Layer]:
    """Return the maker of layers that reduce windows."""

    def pooling_layer(
        window_shape: Shape,
        strides: Shape | None = None,
        padding: str = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """Reduce the windows of the spatial axes; spec: the layout, "NHWC" and the like."""
        extents = tuple(window_shape)
        steps = tuple(strides or (1,) * len(extents))
        batch, channel = (0, len(extents) + 1) if spec is None else map(spec.index, "NC")
        for place in sorted((batch, channel)):
            extents = (*extents[:place], 1, *extents[place:])
            steps = (*steps[:place], 1, *steps[place:])

        def pool(inputs: Any) -> Any:
            """Reduce."""
            out = lax.reduce_window(inputs, initial, reducer, extents, steps, padding)
            return out if finish is None else finish(out, inputs, (extents, steps, padding))

        def init_fun(rng: Any, input_shape: Shape) -> tuple:
            """Find the shape; there are no parameters."""
            return _shape_after(pool, input_shape), ()

        def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
            """Reduce the windows."""
            return pool(inputs)

        return init_fun, apply_fun

    return pooling_layer


def _divided_by_counts(out: Any, inputs: Any, windows: tuple) -> Any:
    """Return means of windows: sums divided by how many elements are inside."""
    counts = lax.reduce_window(jnp.ones(inputs.shape, inputs.dtype), 0.0, lax.add, *windows)
    return out / counts


MaxPool = _pooling(lax.max, -math.inf)
SumPool = _pooling(lax.add, 0.0)
AvgPool = _pooling(lax.add, 0.0, _divided_by_counts)


def _flatten() -> Layer:
    """Return the layer that joins all axes but the first."""

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Multiply the extents."""
        return (input_shape[0], math.prod(input_shape[1:])), ()

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Reshape."""
        return jnp.reshape(inputs, (inputs.shape[0], -1))

    return init_fun, apply_fun


Flatten = _flatten()


def FanOut(num: int) -> Layer:  # noqa: N802
    """Return the layer that gives its input `num` times."""
    return lambda rng, shape: ([shape] * num, ()), lambda params, inputs, **kwargs: [inputs] * num


def _fan_in_sum() -> Layer:
    """Return the layer that adds its inputs."""

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Add."""
        return functools.reduce(operator.add, inputs)

    return lambda rng, shapes: (shapes[0], ()), apply_fun


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:  # noqa: N802
    """Return the layer that joins its inputs along an axis."""

    def init_fun(rng: Any, shapes: Sequence[Shape]) -> tuple:
        """Add the extents."""
        place = axis % len(shapes[0])
        total = sum(shape[place] for shape in shapes)
        return (*shapes[0][:place], total, *shapes[0][place + 1 :]), ()

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Join."""
        return jnp.concatenate(inputs, axis)

    return init_fun, apply_fun


def Dropout(rate: float, mode: str = "train") -> Layer:  # noqa: N802
    """Return the layer that keeps each element with probability `rate`, when mode is "train"."""

    def apply_fun(params: tuple, inputs: Any, **kwargs: Any) -> Any:
        """Set elements to 0 and scale the others up."""
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument. That is, "
                "instead of `apply_fun(params, inputs)`, call it like `apply_fun(params, inputs, "
                "rng)` where `rng` is a PRNG key (e.g. from `jax.random.key`)."
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return lambda rng, shape: (shape, ()), apply_fun


def _keys(rng: Any, n: int) -> Sequence[Any]:
    """Return a key per layer, or None per layer."""
    return (None,) * n if rng is None else random.split(rng, n)


def serial(*layers: Layer) -> Layer:
    """Return the layer that passes its input through all layers, one after the other."""
    init_funs, apply_funs = zip(*layers, strict=True) if layers else ((), ())

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Start each layer with the shape that the one before makes."""
        params = []
        for init in init_funs:
            rng, layer_rng = random.split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Sequence[Any], inputs: Any, **kwargs: Any) -> Any:
        """Apply layer by layer."""
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for apply, param, rng in zip(apply_funs, params, keys, strict=True):
            inputs = apply(param, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Return the layer that passes its first input through the first layer, and so on."""
    init_funs, apply_funs = zip(*layers, strict=True) if layers else ((), ())

    def init_fun(rng: Any, input_shape: Sequence[Shape]) -> tuple:
        """Start each layer with its shape."""
        starts = zip(init_funs, random.split(rng, len(layers)), input_shape, strict=True)
        shapes, params = zip(*(init(key, shape) for init, key, shape in starts), strict=True)
        return list(shapes), params

    def apply_fun(params: Sequence[Any], inputs: Sequence[Any], **kwargs: Any) -> list:
        """Apply each layer to its input."""
        keys = _keys(kwargs.pop("rng", None), len(layers))
        calls = zip(apply_funs, params, inputs, keys, strict=True)
        return [apply(param, x, rng=rng, **kwargs) for apply, param, x, rng in calls]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Return the layer that is made when the shape of the input is known."""

    def init_fun(rng: Any, input_shape: Shape) -> tuple:
        """Make and start it."""
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        """Make and apply it."""
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun
