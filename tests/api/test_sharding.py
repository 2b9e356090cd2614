"""`shard_map` and `pmap`, part by part; what meshes, specs and constraints refuse."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.api.sharding import pmap, reshard, shard_map, smap, with_sharding_constraint
from tapeless.runtime.meshes import AbstractMesh, Mesh, get_mesh, make_mesh, set_mesh
from tapeless.runtime.sharding import DuplicateSpecError, NamedSharding
from tapeless.runtime.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 4), ("x", "y"))
A = np.arange(64, dtype="float32").reshape(8, 8)


def test_psum_adds_the_parts_of_its_axis():
    f = shard_map(
        lambda p: lax.psum(p, "x"), mesh=MESH, in_specs=P("x", "y"), out_specs=P(None, "y")
    )
    assert (f(A) == A[:4] + A[4:]).all()


@pytest.mark.parametrize("names", [("x", "y"), ("y", "x")])
def test_one_axis_divided_by_two(names):
    f = shard_map(
        lambda p: p + 100 * lax.axis_index("y"), mesh=MESH, in_specs=P(None, names),
        out_specs=P(None, names),
    )  # fmt: skip
    y_of_column = np.arange(8) % 4 if names == ("x", "y") else np.arange(8) // 2
    assert (f(A) == A + 100 * y_of_column).all()


def test_matrix_product_by_parts():
    f = shard_map(
        lambda p, q: lax.psum(p @ q, "y"), mesh=MESH, in_specs=(P("x", "y"), P("y", None)),
        out_specs=P("x", None),
    )  # fmt: skip
    assert (jax.jit(f)(A, A) == A @ A).all()


def test_rows_move_between_parts():
    f = shard_map(
        lambda p: lax.ppermute(p, "x", [(0, 1), (1, 0)]), mesh=MESH, in_specs=P("x"),
        out_specs=P("x"),
    )  # fmt: skip
    assert (f(A) == np.concatenate([A[4:], A[:4]])).all()


def test_gradient_of_a_sum_over_all_parts():
    f = shard_map(
        lambda p: lax.psum((p**2).sum(), ("x", "y")), mesh=MESH, in_specs=P("x", "y"), out_specs=P()
    )
    assert (jax.grad(f)(A) == 2 * A).all()


def test_parts_must_be_of_equal_size():
    with pytest.raises(ValueError, match="evenly"):
        shard_map(lambda p: p, mesh=MESH, in_specs=P("y"), out_specs=P("y"))(np.ones(6, "float32"))


def test_a_spec_longer_than_the_rank_is_refused():
    with pytest.raises(ValueError, match="rank 1"):
        shard_map(lambda p: p, mesh=MESH, in_specs=P(None, "y"), out_specs=P())(np.ones(8))


def test_a_mesh_is_needed():
    with pytest.raises(ValueError, match="context mesh cannot be empty"):
        shard_map(lambda p: p, in_specs=P(), out_specs=P())(1.0)


def test_smap_takes_the_current_mesh():
    with set_mesh(make_mesh((1,), ("x",))):
        f = smap(lambda p: lax.psum(p, "x"), in_axes=0, out_axes=0, axis_name="x")
        assert (f(A) == A).all()


def test_pmap_maps_one_row():
    f = pmap(lambda a, b: lax.psum(a * b, "i"), axis_name="i", in_axes=(0, None))
    assert (f(A[None], 2.0) == 2 * A[None]).all()


def test_pmap_with_static_and_named_arguments():
    f = pmap(lambda n, a, b: a * n + b, static_broadcasted_argnums=0)
    assert (f(3, A[None], b=A[None]) == 4 * A[None]).all()


def test_pmap_of_more_rows_than_devices_is_refused():
    with pytest.raises(ValueError, match="requires 8 logical devices"):
        pmap(lambda a: a)(A)


def test_an_array_knows_what_it_was_put_on():
    sharding = NamedSharding(make_mesh((1,), ("x",)), P("x", None))
    x = jax.device_put(A, sharding)
    assert x.sharding == sharding
    assert x.committed
    assert (x.addressable_shards[0].data == A).all()
    assert not jax.numpy.ones(3).committed


def test_donating_a_placed_array_leaves_the_original():
    x = jax.numpy.arange(8.0)
    y = jax.device_put(x, NamedSharding(make_mesh((1,), ("x",)), P()))
    jax.jit(lambda a: a + 1, donate_argnums=0)(y)
    assert (x == np.arange(8.0)).all()


def test_constraints_are_checked_and_kept():
    mesh = make_mesh((1,), ("x",))
    with pytest.raises(ValueError, match="rank at least 3"):
        with_sharding_constraint(A, NamedSharding(mesh, P(None, None, "x")))
    with pytest.raises(RuntimeError, match="non-empty mesh"):
        with_sharding_constraint(A, P("x"))
    with set_mesh(mesh):
        assert with_sharding_constraint(A, P("x")).sharding.spec == P("x")
        assert (jax.jit(lambda a: reshard(a, P("x")) * 2)(A) == 2 * A).all()


def test_specs_are_checked_against_the_mesh():
    mesh = make_mesh((1,), ("x",))
    with pytest.raises(ValueError, match="Resource axis: z"):
        NamedSharding(mesh, P("z"))
    with pytest.raises(DuplicateSpecError):
        NamedSharding(mesh, P("x", "x"))


def test_meshes_print_as_in_jax():
    mesh = Mesh(np.array(jax.devices()), ("x",))
    assert repr(mesh) == "Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))"
    assert str(NamedSharding(mesh, P("x"))) == (
        "NamedSharding(mesh=Mesh('x': 1, axis_types=(Auto,)), spec=P('x',), memory_kind=device)"
    )


def test_the_current_mesh_ends_with_its_block():
    with set_mesh(make_mesh((1,), ("x",))):
        assert get_mesh().axis_names == ("x",)
    assert get_mesh().empty


def test_a_mesh_of_two_devices_is_refused():
    with pytest.raises(ValueError, match="Number of devices 1 must be >="):
        make_mesh((2,), ("x",))


@pytest.fixture
def eight_devices():
    """Declare eight devices."""
    jax.config.update("jax_num_cpu_devices", 8)
    yield jax.devices()
    jax.config.update("jax_num_cpu_devices", -1)


def test_pmap_over_eight_devices(eight_devices):
    total = pmap(lambda a: lax.psum(a, "i"), axis_name="i")(A)
    assert (total == A.sum(0)).all()
    assert total.sharding.spec == P("i")
    assert [s.data.shape for s in total.addressable_shards] == [(1, 8)] * 8
    with pytest.raises(ValueError, match="at least one argument with a mapped axis"):
        pmap(lambda a: a)(1.0)


def test_arguments_must_lie_where_in_shardings_say(eight_devices):
    mesh = make_mesh((2, 4), ("x", "y"))
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    f = jax.jit(lambda a, n: a * n, static_argnums=1, in_shardings=(rows,), out_shardings=columns)
    assert (f(jax.device_put(A, rows), 2) == 2 * A).all()
    assert f(A, 2).sharding == columns
    for args, kwargs, error, message in [
        ((jax.device_put(A, columns), 2), {}, ValueError, "does not match the sharding on the"),
        (
            (A, A, 2),
            {},
            ValueError,
            "got a tuple or list of length 1 for an args tuple of length 2",
        ),
        ((A[:7], 2), {}, ValueError, "axis 0 is partitioned 2 times, but the dimension size is 7"),
        ((), {"a": A, "n": 2}, ValueError, "does not support kwargs when in_shardings"),
    ]:
        with pytest.raises(error, match=message):
            f(*args, **kwargs)
    with pytest.raises(
        TypeError, match="expected to be PartitionSpec instances or None, but got 3"
    ):
        jax.jit(lambda a: a, in_shardings=3)(A)
    with pytest.raises(RuntimeError, match="jit requires a non-empty mesh in context"):
        jax.jit(lambda a: a, in_shardings=P("x"))(A)


def test_a_mesh_is_not_set_inside_a_compiled_function():
    with pytest.raises(ValueError, match="outside of `jax.jit`"):
        jax.jit(lambda: set_mesh(make_mesh((1,), ("x",))))()


def test_shardings_are_shown_to_a_callback():
    seen = []
    jax.debug.inspect_array_sharding(np.ones(3), callback=seen.append)
    jax.jit(lambda x: jax.debug.inspect_array_sharding(x, callback=seen.append))(np.ones(3))
    assert [s.device_set == set(jax.devices()) for s in seen] == [True, True]
