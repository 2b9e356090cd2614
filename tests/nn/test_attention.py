"""Attention equals its formula, whole and by blocks, and holds no more scores than a block."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import tapeless as jax
from tapeless import nn
from tapeless.nn import attention

RNG = np.random.default_rng(0)
B, T, S, N, K, H = 2, 5, 7, 4, 2, 3
QUERY = RNG.normal(size=(B, T, N, H)).astype("f4")
KEY = RNG.normal(size=(B, S, K, H)).astype("f4")
VALUE = RNG.normal(size=(B, S, K, H)).astype("f4")
BIAS = RNG.normal(size=(B, N, T, S)).astype("f4")
MASK = RNG.random((B, N, T, S)) > 0.3
QUERY_LENGTHS, KEY_LENGTHS = np.array([3, 5], "i4"), np.array([7, 4], "i4")
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"scale": 0.3},
    "bias": {"bias": BIAS},
    "bias-of-one-head": {"bias": BIAS[:, :1]},
    "bias-of-one-row": {"bias": BIAS[:1, :, :1]},
    "mask": {"mask": MASK},
    "causal": {"is_causal": True},
    "window": {"local_window_size": 1},
    "wide-window": {"local_window_size": (1, 3), "bias": BIAS},
    "lengths": {"query_seq_lengths": QUERY_LENGTHS, "key_value_seq_lengths": KEY_LENGTHS},
    "all": {"bias": BIAS, "mask": MASK, "is_causal": True, "key_value_seq_lengths": KEY_LENGTHS},
}


def expected(bias=0.0, mask=True, scale=None, is_causal=False, **options: Any) -> tuple:
    """Return attention and log-sums by NumPy in double precision."""
    key, value = (np.repeat(x.astype(float), N // K, axis=2) for x in (KEY, VALUE))
    scores = np.einsum("btnh,bsnh->bnts", QUERY.astype(float), key)
    scores = scores * (1 / np.sqrt(H) if scale is None else scale) + bias
    row, column = np.arange(T)[:, None], np.arange(S)
    allowed = np.broadcast_to(mask, scores.shape).copy()
    if is_causal:
        allowed &= row >= column
    if options.get("local_window_size"):
        size = options["local_window_size"]
        left, right = (size, size) if isinstance(size, int) else size
        allowed &= (row <= column + left) & (row >= column - right)
    if "query_seq_lengths" in options:
        allowed &= (row < QUERY_LENGTHS[:, None, None])[:, None]
    if "key_value_seq_lengths" in options:
        allowed &= (column < KEY_LENGTHS[:, None, None])[:, None]
    scores = np.where(allowed, scores, -1e30)
    result = np.einsum("bnts,bsnh->btnh", special.softmax(scores, -1), value)
    if "query_seq_lengths" in options:
        result *= (np.arange(T) < QUERY_LENGTHS[:, None])[:, :, None, None]
    return result, special.logsumexp(scores, -1).transpose(0, 2, 1)


@pytest.fixture(params=[2**22, 200], ids=["whole", "blocks"])
def max_scores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow all scores, or those of three rows."""
    monkeypatch.setattr(attention, "_MAX_SCORES", request.param)


@pytest.mark.usefixtures("max_scores")
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_results_are_those_of_the_formula(options: dict) -> None:
    found, sums = nn.dot_product_attention(QUERY, KEY, VALUE, return_residual=True, **options)
    result, log_sums = expected(**options)
    np.testing.assert_allclose(found, result, atol=2e-6)
    seen = log_sums > -1e20
    np.testing.assert_allclose(np.asarray(sums)[seen], log_sums[seen], atol=2e-6)


@pytest.mark.parametrize("name", ["all", "lengths", "wide-window"])
def test_gradients_of_blocks_are_those_of_the_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = RNG.normal(size=QUERY.shape).astype("f4")

    def gradients() -> tuple:
        """Differentiate in query, key and value."""

        def loss(*operands: Any) -> Any:
            """Weigh the results."""
            return (nn.dot_product_attention(*operands, **CASES[name]) * weights).sum()

        return jax.grad(loss, (0, 1, 2))(QUERY, KEY, VALUE)

    whole = gradients()
    monkeypatch.setattr(attention, "_MAX_SCORES", 200)
    for want, got in zip(whole, gradients(), strict=True):
        np.testing.assert_allclose(got, want, atol=2e-6)


def test_no_more_scores_than_a_block_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No value of the program, nor of its gradient, is as large as all scores."""
    monkeypatch.setattr(attention, "_MAX_SCORES", 200)

    def sizes(jaxpr: Any) -> list[int]:
        """Return the sizes of all values of a program and of those inside it."""
        found = [var.aval.size for eqn in jaxpr.eqns for var in eqn.outvars]
        for eqn in jaxpr.eqns:
            for inner in jax.core.jaxpr.subjaxprs(eqn.params):
                found += sizes(inner)
        return found

    def loss(*operands: Any) -> Any:
        """Sum the results."""
        return nn.dot_product_attention(*operands).sum()

    program = jax.make_jaxpr(jax.grad(loss, (0, 1, 2)))(QUERY, KEY, VALUE)
    assert max(sizes(program)) <= 200 < B * N * T * S


@pytest.mark.parametrize("differentiated", [False, True])
def test_temporaries_do_not_grow_with_the_square_of_the_length(
    differentiated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the compiler plans is a few blocks and operands, not all scores."""
    monkeypatch.setattr(attention, "_MAX_SCORES", 2**14)
    length, heads, size = 2048, 2, 8
    operand = jax.ShapeDtypeStruct((1, length, heads, size), "float32")

    def loss(*operands: Any) -> Any:
        """Sum the results."""
        return nn.dot_product_attention(*operands, is_causal=True).sum()

    function = jax.grad(loss, (0, 1, 2)) if differentiated else loss
    compiled = jax.jit(function).lower(operand, operand, operand).compile()
    planned = compiled.memory_analysis().temp_size_in_bytes
    block, rows = 2**14 * 4, length * heads * size * 4
    assert planned < 8 * block + 8 * rows < length * length * heads * 4 / 10


def test_one_sequence_needs_no_batch_axis() -> None:
    found = nn.dot_product_attention(QUERY[0], KEY[0], VALUE[0], BIAS[0], MASK[0])
    np.testing.assert_allclose(found, expected(BIAS, MASK)[0][0], atol=2e-6)


def test_half_precision_is_kept() -> None:
    halves = (jax.numpy.asarray(x, "bfloat16") for x in (QUERY, KEY, VALUE))
    found = nn.dot_product_attention(*halves)
    assert found.dtype.name == "bfloat16"
    np.testing.assert_allclose(found.astype("float32"), expected()[0], atol=0.05)


@pytest.mark.usefixtures("max_scores")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_residuals_of_half_precision_are_in_it(dtype: str) -> None:
    halves = (jax.numpy.asarray(x, dtype) for x in (QUERY, KEY, VALUE))
    found, sums = nn.dot_product_attention(*halves, return_residual=True)
    assert (found.dtype.name, sums.dtype.name) == (dtype, dtype)
    np.testing.assert_allclose(sums.astype("float32"), expected()[1], atol=0.05)


@pytest.mark.parametrize(
    ("operands", "options", "kind", "text"),
    [
        ((QUERY, KEY[:, :, :1].repeat(3, 2), VALUE), {}, ValueError, "value shape should be"),
        ((QUERY, *[KEY[:, :, :1].repeat(3, 2)] * 2), {}, ValueError, "must be a multiple"),
        ((QUERY, KEY, VALUE[:, :5]), {}, ValueError, "value shape should be [2, 7, 2, 3]"),
        ((QUERY, KEY, VALUE), {"mask": BIAS}, ValueError, "mask dtype should be bool"),
        ((QUERY, KEY, VALUE), {"bias": BIAS[:, :3]}, TypeError, "does not broadcast"),
        ((QUERY, KEY, VALUE), {"mask": MASK[:, :, 1:]}, TypeError, "does not broadcast"),
        ((QUERY.astype("f2"), KEY, VALUE), {}, ValueError, "query dtype should be float32"),
        ((QUERY, *[KEY.astype("i4")] * 2), {}, ValueError, "but got float32"),
        ((QUERY, KEY, VALUE), {"local_window_size": (1, 2, 3)}, ValueError, "(1, 2, 3)"),
        ((QUERY, KEY, VALUE), {"implementation": "cudnn"}, RuntimeError, "cuDNN"),
        ((QUERY, KEY, VALUE), {"implementation": "foo"}, ValueError, "Unsupported"),
        (
            (QUERY, KEY, VALUE),
            {"query_seq_lengths": np.array([2], "i4")},
            ValueError,
            "query_seq_lengths shape should be [2]",
        ),
    ],
)
def test_misuse_is_refused(operands: tuple, options: dict, kind: type, text: str) -> None:
    with pytest.raises(kind) as caught:
        nn.dot_product_attention(*operands, **options)
    assert text in str(caught.value)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_bias_and_a_mask_are_stretched_from_the_right(rank: int) -> None:
    place = (0,) * (4 - rank)
    bias, mask = BIAS[place], MASK[place]
    want = nn.dot_product_attention(
        QUERY,
        KEY,
        VALUE,
        bias=np.broadcast_to(bias, BIAS.shape),
        mask=np.broadcast_to(mask, MASK.shape),
    )
    found = nn.dot_product_attention(QUERY, KEY, VALUE, bias=bias, mask=mask)
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.usefixtures("max_scores")
@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"is_causal": True}], ids=str)
def test_the_real_part_of_complex_scores_decides(options: dict) -> None:
    query, key, value = QUERY + 1j * QUERY[::-1], KEY - 1j * KEY[::-1], VALUE * (1 + 2j)
    found = nn.dot_product_attention(query, key, value, **options)
    wide_key, wide_value = (np.repeat(x, N // K, axis=2) for x in (key, value))
    scores = np.einsum("btnh,bsnh->bnts", query, wide_key).real / np.sqrt(H)
    allowed = options.get("mask", np.arange(T)[:, None] >= np.arange(S) if options else True)
    weights = special.softmax(np.where(allowed, scores, -np.inf), -1)
    reference = np.einsum("bnts,bsnh->btnh", weights, wide_value)
    np.testing.assert_allclose(found, reference, rtol=2e-5, atol=2e-6)
    slope = jax.grad(lambda x: abs(nn.dot_product_attention(x, key, value, **options)).sum())
    assert np.isfinite(slope(query)).all()
