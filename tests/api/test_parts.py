"""How arguments are divided and results joined; which results may not differ from part to part."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.runtime.meshes import AbstractMesh, get_abstract_mesh
from tapeless.runtime.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 4), ("x", "y"))
A = np.arange(64, dtype="float32").reshape(8, 8)


def over_parts(f, in_specs, out_specs, *args, **options):
    """Call a function on all parts."""
    options = {"mesh": MESH, "in_specs": in_specs, "out_specs": out_specs} | options
    return jax.shard_map(f, **options)(*args)


def test_a_result_that_is_the_same_for_all_parts_is_repeated_or_taken_once():
    assert over_parts(lambda p: p[:1] * 0 + 1, P(), P("x"), A).shape == (2, 8)
    assert over_parts(lambda p: lax.psum(p, ("x", "y")), P("x", "y"), P(), A).shape == (4, 2)
    assert over_parts(lambda p: np.ones(3), P("x"), P(None), A).shape == (3,)


def test_a_result_that_may_differ_is_refused():
    message = "only varying across mesh axes {x} and not {y}, but it was inferred .* {x, y}"
    with pytest.raises(ValueError, match=message):
        over_parts(lambda p: p, P("x", "y"), P("x"), A)
    found = over_parts(lambda p: p, P("x", "y"), P("x"), A, check_vma=False)
    assert (found == A[:, :2]).all()
    with pytest.raises(ValueError, match=r"out_specs\['b'\] is P\(\) which implies"):
        outs = {"a": P("x"), "b": P()}
        over_parts(lambda p: {"a": p, "b": p.sum()}, P("x"), outs, A)


def test_a_decorator_passes_the_check_on():
    f = jax.shard_map(mesh=MESH, in_specs=P("x"), out_specs=P(), check_vma=False)(lambda p: p)
    assert f(A).shape == (4, 8)


def test_the_mesh_inside_is_manual():
    seen = []
    over_parts(lambda p: (seen.append(get_abstract_mesh()), p)[1], P("x"), P("x"), A)
    over_parts(
        lambda p: (seen.append(get_abstract_mesh()), p)[1], P("x"), P("x"), A, axis_names={"x"}
    )
    assert [mesh.manual_axes for mesh in seen] == [("x", "y"), ("x",)]
    assert get_abstract_mesh().empty


@pytest.mark.parametrize(
    ("f", "in_specs", "out_specs", "error", "message"),
    [
        (
            lambda p: p,
            P("y", None, None),
            P("x"),
            ValueError,
            "given an in_specs entry which is to",
        ),
        (
            lambda p: p.sum(),
            P("x"),
            P("x"),
            ValueError,
            r"<lambda>\(\*args\) has shape float32\[\]",
        ),
        (lambda p: p, P("z"), P(), ValueError, "in_specs refers to 'z'"),
        (lambda p: p, P("x"), {"a": P("z")}, ValueError, r"out_specs\['a'\] refers to 'z'"),
        (lambda p: p, "x", P(), TypeError, "in_specs is x of type str"),
    ],
)
def test_wrong_specs(f, in_specs, out_specs, error, message):
    with pytest.raises(error, match=message):
        over_parts(f, in_specs, out_specs, A)


def test_axes_that_cannot_be_divided_are_all_told():
    def f(a, b):
        return a, b

    with pytest.raises(ValueError) as caught:
        over_parts(f, (P("x"), P(None, ("x", "y"))), P(), A[:7], {"k": A[:, :4]})
    text = str(caught.value)
    assert "* the passed args[0] of shape float32[7,8], where args[0] is bound to f's" in text
    assert "in_specs[1] of value P(None, ('x', 'y')), which maps array axis 1 (of size 4)" in text
    assert "where args[1]['k'] is bound to f's parameter 'b'" in text


def test_a_mesh_is_a_mesh():
    with pytest.raises(TypeError, match="requires a `jax.sharding.Mesh` or a .* but got 3 of type"):
        over_parts(lambda p: p, P(), P(), A, mesh=3)
