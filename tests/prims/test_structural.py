"""Operations that move elements obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import structural
from tests.support.harness import laws
from tests.support.records import Failure, Record, fixed, normal

F32 = np.float32
MIXED = ("float32", "bool", "int8", "bfloat16", "complex64")
MATRIX = np.ones((2, 3), F32)


def case(name: str, call: object, *shape: int, **options: object) -> Record:
    """Return the record of a function of one array; shapes that are fixed have no empty case."""
    without = options.pop("without", {})
    return Record(name, call, (normal(*shape),), MIXED, without=without, **options)


def wrong(kind: type[Exception], text: str, *args: object) -> tuple[Failure, ...]:
    """Return one call that must fail."""
    return (Failure(args, kind, text),)


FIXED = {"empty": "the shape of the result is fixed"}
RECORDS = [
    case(
        "broadcast_in_dim",
        lambda x: structural.broadcast_in_dim(x, (2, 3), (1,)),
        3,
        without=FIXED,
        errors=wrong(
            TypeError,
            "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
            "corresponding dimensions in the target broadcast shape; got operand of shape (4,), "
            "target broadcast shape (2, 3), broadcast_dimensions (1,)",
            np.ones(4, F32),
        ),
    ),
    case(
        "broadcast_in_dim-stretched",
        lambda x: structural.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
        *(1, 4),
        without=FIXED,
    ),
    case("broadcast_in_dim-scalar", lambda x: structural.broadcast_in_dim(x, (2, 3), ())),
    case("broadcast", lambda x: structural.broadcast(x, (2,)), 3),
    case(
        "reshape",
        lambda x: structural.reshape(x, (3, 2)),
        *(2, 3),
        without=FIXED,
        errors=wrong(
            TypeError,
            "reshape total size must be unchanged, got new_sizes (3, 2) (total size 6) for shape "
            "(4,) (total size 4)",
            np.ones(4, F32),
        ),
    ),
    case("reshape-permuted", lambda x: structural.reshape(x, (6,), (1, 0)), 2, 3, without=FIXED),
    case(
        "reshape-same-shape", lambda x: structural.reshape(x, (2, 3), (1, 0)), 2, 3, without=FIXED
    ),
    case("reshape-mixed", lambda x: structural.reshape(x, (2, 6, 2)), 4, 3, 2, without=FIXED),
    case("reshape-scalar", lambda x: structural.reshape(x, (1, 1))),
    case("collapse", lambda x: structural.collapse(x, 0, 2), 2, 3, 2),
    case(
        "transpose",
        lambda x: structural.transpose(x, (1, 2, 0)),
        *(2, 3, 4),
        errors=wrong(
            TypeError,
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            "(1, 2, 0) for operand shape (2, 3).",
            MATRIX,
        ),
    ),
    case(
        "squeeze",
        lambda x: structural.squeeze(x, (1,)),
        *(2, 1, 3),
        errors=wrong(
            ValueError,
            "cannot select an axis to squeeze out which has size not equal to one, got "
            "shape=(2, 3) and dimensions=(1,)",
            MATRIX,
        ),
    ),
    case("expand_dims", lambda x: structural.expand_dims(x, (0, -1)), 2, 3),
    case(
        "rev",
        lambda x: structural.rev(x, (0,)),
        *(3, 2),
        errors=wrong(
            TypeError,
            "rev dimensions must all be less than operand ndim, got dimensions (0,) for operand "
            "ndim 0.",
            F32(1),
        ),
    ),
    case("rev-both", lambda x: structural.rev(x, (1, 0)), 3, 2),
    case(
        "tile",
        lambda x: structural.tile(x, (2, 3)),
        *(2, 3),
        errors=wrong(
            TypeError,
            "reps length must be equal to the ndim of x, got len(reps)=2 and x.ndim=1.",
            np.ones(2, F32),
        ),
    ),
    Record(
        "broadcast_like",
        structural.broadcast_like,
        (normal(3), fixed(MATRIX)),
        MIXED,
        {"vmap": "the second operand gives its shape only", "empty": "shapes would not fit"},
        differentiable=(0,),
    ),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: structural.reshape(x, (2, 3)),
        lambda x: structural.transpose(x, (0, 1)),
        lambda x: structural.broadcast_in_dim(x, (2, 3), (0, 1)),
        lambda x: structural.broadcast(x, ()),
        lambda x: structural.squeeze(x, ()),
        lambda x: structural.expand_dims(x, ()),
        lambda x: structural.broadcast_to_rank(x, 2),
    ],
)
def test_identities_are_no_operations(function: object) -> None:
    """What changes nothing leaves no trace in the program."""
    assert str(jax.make_jaxpr(function)(MATRIX)) == "{ lambda ; a:f32[2,3]. let  in (a,) }"


def test_shapes_broadcast_as_in_numpy() -> None:
    """Extents of 1 stretch; others must agree."""
    assert structural.broadcast_shapes((2, 1), (3,)) == (2, 3)
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        structural.broadcast_shapes((2,), (3,))


def test_axes_are_checked() -> None:
    """Out of bounds, or twice, is an error with JAX's words."""
    with pytest.raises(ValueError, match="axis 5 is out of bounds for array of dimension 2"):
        structural.squeeze(MATRIX, (5,))
    with pytest.raises(ValueError, match="dimensions are not unique"):
        structural.squeeze(np.ones((1, 3), F32), (0, 0))
    with pytest.raises(TypeError, match="must all be positive, got \\(-1,\\)"):
        structural.reshape(MATRIX, (-1,))
