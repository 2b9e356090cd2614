"""Parts of arrays on several devices, all of them names for one CPU."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tapeless as jax
from tapeless.runtime.meshes import AbstractMesh, Mesh, make_mesh
from tapeless.runtime.sharding import IndivisibleError, NamedSharding, SingleDeviceSharding
from tapeless.runtime.sharding import PartitionSpec as P

A = np.arange(32, dtype="float32").reshape(4, 8)


@pytest.fixture(autouse=True)
def eight_devices():
    """Declare eight devices."""
    jax.config.update("jax_num_cpu_devices", 8)
    yield jax.devices()
    jax.config.update("jax_num_cpu_devices", -1)


def sharding(*entries):
    """Return a sharding on two by four devices."""
    return NamedSharding(make_mesh((2, 4), ("x", "y")), P(*entries))


def test_each_device_has_its_part():
    x = jax.device_put(A, sharding("x", "y"))
    places = [(s.device.id, s.index, s.replica_id) for s in x.addressable_shards]
    assert places[5] == (5, (slice(2, 4), slice(2, 4)), 0)
    for shard in x.addressable_shards:
        assert (shard.data == A[shard.index]).all()
        assert shard.data.devices() == {shard.device}
    assert x.devices() == set(jax.devices())
    assert not x.is_fully_replicated
    assert x.device == x.sharding


def test_parts_that_several_devices_have_are_counted():
    x = jax.device_put(A, sharding(None, "x"))
    assert [s.replica_id for s in x.global_shards] == [0, 1, 2, 3, 0, 1, 2, 3]
    whole = jax.device_put(A, sharding())
    assert whole.is_fully_replicated
    assert [s.replica_id for s in whole.addressable_shards] == list(range(8))


def test_parts_of_keys():
    keys = jax.device_put(jax.random.split(jax.random.key(0), 8), sharding(("x", "y")))
    assert [s.data.shape for s in keys.addressable_shards] == [(1,)] * 8
    assert keys.addressable_data(3)[0] == keys[3]


def test_arrays_are_made_of_parts():
    asked = []
    x = jax.make_array_from_callback(
        A.shape, sharding("x"), lambda index: (asked.append(index), A[index])[1]
    )
    assert (x == A).all() and len(asked) == 8
    parts = [shard.data for shard in x.addressable_shards]
    again = jax.make_array_from_single_device_arrays(A.shape, sharding("x"), parts[::-1])
    assert (again == A).all()
    with pytest.raises(ValueError, match="one array on each of 8 devices is wanted; got 1 on 1"):
        jax.make_array_from_single_device_arrays(A.shape, sharding("x"), parts[:1])
    with pytest.raises(ValueError, match=r"a part of shape \(2, 8\) is wanted"):
        jax.make_array_from_callback(A.shape, sharding("x"), lambda index: A)


def test_unequal_parts_are_refused():
    with pytest.raises(IndivisibleError, match="axis 1 is partitioned 4 times, but .* size is 7"):
        jax.device_put(A[:, :7], sharding("x", "y"))


def test_one_of_the_devices():
    device = jax.devices()[5]
    x = jax.device_put(A, device)
    assert (x.device, x.sharding, x.committed) == (device, SingleDeviceSharding(device), True)
    assert x.to_device(jax.devices()[2]).device is jax.devices()[2]
    assert str(device) == "cpu:5"
    assert pickle.loads(pickle.dumps(device)) is device


def test_meshes_of_other_devices_are_others():
    first, last = Mesh(jax.devices()[:2], "x"), Mesh(jax.devices()[6:], "x")
    assert first != last
    assert not NamedSharding(first, P("x")).is_equivalent_to(NamedSharding(last, P("x")), 1)
    assert sharding("x").is_equivalent_to(sharding("x", None), 2)
    assert not sharding("x").is_equivalent_to(sharding(None, "x"), 2)


def test_a_mesh_without_devices_has_none():
    with pytest.raises(ValueError, match="AbstractMesh`, which has no devices"):
        _ = NamedSharding(AbstractMesh((2,), ("x",)), P("x")).device_set


def test_devices_are_declared_as_for_xla():
    program = "import tapeless as jax; print(jax.device_count())"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True,
        env=os.environ | flags | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout == "3\n", done.stderr
